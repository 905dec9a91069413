"""Reads the ``*** Begin Patch`` format: no line numbers, only lines."""

import re
from collections.abc import Sequence

from callgate.changes.patch.parts import Anchor, Chunk, FilePatch, PatchLine, Spot, checked_path, quoted
from callgate.words.errors import ToolFailure

BEGIN = b"*** Begin Patch"
END = b"*** End Patch"
END_OF_FILE = b"*** End of File"
MOVE = b"*** Move to:"
FILE = re.compile(rb"\*\*\* (Add|Delete|Update) File:(.*)", re.DOTALL)
# Line numbers out of the other form say nothing here, and neither does what git writes after them.
NUMBERED = re.compile(rb"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
FENCE = b"```"
BODY = "Begin each line with a space (context), `-` or `+`."


def is_begun(line: bytes) -> bool:
    """True if a patch that begins with this line has the format."""
    return line.rstrip() == BEGIN or FILE.match(line) is not None


def read_begun(lines: Sequence[bytes], at: int) -> list[FilePatch]:
    """Every operation in order, from the line that ``is_begun`` is true for."""
    reader = Reader(lines, at)
    operations = reader.read()
    if not operations:
        raise Spot(reader.at).fault(
            "The patch names no file.", "Write `*** Add File: path`, `*** Update File: path` or the like."
        )
    return operations


class Reader:
    """Reads one operation after the other. Lines that end as on Windows are read as if they did not, but for those of
    a new file, where that may be meant."""

    def __init__(self, lines: Sequence[bytes], at: int) -> None:
        self.lines = lines
        self.at = at + (lines[at].rstrip() == BEGIN)

    def line(self) -> bytes | None:
        return self.lines[self.at].removesuffix(b"\r") if self.at < len(self.lines) else None

    def blanks(self) -> bytes | None:
        """Passes empty lines, and gives the line after them."""
        while self.line() == b"":
            self.at += 1
        return self.line()

    def read(self) -> list[FilePatch]:
        operations: list[FilePatch] = []
        while (line := self.blanks()) is not None and line.rstrip() not in (END, FENCE):
            header = FILE.match(line)
            if header is None:
                raise self.misplaced(line, "")
            operations.append(self.operation(header))
        for at in range(self.at + 1, len(self.lines)):
            if self.lines[at].strip() not in (b"", FENCE, b"EOF"):
                raise Spot(at + 1).fault(
                    f"{quoted(self.lines[at])} comes after the end of the patch.", "Put everything before it."
                )
        return operations

    def misplaced(self, line: bytes, path: str) -> ToolFailure:
        spot = Spot(self.at + 1, path)
        if not line.startswith(b"***") and path:
            return spot.fault(f"{quoted(line)} is no line of a patch.", BODY)
        return spot.fault(
            f"{quoted(line)} does not belong here.",
            "There are `*** Add File: path` with `+` lines, `*** Delete File: path`, `*** Update File: path` with "
            "`*** Move to: path` right below it and `*** End of File` after the last lines, and `*** End Patch`.",
        )

    def operation(self, header: re.Match[bytes]) -> FilePatch:
        line = self.at + 1
        path = checked_path(header[2].strip(), line)
        self.at += 1
        if header[1] == b"Add":
            operation = FilePatch(line, "create", path, data=self.added(self.lines[line - 1].endswith(b"\r")))
        elif header[1] == b"Delete":
            operation = FilePatch(line, "delete", path)
        else:
            operation = self.updated(line, path)
        following = self.blanks()
        if following is not None and not FILE.match(following) and following.rstrip() not in (END, FENCE):
            if header[1] == b"Delete" and not following.startswith(b"***"):
                raise Spot(self.at + 1, path).fault("A file that is deleted has no lines here.", "Leave them out.")
            raise self.misplaced(following, path)
        return operation

    def added(self, carried: bool) -> bytes:
        """The content of a new file. ``carried``: the whole patch has line ends of Windows, so they mean nothing."""
        found: list[bytes] = []
        empty = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith(b"+"):
                # Empty lines in between are meant; those at the end only keep the sections apart.
                found += [b""] * empty
                found.append(line[1:].removesuffix(b"\r") if carried else line[1:])
                empty = 0
            elif line.rstrip(b"\r"):
                break
            else:
                empty += 1
            self.at += 1
        return b"".join(line + b"\n" for line in found)

    def updated(self, line: int, path: str) -> FilePatch:
        move = None
        following = self.blanks()
        if following is not None and following.startswith(MOVE):
            move = checked_path(following.removeprefix(MOVE).strip(), self.at + 1)
            self.at += 1
        chunks: list[Chunk] = []
        while (chunk := self.chunk(path)) is not None:
            chunks.append(chunk)
        if not chunks and move is None:
            raise Spot(line, path).fault("Nothing is said about how the file changes.", f"Write its lines. {BODY}")
        return FilePatch(line, "update", path, tuple(chunks), target=move)

    def chunk(self, path: str) -> Chunk | None:
        """The next one; None where the section ends."""
        first = self.at + 1
        anchors: list[Anchor] = []
        found: list[PatchLine] = []
        meant = False
        while (line := self.line()) is not None:
            if line.startswith(b"@@") and not meant:
                anchors += _anchors(line, self.at + 1)
                found.clear()
            elif line[:1] in (b"", b" ", b"-", b"+"):
                found.append(PatchLine(line[:1], line[1:]))
                meant = meant or line != b""
            else:
                break
            self.at += 1
        if not meant:
            if anchors:
                raise Spot(first, path).fault("No lines come after the `@@`.", f"Write what changes there. {BODY}")
            return None
        last = line is not None and line.rstrip() == END_OF_FILE
        self.at += last
        return Chunk(first, tuple(found), tuple(anchors), last=last)


def _anchors(line: bytes, number: int) -> list[Anchor]:
    text = line[2:].removeprefix(b" ").rstrip()
    text = text.removesuffix(b"@@").rstrip()
    return [] if not text or NUMBERED.match(line) else [Anchor(number, text)]
