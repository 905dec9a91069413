"""The tool AstGrep: structural search.

The package ``tools/structural`` is loaded at the first call.
"""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from callgate.core.ports import Run
from callgate.tools.builtin import builtin_tool
from callgate.tools.ripgrep.excluded_files import ExcludedFiles, SearchRules, SearchTool
from callgate.tools.structural.scan_types import ScanLimits, ScanScope
from callgate.words.calls import Result
from callgate.words.messages import Text
from callgate.words.traits import reads

USUAL_MATCHES = 200
"""The default number of matches in a result; at most a thousand are found."""


def ast_grep() -> SearchTool:
    """Make the tool ``AstGrep``. A call requires ``callgate[edit]``."""
    rules = SearchRules()

    async def ast_grep(
        pattern: str,
        run: Run,
        paths: list[str] | None = None,
        language: str | None = None,
        glob: str | None = None,
        max_matches: Annotated[int, Field(ge=1, le=1000)] = USUAL_MATCHES,
    ) -> Result:
        """Search.

        Args:
            pattern: code to look for, with $NAME for any one node and $$$NAME for any number
            paths: files and folders to look in, relative to the workspace; all of it if there are none
            language: such as python, typescript or rust; by the endings of the files if left out
            glob: only files that fit, such as src/**/*.py
            max_matches: how many matches to show
        """
        from callgate.tools.structural.scan import search
        from callgate.tools.structural.structural_text import search_result

        where = ScanScope(tuple(paths or ()), language, glob)
        root = run.host.normal(".")
        left_out = ExcludedFiles(rules, root, secrets=True)
        named = {*where.paths}  # the gate has judged these

        def leaves_out(path: str) -> bool:
            return path not in named and left_out.takes(path)

        limits = ScanLimits(matches=max_matches)
        found = await search(root, pattern, where, limits, run.progress, leaves_out)
        result, notes = search_result(found), "".join(left_out.notes(""))
        return replace(result, content=(*result.content, Text(notes.strip()))) if notes else result

    made = builtin_tool(
        ast_grep,
        aliases=["ast_grep"],
        title="Search code",
        icon="search",
        label="pattern",
        effects="none",
        locks=lambda a: reads(*(a.paths or ["."])),
        always_loaded=False,
        search_hint="structural code search by syntax pattern",
    )
    return SearchTool(made, rules)
