"""The types of a parsed patch, its errors, and the application of its chunks to a file.

The lines of each chunk are found in the file, exactly or ignoring white space, and replaced. The line endings of the
file, its byte order mark and the end of its last line are preserved, unless a unified diff changes them. Chunks must be
in the order of the file. The time is bounded for any patch.
"""

from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Literal

from callgate.changes.nearest import nearest
from callgate.changes.text import shown
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

Action = Literal["create", "delete", "update", "either"]
"""``either``: a plain diff that creates the file if it does not exist and the diff only adds lines."""

_LONGEST_QUOTE = 100
_LONGEST_PATH = 300
_OF_GIT = (".git", "git~1")


@noun
class PatchLine:
    """A line of a patch.

    sign   " ", "-" or "+"; empty for an empty line, which is context only if the file contains it
    text   the line without its newline
    ended  True if a newline follows; None to use the line ending of the file
    """

    sign: bytes
    text: bytes
    ended: bool | None = None


@noun
class Chunk:
    """Lines to find and change.

    anchors  lines of the file above the chunk, each with its line number in the patch
    at       the expected line number, from 1
    last     True if the lines are at the end of the file
    """

    line: int
    lines: tuple[PatchLine, ...]
    anchors: tuple[tuple[int, bytes], ...] = ()
    at: int | None = None
    last: bool = False


@noun
class FilePatch:
    """The part of a patch about one file.

    target  the new name of a renamed file
    data    the whole content of a created file; it has no chunks then
    """

    line: int
    action: Action
    path: str
    chunks: tuple[Chunk, ...] = ()
    target: str | None = None
    mode: int | None = None
    data: bytes | None = None


def fault(line: int, path: str, text: str) -> ToolFailure:
    """Return the error for a line of the patch. Lines are numbered from 1."""
    file = f"{shown(path[:_LONGEST_PATH])}{'…' if len(path) > _LONGEST_PATH else ''}, " if path else ""
    return ToolFailure(f"{file}line {line} of the patch: {text}")


