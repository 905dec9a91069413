"""AstGrep: structural search. The engine is ``tools/structural``; this says what a model gets to read of it."""

from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from typing import Annotated, Any

from pydantic import Field

from callgate.changes.diff import quoted
from callgate.core.ports import Run
from callgate.tools.builtin.structural_words import first_lines, left_out, many, not_looked_at
from callgate.tools.structural.searching import search
from callgate.tools.structural.terms import Found, Limits, Match, Where
from callgate.tools.tool import FunctionTool, tool
from callgate.words.calls import Display, Result
from callgate.words.messages import Text
from callgate.words.traits import reads

MOST = 200
"""Matches that a model is shown unless it asks for more; a thousand is all there is."""
_LINES = 6
"""Of one match; the rest is counted."""


def ast_grep() -> FunctionTool[..., Any]:
    """The tool ``AstGrep``; it needs ``callgate[edit]`` when it is called."""

    async def ast_grep(
        pattern: str,
        run: Run,
        paths: list[str] | None = None,
        language: str | None = None,
        glob: str | None = None,
        max_matches: Annotated[int, Field(ge=1, le=1000)] = MOST,
    ) -> Result:
        """Search.

        Args:
            pattern: code to look for, with $NAME for any one node and $$$NAME for any number
            paths: files and folders to look in, relative to the workspace; all of it if there are none
            language: such as python, typescript or rust; by the endings of the files if left out
            glob: only files that fit, such as src/**/*.py
            max_matches: how many matches to show
        """
        progress = partial(_tell, run)
        where = Where(tuple(paths or ()), language, glob)
        found = await search(run.host.normal("."), pattern, where, Limits(matches=max_matches), progress)
        text = "\n".join(_lines(found))
        details = {"matches": found.count, "files": found.files, "files_matched": found.files_matched}
        return Result((Text(text),), display=(_display(found),), details=details)

    described = files("callgate.tools.builtin").joinpath("ast_grep.md").read_text(encoding="utf-8").strip()
    return tool(
        ast_grep,
        name="AstGrep",
        aliases=["ast_grep"],
        description=described,
        effects="none",
        locks=lambda a: reads(*(a.paths or ["."])),
        search_hint="structural code search by syntax pattern",
    )


def _tell(run: Run, done: int, total: int) -> None:
    run.progress(current=done, total=total)


def _lines(found: Found) -> Iterator[str]:
    for match in found.matches:
        yield from _shown(match)
    matched = f"{many(found.count, 'match', 'matches')} in {many(found.files_matched, 'file', 'files')}"
    yield f"{matched}; {many(found.files, 'file', 'files')} looked at."
    for cut in found.cuts:
        if cut.limit == "matches":
            more = f"{cut.more} more not shown, from {quoted(cut.at)} on"
            yield f"{more}: narrow it by paths or glob, or raise max_matches."
        else:
            yield f"{not_looked_at(cut)}: name fewer paths."
    yield from left_out(found.skipped, unsaid=["ignored"])
    yield from found.hints


def _shown(match: Match) -> Iterator[str]:
    first, *rest = first_lines(match.text, _LINES)
    yield f"{quoted(match.path)}:{match.line}:{match.column}: {first}"
    yield from (f"    {line}" for line in rest)


def _display(found: Found) -> Display:
    rows = [[f"{match.path}:{match.line}", match.text.partition("\n")[0]] for match in found.matches]
    return Display("table", {"columns": ["where", "match"], "rows": rows}, many(found.count, "match", "matches"))
