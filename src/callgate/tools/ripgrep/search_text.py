"""Formats the results of Grep: paths, counts, or lines below the path of their file."""

from collections.abc import Iterator, Sequence

from callgate.changes.diff import quoted
from callgate.tools.ripgrep.search_run import FoundFile

WIDTH = 500
CHARACTERS = 40_000
"""The most characters of lines in one result."""


def _paths(files: Sequence[FoundFile], lead: str, offset: int, most: int) -> str:
    shown = files[offset : offset + most]
    lines = [quoted(lead + each.path) for each in shown]
    note = rest_note(offset, len(shown), len(files), "Files")
    return "\n".join([*lines, *([note] if note else [])]) or "No matches."


def _counts(files: Sequence[FoundFile], lead: str, offset: int, most: int) -> str:
    shown = files[offset : offset + most]
    lines = [f"{quoted(lead + each.path)}: {each.count}" for each in shown]
    if not files:
        return "No matches."
    note = rest_note(offset, len(shown), len(files), "Files")
    return "\n".join([*lines, *([note] if note else []), _total(files)])


def _content(files: Sequence[FoundFile], lead: str, offset: int, most: int) -> str:
    total = sum(each.line_count for each in files)
    if not total:
        return "No matches."
    rows: list[str] = []
    shown = 0
    room = CHARACTERS
    for path, line in _rows(files, lead, offset, most):
        room -= len(line) + len(path) + 1
        if room < 0:
            break
        rows += [path, line] if path else [line]
        shown += 1
    note = rest_note(offset, shown, total, "Lines")
    return "\n".join([*rows, *([note] if note else []), _total(files)])


def _total(files: Sequence[FoundFile]) -> str:
    matches = sum(each.count for each in files)
    return f"[{matches:,} match{'' if matches == 1 else 'es'} in {len(files):,} file{'' if len(files) == 1 else 's'}.]"


def _rows(files: Sequence[FoundFile], lead: str, offset: int, most: int) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each line. The path is empty except for the first line of a file. A gap between
    lines is marked by ``--``."""
    for each in files:
        if offset >= each.line_count:
            offset -= each.line_count
            continue
        last = 0
        for line in each.lines(offset, most):
            mark = ":" if line.matches else "-"
            text = line.text if len(line.text) <= WIDTH else f"{line.text[:WIDTH]}… (+{len(line.text) - WIDTH:,})"
            gap = "--\n" if last and line.number > last + 1 and each.count < each.line_count else ""
            yield "" if last else quoted(lead + each.path), f"{gap}{line.number}{mark}{text}"
            last = line.number
            most -= 1
        offset = 0
        if most <= 0:
            return


SHOWN = {"content": _content, "files_with_matches": _paths, "count": _counts}


def rest_note(first: int, shown: int, total: int, what: str) -> str:
    last = first + shown
    if not first and last >= total:
        return ""
    told = f"[{what} {first + 1:,}-{last:,} of {total:,}"
    return f"{told}: {total - last:,} more with offset={last}.]" if last < total else f"{told}.]"


def replaced_note(count: int) -> str:
    files = f"{count:,} file{'s' if count > 1 else ''}"
    return f"\n[Omitted, because they changed during the search: {files}. Search again.]" if count else ""
