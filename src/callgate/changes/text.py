"""Reads the text of a file with its encoding and line ends, and writes text back in the same form.

Text is worked on with "\\n" at the end of each line; the form remembers what the file had instead. No byte is lost:
one that is not UTF-8 travels as a lone surrogate (``surrogateescape``) and is written back as it was. People and logs
get ``shown`` text, where such a byte reads ``\\xe9``.
"""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from typing import Literal

from callgate.words.noun import noun

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be"]
Newline = Literal["\n", "\r\n", "\r", "mixed", ""]

_BOMS: dict[Encoding, bytes] = {"utf-8": BOM_UTF8, "utf-16-le": BOM_UTF16_LE, "utf-16-be": BOM_UTF16_BE}


@noun
class TextForm:
    """The form of a text in its file. ``newline`` is empty when there is none at all. The text of a "mixed" file keeps
    its line ends as they are, since they could not be put back."""

    encoding: Encoding = "utf-8"
    bom: bool = False
    newline: Newline = "\n"

    def __str__(self) -> str:
        return f"{self.encoding} with a mark" if self.bom and self.encoding == "utf-8" else self.encoding


def read_text(data: bytes) -> tuple[str, TextForm] | None:
    """The text with its form; None if this is no text: it has a NUL, or says UTF-16 and is not.

    ``write_text`` of what it gives is ``data`` again, whatever the bytes are.
    """
    encoding, mark = _marked(data)
    text = _decoded(data[len(mark) :], encoding)
    if text is None or "\0" in text:
        return None
    newline = _newline(text)
    form = TextForm(encoding, bool(mark), newline)
    return (text if newline in ("mixed", "") else text.replace(newline, "\n")), form


def write_text(text: str, form: TextForm) -> bytes:
    """The bytes of a text in this form. Each line gets the line end of the form, whether it has "\\n" or "\\r\\n" now;
    where the form has no single one, the text is written as it is. A missing last line end is not added.

    UnicodeEncodeError: the text has half a character that never was a byte of a file.
    """
    if form.newline not in ("mixed", ""):
        text = text.replace("\r\n", "\n")
        text = text if form.newline == "\n" else text.replace("\n", form.newline)
    errors = "surrogateescape" if form.encoding == "utf-8" else "strict"
    return (_BOMS[form.encoding] if form.bom else b"") + text.encode(form.encoding, errors)


def shown(text: str) -> str:
    """The text with nothing in it that cannot be printed or written as JSON: a byte that is not UTF-8 reads ``\\xe9``,
    half a character ``\\ud83d``."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_visible(char) if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _visible(half: str) -> str:
    code = ord(half)
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _marked(data: bytes) -> tuple[Encoding, bytes]:
    for encoding, mark in _BOMS.items():
        if data.startswith(mark):
            return encoding, mark
    return "utf-8", b""


def _decoded(data: bytes, encoding: Encoding) -> str | None:
    if encoding == "utf-8":
        return data.decode(encoding, "surrogateescape")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _newline(text: str) -> Newline:
    both = text.count("\r\n")
    lines, returns = text.count("\n") - both, text.count("\r") - both
    if (both > 0) + (lines > 0) + (returns > 0) > 1:
        return "mixed"
    if both:
        return "\r\n"
    if lines:
        return "\n"
    return "\r" if returns else ""
