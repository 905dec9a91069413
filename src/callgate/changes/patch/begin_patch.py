"""Parses the ``*** Begin Patch`` format, which has no line numbers."""

import re
from collections.abc import Sequence

from callgate.changes.patch.placement import Chunk, FilePatch, PatchLine, checked_path, fault, quoted
from callgate.words.errors import ToolFailure

FENCE = b"```"
_BEGIN = b"*** Begin Patch"
_END_OF_FILE = b"*** End of File"
_OVER = (b"*** End Patch", FENCE)
_MOVE = b"*** Move to:"
_FILE = re.compile(rb"\*\*\* (Add|Delete|Update) File:(.*)", re.DOTALL)
# Line numbers of the other format are ignored, with the text after them.
_NUMBERED = re.compile(rb"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_BODY = "Begin each line with a space (context), `-` or `+`."


def is_begun(line: bytes) -> bool:
    return line.rstrip() == _BEGIN or _FILE.match(line) is not None


def read_begun(lines: Sequence[bytes], at: int) -> list[FilePatch]:
    """Parse all operations of the patch in order, from the first line of the format."""
    reader = _BeginReader(lines, at + (lines[at].rstrip() == _BEGIN))
    operations: list[FilePatch] = []
    while (line := reader.after_blanks()) is not None and line.rstrip() not in _OVER:
        header = _FILE.match(line)
        if header is None:
            raise reader.misplaced(line, "")
        operations.append(reader.operation(header))
    for number, line in enumerate(lines[reader.at + 1 :], reader.at + 2):
        if line.strip() not in (b"", FENCE, b"EOF"):
            told = f"{quoted(line)} comes after the end of the patch. Move this line before `*** End Patch`."
            raise fault(number, "", told)
    if not operations:
        told = "The patch names no file. Write `*** Add File: path`, `*** Update File: path` or the like."
        raise fault(reader.at, "", told)
    return operations


class _BeginReader:
    """Parses the operations of a patch. A carriage return at the end of a line is ignored, except in the lines of a new
    file."""

    def __init__(self, lines: Sequence[bytes], at: int) -> None:
        self.lines = lines
        self.at = at

    def line(self) -> bytes | None:
        return self.lines[self.at].removesuffix(b"\r") if self.at < len(self.lines) else None

    def after_blanks(self) -> bytes | None:
        while self.line() == b"":
            self.at += 1
        return self.line()

    def misplaced(self, line: bytes, path: str) -> ToolFailure:
        if not line.startswith(b"***") and path:
            return fault(self.at + 1, path, f"{quoted(line)} is not a line of a patch. {_BODY}")
        then = (
            "Allowed: `*** Add File: path` with `+` lines, `*** Delete File: path`, `*** Update File: path` with "
            "`*** Move to: path` right below it and `*** End of File` after the last lines, and `*** End Patch`."
        )
        return fault(self.at + 1, path, f"{quoted(line)} does not belong here. {then}")

    def operation(self, header: re.Match[bytes]) -> FilePatch:
        line, kind = self.at + 1, header[1]
        path = checked_path(header[2].strip(), line)
        self.at += 1
        if kind == b"Add":
            operation = FilePatch(line, "create", path, data=self._added(self.lines[line - 1].endswith(b"\r")))
        elif kind == b"Delete":
            operation = FilePatch(line, "delete", path)
        else:
            operation = self._updated(line, path)
        following = self.after_blanks()
        if following is not None and not _FILE.match(following) and following.rstrip() not in _OVER:
            raise self.misplaced(following, path)
        return operation

    def _added(self, carried: bool) -> bytes:
        """Return the content of a new file. If ``carried`` is True, all lines of the patch end with CRLF, so the CR is
        removed."""
        found: list[bytes] = []
        empty = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith(b"+"):
                # Empty lines in between are content; those at the end separate sections.
                found += [b""] * empty
                found.append(line[1:].removesuffix(b"\r") if carried else line[1:])
                empty = 0
            elif line.rstrip(b"\r"):
                break
            else:
                empty += 1
            self.at += 1
        return b"".join(line + b"\n" for line in found)

    def _updated(self, line: int, path: str) -> FilePatch:
        target = None
        following = self.after_blanks()
        if following is not None and following.startswith(_MOVE):
            target = checked_path(following.removeprefix(_MOVE).strip(), self.at + 1)
            self.at += 1
        chunks: list[Chunk] = []
        while (chunk := self._chunk(path)) is not None:
            chunks.append(chunk)
        if not chunks and target is None:
            raise fault(line, path, f"The changed lines are missing. Write them. {_BODY}")
        return FilePatch(line=line, action="update", path=path, chunks=tuple(chunks), target=target)

    def _chunk(self, path: str) -> Chunk | None:
        """Return the next chunk, or None at the end of the section."""
        first = self.at + 1
        anchors: list[tuple[int, bytes]] = []
        found: list[PatchLine] = []
        meant = False
        while (line := self.line()) is not None:
            if line.startswith(b"@@") and not meant:
                text = line[2:].removeprefix(b" ").rstrip().removesuffix(b"@@").rstrip()
                anchors += [] if not text or _NUMBERED.match(line) else [(self.at + 1, text)]
                found.clear()
            elif line[:1] in (b"", b" ", b"-", b"+"):
                found.append(PatchLine(line[:1], line[1:]))
                meant = meant or line != b""
            else:
                break
            self.at += 1
        if not meant:
            if anchors:
                raise fault(first, path, f"No lines follow the `@@`. Write the changed lines. {_BODY}")
            return None
        last = line is not None and line.rstrip() == _END_OF_FILE
        self.at += last
        return Chunk(first, tuple(found), tuple(anchors), last=last)
