"""Reads unified diffs, plain and git's: which files they change, and their hunks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from callgate.changes.patch.parts import Action, Chunk, FilePatch, PatchLine, Spot, checked_path, quoted

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_NEWLINE = re.compile(rb"\\ .{9}")  # "\ No newline at end of file", in whatever language
_QUOTED = re.compile(rb'"((?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*)"')
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_NO_FILE = re.compile(rb"/dev/null(?:\s|$)")
_MODES: dict[bytes, Action] = {
    b"old mode ": "update",
    b"new mode ": "update",
    b"new file mode ": "create",
    b"deleted file mode ": "delete",
}
_TEXT_ONLY = "Write the file in another way: only text can be patched."


def read_unified(lines: Sequence[bytes]) -> list[FilePatch]:
    """Every file in order. Lines around the diffs, such as the message of a commit, are passed over."""
    reader = _Reader(lines)
    while reader.at < len(lines):
        line = lines[reader.at]
        if line.startswith(b"diff --git "):
            reader.git_section(line)
        elif line.startswith(b"--- ") and reader.peek(1).startswith(b"+++ "):
            reader.sections.append(section := _Section(reader.at + 1))
            reader.names(section)
            reader.hunks(section)
        else:
            reader.pass_over(line)
    if not reader.sections:
        raise Spot(1).fault(
            "No change was found: no `--- a/file`, `+++ b/file` and `@@ -line,count +line,count @@`.",
            "Write a unified diff with these lines, or the form that begins with `*** Begin Patch`.",
        )
    return [section.read() for section in reader.sections]


@dataclass(slots=True)
class _Section:
    """The headers and hunks of one file while they are read. Of two names the one of a side that is /dev/null is None;
    ``actions`` are what git's headers say."""

    line: int
    path: str = ""
    both: bytes | None = None
    old: bytes | None = None
    new: bytes | None = None
    named: bool = False
    git: bool = False
    actions: set[Action] = field(default_factory=set[Action])
    source: bytes | None = None
    target: bytes | None = None
    mode: int | None = None
    hunks: list[Chunk] = field(default_factory=list[Chunk])

    def read(self) -> FilePatch:
        spot = Spot(self.line, self.path)
        action = self._action(spot)
        old, target = self._names(spot)
        path, moved = checked_path(old, self.line), None if target is None else checked_path(target, self.line)
        if not self.hunks and action == "update" and moved is None and self.mode is None:
            raise spot.fault("The section changes nothing.", "Leave it out, or give it hunks.")
        for hunk in self.hunks:
            signs = {line.sign for line in hunk.lines}
            if (action == "create" and signs != {b"+"}) or (action == "delete" and signs != {b"-"}):
                what = "A new file has no old lines." if action == "create" else "A deleted file has no new lines."
                raise Spot(hunk.line, path).fault(what, "Name both sides of a file that is changed, and not /dev/null.")
        return FilePatch(
            line=self.line, action=action, path=path, chunks=tuple(self.hunks), target=moved, mode=self.mode
        )

    def _action(self, spot: Spot) -> Action:
        if self.named and self.old is None and self.new is None:
            raise spot.fault("Both sides are /dev/null.", "Name the file on one of them.")
        if not self.named:
            said: Action = "update"
        else:
            said = "create" if self.old is None else "delete" if self.new is None else "update"
        if not self.git:
            return "either" if said == "update" else said
        told = self.actions - {"update"} or {"update"}
        action = told.pop()
        if told or (self.named and said != action):
            raise spot.fault(
                f"The headers do not agree on whether this is to {action} the file.",
                "A new file has the header `new file mode 100644` and `--- /dev/null`, "
                "a deleted one `deleted file mode 100644` and `+++ /dev/null`, every other one neither.",
            )
        return action

    def _names(self, spot: Spot) -> tuple[bytes, bytes | None]:
        """The name before, and the one after if it differs."""
        if self.source is not None or self.target is not None:
            if self.source is None or self.target is None:
                raise spot.fault("One of the two names is missing.", "Write both `rename from` and `rename to`.")
            return self.source, self.target
        if self.old is not None and self.new is not None:
            name = shared_name(self.old, self.new)
            if name is None:
                raise spot.fault(
                    f"The two names are of different files: {quoted(self.old)} and {quoted(self.new)}.",
                    "Name the same file twice; to rename it, write `diff --git`, `rename from` and `rename to`.",
                )
            return name, None
        if self.both is not None:
            return self.both, None
        name = self.old or self.new
        if name is None:
            raise spot.fault("The name of the file is missing.", "Write `--- a/file` and `+++ b/file`.")
        return name.removeprefix(b"a/" if self.new is None else b"b/"), None


