"""Unified diffs, plain and git's: which files they are about, and what they do to each of them."""

from collections.abc import Sequence
from typing import Literal

from callgate.changes.patch.drafts import Deed, Draft, Section, name_of_both, settled
from callgate.changes.patch.headers import git_names, header_name, of_the_epoch, shared, unquoted
from callgate.changes.patch.hunks import HEADER, read_hunk
from callgate.changes.patch.spot import Spot, quoted

BINARY = "Write the file in another way: only text can be patched."
SIDES: tuple[tuple[bytes, Deed, Literal["source", "target"]], ...] = (
    (b"rename from ", "rename", "source"),
    (b"rename old ", "rename", "source"),
    (b"rename to ", "rename", "target"),
    (b"rename new ", "rename", "target"),
    (b"copy from ", "copy", "source"),
    (b"copy to ", "copy", "target"),
)
MODES: tuple[tuple[bytes, Deed], ...] = (
    (b"old mode ", "change"),
    (b"new mode ", "change"),
    (b"new file mode ", "create"),
    (b"deleted file mode ", "delete"),
)


def read_sections(lines: Sequence[bytes]) -> list[Section]:
    """Every section in order. What stands around them, such as the message of a commit, is passed over."""
    reader = Reader(lines)
    reader.read()
    if not reader.drafts:
        raise Spot(1).fault(
            "No change was found: no `--- a/file`, `+++ b/file` and `@@ -line,count +line,count @@`.",
            "Write a unified diff with these lines, or the form that begins with `*** Begin Patch`.",
        )
    found = [both[1] for draft in reader.drafts if (both := name_of_both(draft)) is not None] or [(b"a", b"b")]
    prefixes = {old for old, _ in found}, {new for _, new in found}
    return [settled(draft, prefixes) for draft in reader.drafts]


class Reader:
    """Reads sections, one after the other, into ``drafts``."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self.at = 0
        self.drafts: list[Draft] = []

    def read(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith(b"diff --git "):
                self.git_section(line)
            elif line.startswith(b"--- ") and self.peek(1).startswith(b"+++ "):
                self.plain_section()
            else:
                self.pass_over(line)

    def peek(self, ahead: int) -> bytes:
        return self.lines[self.at + ahead] if self.at + ahead < len(self.lines) else b""

    def pass_over(self, line: bytes) -> None:
        spot = Spot(self.at + 1, self.drafts[-1].path if self.drafts else "")
        if HEADER.match(line):
            raise spot.fault("A hunk without a file.", "Write `--- a/file` and `+++ b/file` before the first hunk.")
        line = line.rstrip()
        if line == b"GIT binary patch":
            raise spot.fault("A binary patch.", BINARY)
        if line.startswith((b"Binary files ", b"Files ")) and line.endswith(b" differ"):
            raise Spot(self.at + 1).fault(f"{quoted(line)}: how is not said.", BINARY)
        self.at += 1

    def git_section(self, line: bytes) -> None:
        spot = Spot(self.at + 1)
        names = git_names(line[len(b"diff --git ") :], spot)
        draft = Draft(self.at + 1, git=True, names=names)
        draft.called(None if names is None else (shared(*names) or names)[0])
        self.drafts.append(draft)
        self.at += 1
        while self.at < len(self.lines) and self.git_header(draft, self.lines[self.at].removesuffix(b"\r")):
            self.at += 1
        if draft.headed:
            self.hunks(draft)

    def git_header(self, draft: Draft, line: bytes) -> bool:
        """False: the headers have ended."""
        spot = Spot(self.at + 1, draft.path)
        if line.startswith(b"--- ") and not draft.headed and self.peek(1).startswith(b"+++ "):
            self.two_names(draft)
            return True
        for word, deed, side in SIDES:
            if line.startswith(word):
                draft.deeds.add(deed)
                name = line[len(word) :]
                name = unquoted(name, spot)[0] if name.startswith(b'"') else name
                setattr(draft, side, name)
                draft.called(name)
                return True
        for word, deed in MODES:
            if line.startswith(word):
                draft.deeds.add(deed)
                draft.modes[word] = _mode(line[len(word) :], spot)
                return True
        if line.startswith(b"index "):
            for mode in line.split()[2:3]:
                draft.modes[b"index "] = _mode(mode, spot)
            return True
        return line.startswith((b"similarity index ", b"dissimilarity index "))

    def plain_section(self) -> None:
        draft = Draft(self.at + 1, git=False)
        self.drafts.append(draft)
        self.two_names(draft)
        self.at += 1
        self.hunks(draft)

    def two_names(self, draft: Draft) -> None:
        """The ``---`` and the ``+++`` line, of which the second is not passed yet."""
        old, new = self.peek(0)[4:], self.peek(1)[4:]
        draft.old, draft.new = header_name(old, Spot(self.at + 1)), header_name(new, Spot(self.at + 2))
        draft.stamps = of_the_epoch(old), of_the_epoch(new)
        draft.headed = True
        both = name_of_both(draft)
        draft.called((draft.new or draft.old) if both is None else both[0])
        self.at += 1

    def hunks(self, draft: Draft) -> None:
        if not self.peek(0).startswith(b"@@ -"):
            raise Spot(self.at + 1, draft.path).fault(
                "No hunk with line numbers comes after the names.",
                "Write `@@ -line,count +line,count @@`, or use the `*** Begin Patch` form, which has none.",
            )
        while self.peek(0).startswith(b"@@ -"):
            hunk, self.at = read_hunk(self.lines, self.at, draft.path)
            draft.hunks.append(hunk)
        # Git passes over what is too much, and with it over changes that somebody has meant.
        at = next((at for at in range(self.at, len(self.lines)) if self.lines[at].strip()), len(self.lines))
        line = self.lines[at] if at < len(self.lines) else b""
        header = line.startswith(b"--- ") and at + 1 < len(self.lines) and self.lines[at + 1].startswith(b"+++ ")
        if line[:1] in (b" ", b"+", b"-", b"\\", b"@") and not header and line.rstrip() != b"--":
            raise Spot(at + 1, draft.path).fault(
                f"{quoted(line)} belongs to no hunk.",
                "Correct the counts in the header of the hunk above, so that it covers all its lines.",
            )


def _mode(text: bytes, spot: Spot) -> int:
    """The permission bits, of which git knows two kinds."""
    kind, bits = text.strip()[:-3], text.strip()[-3:]
    if kind in (b"120", b"160", b"040", b"40") and bits == b"000":
        what = {b"120": "A symbolic link.", b"160": "A submodule."}.get(kind, "A folder.")
        raise spot.fault(what, "Only files are patched: use a command for it.")
    if kind != b"100" or not all(0x30 <= each <= 0x37 for each in bits):
        raise spot.fault(f"{quoted(text)} is not the mode of a file.", "Write 100644, or 100755 for a program.")
    return 0o755 if int(bits, 8) & 0o100 else 0o644
