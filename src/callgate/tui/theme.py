"""Tables of the colours, signs and words of the terminal.

A style is a list of words such as ``bold red``. ``Theme.paint`` converts a style to control sequences, or to nothing
if colours are off.
"""

import os
from collections.abc import Mapping
from typing import Literal

from callgate.formats.display import visible, visible_page
from callgate.words.calls import Status
from callgate.words.noun import noun

ThemeName = Literal["dark", "light", "mono"]

_ATTRIBUTES = {"bold": "1", "italic": "3", "underline": "4", "reverse": "7", "strike": "9"}
# On a dark background: the sixteen colours of the terminal, which follow the user's palette. On a light background,
# yellow, green, cyan and grey of that palette are hard to read, so fixed colours of the 256 are used if there are any.
_DARK = {"red": "31", "green": "32", "yellow": "33", "blue": "94", "magenta": "35", "cyan": "36", "grey": "90"}
_LIGHT_COLOURS = {"red": 124, "green": 28, "yellow": 130, "blue": 25, "magenta": 90, "cyan": 30, "grey": 243}
_LIGHT = {name: f"38;5;{number}" for name, number in _LIGHT_COLOURS.items()}
_LIGHT_16 = _DARK | {"yellow": "35", "blue": "34", "cyan": "34"}

Depth = Literal["16", "256", "true"]
"""The colours of a terminal: 16 colours, 256 colours, or any colour."""

GROUNDS: Mapping[tuple[ThemeName, Depth], Mapping[str, str]] = {
    ("dark", "true"): {
        "added": "48;2;14;54;28",
        "removed": "48;2;74;20;26",
        "added-word": "48;2;24;112;52",
        "removed-word": "48;2;150;32;40",
    },
    ("dark", "256"): {"added": "48;5;22", "removed": "48;5;52", "added-word": "48;5;28", "removed-word": "48;5;124"},
    ("light", "true"): {
        "added": "48;2;218;251;225",
        "removed": "48;2;255;226;224",
        "added-word": "48;2;137;224;157",
        "removed-word": "48;2;255;168;164",
    },
    ("light", "256"): {
        "added": "48;5;194",
        "removed": "48;5;224",
        "added-word": "48;5;114",
        "removed-word": "48;5;217",
    },
}
"""The backgrounds of changed lines and changed words in a diff."""
GROUNDS_16 = {"added": "30;42", "removed": "97;41", "added-word": "30;42;7", "removed-word": "97;41;7"}
"""Text colours and backgrounds for terminals with 16 colours. The text has no syntax colours."""
INKS: Mapping[ThemeName, Mapping[str, int]] = {
    "dark": {"": 255, "red": 217, "green": 157, "yellow": 222, "blue": 117, "magenta": 219, "cyan": 159, "grey": 252},
    "light": {"": 16, "red": 124, "green": 22, "yellow": 58, "blue": 25, "magenta": 90, "cyan": 23, "grey": 240},
}
"""Text colours that are readable on each background of a changed line. The colours do not depend on the palette of
the user, because the backgrounds do not."""
WORD_INK: Mapping[ThemeName, int] = {"dark": 231, "light": 16}

# Marks inside an emoji (variation, joiner, skin colour), removed because terminals disagree on the resulting width.
_JOINERS = dict.fromkeys((0xFE0F, 0x200D, *range(0x1F3FB, 0x1F400)))
_SIMILAR = {"'": "‘’‚′", '"': "“”„″«»", "-": "‐‑‒–−─·", "*": "•◦▪●", "+": "✓✔✅", "x": "✗✘❌×", "|": "│", "!": "⚠"}
_SPELLED = {"--": "—", "...": "…", "->": "→", "<-": "←", "=>": "⇒", "<=": "≤", ">=": "≥", "!=": "≠"}
_ASCII = {ord(sign): plain for plain, signs in (_SIMILAR | _SPELLED).items() for sign in signs}
"""Replacements of common signs in terminals without Unicode."""


@noun
class StatusFace:
    """The sign, its ASCII form, the style and the word of a call status."""

    sign: str
    ascii: str
    style: str
    word: str


STATUSES: Mapping[Status, StatusFace] = {
    Status.VALIDATING: StatusFace("◌", ".", "grey", "checking"),
    Status.AWAITING_APPROVAL: StatusFace("?", "?", "bold yellow", "asks you"),
    Status.SCHEDULED: StatusFace("○", "o", "blue", "waits"),
    Status.EXECUTING: StatusFace("●", "*", "cyan", "runs"),
    Status.SUCCESS: StatusFace("✓", "+", "green", "done"),
    Status.ERROR: StatusFace("✗", "x", "red", "failed"),
    Status.CANCELLED: StatusFace("⊘", "-", "magenta", "cancelled"),
}

