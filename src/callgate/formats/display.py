"""Makes text safe to show; every interface uses this module.

Shown text cannot move the cursor, change the text direction, or be invisible. Invisible characters are escaped as
``<U+001B>``, long runs of blanks as ``<400 blanks>``, and omitted lines are replaced by ``<12 more lines>``. If the
text itself contains such an escape, its ``<`` is escaped. So different texts are never shown the same, and no text
can imitate the display. Letters that look like others are not changed: see ``look_alikes``.
"""

import re
from itertools import groupby
from typing import Literal
from unicodedata import category, combining, name

from callgate.words.late_pattern import late_pattern

BLANKS = 40
"""The maximum run of blanks that is shown unchanged. Code is not indented further, and no window is narrower."""
MARKS = 4
"""The maximum number of accents shown on one letter. No language needs more, and many accents cover the lines around
them."""

_OWN_VOICE = r"<(?=U\+[0-9A-F]{4,6}>|[0-9]{1,18} (?:blanks>|more ))"
_ODD_IN_LINE = late_pattern(rf"[^\x20-\x7e]+|{_OWN_VOICE}| {{{BLANKS + 1},}}")
_ODD_ON_PAGE = late_pattern(rf"[^\t\x20-\x7e]+|{_OWN_VOICE}")
# Assigned characters that Unicode counts as neither control nor blank, but that are invisible: joiners and fillers,
# variation selectors (which can carry a message), an empty braille cell, an empty note head, an object placeholder.
_LOOKS_LIKE_NOTHING = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0, 0xFFFC),
            *(0x13441, 0x13442, 0x16FE4, 0x1D159),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)
_PICTURE = r"[\u2190-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]+\ufe0f?"
_TAKEN_FOR_PLAIN = frozenset(
    (
        *("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"),
        *("LIGATURE", "FULLWIDTH", "MATHEMATICAL", "MODIFIER", "DOTLESS", "ALPHA", "SCRIPT"),
    )
)
"""Words in the Unicode names of letters that look like plain letters."""
_EMOJI = late_pattern(rf"({_PICTURE}(?:\u200d{_PICTURE})*)")


def visible(text: str) -> str:
    """Return the text on one line, with line endings and invisible characters escaped."""
    return _ODD_IN_LINE.sub(_spelled, text)


def visible_lines(text: str) -> str:
    """Return the text with invisible characters escaped; line feeds are kept."""
    return "\n".join(map(visible, text.split("\n")))


def visible_page(text: str) -> str:
    """Return the text for a document, with invisible characters escaped; line feeds, tabs, blanks and the joiners of
    emoji are kept. Not safe for a question to the user."""
    return "\n".join(_ODD_ON_PAGE.sub(_spelled_on_page, line) for line in text.split("\n"))


def excerpt(text: str, *, lines: int, chars: int) -> str:
    """Return the visible beginning of a text, followed by a note about the omitted rest. The beginning has at most this
    number of lines and characters. An escaped character counts as one character."""
    found = text.split("\n")
    kept: list[str] = []
    room = max(chars, 0)
    for line in found[: max(lines, 1)]:
        if kept and not room:
            break
        kept.append(visible(line[:room]))
        if len(line) > room:
            kept[-1] += f"<{counted(len(line) - room, 'more character')}>"
            break
        # A line end counts too, otherwise many empty lines would have no length.
        room = max(room - len(line) - 1, 0)
    if len(kept) < len(found):
        kept.append(f"<{counted(len(found) - len(kept), 'more line')}>")
    return "\n".join(kept)


def counted(number: int, what: str, several: str = "") -> str:
    """Return a count with its noun, such as ``1 line`` or ``2 lines``. ``several`` is an irregular plural."""
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def look_alikes(word: str) -> str | None:
    """Return a note if a program or host name has letters of other alphabets, or styled letters, that look like
    plain letters; None otherwise."""
    strange = [sign for sign in dict.fromkeys(word) if not sign.isascii() and sign.isalpha() and _looks_plain(sign)]
    if not strange:
        return None
    named = ", ".join(f"{sign} is {name(sign).lower()} (U+{ord(sign):04X})" for sign in strange[:3])
    return f"some letters look like others: {named}" + (", and more" if len(strange) > 3 else "")


# ---- signs --------------------------------------------------------------------------------------------------------

_Kind = Literal["plain", "mark", "hidden"]


def _kind(sign: str) -> _Kind:
    if sign in _LOOKS_LIKE_NOTHING:
        return "hidden"
    match category(sign):
        # Controls, format and direction marks, surrogates, private use, unassigned; blanks and separators; enclosing
        # marks.
        case "Cc" | "Cf" | "Cs" | "Co" | "Cn" | "Zs" | "Zl" | "Zp" | "Me":
            return "hidden"
        case "Mn" | "Mc":
            return "hidden" if combining(sign) == 1 else "mark"  # class 1: strokes through the letter
        case _:
            return "plain"


def _spelled(found: re.Match[str]) -> str:
    odd = found[0]
    if odd[0] == " ":
        return f"<{len(odd)} blanks>"
    return _code(odd) if odd == "<" else _spelled_signs(odd, _before(found))


def _spelled_on_page(found: re.Match[str]) -> str:
    odd, before = found[0], _before(found)
    if odd == "<":
        return _code(odd)
    out: list[str] = []
    for at, piece in enumerate(_EMOJI.split(odd)):
        out.append(piece if at % 2 else _spelled_signs(piece, before))
        before = piece[-1:]
    return "".join(out)


def _before(found: re.Match[str]) -> str:
    return found.string[max(found.start() - 1, 0) : found.start()]


def _spelled_signs(signs: str, before: str) -> str:
    out: list[str] = []
    base = before.isalpha()
    for kind, group in groupby(signs, _kind):
        piece = "".join(group)
        if kind == "plain" or (kind == "mark" and base and len(piece) <= MARKS):
            out.append(piece)
        else:
            out += map(_code, piece)
        base = kind == "plain" and piece[-1].isalpha()
    return "".join(out)


def _code(sign: str) -> str:
    return f"<U+{ord(sign):04X}>"


def _looks_plain(letter: str) -> bool:
    return not _TAKEN_FOR_PLAIN.isdisjoint(name(letter, "").split(" "))
