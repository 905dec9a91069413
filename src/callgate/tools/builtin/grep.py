"""The tool Grep: searches the contents of files with a regular expression. ``search_run`` formats the result."""

from typing import Annotated, Literal

from pydantic import Field

from callgate.core.ports import Run
from callgate.tools.builtin import builtin_tool
from callgate.tools.ripgrep.excluded_files import ExcludedFiles, SearchRules, SearchTool
from callgate.words.calls import Result
from callgate.words.messages import Text

USUAL_LINES = 200
RESULT = 80_000
"""The most characters of a result. The tool's own limits apply first and are reported."""

OutputMode = Literal["content", "files_with_matches", "count"]


def grep() -> SearchTool:
    rules = SearchRules()

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
        head_limit: Annotated[int, Field(ge=1, le=5_000)] = USUAL_LINES,
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
        from callgate.tools.ignore_files import name_filter
        from callgate.tools.ripgrep.search_engine import SearchRequest
        from callgate.tools.ripgrep.search_root import search_root
        from callgate.tools.ripgrep.search_run import SHOWN, replaced_note, search, without_replaced

        place = await search_root(run.host, path)
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
        left_out = ExcludedFiles(rules, place.folder, secrets=True)

        def wanted(path: str) -> bool:
            return place.is_file or (names.fits(path) and not left_out.takes(path))

        found = await search(run.host, place, request, wanted)
        files, replaced = await without_replaced(run.host, place, found.files, offset, head_limit)
        text = SHOWN[output_mode](files, place.lead, offset, head_limit)
        if found.cut:
            text += "\n[There are too many matches to count: narrow the search.]"
        text += "".join(left_out.notes(place.lead)) + replaced_note(replaced)
        details = {"files": len(files), "matches": sum(each.count for each in files), "engine": place.engine.mode}
        return Result((Text(text),), details=details)

    made = builtin_tool(
        grep,
        title="Search in files",
        icon="search",
        label="pattern",
        effects="none",
        reads="path",
        timeout=60,
        max_result_chars=RESULT,
    )
    return SearchTool(made, rules)
