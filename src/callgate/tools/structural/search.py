"""``search``: where a pattern matches, over many files."""

from pathlib import Path

from callgate.tools.structural.examine import ScanRequest
from callgate.tools.structural.scan import scan
from callgate.tools.structural.terms import EVERYWHERE, STANDARD, Cut, Found, Limits, Match, Progress, Where
from callgate.words.errors import ToolFailure


async def search(
    root: str | Path,
    pattern: str,
    where: Where = EVERYWHERE,
    limits: Limits = STANDARD,
    progress: Progress | None = None,
) -> Found:
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
    return Found(tuple(matches), count, seen.files, matched, seen.skipped, cuts, hints)
