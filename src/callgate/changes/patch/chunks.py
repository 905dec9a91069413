"""Putting chunks of the ``*** Begin Patch`` form into a file, which keeps its line ends, its mark and its last line."""

from codecs import BOM_UTF8
from collections.abc import Callable, Sequence

from callgate.changes.patch.begin import Anchor, Chunk, ChunkLine
from callgate.changes.patch.seek import Effort, Lines
from callgate.changes.patch.similar import closest, sought
from callgate.changes.patch.spot import Spot, quoted
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

AGAIN = "Read the file again and write the lines as they are there."


def _exactly(line: bytes) -> bytes:
    return line


# How lines may be compared; the first way that finds them counts.
WAYS: tuple[Callable[[bytes], bytes], ...] = (_exactly, bytes.rstrip, bytes.strip)


@noun
class Line:
    """``end`` is what ends it in the file; empty for a last line that nothing ends."""

    text: bytes
    end: bytes


def rewritten(data: bytes, chunks: Sequence[Chunk], path: str, effort: Effort) -> bytes:
    """The file with every chunk in it, each after the one before."""
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    page = _Page(_lines(data[len(mark) :]), path, effort)
    for chunk in chunks:
        page.put(chunk)
    return mark + page.whole()


class _Page:
    def __init__(self, lines: list[Line], path: str, effort: Effort) -> None:
        self._lines = lines
        self._path = path
        self._effort = effort
        self._views: list[Lines] = []
        self._made: list[Line] = []
        self._done = 0
        # What ends a line where no other line says so.
        self._end = next((line.end for line in lines if line.end), b"\n")

    def whole(self) -> bytes:
        made = self._made + self._lines[self._done :]
        if not made:
            return b""
        ends = [line.end or self._end for line in made]
        if self._lines and not self._lines[-1].end:
            ends[-1] = b""
        return b"".join(line.text + end for line, end in zip(made, ends, strict=True))

    def put(self, chunk: Chunk) -> None:
        start, lines = self._place(chunk)
        self._made += self._lines[self._done : start]
        at = start
        for line in lines:
            if line.sign == b"+":
                self._made.append(Line(line.text, self._end_near(at)))
                continue
            if line.sign != b"-":
                self._made.append(self._lines[at])
            at += 1
        self._done = at

    def _end_near(self, at: int) -> bytes:
        """A new line ends like the one before it, the first one like the first one of the file."""
        return (self._lines[at - 1].end if at else b"") or self._end

    def _place(self, chunk: Chunk) -> tuple[int, Sequence[ChunkLine]]:
        """Where the chunk belongs, and its lines, without those that turned out to be nothing."""
        after = self._done
        for anchor in chunk.anchors:
            after = self._after(anchor, after)
        forms = [chunk.lines, trimmed] if (trimmed := _trimmed(chunk.lines)) != chunk.lines else [chunk.lines]
        forms = [form for form in forms if any(line.sign in (b" ", b"-") for line in form)]
        if not forms:
            return self._place_for_new(chunk, after), trimmed
        for way in range(len(WAYS)):
            for form in forms:
                found = self._find(way, _wanted(form), after, chunk)
                if found is not None:
                    return found, form
        raise self._not_found(chunk, _wanted(forms[-1]), after)

    def _place_for_new(self, chunk: Chunk, after: int) -> int:
        if chunk.last or not self._lines:
            return len(self._lines)
        if after > self._done:
            return after
        raise Spot(chunk.line, self._path).fault(
            "Nothing says where the new lines belong.",
            "Write a line of context before or after them, or `@@` and the line above them, "
            "or `*** End of File` below them.",
        )

    def _after(self, anchor: Anchor, after: int) -> int:
        """The place after the anchor; where we are, if that is after it already."""
        spot = Spot(anchor.line, self._path)
        passed = False
        for way, same in enumerate(WAYS):
            found = self._view(way).first([same(anchor.text)], after, spot)
            if found is not None:
                return found + 1
            passed = passed or self._view(way).first([same(anchor.text)], 0, spot) is not None
        if passed:
            return after
        texts = [line.text for line in self._lines]
        raise spot.fault(
            f"The file has no line {quoted(anchor.text)}. {closest(texts, [anchor.text])}",
            "Write the whole line after `@@`, or leave it out.",
        )

    def _find(self, way: int, wanted: Sequence[bytes], after: int, chunk: Chunk) -> int | None:
        spot = Spot(chunk.line, self._path)
        keys = [WAYS[way](text) for text in wanted]
        if not chunk.last:
            return self._view(way).first(keys, after, spot)
        return self._view(way).first(keys, max(after, len(self._lines) - len(keys)), spot)

    def _view(self, way: int) -> Lines:
        while len(self._views) <= way:
            same = WAYS[len(self._views)]
            self._views.append(Lines([same(line.text) for line in self._lines], self._effort))
        return self._views[way]

    def _not_found(self, chunk: Chunk, wanted: Sequence[bytes], after: int) -> ToolFailure:
        spot = Spot(chunk.line, self._path)
        keys = [text.strip() for text in wanted]
        found = self._view(len(WAYS) - 1).first(keys, 0, spot)
        texts = [line.text for line in self._lines]
        if found is None:
            what, then = closest(texts, wanted), AGAIN
        elif chunk.last and found >= after:
            what = f"They are at line {found + 1}, but the file does not end there."
            then = "Leave out `*** End of File`, or write the lines up to the end."
        else:
            what = f"They are at line {found + 1}, which is before line {after + 1}, where this chunk can begin."
            then = "Put the chunks of a file in the order of its lines, and the right `@@` line above each."
        return spot.fault(f"These lines are not where they were looked for:\n{sought(wanted)}\n{what}", then)


def _lines(data: bytes) -> list[Line]:
    *whole, rest = data.split(b"\n")
    lines = [Line(text[:-1], b"\r\n") if text.endswith(b"\r") else Line(text, b"\n") for text in whole]
    return [*lines, Line(rest, b"")] if rest else lines


def _wanted(lines: Sequence[ChunkLine]) -> list[bytes]:
    return [line.text for line in lines if line.sign != b"+"]


def _trimmed(lines: Sequence[ChunkLine]) -> Sequence[ChunkLine]:
    """Without the empty lines around it, which may only have been there to be read easily."""
    first, last = 0, len(lines)
    while not lines[first].sign:
        first += 1
    while not lines[last - 1].sign:
        last -= 1
    return lines[first:last]
