"""``rewrite``: what ops would make of many files, as a change set. Nothing is written here."""

from collections.abc import Sequence
from pathlib import Path

from callgate.tools.structural.examine import FileResult, ScanRequest
from callgate.tools.structural.scan import Scan, scan
from callgate.tools.structural.templates import parse_template
from callgate.tools.structural.terms import (
    EVERYWHERE,
    NAMED,
    STANDARD,
    Cut,
    Op,
    Rewritten,
    RewrittenFile,
    ScanLimits,
    ScanProgress,
    ScanScope,
    silent,
)
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

_LABEL = 80


async def rewrite(
    root: str | Path,
    ops: Sequence[Op],
    where: ScanScope = EVERYWHERE,
    limits: ScanLimits = STANDARD,
    progress: ScanProgress = silent,
) -> Rewritten:
    """The bytes that applying would write: all ops are matched against the files as they are now.

    A file is changed whole or not at all: one with syntax errors, with replacements that overlap, or that would take
    the number of replacements past the limit is left as it is, and reported. ToolFailure as in ``search``, and for a
    rewrite with a metavariable that its pattern does not capture.
    """
    _check(ops)
    seen = await scan(ScanRequest(str(root), limits, ops=tuple(ops)), where, progress)
    staged, cut = _within(seen.looked, limits.matches)
    count = sum(each.count for each in staged)
    files = tuple(FileChange(each.path, each.before, each.after) for each in staged)
    overlaps = tuple(overlap for each in seen.looked for overlap in each.overlaps)
    return Rewritten(
        changes=ChangeSet(_label(ops), files, "AstEdit", count=count),
        rewritten=tuple(RewrittenFile(each.path, each.matches, each.count) for each in staged),
        files=seen.files,
        skipped=seen.skipped,
        overlaps=overlaps[:NAMED],
        overlap_count=sum(each.overlap_count for each in seen.looked),
        cuts=seen.cuts if cut is None else (*seen.cuts, cut),
        hints=_hints(seen, count),
    )


def _check(ops: Sequence[Op]) -> None:
    if not ops:
        raise ToolFailure("There are no ops: give at least one pattern and its rewrite.")
    for op in ops:
        if not op.pattern.strip():
            raise ToolFailure("The pattern is empty: write the code to look for, with $A for any one thing.")
        parse_template(op.rewrite, op.pattern)


def _within(looked: Sequence[FileResult], most: int) -> tuple[list[FileResult], Cut | None]:
    """The files whose replacements fit, in order, up to the first that does not."""
    changed = [each for each in looked if each.count]
    count = 0
    for number, each in enumerate(changed):
        count += each.count
        if count > most:
            more = sum(left.count for left in changed[number:])
            return changed[:number], Cut("matches", each.path, more)
    return changed, None


def _hints(seen: Scan, count: int) -> tuple[str, ...]:
    return () if count else seen.hints


def _label(ops: Sequence[Op]) -> str:
    first = " ".join(f"{ops[0].pattern} → {ops[0].rewrite}".split())
    shown = first if len(first) <= _LABEL else first[: _LABEL - 1] + "…"
    return shown if len(ops) == 1 else f"{shown} and {len(ops) - 1} more"