def quoted(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return f"`{text}`" if len(text) <= _LONGEST_QUOTE else f"`{text[:_LONGEST_QUOTE]}…`"


def checked_path(name: bytes, line: int) -> str:
    """Return a file name of the patch as a path below the folder of the patch. Raise ToolFailure if the path may be
    outside the folder."""
    text = name.decode("utf-8", "surrogateescape")
    parts = [part for part in text.removeprefix("./").split("/") if part]
    if text.startswith("/"):
        raise fault(line, text, "The path is absolute. Write the path relative to the working folder.")
    if not parts or "\0" in text or text.endswith("/"):
        raise fault(line, text, "This cannot be the name of a file. Write the path of the file itself.")
    if "." in parts or ".." in parts:
        told = "The path contains `.` or `..`. Write the path without them, relative to the working folder."
        raise fault(line, text, told)
    if any(part.rstrip(" .").lower() in _OF_GIT for part in parts):
        raise fault(line, text, "Files in .git cannot be patched. Use git commands to change them.")
    return "/".join(parts)


MOST_WORK = 1_000_000
"""The most places that are tried for one patch."""
_SHOWN = 3
_PLACES = 5


def _exactly(line: bytes) -> bytes:
    return line


_WAYS: tuple[Callable[[bytes], bytes], ...] = (_exactly, bytes.rstrip, bytes.strip)
"""The ways to compare lines, in order of preference."""


class Effort:
    """The limit on the work for one patch. ``spend`` raises ToolFailure when the limit is reached."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def spend(self, units: int, line: int, path: str) -> None:
        self._left -= units
        if self._left < 0:
            then = "Write smaller patches, in the order of the file, with context lines that are rare in it."
            raise fault(line, path, f"Finding the places takes too long. {then}")


@noun
class _Line:
    """A line of the file. ``end`` is the line ending, empty for a last line without a newline. If ``sure``, the patch
    defines ``end``."""

    text: bytes
    end: bytes
    sure: bool = False


def patched(data: bytes, chunks: Sequence[Chunk], path: str, effort: Effort) -> bytes:
    """Return the file with all chunks applied in order. Raise ToolFailure if a chunk does not match."""
    spelled = any(line.text.startswith(BOM_UTF8) for chunk in chunks for line in chunk.lines)
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) and not spelled else b""
    page = _Page(_lines(data[len(mark) :]), path, effort)
    for chunk in chunks:
        page.put(chunk)
    return mark + page.whole()


class _Page:
    def __init__(self, lines: list[_Line], path: str, effort: Effort) -> None:
        self._lines = lines
        self._path = path
        self._effort = effort
        self._view = cache(self._indexed)
        self._made: list[_Line] = []
        self._done = 0
        self._end = next((line.end for line in lines if line.end), b"\n")

    def whole(self) -> bytes:
        made = self._made + self._lines[self._done :]
        if not made:
            return b""
        ends = [line.end or self._end for line in made]
        if made[-1].sure or self._done < len(self._lines):
            ends[-1] = made[-1].end
        elif self._lines and not self._lines[-1].end:
            ends[-1] = b""
        return b"".join(line.text + end for line, end in zip(made, ends, strict=True))

    def put(self, chunk: Chunk) -> None:
        start, lines, exact = self._place(chunk)
        self._made += self._lines[self._done : start]
        at = start
        for line in lines:
            if line.sign == b"+":
                self._made.append(self._new(line, at, exact=exact))
                continue
            if line.sign != b"-":
                self._made.append(replace(self._lines[at], sure=line.ended is not None))
            at += 1
        self._done = at

    def _new(self, line: PatchLine, at: int, *, exact: bool) -> _Line:
        """Return an added line. If the other lines of the chunk match exactly or the file is empty, its line ending is
        as in the patch. Otherwise it is the line ending of the previous line; for a first line, the first line ending
        of the file."""
        sure = line.ended is not None
        if line.ended is False or exact:
            return _Line(line.text, b"" if line.ended is False else b"\n", sure)
        near = (self._lines[at - 1].end if at else b"") or self._end
        return _Line(line.text.removesuffix(b"\r"), near, sure)

    def _place(self, chunk: Chunk) -> tuple[int, Sequence[PatchLine], bool]:
        """Return the index where the chunk applies, the lines of the chunk, and whether they match exactly. Empty lines
        at the ends of the chunk are omitted if the file does not contain them."""
        after, anchor = self._done, None
        for line, text in chunk.anchors:
            anchor = self._anchor(line, text, after)
            after = max(anchor + 1, after)
        trimmed = _trimmed(chunk.lines)
        forms = [chunk.lines] if len(trimmed) == len(chunk.lines) else [chunk.lines, trimmed]
        forms = [form for form in forms if any(line.sign in (b" ", b"-") for line in form)]
        if not forms:
            return self._place_for_new(chunk, after), trimmed, not self._lines
        for way in _WAYS:
            for form in forms:
                wanted = _wanted(form)
                begin = max(after, len(self._lines) - len(wanted)) if chunk.last else after
                found = self._find(way, wanted, begin, chunk.line, aim=chunk.at)
                if found is not None:
                    if chunk.at is None and not chunk.last:
                        self._check_alone(way, wanted, found, chunk, anchor)
                    return found, form, way is _exactly
        raise self._not_found(chunk, _wanted(forms[-1]), after)

    def _check_alone(
        self, way: Callable[[bytes], bytes], wanted: Sequence[bytes], first: int, chunk: Chunk, anchor: int | None
    ) -> None:
        """Raise ToolFailure if the lines of a chunk occur at several places and no anchor selects one of them. An
        anchor selects a place unless another place is also in the block of the anchor (the lines below it with deeper
        indentation), or below another line equal to the anchor."""
        others = self._later(way, wanted, first, chunk.line)
        if anchor is not None and others:
            end = self._block_end(anchor, chunk.line)
            others = [at for at in others if at < end] or self._below_another(way, wanted, first, chunk)
        if not others:
            return
        places = [first, *others]
        named = ", ".join(str(at + 1) for at in places[:_PLACES]) + (" and more" if len(places) > _PLACES else "")
        then = "Write more of the lines around the change, or `@@` lines above it that select one place, such as "
        then += "the line of its class and then the line of its function."
        raise fault(chunk.line, self._path, f"These lines occur at several places, at lines {named}. {then}")

    def _later(self, way: Callable[[bytes], bytes], wanted: Sequence[bytes], last: int, line: int) -> list[int]:
        found: list[int] = []
        while len(found) < _PLACES and (at := self._find(way, wanted, last + 1, line)) is not None:
            found.append(at)
            last = at
        return found

    def _below_another(
        self, way: Callable[[bytes], bytes], wanted: Sequence[bytes], first: int, chunk: Chunk
    ) -> list[int]:
        """Return the places below a later line that equals the anchor. Return none if the chunk has several anchors."""
        if len(chunk.anchors) != 1:
            return []
        [(line, text)] = chunk.anchors
        again = self._like(text, first + 1, line)
        return [] if again is None else self._later(way, wanted, again, chunk.line)

    def _block_end(self, anchor: int, line: int) -> int:
        depth = _depth(self._lines[anchor].text)
        for at in range(anchor + 1, len(self._lines)):
            self._effort.spend(1, line, self._path)
            text = self._lines[at].text
            if text.strip() and _depth(text) <= depth:
                return at
        return len(self._lines)

    def _place_for_new(self, chunk: Chunk, after: int) -> int:
        if chunk.last or not self._lines or chunk.at == len(self._lines):
            return len(self._lines)
        if after > self._done:
            return after
        then = "Write a line of context before or after them, or `@@` and the line above them, or `*** End of File`."
        raise fault(chunk.line, self._path, f"The position of the new lines is missing. {then}")

    def _anchor(self, line: int, text: bytes, after: int) -> int:
        """Return the index of the anchor. The lines after the current place are searched first, then all lines."""
        for begin in (after, 0):
            found = self._like(text, begin, line)
            if found is not None:
                return found
        what = f"The file has no line {quoted(text)}. {self._nearest([text])}"
        raise fault(line, self._path, f"{what} Write the whole line after `@@`, or remove the `@@` line.")

    def _like(self, text: bytes, begin: int, line: int) -> int | None:
        return next((at for way in _WAYS if (at := self._find(way, [text], begin, line)) is not None), None)

    def _find(
        self, way: Callable[[bytes], bytes], wanted: Sequence[bytes], after: int, line: int, aim: int | None = None
    ) -> int | None:
        """Return the first index of these lines from ``after`` on, or with ``aim`` the index nearest to that line; None
        if the lines do not occur. Only places of the rarest line are compared, and each comparison is charged to the
        effort."""
        lines, places = self._view(way)
        keys = [way(text) for text in wanted]
        rarest = min(range(len(keys)), key=lambda index: len(places.get(keys[index], ())))
        there = places.get(keys[rarest], [])
        first = bisect_left(there, after + rarest)
        tries: Iterable[int] = (there[each] - rarest for each in range(first, len(there)))
        if aim is not None:
            self._effort.spend(len(there) - first, line, self._path)
            tries = sorted(tries, key=lambda at: (abs(at + 1 - max(aim, after + 1)), -at))
        for at in tries:
            self._effort.spend(1 + len(keys) // 8, line, self._path)
            if lines[at : at + len(keys)] == keys:
                return at
        return None

    def _indexed(self, way: Callable[[bytes], bytes]) -> tuple[list[bytes], dict[bytes, list[int]]]:
        lines = [way(line.text + line.end.removesuffix(b"\n")) for line in self._lines]
        places: dict[bytes, list[int]] = {}
        for at, text in enumerate(lines):
            places.setdefault(text, []).append(at)
        return lines, places

    def _nearest(self, wanted: Sequence[bytes]) -> str:
        text = b"\n".join(line.text for line in self._lines).decode("utf-8", "replace")
        return nearest(text, b"\n".join(wanted).decode("utf-8", "replace"))

    def _not_found(self, chunk: Chunk, wanted: Sequence[bytes], after: int) -> ToolFailure:
        found = self._find(bytes.strip, wanted, 0, chunk.line)
        if found is None:
            told = f"{self._nearest(wanted)} Read the file again and copy the lines exactly."
        elif chunk.last and found >= after:
            told = f"The lines are at line {found + 1}, but the file does not end there. Remove `*** End of File`."
        else:
            told = f"The lines are at line {found + 1}, but this chunk cannot begin before line {after + 1}. "
            told += "Put the chunks of a file in the order of its lines, with the correct `@@` line above each."
        more = f"\n  … and {len(wanted) - _SHOWN} more" if len(wanted) > _SHOWN else ""
        lines = "\n".join(f"  {quoted(line)}" for line in wanted[:_SHOWN])
        text = f"These lines were not found at the expected place:\n{lines}{more}\n{told}"
        return fault(chunk.line, self._path, text)


def _lines(data: bytes) -> list[_Line]:
    *whole, rest = data.split(b"\n")
    lines = [_Line(text[:-1], b"\r\n") if text.endswith(b"\r") else _Line(text, b"\n") for text in whole]
    return [*lines, _Line(rest, b"")] if rest else lines


def _wanted(lines: Sequence[PatchLine]) -> list[bytes]:
    return [line.text for line in lines if line.sign != b"+"]


def _trimmed(lines: Sequence[PatchLine]) -> Sequence[PatchLine]:
    meant = [at for at, line in enumerate(lines) if line.sign]
    return lines[meant[0] : meant[-1] + 1]


def _depth(text: bytes) -> int:
    return len(text) - len(text.lstrip())
