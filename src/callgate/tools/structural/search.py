"""``search``: where a pattern matches, over many files."""

from pathlib import Path

from callgate.tools.structural.examine import ScanRequest
from callgate.tools.structural.scan import scan
from callgate.tools.structural.terms import (
    EVERYWHERE,
    STANDARD,
    Cut,
    Match,
    ScanLimits,
    ScanProgress,
    ScanScope,
    SearchResult,
    silent,
)
from callgate.words.errors import ToolFailure


async def search(
    root: str | Path,
    pattern: str,
    where: ScanScope = EVERYWHERE,
    limits: ScanLimits = STANDARD,
    progress: ScanProgress = silent,
) -> SearchResult:
    """Every match, in the order of the files and of their text. Files with syntax errors are searched as far as they
    parse. ToolFailure when the pattern, a path, the language or the glob cannot be used."""
    if not pattern.strip():
        raise ToolFailure("The pattern is empty: write the code to look for, with $A for any one thing.")
    seen = await scan(ScanRequest(str(root), limits, pattern), where, progress)
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