class _Reader:
    """Reads sections one after the other."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self.at = 0
        self.sections: list[_Section] = []

    def peek(self, ahead: int) -> bytes:
        return self.lines[self.at + ahead] if self.at + ahead < len(self.lines) else b""

    def pass_over(self, line: bytes) -> None:
        spot = Spot(self.at + 1, self.sections[-1].path if self.sections else "")
        if _HUNK.match(line):
            raise spot.fault("A hunk without a file.", "Write `--- a/file` and `+++ b/file` before the first hunk.")
        line = line.rstrip()
        if line == b"GIT binary patch" or (line.startswith((b"Binary files ", b"Files ")) and line.endswith(b"differ")):
            raise spot.fault(f"A binary patch, {quoted(line)}.", _TEXT_ONLY)
        self.at += 1

    def git_section(self, line: bytes) -> None:
        both = _git_name(line[len(b"diff --git ") :], Spot(self.at + 1))
        section = _Section(self.at + 1, _text(both), both, git=True)
        self.sections.append(section)
        self.at += 1
        while self.at < len(self.lines) and self._header(section, self.lines[self.at].removesuffix(b"\r")):
            self.at += 1
        if self.peek(0).startswith(b"--- ") and self.peek(1).startswith(b"+++ "):
            self.names(section)
            self.hunks(section)

    def _header(self, section: _Section, line: bytes) -> bool:
        """False: the headers have ended."""
        spot = Spot(self.at + 1, section.path)
        for word, side in ((b"rename from ", "source"), (b"rename to ", "target")):
            if line.startswith(word):
                name = line[len(word) :]
                setattr(section, side, _unquoted(name, spot)[0] if name.startswith(b'"') else name)
                return True
        for word, action in _MODES.items():
            if line.startswith(word):
                section.actions.add(action)
                mode = _mode(line[len(word) :], spot)
                if word == b"new mode " or (action == "create" and mode == 0o755):
                    section.mode = mode
                return True
        if line.startswith(b"index "):
            for mode in line.split()[2:3]:
                _mode(mode, spot)
            return True
        if line.startswith(b"copy "):
            raise spot.fault("A copy of a file.", "Write the new file with all its lines instead.")
        return line.startswith((b"similarity index ", b"dissimilarity index "))

    def names(self, section: _Section) -> None:
        """The ``---`` and the ``+++`` line."""
        section.old = _header_name(self.peek(0)[4:], Spot(self.at + 1))
        section.new = _header_name(self.peek(1)[4:], Spot(self.at + 2))
        section.named = True
        shared = None if section.old is None or section.new is None else shared_name(section.old, section.new)
        section.path = _text(shared or section.both or section.new or section.old)
        self.at += 2

    def hunks(self, section: _Section) -> None:
        if not self.peek(0).startswith(b"@@ -"):
            raise Spot(self.at + 1, section.path).fault(
                "No hunk with line numbers comes after the names.",
                "Write `@@ -line,count +line,count @@`, or use the `*** Begin Patch` form, which has none.",
            )
        while self.peek(0).startswith(b"@@ -"):
            section.hunks.append(self._hunk(section.path))
        at = next((at for at in range(self.at, len(self.lines)) if self.lines[at].strip()), len(self.lines))
        line = self.lines[at] if at < len(self.lines) else b""
        header = line.startswith(b"--- ") and at + 1 < len(self.lines) and self.lines[at + 1].startswith(b"+++ ")
        if line[:1] in (b" ", b"+", b"-", b"\\", b"@") and not header and line.rstrip() != b"--":
            raise Spot(at + 1, section.path).fault(
                f"{quoted(line)} belongs to no hunk.",
                "Correct the counts in the header of the hunk above, so that it covers all its lines.",
            )

    def _hunk(self, path: str) -> Chunk:
        start = self.at
        spot = Spot(start + 1, path)
        header = _HUNK.match(self.lines[start])
        if header is None:
            raise spot.fault(
                f"{quoted(self.lines[start])} is not the header of a hunk.",
                "Write `@@ -line,count +line,count @@`, or use the `*** Begin Patch` form, which has no line numbers.",
            )
        at, old, new_at, new = (1 if each is None else int(each) for each in header.groups())
        del new_at
        counts, found = [old, new], list[PatchLine]()
        self.at += 1
        while self.at < len(self.lines) and (any(counts) or _NO_NEWLINE.match(self.lines[self.at])):
            line = self.lines[self.at]
            sign = line[:1] or b" "
            if _NO_NEWLINE.match(line) and found:
                found[-1] = PatchLine(found[-1].sign, found[-1].text, ended=False)
            elif sign in (b" ", b"-", b"+"):
                counts[0] -= sign != b"+"
                counts[1] -= sign != b"-"
                found.append(PatchLine(sign, line[1:], ended=True))
            else:
                break
            self.at += 1
        if counts != [0, 0]:
            raise spot.fault(
                f"The header {quoted(self.lines[start])} does not fit the lines below it.",
                "Context and `-` lines are old, context and `+` lines are new; each begins with a space, `-` or `+`.",
            )
        self._check(found, spot)
        return Chunk(start + 1, tuple(found), at=at)

    def _check(self, found: Sequence[PatchLine], spot: Spot) -> None:
        if all(line.sign == b" " for line in found):
            raise spot.fault("The hunk changes nothing.", "Leave it out, or mark its lines with `-` and `+`.")
        for side in (b"+", b"-"):
            if not all(line.ended for line in [each for each in found if each.sign != side][:-1]):
                raise spot.fault(
                    "`\\ No newline at end of file` stands after a line that is not the last one.",
                    "Put it after the last line only, once for the old and once for the new one.",
                )


def shared_name(old: bytes, new: bytes) -> bytes | None:
    """The name both sides mean, without the prefixes before it; None if they mean different files."""
    if old == new:
        return old
    name, same = old.partition(b"/")[2], new.partition(b"/")[2]
    return name if name and name == same else None


def _text(name: bytes | None) -> str:
    return "" if name is None else name.decode("utf-8", "surrogateescape")


def _header_name(text: bytes, spot: Spot) -> bytes | None:
    """The name of a ``---`` or ``+++`` line, without the time after it; None for no file at all."""
    if text.startswith(b'"'):
        return _unquoted(text, spot)[0]
    return None if _NO_FILE.match(text) else re.split(rb"[\t\r]", text, maxsplit=1)[0]


def _git_name(text: bytes, spot: Spot) -> bytes | None:
    """The name that both sides after ``diff --git`` share; None where they differ."""
    text = text.removesuffix(b"\r")
    if text.startswith(b'"'):
        old, rest = _unquoted(text, spot)
        return shared_name(old, _unquoted(rest[1:], spot)[0] if rest[1:].startswith(b'"') else rest[1:])
    middle = len(text) // 2
    return shared_name(text[:middle], text[middle + 1 :]) if text[middle : middle + 1] == b" " else None


def _unquoted(text: bytes, spot: Spot) -> tuple[bytes, bytes]:
    """The name between the quotes that the text begins with, and the text after it."""
    found = _QUOTED.match(text)
    if found is None:
        raise spot.fault("The quotes around the name are not right.", 'Quote it as git does: "a/tab\\there".')
    return _ESCAPE.sub(_unescaped, found[1]), text[found.end() :]


def _unescaped(escape: re.Match[bytes]) -> bytes:
    what = escape[1]
    return bytes([int(what, 8)]) if len(what) == 3 else _LETTERS.get(what, what)


def _mode(text: bytes, spot: Spot) -> int:
    """The permission bits, of which git knows two kinds."""
    kind, bits = text.strip()[:-3], text.strip()[-3:]
    if kind in (b"120", b"160", b"040", b"40") and bits == b"000":
        what = {b"120": "A symbolic link.", b"160": "A submodule."}.get(kind, "A folder.")
        raise spot.fault(what, "Only files are patched: use a command for it.")
    if kind != b"100" or not all(0x30 <= each <= 0x37 for each in bits):
        raise spot.fault(f"{quoted(text)} is not the mode of a file.", "Write 100644, or 100755 for a program.")
    return 0o755 if int(bits, 8) & 0o100 else 0o644
