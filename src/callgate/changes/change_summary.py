"""Makes the one-line summary of a ChangeSet, and its diff for display."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from callgate.changes.diff import section
from callgate.changes.hunks import FileDiff, diffs
from callgate.changes.text import shown
from callgate.formats.display import counted
from callgate.words.calls import Display
from callgate.words.changes import ChangeSet

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