CUT = StatusFace("⊘", "-", "magenta", "cut short")
"""The face of a call that was running when the program ended."""

MODE_STYLES = {"plan": "cyan", "accept_edits": "yellow", "bypass": "bold red", "dont_ask": "magenta"}
"""The styles of the permission modes other than the default."""

LEVELS: Mapping[str, StatusFace] = {
    "info": StatusFace("·", "-", "grey", "note"),
    "warning": StatusFace("!", "!", "yellow", "warning"),
    "error": StatusFace("✗", "x", "red", "error"),
}
"""The faces of notices by level."""


@noun
class Theme:
    """The abilities of the terminal. If ``colours`` is True, styles become control sequences; if ``unicode`` is
    True, the terminal can show more than ASCII."""

    name: ThemeName = "dark"
    colours: bool = True
    unicode: bool = True
    depth: Depth = "256"

    def paint(self, text: str, style: str = "") -> str:
        """Return the text with the control sequences of a style. The text must be safe to show."""
        if not style or not self.colours or not text:
            return text
        return f"\x1b[{self._codes(style)}m{text}\x1b[0m"

    @staticmethod
    def ground(style: str) -> str:
        """Return the background colour of a style, or an empty string."""
        return next((word for word in style.split() if word in GROUNDS_16), "")

    def _codes(self, style: str) -> str:
        ground, words = self.ground(style), style.split()
        if not ground:
            colours = _DARK if self.name != "light" else _LIGHT_16 if self.depth == "16" else _LIGHT
            return ";".join((_ATTRIBUTES | colours)[word] for word in words)
        attributes = [_ATTRIBUTES[word] for word in words if word in _ATTRIBUTES]
        if self.depth == "16":
            return ";".join((GROUNDS_16[ground], *attributes))
        name: ThemeName = "light" if self.name == "light" else "dark"
        inks = INKS[name]
        ink = next((inks[word] for word in words if word in inks), inks[""])
        if ground.endswith("-word"):
            ink, attributes = WORD_INK[name], [*attributes, "1"]
        return ";".join((f"38;5;{ink}", GROUNDS[name, self.depth][ground], *attributes))

    def sign(self, unicode: str, plain: str) -> str:
        return unicode if self.unicode else plain

    @property
    def more(self) -> str:
        """The mark of an omission."""
        return self.sign("…", "...")

    def cursor(self, here: bool) -> str:
        return self.sign("❯", ">") if here else " "

    def line(self, text: str) -> str:
        """Return untrusted text as one line that is safe to show; see ``formats.display``."""
        return self._shown(visible(text.translate(_JOINERS) if not text.isascii() else text))

    def page(self, text: str) -> str:
        """Return untrusted text of several lines, made safe to show. Line feeds and tabs are kept."""
        return self._shown(visible_page(text.translate(_JOINERS) if not text.isascii() else text))

    def _shown(self, text: str) -> str:
        if self.unicode or text.isascii():
            return text
        return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def theme_for(environment: Mapping[str, str] = os.environ, encoding: str | None = None, name: str = "auto") -> Theme:
    """Return the theme for a terminal.

    NO_COLOR and TERM=dumb disable colours; COLORTERM and TERM contain the number of colours. If the encoding cannot
    represent the symbols of the interface, Unicode is disabled. ``name`` is the setting ``tui.theme``: ``auto`` reads
    the background from COLORFGBG and defaults to dark.
    """
    try:
        "✓✗⊘●…─".encode(encoding or "ascii")
        unicode = True
    except (UnicodeEncodeError, LookupError):
        unicode = False
    colours = name != "mono" and not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"
    chosen: ThemeName = "light" if name == "light" or (name != "dark" and _light_ground(environment)) else "dark"
    return Theme(chosen if colours else "mono", colours, unicode, _depth(environment))


_WITH_256 = ("alacritty", "contour", "foot", "rio", "wezterm", "xterm-ghostty", "xterm-kitty")
"""Terminals with 256 colours whose name in TERM does not have the number."""


def _depth(environment: Mapping[str, str]) -> Depth:
    term = environment.get("TERM", "")
    direct = environment.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct")
    if direct and "STY" not in environment:  # GNU screen passes COLORTERM on, and misreads colours of 24 bits
        return "true"
    return "256" if "256" in term or term.startswith(_WITH_256) else "16"


def _light_ground(environment: Mapping[str, str]) -> bool:
    # COLORFGBG is "foreground;background" in numbers of the sixteen colours; 7 and 9 to 15 are light.
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return ground.isascii() and ground.isdecimal() and (int(ground) == 7 or 9 <= int(ground) <= 15)
