"""Puts the chunks of a patch into a file: finds their lines, exactly or but for white space, and replaces them.

The file keeps its line ends, its byte order mark and its last line, unless a unified diff changes them. Chunks stand in
the order of the file. The work is bounded, whatever the patch is.
"""

from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from callgate.changes.nearest import nearest
from callgate.changes.patch.parts import Anchor, Chunk, PatchLine, Spot, quoted
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

MOST_WORK = 1_000_000
"""Places that one patch may have tried. A thousand chunks that have moved in 100,000 lines need far fewer."""
_SHOWN = 3


def _exactly(line: bytes) -> bytes:
    return line


_WAYS: tuple[Callable[[bytes], bytes], ...] = (_exactly, bytes.rstrip, bytes.strip)
"""The ways to compare lines; the first one that finds them counts."""


class Effort:
    """The work that is left for one patch."""

    def __init__(self) -> None:
        self._left = MOST_WORK

    def spend(self, units: int, spot: Spot) -> None:
        self._left -= units
        if self._left < 0:
            raise spot.fault(
                "Finding the places takes too long.",
                "Write smaller patches, in the order of the file, and with lines that are not everywhere in it.",
            )


@noun
class _Line:
    """A line of the file; ``end`` is empty for a last line without a newline. ``sure``: the patch says how it ends."""

    text: bytes
    end: bytes
    sure: bool = False


def patched(data: bytes, chunks: Sequence[Chunk], path: str, effort: Effort) -> bytes:
    """The file with every chunk in it, each after the one before; ToolFailure if one does not fit."""
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
        self._views: list[_Index] = []
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
        """A new line ends as the patch says, if its other lines are the file's byte by byte or the file is empty; else
        like the line before it, the first one like the first of the file."""
        if line.ended is False:
            return _Line(line.text, b"", sure=True)
        if exact:
            return _Line(line.text, b"\n", sure=line.ended is not None)
        near = (self._lines[at - 1].end if at else b"") or self._end
        return _Line(line.text.removesuffix(b"\r"), near, sure=line.ended is not None)

    def _place(self, chunk: Chunk) -> tuple[int, Sequence[PatchLine], bool]:
        """The place of the chunk, its lines without empty ones that are no context, and whether it fits exactly."""
        after = self._done
        for anchor in chunk.anchors:
            after = self._after(anchor, after)
        forms = [chunk.lines, trimmed] if (trimmed := _trimmed(chunk.lines)) != chunk.lines else [chunk.lines]
        forms = [form for form in forms if any(line.sign in (b" ", b"-") for line in form)]
        if not forms:
            return self._place_for_new(chunk, after), trimmed, not self._lines
        for way in range(len(_WAYS)):
            for form in forms:
                found = self._find(way, _wanted(form), after, chunk)
                if found is not None:
                    return found, form, way == 0
        raise self._not_found(chunk, _wanted(forms[-1]), after)

    def _place_for_new(self, chunk: Chunk, after: int) -> int:
        if chunk.last or not self._lines or chunk.at == len(self._lines):
            return len(self._lines)
        if after > self._done:
            return after
        raise Spot(chunk.line, self._path).fault(
            "Nothing says where the new lines belong.",
            "Write a line of context before or after them, or `@@` and the line above them, "
            "or `*** End of File` below them.",
        )

    def _after(self, anchor: Anchor, after: int) -> int:
        """The place after the anchor; the current one, if that is after it already."""
        spot = Spot(anchor.line, self._path)
        passed = False
        for way, same in enumerate(_WAYS):
            found = self._view(way).first([same(anchor.text)], after, spot)
            if found is not None:
                return found + 1
            passed = passed or self._view(way).first([same(anchor.text)], 0, spot) is not None
        if passed:
            return after
        what = f"The file has no line {quoted(anchor.text)}. {self._nearest([anchor.text])}"
        raise spot.fault(what, "Write the whole line after `@@`, or leave it out.")

    def _find(self, way: int, wanted: Sequence[bytes], after: int, chunk: Chunk) -> int | None:
        spot, keys = Spot(chunk.line, self._path), [_WAYS[way](text) for text in wanted]
        if chunk.last:
            after = max(after, len(self._lines) - len(keys))
        aim = after if chunk.at is None else max(chunk.at - 1, after)
        return self._view(way).first(keys, after, spot, aim)

    def _view(self, way: int) -> "_Index":
        while len(self._views) <= way:
            same = _WAYS[len(self._views)]
            raw = (line.text + line.end.removesuffix(b"\n") for line in self._lines)
            self._views.append(_Index([same(text) for text in raw], self._effort))
        return self._views[way]

    def _nearest(self, wanted: Sequence[bytes]) -> str:
        text = b"\n".join(line.text for line in self._lines).decode("utf-8", "replace")
        return nearest(text, b"\n".join(wanted).decode("utf-8", "replace"))

    def _not_found(self, chunk: Chunk, wanted: Sequence[bytes], after: int) -> ToolFailure:
        spot = Spot(chunk.line, self._path)
        found = self._view(len(_WAYS) - 1).first([text.strip() for text in wanted], 0, spot)
        if found is None:
            what, then = self._nearest(wanted), "Read the file again and write the lines as they are there."
        elif chunk.last and found >= after:
            what = f"They are at line {found + 1}, but the file does not end there."
            then = "Leave out `*** End of File`, or write the lines up to the end."
        else:
            what = f"They are at line {found + 1}, which is before line {after + 1}, where this chunk can begin."
            then = "Put the chunks of a file in the order of its lines, and the right `@@` line above each."
        more = f"\n  … and {len(wanted) - _SHOWN} more" if len(wanted) > _SHOWN else ""
        lines = "\n".join(f"  {quoted(line)}" for line in wanted[:_SHOWN])
        return spot.fault(f"These lines are not where they were looked for:\n{lines}{more}\n{what}", then)


