"""The tool AstEdit: structural rewriting, displayed and staged.

The package ``tools/structural`` is loaded at the first call.
"""

from asyncio import CancelledError
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from callgate.core.ports import Run
from callgate.host.threads import in_thread, threads_of
from callgate.tools.builtin import builtin_tool
from callgate.tools.staging import stage
from callgate.tools.structural.scan_types import STANDARD, Op, ScanLimits, ScanScope
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.traits import reads

NAME = "AstEdit"
MOST_OPS = 50
MOST_MATCHES = 10_000
"""The most replacements that a call may request. It is above the default, because a file is changed completely or
not at all."""


class EditOp(BaseModel):
    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(description="code to look for, with $NAME for any one node and $$$NAME for any number")
    rewrite: str = Field(description="code to put there, with the metavariables of the pattern; empty removes it")


def ast_edit() -> FunctionTool[Any]:
    """Make the tool ``AstEdit``. A call requires ``callgate[edit]`` and a session that accepts pending actions."""

    async def ast_edit(
        ops: Annotated[list[EditOp], Field(min_length=1, max_length=MOST_OPS)],
        run: Run,
        paths: list[str] | None = None,
        language: str | None = None,
        glob: str | None = None,
        max_files: Annotated[int, Field(ge=1, le=STANDARD.files)] = STANDARD.files,
        max_matches: Annotated[int, Field(ge=1, le=MOST_MATCHES)] = STANDARD.matches,
    ) -> Result:
        """Rewrite.

        Args:
            ops: what to look for and what to put in its place; all look at the files as they are now
            paths: files and folders to change, relative to the workspace; all of it if there are none
            language: such as python, typescript or rust; by the endings of the files if left out
            glob: only files that fit, such as src/**/*.py
            max_files: how many files to look at
            max_matches: how many replacements to make; it ends before the file that would go beyond
        """
        from callgate.tools.structural.scan import rewrite
        from callgate.tools.structural.structural_text import edit_result

        wanted = [Op(each.pattern, each.rewrite) for each in ops]
        where = ScanScope(tuple(paths or ()), language, glob)
        limits = ScanLimits(files=max_files, matches=max_matches)
        made = await rewrite(run.host.normal("."), wanted, where, limits, run.progress)
        # In a thread, because the diff of many files takes long.
        result = await in_thread(partial(edit_result, made, run.host.normal(".")), threads=threads_of(run.host))
        if run.cancelled:  # nobody would receive the staged changes
            raise CancelledError
        if made.changes.files:
            stage(made.changes.label, made.changes, source_tool_name=NAME, details=result.details)
        return result

    return builtin_tool(
        ast_edit,
        aliases=["ast_edit"],
        title="Rewrite code",
        icon="edit",
        label=lambda a: a.ops[0].pattern,
        effects="none",
        stages=True,
        locks=lambda a: reads(*(a.paths or ["."])),
        always_loaded=False,
        search_hint="structural code rewrite by syntax pattern, codemod, rename across files",
    )
