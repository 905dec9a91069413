"""Formats the results of AstGrep and AstEdit: matches, replacements, counts and skipped files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from callgate.changes.diff import display, quoted, summary
from callgate.formats.display import counted
from callgate.tools.structural.scan_types import (
    STANDARD,
    Cut,
    FileResult,
    Match,
    Overlap,
    Rewritten,
    SearchResult,
    SkipKind,
    SkippedFiles,
)
from callgate.words.calls import Display, Result
from callgate.words.messages import Text

_IGNORED_NAMED = 5
"""The most ignored files that are listed by name."""

_SAID: Mapping[SkipKind, str] = {
    "syntax": "syntax errors",
    "size": "too large",
    "encoding": "not text",
    "unreadable": "cannot be read",
    "crashed": "the engine failed on it",
    "pattern": "the pattern does not parse in its language",
    "language": "of no known language; pass the language",
    "link": "a symbolic link; pass the path of its target",
    "ignored": "ignored",
}

_SHOWN_OF_FILE, _SHOWN_CHARACTERS, _SHORTEST = 20, 15_000, 150
"""The limits on replacements for a model: per file, and in characters, where a short one counts as ``_SHORTEST``.
People see the whole diff."""
_LINES, _WIDTH = 6, 200
"""The lines of one side of a replacement, and their width."""
_NAMED = 20
"""The most files that are listed without their replacements."""


def _first_lines(text: str, most: int) -> Iterator[str]:
    """Yield the first lines of a match, and the number of omitted lines. The number is a lower bound if the text was
    cut."""
    lines = text.split("\n")
    yield from lines[:most]
    more = len(lines) - most
    if more > 0:
        at_least = "at least " if len(text) > STANDARD.characters else ""
        yield f"… {at_least}{counted(more, 'more line')}"


def _not_looked_at(cut: Cut) -> str:
    return f"{counted(cut.more, 'file was', 'files were')} not read, from {quoted(cut.at)} on"


def _left_out(skips: SkippedFiles, unsaid: Iterable[SkipKind] = ()) -> Iterator[str]:
    """Yield a line for each kind of skipped files, with the first names, and the places of syntax errors."""
    for kind, words in _SAID.items():
        count = skips.counts.get(kind, 0)
        if not count or kind in unsaid:
            continue
        named = [each for each in skips.named if each.kind == kind][: _IGNORED_NAMED if kind == "ignored" else None]
        said = [quoted(each.path) + (f" ({each.reason})" if kind == "syntax" else "") for each in named]
        more = f" and {count - len(named)} more" if count > len(named) else ""
        yield f"Omitted, {words}: {', '.join(said)}{more}"


# ---- AstGrep ------------------------------------------------------------------------------------------------------


def search_result(found: SearchResult) -> Result:
    details = {"matches": found.count, "files": found.files, "files_matched": found.files_matched}
    return Result((Text("\n".join(_search_lines(found))),), display=(_display(found),), details=details)


def _search_lines(found: SearchResult) -> Iterator[str]:
    for match in found.matches:
        yield from _shown(match)
    matched = f"{counted(found.count, 'match', 'matches')} in {counted(found.files_matched, 'file')}"
    yield f"{matched}; {counted(found.files, 'file')} read."
    for cut in found.cuts:
        if cut.limit == "matches":
            more = f"{cut.more} more not shown, from {quoted(cut.at)} on"
            yield f"{more}: narrow the search by paths or glob, or increase max_matches."
        else:
            yield f"{_not_looked_at(cut)}: pass fewer paths."
    yield from _left_out(found.skipped, unsaid=["ignored"])
    yield from found.hints


def _shown(match: Match) -> Iterator[str]:
    first, *rest = _first_lines(match.text, _LINES)
    yield f"{quoted(match.path)}:{match.line}:{match.column}: {first}"
    yield from (f"    {line}" for line in rest)


def _display(found: SearchResult) -> Display:
    rows = [[f"{match.path}:{match.line}", match.text.partition("\n")[0]] for match in found.matches]
    return Display("table", {"columns": ["where", "match"], "rows": rows}, counted(found.count, "match", "matches"))


# ---- AstEdit ------------------------------------------------------------------------------------------------------


def edit_result(made: Rewritten, root: str) -> Result:
    shown = (display(made.changes, root=root),) if made.changes.files else ()
    return Result((Text("\n".join(_edit_lines(made))),), display=shown, details=_counts(made))


def _counts(made: Rewritten) -> Mapping[str, Any]:
    return {
        "replacements": made.changes.count,
        "files": made.files,
        "files_changed": len(made.changes.files),
        "overlaps": made.overlap_count,
        "skipped": dict(made.skipped.counts),
        "cuts": [{"limit": cut.limit, "at": cut.at, "more": cut.more} for cut in made.cuts],
    }


def _edit_lines(made: Rewritten) -> Iterator[str]:
    looked = f"{counted(made.files, 'file')} read."
    if made.rewritten:
        yield from _preview(made.rewritten)
        count = sum(file.count for file in made.rewritten)
        made_in = counted(len(made.rewritten), "file")
        yield f"{counted(count, 'replacement')} in {made_in}; {looked}"
    else:
        yield f"No match, so no change is staged; {looked}"
    yield from map(_overlap, made.overlaps)
    if made.overlap_count > len(made.overlaps):
        yield f"… {counted(made.overlap_count - len(made.overlaps), 'more overlap')}"
    yield from map(_cut_off, made.cuts)
    yield from _left_out(made.skipped)
    yield from made.hints
    if made.rewritten:
        yield f"No file is written yet: {summary(made.changes)}"


def _preview(rewritten: Sequence[FileResult]) -> Iterator[str]:
    """Yield each file with its first replacements. When the size limit is reached, yield the names of the remaining
    files."""
    room = _SHOWN_CHARACTERS
    for at, file in enumerate(rewritten):
        blocks: list[str] = []
        for block in map(_block, file.matches[:_SHOWN_OF_FILE]):
            room -= max(len(block), _SHORTEST)
            if room < 0:
                break
            blocks.append(block)
        if not blocks:
            yield _not_shown(rewritten[at:])
            return
        yield f"{quoted(file.path)}: {counted(file.count, 'replacement')}"
        yield from blocks
        if file.count > len(blocks):
            yield f"  … {file.count - len(blocks)} more"


def _not_shown(files: Sequence[FileResult]) -> str:
    count = sum(file.count for file in files)
    names = ", ".join(f"{quoted(file.path)} ({file.count})" for file in files[:_NAMED])
    more = f" and {counted(len(files) - _NAMED, 'more file')}" if len(files) > _NAMED else ""
    return f"Not shown, {counted(count, 'replacement')}: {names}{more}"


def _block(each: Match) -> str:
    place = f"  {each.line}:{each.column}:"
    if each.after and "\n" not in each.text + each.after:
        return f"{place} {_narrow(each.text)} → {_narrow(each.after)}"
    before = [f"    - {_narrow(line)}" for line in _first_lines(each.text, _LINES)]
    after = [f"    + {_narrow(line)}" for line in _first_lines(each.after, _LINES)] if each.after else []
    return "\n".join((place, *before, *after))


def _overlap(overlap: Overlap) -> str:
    pair = f"{_site(overlap.first)} and {_site(overlap.second)}"
    fate = (
        "no change is made in this file; try the ops one at a time"
        if overlap.held
        else "the second is inside the first, so only the first is replaced; call again after it is applied"
    )
    return f"Overlap in {quoted(overlap.path)}, {pair}: {fate}."


def _site(each: Match) -> str:
    first, cut, _ = each.text.partition("\n")
    return f"{each.line}:{each.column} {_narrow(first)}{' …' if cut else ''} (op {each.op + 1})"


def _cut_off(cut: Cut) -> str:
    if cut.limit == "files":
        return f"{_not_looked_at(cut)}: pass fewer paths, or increase max_files."
    left = f"{counted(cut.more, 'more replacement is', 'more replacements are')} not included, from {quoted(cut.at)} on"
    return (
        f"{left}: call again after this change is applied, narrow the search by paths or glob, or increase max_matches."
    )


def _narrow(line: str) -> str:
    more = len(line) - _WIDTH
    return line if more <= 0 else f"{line[:_WIDTH]}… ({counted(more, 'more character')})"
