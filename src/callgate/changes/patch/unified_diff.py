"""Parses unified diffs, plain or made by git, into changed files and hunks."""

import re
from collections.abc import Sequence

from callgate.changes.patch.placement import Action, Chunk, FilePatch, PatchLine, checked_path, fault, quoted

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_NEWLINE = re.compile(rb"\\ .{9}")  # "\ No newline at end of file", in whatever language
_QUOTED = re.compile(rb'"((?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*)"')
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_NO_FILE = re.compile(rb"/dev/null(?:\s|$)")
_BINARY = re.compile(rb"GIT binary patch\s*$|(?:Binary files|Files) .* differ\s*$")
_HEADER = re.compile(
    rb"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|index"
    rb"|similarity index|dissimilarity index) (.*?)\r?$"
)
_WRITE_NAMES = "Write `--- a/file` and `+++ b/file`"
_WRITE_HUNK = "Write `@@ -line,count +line,count @@`, or use the `*** Begin Patch` format, which has no line numbers."


def read_unified(lines: Sequence[bytes]) -> list[FilePatch]:
    """Parse all files of a diff in order. Lines outside the diffs, such as a commit message, are skipped."""
    reader = _UnifiedReader(lines)
    found: list[FilePatch] = []
    while reader.at < len(lines):
        line = lines[reader.at]
        if line.startswith(b"diff --git ") or reader.at_names():
            found.append(reader.section())
        elif _HUNK.match(line):
            raise fault(reader.at + 1, "", f"The hunk has no file name. {_WRITE_NAMES} before the first hunk.")
        else:
            reader.pass_over(found[-1].path if found else "")
    if not found:
        told = "The patch contains no change: `--- a/file`, `+++ b/file` and a hunk are missing."
        then = f"{_WRITE_NAMES}, and hunks below them, or the format that begins with `*** Begin Patch`."
        raise fault(1, "", f"{told} {then}")
    return found


class _UnifiedReader:
    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self.at = 0

    def peek(self, ahead: int = 0) -> bytes:
        return self.lines[self.at + ahead] if self.at + ahead < len(self.lines) else b""

    def at_names(self) -> bool:
        return self.peek().startswith(b"--- ") and self.peek(1).startswith(b"+++ ")

    def pass_over(self, path: str) -> None:
        line = self.peek()
        if _BINARY.match(line):
            then = "Only text files can be patched: write the file in another way."
            raise fault(self.at + 1, path, f"This is a binary patch: {quoted(line)}. {then}")
        self.at += 1

    def section(self) -> FilePatch:
        """Parse one file of the diff: git's headers, the two names and the hunks. Each of them may be missing."""
        start = self.at + 1
        both: bytes | None = None
        headers: dict[bytes, bytes] = {}
        plain = self.at_names()
        if not plain:
            both = _git_name(self.peek()[len(b"diff --git ") :].removesuffix(b"\r"), start)
            self.at += 1
            while header := _HEADER.match(self.peek()):
                headers[header[1]] = header[2]
                self.at += 1
            if _BINARY.match(self.peek()):
                self.pass_over(_text(both))
        mode = _mode(headers, start, _text(both))
        old = new = both
        named = self.at_names()
        if named:
            old, new = (_unquoted(self.peek(ahead)[4:], self.at + ahead + 1) for ahead in (0, 1))
            self.at += 2
        if old is None and new is None and (named or b"rename to" not in headers):
            raise fault(start, "", f"The name of the file is missing. {_WRITE_NAMES}.")
        path, target = self._paths(old, new, both, headers, start)
        hunks = self._hunks(path) if named else ()
        action: Action = "either" if plain else "update"
        if old is None or b"new file mode" in headers:
            action = "create"
        elif new is None or b"deleted file mode" in headers:
            action = "delete"
        elif not hunks and target is None and mode is None:
            raise fault(start, path, "The section changes nothing. Remove the section, or add hunks.")
        return FilePatch(line=start, action=action, path=path, chunks=hunks, target=target, mode=mode)

    def _paths(
        self, old: bytes | None, new: bytes | None, both: bytes | None, headers: dict[bytes, bytes], line: int
    ) -> tuple[str, str | None]:
        """Return the path before the change, and the path after the change if it is different. Return None in place
        of /dev/null."""
        if b"copy from" in headers or b"copy to" in headers:
            told = "Copies of files are not supported. Write the new file with all its lines instead."
            raise fault(line, _text(both), told)
        if b"rename from" in headers or b"rename to" in headers:
            source, target = (_unquoted(headers.get(word, b""), line) for word in (b"rename from", b"rename to"))
            if not source or not target:
                told = "One of the two names is missing. Write both `rename from` and `rename to`."
                raise fault(line, _text(both), told)
            return checked_path(source, line), checked_path(target, line)
        if old is not None and new is not None:
            name = _shared_name(old, new)
            if name is None:
                told = f"The two names belong to different files: {quoted(old)} and {quoted(new)}."
                then = "Name the same file twice; to rename it, write `diff --git`, `rename from` and `rename to`."
                raise fault(line, "", f"{told} {then}")
        else:
            name = both or (old or b"").removeprefix(b"a/") or (new or b"").removeprefix(b"b/")
        return checked_path(name, line), None

    def _hunks(self, path: str) -> tuple[Chunk, ...]:
        found: list[Chunk] = []
        while self.peek().startswith(b"@@ -"):
            found.append(self._hunk(path))
        if not found:
            raise fault(self.at + 1, path, f"No hunk with line numbers follows the names. {_WRITE_HUNK}")
        while self.at < len(self.lines) and not self.peek().strip():
            self.at += 1
        line = self.peek()
        if line[:1] in (b" ", b"+", b"-", b"\\", b"@") and not self.at_names() and line.rstrip() != b"--":
            then = "Correct the counts in the header of the hunk above, so that they include all its lines."
            raise fault(self.at + 1, path, f"{quoted(line)} belongs to no hunk. {then}")
        return tuple(found)

    def _hunk(self, path: str) -> Chunk:
        start, head = self.at + 1, self.peek()
        header = _HUNK.match(head)
        if header is None:
            raise fault(start, path, f"{quoted(head)} is not the header of a hunk. {_WRITE_HUNK}")
        at, old, _, new = (1 if each is None else int(each) for each in header.groups())
        found: list[PatchLine] = []
        self.at += 1
        while self.at < len(self.lines) and (old or new or _NO_NEWLINE.match(self.peek())):
            line = self.peek()
            sign = line[:1] or b" "
            if _NO_NEWLINE.match(line) and found:
                found[-1] = PatchLine(found[-1].sign, found[-1].text, ended=False)
            elif sign in (b" ", b"-", b"+"):
                old -= sign != b"+"
                new -= sign != b"-"
                found.append(PatchLine(sign, line[1:], ended=True))
            else:
                break
            self.at += 1
        if old or new:
            then = "Context and `-` lines are old, context and `+` lines are new; each begins with a space, `-` or `+`."
            raise fault(start, path, f"The header {quoted(head)} does not match the lines below it. {then}")
        if all(line.sign == b" " for line in found):
            raise fault(start, path, "The hunk changes nothing. Remove the hunk, or mark its lines with `-` and `+`.")
        for side in (b"+", b"-"):
            if not all(line.ended for line in [each for each in found if each.sign != side][:-1]):
                told = "`\\ No newline at end of file` follows a line that is not the last one."
                raise fault(start, path, f"{told} Put it only after the last line of the old and of the new file.")
        return Chunk(start, tuple(found), at=at)


