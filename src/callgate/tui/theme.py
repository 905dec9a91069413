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
# yellow, green, cyan and grey of that palette are hard to read, so fixed colours of the 256 are used.
_DARK = {"red": "31", "green": "32", "yellow": "33", "blue": "94", "magenta": "35", "cyan": "36", "grey": "90"}
_LIGHT_COLOURS = {"red": 124, "green": 28, "yellow": 130, "blue": 25, "magenta": 90, "cyan": 30, "grey": 243}
_LIGHT = {name: f"38;5;{number}" for name, number in _LIGHT_COLOURS.items()}

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

    def paint(self, text: str, style: str = "") -> str:
        """Return the text with the control sequences of a style. The text must be safe to show."""
        if not style or not self.colours or not text:
            return text
        codes = _ATTRIBUTES | (_LIGHT if self.name == "light" else _DARK)
        return f"\x1b[{';'.join(codes[word] for word in style.split())}m{text}\x1b[0m"

    def sign(self, unicode: str, plain: str) -> str:
        return unicode if self.unicode else plain

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

    NO_COLOR and TERM=dumb disable colours; an encoding without the signs disables Unicode. ``name`` is the setting
    ``tui.theme``: ``auto`` reads the background from COLORFGBG and defaults to dark.
    """
    try:
        "✓✗⊘●…─".encode(encoding or "ascii")
        unicode = True
    except (UnicodeEncodeError, LookupError):
        unicode = False
    colours = name != "mono" and not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"
    chosen: ThemeName = "light" if name == "light" or (name != "dark" and _light_ground(environment)) else "dark"
    return Theme(chosen if colours else "mono", colours, unicode)


def _light_ground(environment: Mapping[str, str]) -> bool:
    # COLORFGBG is "foreground;background" in numbers of the sixteen colours; 7 and 9 to 15 are light.
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return ground.isascii() and ground.isdecimal() and (int(ground) == 7 or 9 <= int(ground) <= 15)
