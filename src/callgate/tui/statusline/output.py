"""The lines of the status line, made of what its command printed.

Branch names and titles pass through such a command, and they are written by strangers: colours (SGR) stay, every other
control sequence, control character and mark of reading direction is removed. Signs of private use stay, because fonts
have their symbols there.
"""

import re
from itertools import groupby
from unicodedata import category

MOST_LINES = 3
LONGEST = 500
"""Characters of a line that are kept, colours not counted."""
MOST_COLOURS = 200
"""Colour sequences of a line that are kept."""
MARKS = 4
"""Accents that are kept on one letter: a flood of them covers the lines around it."""

_RESET = "\x1b[0m"
_LINE_END = re.compile(r"\r\n|\r|\n")
_COLOUR = re.compile(r"(\x1b\[[0-9;:]{0,64}m)")
_SEQUENCE = re.compile(
    # A text for the terminal, such as its title or a link, up to its end: BEL, ST, or the end of the line.
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x9c|\x1b\\)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: the cursor, the screen, modes
    r"|\x1b[ -/]*[0-~]?"  # two characters and charsets
)
_JOINER = "\u200d"  # joins pictures to one


def status_lines(printed: bytes) -> tuple[str, ...]:
    """At most three lines, without blanks at their ends; empty ones are left out. A line with colours ends them."""
    found = (_line(line) for line in _LINE_END.split(printed.decode("utf-8", "replace")))
    return tuple(line for line in found if line)[:MOST_LINES]


def without_colours(line: str) -> str:
    """The text of a line that ``status_lines`` gave."""
    return _COLOUR.sub("", line)


def _line(text: str) -> str:
    # The odd pieces are colours. The others have no ESC left, so that what is removed joins nothing to a new sequence.
    pieces = [piece if number % 2 else _harmless(piece) for number, piece in enumerate(_COLOUR.split(text))]
    plain = "".join(pieces[::2])
    start = len(plain) - len(plain.lstrip())
    end = start + len(plain[start : start + LONGEST].rstrip())
    kept, at = list[str](), 0
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            kept.append(piece[max(start - at, 0) : max(end - at, 0)])
            at += len(piece)
        elif at < end and number < 2 * MOST_COLOURS:
            kept.append(piece)
    line = "".join(kept)
    if start == end:
        return ""
    return f"{line}{_RESET}" if "\x1b" in line and not line.endswith(_RESET) else line


def _harmless(text: str) -> str:
    """The text without control sequences and characters, and with few accents on a letter."""
    seen = (_sign(sign) for sign in _SEQUENCE.sub("", text))
    return "".join(
        "".join([*group][:MARKS] if is_mark else group)
        for is_mark, group in groupby((sign for sign in seen if sign), _is_mark)
    )


def _sign(sign: str) -> str:
    if sign == "\t":
        return " "
    return "" if sign != _JOINER and category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") else sign


def _is_mark(sign: str) -> bool:
    return category(sign) in ("Mn", "Me")
