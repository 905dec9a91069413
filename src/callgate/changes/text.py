"""Decodes the bytes of a file to text, and encodes text with the same encoding and line endings.

Text in memory has "\\n" as the line ending; the TextForm stores the line endings of the file. No byte is lost: a byte
that is not UTF-8 becomes a lone surrogate (``surrogateescape``) and is written back unchanged. Use ``shown`` for
display and logs; it writes such a byte as ``\\xe9``.
"""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from typing import Literal

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be", "latin-1"]
Newline = Literal["\n", "\r\n", "\r", "mixed", ""]

_BOMS: dict[Encoding, bytes] = {"utf-8": BOM_UTF8, "utf-16-le": BOM_UTF16_LE, "utf-16-be": BOM_UTF16_BE}
_CONTROL = late_pattern(r"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_WIDE = late_pattern("[^\0-\x7f\udc80-\udcff]")
_BLOCK = 1 << 20
"""The bytes that are decoded or counted at once."""
_LEAST, _SAMPLE = 8, 4096
"""The fewest bytes in which UTF-16 is recognised by its zeros, and the bytes that are examined."""


@noun
class TextForm:
    """The encoding and line endings of a file. ``newline`` is empty if the text has no line ending. If it is "mixed",
    the text in memory keeps its line endings, because they could not be restored."""

    encoding: Encoding = "utf-8"
    bom: bool = False
    newline: Newline = "\n"

    def __str__(self) -> str:
        return f"{self.encoding} with a byte order mark" if self.bom and self.encoding == "utf-8" else self.encoding


def read_text(data: bytes) -> tuple[str, TextForm] | None:
    """Return the text and its form, or None if the data contains a NUL or has a UTF-16 mark but invalid content.

    UTF-16 without a mark is detected by its zero bytes. ``write_text`` of the result returns ``data`` again, for any
    bytes.
    """
    encoding, mark = _marked(data)
    return _formed(_decoded(data[len(mark) :], encoding), encoding, mark)


def read_guessed(data: bytes) -> tuple[str, TextForm] | None:
    """Return the text and its form like ``read_text``, but decode bytes that are not UTF-8 as Latin-1, unless the text
    has multi-byte characters of UTF-8. Used by tools for models, which search for "é" as the user sees it."""
    read = read_text(data)
    if read is None or read[1].encoding != "utf-8" or data.isascii() or read[1].bom or not _is_latin(data):
        return read
    return _formed(data.decode("latin-1"), "latin-1", b"")


def _formed(text: str | None, encoding: Encoding, mark: bytes) -> tuple[str, TextForm] | None:
    if text is None or "\0" in text:
        return None
    both = text.count("\r\n")
    newline = _newline(both, text.count("\n") - both, text.count("\r") - both)
    form = TextForm(encoding, bool(mark), newline)
    return (text if newline in ("mixed", "") else text.replace(newline, "\n")), form


class TextLines:
    """The lines of a text file. Only requested lines are decoded, so that a part of a large file costs little
    memory."""

    def __init__(self, form: TextForm, body: bytes, *, has_stray_bytes: bool = False) -> None:
        """``body`` is the content without its byte order mark, in Latin-1 if that is the encoding of ``form``,
        otherwise in UTF-8. ``has_stray_bytes`` is True if ``body`` contains bytes that are not UTF-8."""
        self.form = form
        self.has_stray_bytes = has_stray_bytes
        self._body = body
        self._end = b"\r" if form.newline == "\r" else b"\n"
        self.total = body.count(self._end) + (body != b"" and not body.endswith(self._end))

    def some(self, first: int, count: int) -> list[str]:
        """Return at most ``count`` lines, beginning with line ``first``, counted from 1. Return none if ``first`` is
        after the last line."""
        last = min(first - 1 + count, self.total)
        if first > last:
            return []
        part = self._body[self._after(first - 1) : self._after(last)].removesuffix(self._end)
        text = part.decode("latin-1" if self.form.encoding == "latin-1" else "utf-8", "surrogateescape")
        lines = text.split(self._end.decode())
        return [line.removesuffix("\r") for line in lines] if self.form.newline == "\r\n" else lines

    def _after(self, lines: int) -> int:
        """Return the place after the first ``lines`` lines."""
        place = 0
        while (found := self._body.count(self._end, place, place + _BLOCK)) < lines and place < len(self._body):
            lines -= found
            place += _BLOCK
        for _ in range(lines):
            place = self._body.find(self._end, place) + 1 or len(self._body)
        return place


def read_lines(data: bytes) -> TextLines | None:
    """Return the lines and the form of a text like ``read_guessed``, without decoding the whole text if it is UTF-8."""
    encoding, mark = _marked(data)
    body = data[len(mark) :]
    if encoding in ("utf-16-le", "utf-16-be"):
        text = _decoded(body, encoding)
        body = b"\0" if text is None else text.encode()
    if b"\0" in body:
        return None
    is_stray = encoding == "utf-8" and not _is_utf8(body)
    if is_stray and not mark and _is_latin(body):
        encoding, is_stray = "latin-1", False
    both = body.count(b"\r\n")
    newline = _newline(both, body.count(b"\n") - both, body.count(b"\r") - both)
    if newline == "mixed":
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return TextLines(TextForm(encoding, bool(mark), newline), body, has_stray_bytes=is_stray)


def write_text(text: str, form: TextForm) -> bytes:
    """Return a text as bytes with this encoding and line ending. Each line gets the line ending of the form, whether it
    ends with "\\n" or "\\r\\n" now. If the form has no single line ending, the line endings of the text are kept. A
    missing line ending of the last line is not added.

    Raise UnicodeEncodeError if the text has a lone surrogate that does not represent a byte of a file, or a character
    that is not in Latin-1.
    """
    if form.newline not in ("mixed", ""):
        text = text.replace("\r\n", "\n")
        text = text if form.newline == "\n" else text.replace("\n", form.newline)
    errors = "surrogateescape" if form.encoding == "utf-8" else "strict"
    return (_BOMS[form.encoding] if form.bom else b"") + text.encode(form.encoding, errors)


def shown(text: str) -> str:
    """Return the text with characters that cannot be printed or written as JSON escaped: a byte that is not UTF-8 as
    ``\\xe9``, a lone surrogate as ``\\ud83d``."""
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
    """Return the UTF-16 encoding of data without a mark, or None. In UTF-16 one byte of most pairs is zero, and the
    other byte never is."""
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


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    decoder = getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), _BLOCK):
            decoder.decode(data[at : at + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, encoding: Encoding) -> str | None:
    if encoding == "utf-8":
        return data.decode(encoding, "surrogateescape")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _newline(both: int, lines: int, returns: int) -> Newline:
    """Return the line ending of a text with this number of CRLF, of LF alone, and of CR alone."""
    if (both > 0) + (lines > 0) + (returns > 0) > 1:
        return "mixed"
    if both:
        return "\r\n"
    if lines:
        return "\n"
    return "\r" if returns else ""