def _shared_name(old: bytes, new: bytes) -> bytes | None:
    """Return the common name of both sides without the prefixes, or None if the names differ."""
    if old == new:
        return old
    name, same = old.partition(b"/")[2], new.partition(b"/")[2]
    return name if name and name == same else None


def _text(name: bytes | None) -> str:
    return "" if name is None else name.decode("utf-8", "surrogateescape")


def _git_name(text: bytes, line: int) -> bytes | None:
    """Return the common name of both sides in a ``diff --git`` line, or None if the names differ."""
    if found := _QUOTED.match(text):
        return _shared_name(_unescaped(found[1]), _unquoted(text[found.end() + 1 :], line) or b"")
    middle = len(text) // 2
    return _shared_name(text[:middle], text[middle + 1 :]) if text[middle : middle + 1] == b" " else None


def _unquoted(text: bytes, line: int) -> bytes | None:
    if not text.startswith(b'"'):
        return None if _NO_FILE.match(text) else re.split(rb"[\t\r]", text, maxsplit=1)[0]
    found = _QUOTED.match(text)
    if found is None:
        raise fault(line, "", 'The quotes around the name are wrong. Quote it like git: "a/tab\\there".')
    return _unescaped(found[1])


def _unescaped(text: bytes) -> bytes:
    def character(escape: re.Match[bytes]) -> bytes:
        code = escape[1]
        return bytes([int(code, 8)]) if len(code) == 3 else _LETTERS.get(code, code)

    return _ESCAPE.sub(character, text)


def _mode(headers: dict[bytes, bytes], line: int, path: str) -> int | None:
    """Return the permission bits for the file, or None to leave them unchanged. Git supports only two values."""
    for word, text in headers.items():
        mode = text.partition(b" ")[2] if word == b"index" else text if word.endswith(b"mode") else b""
        if mode and not re.fullmatch(rb"100[0-7]{3}\s*", mode):
            then = "Write 100644, or 100755 for a program; links, folders and submodules are not patched."
            raise fault(line, path, f"{quoted(mode)} is not the mode of a file. {then}")
    made = headers.get(b"new file mode", b"")
    wanted = headers.get(b"new mode") or (made if int(made or b"0", 8) & 0o100 else b"")
    return (0o755 if int(wanted, 8) & 0o100 else 0o644) if wanted else None
