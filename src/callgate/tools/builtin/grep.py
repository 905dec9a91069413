"""Grep: the contents of files by a regular expression."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from callgate.core.ports import Run
from callgate.tools.builtin import prompt_text
from callgate.tools.builtin.searching import rest_note, searched_place
from callgate.tools.tool import FunctionTool, tool
from callgate.words.calls import Result
from callgate.words.messages import Text

if TYPE_CHECKING:
    from callgate.tools.ripgrep.running import FoundFile

MOST = 200
WIDTH = 500
CHARACTERS = 40_000
"""Of the lines of one answer."""

OutputMode = Literal["content", "files_with_matches", "count"]


def grep() -> FunctionTool[..., Any]:
    """The tool ``Grep``."""

    async def grep(
        pattern: str,
        run: Run,
        path: str = ".",
        glob: str | None = None,
        type: str | None = None,
        output_mode: OutputMode = "files_with_matches",
        context: Annotated[int, Field(ge=0, le=100)] = 0,
        before: Annotated[int, Field(ge=0, le=100)] = 0,
        after: Annotated[int, Field(ge=0, le=100)] = 0,
        ignore_case: bool = False,
        multiline: bool = False,
        head_limit: Annotated[int, Field(ge=1, le=5_000)] = MOST,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> Result:
        """Search.

        Args:
            pattern: the regular expression
            path: the file or folder to search; the workspace if left out
            glob: only files whose names fit, such as *.py; with ! in front all others
            type: only files of this type, such as py, ts or rust
            output_mode: paths, lines or numbers
            context: lines to show around each match, in content
            before: lines to show before each match
            after: lines to show after each match
            ignore_case: upper and lower case are the same
            multiline: matches may go over several lines
            head_limit: how many lines or files to show
            offset: how many to pass over first
        """
        from callgate.tools.ripgrep.globs import name_filter
        from callgate.tools.ripgrep.request import SearchRequest
        from callgate.tools.ripgrep.running import search

        place = await searched_place(run.host, path)
        names = name_filter([glob] if glob else [], type)
        request = SearchRequest(
            path=place.path,
            find="lines" if output_mode == "content" else "counts",
            pattern=pattern,
            names=names.names,
            before=before or context,
            after=after or context,
            ignore_case=ignore_case,
            multiline=multiline,
            in_repository=place.in_repository,
        )
        skip = len(place.path) + 1 if place.path else 0
        found = await search(run.host, place.folder, request, lambda each: place.is_file or names.fits(each[skip:]))
        files = found.files
        text = _SHOWN[output_mode](files, place.lead, offset, head_limit)
        if found.cut:
            text += "\n[There is more than can be counted: narrow the search.]"
        details = {"files": len(files), "matches": sum(each.count for each in files), "engine": found.engine}
        return Result((Text(text),), details=details)

    return tool(
        grep,
        name="Grep",
        description=prompt_text("grep.md"),
        title="Search in files",
        icon="search",
        label="pattern",
        effects="none",
        reads="path",
        timeout=60,
        max_result_chars=CHARACTERS * 2,
        always_loaded=True,
        search_hint="search file contents by regular expression, ripgrep",
    )


def _paths(files: "Sequence[FoundFile]", lead: str, offset: int, most: int) -> str:
    shown = files[offset : offset + most]
    lines = [f"{lead}{each.path}" for each in shown]
    note = rest_note(offset, len(shown), len(files), "Files")
    return "\n".join([*lines, *([note] if note else [])]) or "No matches."


def _counts(files: "Sequence[FoundFile]", lead: str, offset: int, most: int) -> str:
    shown = files[offset : offset + most]
    lines = [f"{lead}{each.path}: {each.count}" for each in shown]
    if not files:
        return "No matches."
    total = f"[{sum(each.count for each in files):,} matches in {len(files):,} files.]"
    note = rest_note(offset, len(shown), len(files), "Files")
    return "\n".join([*lines, *([note] if note else []), total])


def _content(files: "Sequence[FoundFile]", lead: str, offset: int, most: int) -> str:
    total = sum(len(each.lines) for each in files)
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
    matches = f"[{sum(each.count for each in files):,} matches in {len(files):,} files.]"
    note = rest_note(offset, shown, total, "Lines")
    return "\n".join([*rows, *([note] if note else []), matches])


def _rows(files: "Sequence[FoundFile]", lead: str, offset: int, most: int) -> Iterator[tuple[str, str]]:
    """Each line with the path to show before it, where the file is another; a gap is marked by ``--``."""
    passed = 0
    for each in files:
        if passed + len(each.lines) <= offset:
            passed += len(each.lines)
            continue
        named, last = False, 0
        for line in each.lines:
            passed += 1
            if passed <= offset:
                continue
            if passed > offset + most:
                return
            mark = ":" if line.matches else "-"
            text = line.text if len(line.text) <= WIDTH else f"{line.text[:WIDTH]}… (+{len(line.text) - WIDTH:,})"
            gap = "--\n" if named and line.number > last + 1 and _has_context(each) else ""
            yield "" if named else f"{lead}{each.path}", f"{gap}{line.number}{mark}{text}"
            named, last = True, line.number


def _has_context(file: "FoundFile") -> bool:
    return any(not line.matches for line in file.lines)


_SHOWN = {"content": _content, "files_with_matches": _paths, "count": _counts}
