"""Grep: the contents of files by a regular expression. The text that the model reads is in ``grep_text``."""

from typing import Annotated, Any, Literal

from pydantic import Field

from callgate.core.ports import Run
from callgate.tools.builtin import prompt_text
from callgate.tools.tool import FunctionTool, tool
from callgate.words.calls import Result
from callgate.words.messages import Text

MOST = 200
RESULT = 80_000
"""Characters of a result; its own limits cut it before, and say so."""

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
        from callgate.changes.diff import quoted
        from callgate.policy.protected import is_secret
        from callgate.tools.ripgrep.globs import name_filter
        from callgate.tools.ripgrep.grep_text import SHOWN
        from callgate.tools.ripgrep.request import SearchRequest
        from callgate.tools.ripgrep.running import search
        from callgate.tools.ripgrep.searching import searched_place

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
        secret: list[str] = []

        def wanted(path: str) -> bool:
            if place.is_file:
                return True
            if not names.fits(path[skip:]):
                return False
            if is_secret(path[skip:]):  # the gate has judged the folder, not what is in it
                secret.append(path)
                return False
            return True

        found = await search(run.host, place.engine, place.folder, request, wanted)
        files = found.files
        text = SHOWN[output_mode](files, place.lead, offset, head_limit)
        if found.cut:
            text += "\n[There is more than can be counted: narrow the search.]"
        if secret:
            more = f" and {len(secret) - 1:,} more" if len(secret) > 1 else ""
            which = f"{quoted(place.lead + min(secret))}{more}"
            text += f"\n[Left out, because it holds keys or passwords: {which}. Name it in path.]"
        details = {"files": len(files), "matches": sum(each.count for each in files), "engine": place.engine.mode}
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
        max_result_chars=RESULT,
        always_loaded=True,
        search_hint="search file contents by regular expression, ripgrep",
    )
