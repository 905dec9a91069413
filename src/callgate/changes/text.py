"""Reads the text of a file with its encoding and line ends, and writes text back in the same form.

Text is worked on with "\\n" at the end of each line; the form remembers what the file had instead. No byte is lost:
one that is not UTF-8 travels as a lone surrogate (``surrogateescape``) and is written back as it was. People and logs
get ``shown`` text, where such a byte reads ``\\xe9``.
"""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from typing import Literal

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be", "latin-1"]
Newline = Literal["\n", "\r\n", "\r", "mixed", ""]

_BOMS: dict[Encoding, bytes] = {"utf-8": BOM_UTF8, "utf-16-le": BOM_UTF16_LE, "utf-16-be": BOM_UTF16_BE}
_CONTROL = late_pattern(r"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_WIDE = late_pattern("[^\0-\x7f\udc80-\udcff]")
_LEAST, _SAMPLE = 8, 4096
"""Bytes that are enough to see by their zeros that a text is UTF-16, and as many as are looked at."""


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
    """The text with its form; None if this is no text: it has a NUL, or says UTF-16 and is not. UTF-16 without a mark
    is recognised by its zeros.

    ``write_text`` of what it gives is ``data`` again, whatever the bytes are.
    """
    encoding, mark = _marked(data)
    return _formed(_decoded(data[len(mark) :], encoding), encoding, mark)


def read_guessed(data: bytes) -> tuple[str, TextForm] | None:
    """As ``read_text``, but a text without a single character of more than one byte in UTF-8, and with bytes that are
    not UTF-8, is taken for Latin-1: for tools that a model works with, which must find "é" where a person sees it."""
    read = read_text(data)
    if read is None or read[1].encoding != "utf-8" or data.isascii() or read[1].bom or not _is_latin(data):
        return read
    return _formed(data.decode("latin-1"), "latin-1", b"")


def _formed(text: str | None, encoding: Encoding, mark: bytes) -> tuple[str, TextForm] | None:
    if text is None or "\0" in text:
        return None
    newline = _newline(text)
    form = TextForm(encoding, bool(mark), newline)
    return (text if newline in ("mixed", "") else text.replace(newline, "\n")), form


def write_text(text: str, form: TextForm) -> bytes:
    """The bytes of a text in this form. Each line gets the line end of the form, whether it has "\\n" or "\\r\\n" now;
    where the form has no single one, the text is written as it is. A missing last line end is not added.

    UnicodeEncodeError: the text has half a character that never was a byte of a file, or one that Latin-1 has not.
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
    return _by_zeros(data) or "utf-8", b""


def _by_zeros(data: bytes) -> Encoding | None:
    """UTF-16 without a mark: zeros in one half of most pairs of bytes and never in the other."""
    sample = data[:_SAMPLE]
    if len(data) < _LEAST or len(data) % 2 or 0 not in sample:
        return None
    halves = sample[::2].count(0), sample[1::2].count(0)
    if min(halves) or max(halves) * 4 < len(sample):
        return None
    encoding: Encoding = "utf-16-be" if halves[0] else "utf-16-le"
    text = _decoded(data, encoding)
    return None if text is None or _CONTROL.search(text) else encoding


def _is_latin(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return _WIDE.search(data.decode("utf-8", "surrogateescape")) is None
    return False


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