class _Index:
    """The lines of one file, made ready to be searched many times: a place is looked for by the rarest of the wanted
    lines, and every place that is tried is charged."""

    def __init__(self, lines: Sequence[bytes], effort: Effort) -> None:
        self._effort = effort
        self._numbers: dict[bytes, int] = {}
        self._places: list[list[int]] = []
        self._lines: list[int] = []
        for at, line in enumerate(lines):
            number = self._numbers.setdefault(line, len(self._places))
            if number == len(self._places):
                self._places.append([])
            self._places[number].append(at)
            self._lines.append(number)

    def first(self, wanted: Sequence[bytes], after: int, spot: Spot, aim: int = 0) -> int | None:
        """The place nearest to ``aim``, not before ``after``, where these lines stand; of two as near, the later."""
        if len(wanted) > len(self._lines):
            return None
        needle = [self._numbers.get(line, -1) for line in wanted]
        self._effort.spend(len(needle) // 8, spot)
        if -1 in needle:
            return None
        rarest = min(range(len(needle)), key=lambda index: len(self._places[needle[index]]))
        places = self._places[needle[rarest]]
        for at in _outwards(places, max(aim, after) + rarest, bisect_left(places, after + rarest)):
            self._effort.spend(1 + len(needle) // 8, spot)
            if self._lines[at - rarest : at - rarest + len(needle)] == needle:
                return at - rarest
        return None


def _outwards(places: Sequence[int], aim: int, first: int) -> Iterator[int]:
    """The places from index ``first`` on, the nearest to ``aim`` first."""
    ahead = bisect_left(places, aim)
    behind = ahead - 1
    while behind >= first or ahead < len(places):
        if behind < first or (ahead < len(places) and places[ahead] - aim <= aim - places[behind]):
            ahead += 1
            yield places[ahead - 1]
        else:
            behind -= 1
            yield places[behind + 1]


def _lines(data: bytes) -> list[_Line]:
    *whole, rest = data.split(b"\n")
    lines = [_Line(text[:-1], b"\r\n") if text.endswith(b"\r") else _Line(text, b"\n") for text in whole]
    return [*lines, _Line(rest, b"")] if rest else lines


def _wanted(lines: Sequence[PatchLine]) -> list[bytes]:
    return [line.text for line in lines if line.sign != b"+"]


def _trimmed(lines: Sequence[PatchLine]) -> Sequence[PatchLine]:
    """Without the empty lines around it, which may only have been there to be read easily."""
    first, last = 0, len(lines)
    while first < last and not lines[first].sign:
        first += 1
    while last > first and not lines[last - 1].sign:
        last -= 1
    return lines[first:last]
