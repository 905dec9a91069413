"""Searches and rewrites many files: walks the files, examines them and collects the results. No file is written."""

from asyncio import CancelledError, current_task
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

from callgate.host.threads import in_thread
from callgate.tools.structural.examination import ScanRequest
from callgate.tools.structural.scan_types import (
    EVERYWHERE,
    NAMED,
    STANDARD,
    Cut,
    FileResult,
    Language,
    Match,
    Op,
    Rewritten,
    ScanLimits,
    ScanProgress,
    ScanScope,
    SearchResult,
    SkipKind,
    SkippedFile,
    SkippedFiles,
    language_named,
    silent,
)
from callgate.tools.structural.source_text import parse_template
from callgate.tools.structural.source_walk import Walked, walk
from callgate.tools.structural.worker_pool import examine_all
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun


@noun
class Scan:
    """The results of all files in order, the skipped files, and the limit on files if it was reached."""

    looked: tuple[FileResult, ...]
    skipped: SkippedFiles
    cuts: tuple[Cut, ...]
    hints: tuple[str, ...]

    @property
    def files(self) -> int:
        return sum(each.skipped is None for each in self.looked)


LeavesOut = Callable[[str], bool]


def nothing(path: str) -> bool:
    return False


async def scan(asked: ScanRequest, where: ScanScope, progress: ScanProgress, leaves_out: LeavesOut = nothing) -> Scan:
    """Examine the files and return the results. ``leaves_out`` returns True for a path to skip.

    Raise ToolFailure for invalid arguments, and if the pattern is invalid in all examined languages.
    """
    language = None if where.language is None else language_named(where.language)
    asked = replace(asked, language=None if language is None else language.name)
    walked = await _walked(asked.root, where, language)
    most = asked.limits.files
    wanted = [each for each in walked.files if not leaves_out(each.path)]
    files, left = wanted[:most], wanted[most:]
    looked = await examine_all(asked, files, progress)
    skipped = [each.skipped for each in looked if each.skipped is not None]
    misfits = [each for each in skipped if each.kind == "pattern"]
    if misfits and (where.language is not None or len(misfits) == len(looked)):
        raise ToolFailure(misfits[0].reason)
    cuts = (Cut("files", left[0].path, len(left)),) if left else ()
    return Scan(tuple(looked), _skips((*walked.skipped, *skipped)), cuts, _hints(looked))


async def search(
    root: str | Path,
    pattern: str,
    where: ScanScope = EVERYWHERE,
    limits: ScanLimits = STANDARD,
    progress: ScanProgress = silent,
    leaves_out: LeavesOut = nothing,
) -> SearchResult:
    """Return all matches, ordered by file and position. In a file with syntax errors, only the valid parts are
    searched.

    Raise ToolFailure if the pattern, a path, the language or the glob is invalid.
    """
    if not pattern.strip():
        raise ToolFailure("The pattern is empty: write the code to look for, with $A for any single node.")
    seen = await scan(ScanRequest(str(root), limits, pattern), where, progress, leaves_out)
    matches: list[Match] = []
    count = matched = 0
    at = ""
    for each in seen.looked:
        room = limits.matches - len(matches)
        matches += each.matches[:room]
        count += each.count
        matched += each.count > 0
        at = at or (each.path if each.count > room else "")
    more = count - len(matches)
    cuts = (*seen.cuts, Cut("matches", at, more)) if more else seen.cuts
    hints = () if count else seen.hints
    return SearchResult(
        matches=tuple(matches),
        count=count,
        files=seen.files,
        files_matched=matched,
        skipped=seen.skipped,
        cuts=cuts,
        hints=hints,
    )


async def _walked(root: str, where: ScanScope, language: Language | None) -> Walked:
    stop, task = Event(), current_task()
    cancels = task.cancelling() if task else 0
    walked = await in_thread(partial(walk, root, where.paths, language, where.glob, stop.is_set), on_cancel=stop.set)
    if task and task.cancelling() > cancels:
        raise CancelledError
    return walked


def _skips(skipped: Iterable[SkippedFile]) -> SkippedFiles:
    counts: Counter[SkipKind] = Counter()
    named: list[SkippedFile] = []
    for each in skipped:
        counts[each.kind] += 1
        if counts[each.kind] <= NAMED:
            named.append(each)
    return SkippedFiles(dict(counts), tuple(named))


def _hints(looked: Sequence[FileResult]) -> tuple[str, ...]:
    flaws = Counter(flaw for each in looked for flaw in each.flaws)
    return tuple(f"{flaw} by itself, which may be why it matches nothing" for flaw in flaws)


_LABEL = 80


async def rewrite(
    root: str | Path,
    ops: Sequence[Op],
    where: ScanScope = EVERYWHERE,
    limits: ScanLimits = STANDARD,
    progress: ScanProgress = silent,
) -> Rewritten:
    """Return the changes that apply all ops to the current files.

    A file is changed completely or not at all: a file with syntax errors, with overlapping replacements, or beyond the
    limit on replacements is not changed and is reported. Raise ToolFailure as in ``search``, and for a metavariable in
    a rewrite that its pattern does not capture.
    """
    _check(ops)
    seen = await scan(ScanRequest(str(root), limits, ops=tuple(ops)), where, progress)
    staged, cut = _within(seen.looked, limits.matches)
    count = sum(each.count for each in staged)
    files = tuple(FileChange(each.path, each.before, each.after) for each in staged)
    overlaps = tuple(overlap for each in seen.looked for overlap in each.overlaps)
    return Rewritten(
        changes=ChangeSet(_label(ops), files, "AstEdit", count=count),
        rewritten=tuple(staged),
        files=seen.files,
        skipped=seen.skipped,
        overlaps=overlaps[:NAMED],
        overlap_count=sum(each.overlap_count for each in seen.looked),
        cuts=seen.cuts if cut is None else (*seen.cuts, cut),
        hints=() if count else seen.hints,
    )


def _check(ops: Sequence[Op]) -> None:
    if not ops:
        raise ToolFailure("ops is empty: pass at least one pattern and its rewrite.")
    for op in ops:
        if not op.pattern.strip():
            raise ToolFailure("The pattern is empty: write the code to look for, with $A for any single node.")
        parse_template(op.rewrite, op.pattern)


def _within(looked: Sequence[FileResult], most: int) -> tuple[list[FileResult], Cut | None]:
    """Return the changed files up to the limit on replacements, and a Cut if the limit was reached."""
    changed = [each for each in looked if each.count]
    count = 0
    for number, each in enumerate(changed):
        count += each.count
        if count > most:
            more = sum(left.count for left in changed[number:])
            return changed[:number], Cut("matches", each.path, more)
    return changed, None


def _label(ops: Sequence[Op]) -> str:
    first = " ".join(f"{ops[0].pattern} → {ops[0].rewrite}".split())
    shown = first if len(first) <= _LABEL else first[: _LABEL - 1] + "…"
    return shown if len(ops) == 1 else f"{shown} and {len(ops) - 1} more"
