"""The tool Glob: finds files by name patterns."""

from typing import Annotated

from pydantic import Field

from callgate.core.ports import Run
from callgate.tools.builtin import builtin_tool
from callgate.tools.ripgrep.excluded_files import ExcludedFiles, SearchRules, SearchTool
from callgate.words.calls import Result
from callgate.words.messages import Text

USUAL_PATHS = 200


def glob() -> SearchTool:
    rules = SearchRules()

    async def glob(
        pattern: str,
        run: Run,
        path: str = ".",
        head_limit: Annotated[int, Field(ge=1, le=5_000)] = USUAL_PATHS,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> Result:
        """Find files.

        Args:
            pattern: such as *.py or src/**/*.ts
            path: the folder to look in, and the one that the pattern starts at; the workspace if left out
            head_limit: how many paths to show
            offset: how many to pass over first
        """
        from callgate.changes.diff import quoted
        from callgate.tools.ignore_files import name_filter, split_base
        from callgate.tools.ripgrep.search_engine import SearchRequest
        from callgate.tools.ripgrep.search_root import search_root
        from callgate.tools.ripgrep.search_run import listed, replaced_note, search, without_replaced

        start, rest = split_base(_or_all(pattern), path)
        place = await search_root(run.host, start)
        names = name_filter([rest])
        request = SearchRequest(place.path, "files", names=names.names, in_repository=place.in_repository)
        left_out = ExcludedFiles(rules, place.folder, secrets=False)  # file names are not secret

        def wanted(path: str) -> bool:
            return names.fits("" if place.is_file else path) and not left_out.takes(path)

        found = await search(run.host, place, request, wanted)
        fitting, replaced = await without_replaced(run.host, place, found.files, offset, head_limit)
        text = listed(fitting, lambda each: quoted(place.lead + each.path), offset, head_limit)
        text = text or f"No file matches {pattern}."
        text += "".join(left_out.notes(place.lead)) + replaced_note(replaced)
        return Result((Text(text),), details={"files": len(fitting), "engine": place.engine.mode})

    made = builtin_tool(
        glob,
        title="Find files",
        icon="search",
        label="pattern",
        effects="none",
        reads=lambda a: _start(a.pattern, a.path),
        timeout=60,
    )
    return SearchTool(made, rules)


def _or_all(pattern: str) -> str:
    """Return the pattern, or the pattern of all files if it is empty."""
    return "*" if pattern in ("", ".", "./") else pattern


def _start(pattern: str, path: str) -> str:
    from callgate.tools.ignore_files import split_base  # loaded at the first call

    return split_base(_or_all(pattern), path)[0]
