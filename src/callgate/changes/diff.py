"""Writes a ChangeSet as a patch in git's extended format, and as a summary and a diff for display.

``git apply`` accepts the patch and produces exactly the bytes of the ChangeSet, unless a file is binary, too large to
show or UTF-16: then a note replaces the lines of the file. A byte that is not UTF-8 is a lone surrogate in the text:
encode the text with ``surrogateescape`` for git, and use ``shown`` for everything else.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

from callgate.changes.hunks import FileDiff, Hunk, Mark, diffs
from callgate.changes.text import shown
from callgate.formats.display import counted
from callgate.words.calls import Display
from callgate.words.changes import ChangeSet, Content, FileChange, digest, size_of

_SIGNS: dict[Mark, bytes] = {"same": b" ", "removed": b"-", "added": b"+"}
_ESCAPES = {ord(char): f"\\{name}" for char, name in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)}
_NO_NEWLINE = b"\n\\ No newline at end of file\n"
_FILE, _LINK = 0o100000, 0o120000
_USUAL = 0o644


def unified(changes: ChangeSet, context: int = 3, *, root: str = "") -> str:
    """Return the whole patch. Paths below ``root`` are relative to it; other paths have no leading slash."""
    return b"".join(section(found, root) for found in diffs(changes, context)).decode("utf-8", "surrogateescape")


def section(found: FileDiff, root: str = "") -> bytes:
    """Return the lines of the patch for one file. The last line ends with a line feed."""
    change = found.change
    new, old = _name(change.path, root), _name(change.source or change.path, root)
    if found.kind == "create":
        old = new
    elif found.kind == "delete":
        new = old
    head = [f"diff --git {quoted(f'a/{old}')} {quoted(f'b/{new}')}", *_header(found, old, new)]
    before = "/dev/null" if change.before is None else quoted(f"a/{old}")
    after = "/dev/null" if change.after is None else quoted(f"b/{new}")
    if found.shown == "lines":
        if found.encodings:
            head.append(f"shown as text: {' → '.join(found.encodings)}")
        if found.hunks:
            head += [f"--- {before}{_tab(before)}", f"+++ {after}{_tab(after)}"]
    else:
        head.append(
            f"Binary files {before} and {after} differ"
            if found.shown == "binary"
            else f"Files {before} and {after} differ, too large to show"
        )
        head += [*_measured("before", change.before), *_measured("after", change.after)]
    lines = b"".join(part for hunk in found.hunks for part in _written(hunk))
    return "".join(f"{line}\n" for line in head).encode("utf-8", "surrogateescape") + lines


def quoted(path: str) -> str:
    """Return the path as written by git: in quotes with C escapes if it contains a quote, a backslash, a control
    character or a byte that is not UTF-8."""
    escaped = "".join(_escaped(char) for char in path)
    # Only inside quotes a trailing space is visible and kept by every parser.
    return f'"{escaped}"' if escaped != path or path.endswith(" ") else path


def _escaped(char: str) -> str:
    code = ord(char)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if code < 0x20 or code == 0x7F or 0xDC80 <= code <= 0xDCFF:
        return f"\\{code & 0xFF:03o}"
    return char


def _name(path: str, root: str) -> str:
    below = root.rstrip("/") + "/"
    return path[len(below) :] if root and path.startswith(below) else path.lstrip("/")


def _tab(name: str) -> str:
    return "\t" if " " in name and not name.startswith('"') else ""


def _header(found: FileDiff, old: str, new: str) -> Iterator[str]:
    change = found.change
    if found.kind == "create":
        yield f"new file mode {_mode(change, change.mode)}"
    elif found.kind == "delete":
        yield f"deleted file mode {_mode(change, change.mode_before)}"
    elif change.mode not in (None, change.mode_before) and not change.link:
        if change.mode_before is not None:
            yield f"old mode {_mode(change, change.mode_before)}"
        yield f"new mode {_mode(change, change.mode)}"
    if found.kind == "rename":
        yield f"rename from {quoted(old)}"
        yield f"rename to {quoted(new)}"


def _mode(change: FileChange, mode: int | None) -> str:
    """Return the mode in octal, with the file type. An unknown mode is written as 644."""
    return f"{_LINK if change.link else _FILE | (_USUAL if mode is None else mode):o}"


def _measured(side: str, content: Content | None) -> Iterator[str]:
    if content is not None:
        yield f"{side}: {size_of(content)} bytes, sha256 {digest(content)}"


def _written(hunk: Hunk) -> Iterator[bytes]:
    before, after = _range(hunk.before_at, hunk.before_count), _range(hunk.after_at, hunk.after_count)
    yield f"@@ -{before} +{after} @@\n".encode()
    for mark, line in hunk.lines:
        yield _SIGNS[mark] + line
        if not line.endswith(b"\n"):
            yield _NO_NEWLINE


def _range(at: int, count: int) -> str:
    return str(at) if count == 1 else f"{at},{count}"


MOST_LINES = 2_000
LONGEST_LINE = 2_000


def summary(changes: ChangeSet, found: Iterable[FileDiff] | None = None) -> str:
    """Return a summary such as ``3 files, 14 replacements, +20 −9``: the replacements if the tool counted them, the
    added and removed lines, and the number of files without line counts. ``found`` are the differences if they were
    computed already."""
    return _said(changes, diffs(changes) if found is None else found)


def line_counts(found: Iterable[FileDiff]) -> tuple[int, int]:
    counts = [(each.added, each.removed) for each in found]
    return sum(added for added, _ in counts), sum(removed for _, removed in counts)


def display(changes: ChangeSet, *, root: str = "", most: int = MOST_LINES) -> Display:
    """Return the diff for display, with at most ``most`` lines of at most 2,000 characters, and the number of omitted
    lines. With ``root``, files with hard links are listed first."""
    found = list(diffs(changes))
    lines = [f"note: {each}" for each in hard_links(changes, root)] if root else []
    left_out = 0
    for each in found:
        text = section(each, root)
        if len(lines) >= most:
            left_out += text.count(b"\n")
            continue
        written = text.decode("utf-8", "surrogateescape").split("\n")[:-1]
        room = most - len(lines)
        lines += [_cut(line) for line in written[:room]]
        left_out += len(written[room:])
    if left_out:
        lines.append(f"… {counted(left_out, 'more line')}")
    body = shown("".join(f"{line}\n" for line in lines))
    return Display("diff", body, shown(f"{changes.label}: {_said(changes, found)}"))


def hard_links(changes: ChangeSet, root: str) -> list[str]:
    """Return a sentence for each changed file with further hard links. Only the changed path gets the new content."""
    told: list[str] = []
    for change in changes.files:
        path = change.source or change.path
        with suppress(OSError, ValueError):
            status = os.lstat(os.path.join(root, path))
            if change.before is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                others = counted(status.st_nlink - 1, "other name")
                told.append(f"{path} has {others} (hard links), which keep the old content")
    return told


def _said(changes: ChangeSet, found: Iterable[FileDiff]) -> str:
    files = added = removed = 0
    others = {"binary": 0, "large": 0}
    for each in found:
        files += 1
        added += each.added
        removed += each.removed
        if each.shown != "lines":
            others[each.shown] += 1
    if not files:
        return "no changes"
    parts = [counted(files, "file")]
    if changes.count is not None:
        parts.append(counted(changes.count, "replacement"))
    if files > sum(others.values()):
        parts.append(f"+{added} −{removed}")
    return ", ".join([*parts, *(f"{count} {kind}" for kind, count in others.items() if count)])


def _cut(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]}… {counted(len(line) - LONGEST_LINE, 'more character')}"
