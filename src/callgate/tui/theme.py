"""Colours, signs and words of the terminal: one table for each, so that no fact stands in two places.

A style is a list of words such as ``bold red``; ``paint`` turns it into the codes of the terminal, and into nothing
where colours are not wanted.
"""

import os
from collections.abc import Mapping
from typing import Literal

from callgate.formats.display import visible, visible_page
from callgate.words.calls import Status
from callgate.words.noun import noun

ThemeName = Literal["dark", "light", "mono"]

_ATTRIBUTES: Mapping[str, str] = {"bold": "1", "italic": "3", "underline": "4", "reverse": "7", "strike": "9"}
# On a dark ground the sixteen colours of the terminal, which follow the palette that the person chose. On a light one
# its yellow, green, cyan and grey are hard to read, so fixed ones of the 256 take their place.
_DARK: Mapping[str, str] = {
    **_ATTRIBUTES,
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "94",
    "magenta": "35",
    "cyan": "36",
    "grey": "90",
}
_LIGHT: Mapping[str, str] = {
    **_ATTRIBUTES,
    "red": "38;5;124",
    "green": "38;5;28",
    "yellow": "38;5;130",
    "blue": "38;5;25",
    "magenta": "38;5;90",
    "cyan": "38;5;30",
    "grey": "38;5;243",
}

# Marks inside an emoji (variation, joiner, skin): terminals disagree on the width of what they make.
_JOINERS = dict.fromkeys((0xFE0F, 0x200D, *range(0x1F3FB, 0x1F400)))
_ASCII = {
    **{ord(sign): "'" for sign in "‘’‚′"},
    **{ord(sign): '"' for sign in "“”„″«»"},
    **{ord(sign): "-" for sign in "‐‑‒–−─"},
    **{ord(sign): "*" for sign in "•◦▪●"},
    ord("—"): "--",
    ord("…"): "...",
    ord("→"): "->",
    ord("←"): "<-",
    ord("⇒"): "=>",
    ord("≤"): "<=",
    ord("≥"): ">=",
    ord("≠"): "!=",
    ord("×"): "x",
    ord("·"): "-",
    ord("✓"): "+",
    ord("✔"): "+",
    ord("✅"): "+",
    ord("✗"): "x",
    ord("✘"): "x",
    ord("❌"): "x",
    ord("│"): "|",
    ord("⚠"): "!",
}
"""Signs that writers use often, for terminals without them."""


@noun
class StatusFace:
    """The sign, its ASCII form, the colour and the word of a status: each is enough to know it."""

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
"""The face of a call that ran when the program ended."""

LEVELS: Mapping[str, StatusFace] = {
    "info": StatusFace("·", "-", "grey", "note"),
    "warning": StatusFace("!", "!", "yellow", "warning"),
    "error": StatusFace("✗", "x", "red", "error"),
}
"""The face of notices by their level."""


@noun
class Theme:
    """``colours``: control sequences for colours may be written. ``unicode``: the terminal shows more than ASCII."""

    name: ThemeName = "dark"
    colours: bool = True
    unicode: bool = True

    def paint(self, text: str, style: str = "") -> str:
        """The text in a style. The text must be safe to show."""
        if not style or not self.colours or not text:
            return text
        codes = _LIGHT if self.name == "light" else _DARK
        return f"\x1b[{';'.join(codes[word] for word in style.split())}m{text}\x1b[0m"

    def sign(self, unicode: str, plain: str) -> str:
        return unicode if self.unicode else plain

    def line(self, text: str) -> str:
        """Text of a model, a tool or a file, safe to show on one line; see ``formats.display``."""
        return self._shown(visible(text.translate(_JOINERS) if not text.isascii() else text))

    def page(self, text: str) -> str:
        """The same for text of many lines: line feeds and tabs stay."""
        return self._shown(visible_page(text.translate(_JOINERS) if not text.isascii() else text))

    def _shown(self, text: str) -> str:
        if self.unicode or text.isascii():
            return text
        return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def theme_for(environment: Mapping[str, str] = os.environ, encoding: str | None = None, name: str = "auto") -> Theme:
    """The theme for a terminal: NO_COLOR and TERM=dumb switch colours off, an encoding without the signs Unicode.
    ``name`` is the setting ``tui.theme``: ``auto`` goes by the background that COLORFGBG tells, and is dark without."""
    try:
        "✓✗⊘●…─".encode(encoding or "ascii")
        unicode = True
    except (UnicodeEncodeError, LookupError):
        unicode = False
    colours = name != "mono" and not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"
    chosen: ThemeName = "light" if name == "light" or (name != "dark" and _light_ground(environment)) else "dark"
    return Theme(chosen if colours else "mono", colours, unicode)


def _light_ground(environment: Mapping[str, str]) -> bool:
    """COLORFGBG is ``foreground;background``, in numbers of the sixteen colours: 7 and those from 9 on are light."""
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return ground.isascii() and ground.isdecimal() and (int(ground) == 7 or 9 <= int(ground) <= 15)
