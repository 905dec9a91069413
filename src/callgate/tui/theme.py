"""Colours, signs and words of the terminal: one table for each, so that no fact stands in two places.

A style is a list of words such as ``bold red``; ``sgr`` turns it into the codes of the terminal, and into nothing
where colours are not wanted.
"""

import os
from collections.abc import Mapping
from typing import Literal

from callgate.words.calls import Status
from callgate.words.noun import noun

ThemeName = Literal["dark", "light", "mono"]

_CODES: Mapping[str, str] = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "reverse": "7",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "grey": "90",
}


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
    Status.CANCELLED: StatusFace("⊘", "-", "magenta", "not run"),
}


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
        return f"\x1b[{';'.join(_CODES[word] for word in style.split())}m{text}\x1b[0m"

    def sign(self, unicode: str, plain: str) -> str:
        return unicode if self.unicode else plain


def theme_for(environment: Mapping[str, str] = os.environ, encoding: str | None = None, name: str = "") -> Theme:
    """The theme for a terminal: NO_COLOR and TERM=dumb switch colours off, an encoding without the signs Unicode."""
    try:
        "✓✗⊘●…─".encode(encoding or "ascii")
        unicode = True
    except (UnicodeEncodeError, LookupError):
        unicode = False
    colours = not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"
    chosen: ThemeName = "light" if name == "light" else "dark"
    return Theme(chosen if colours else "mono", colours, unicode)
