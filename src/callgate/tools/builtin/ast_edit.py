"""AstEdit: structural rewriting, shown and staged. The engine is ``tools/structural``; this says what a model gets to
read before it decides, with ``resolve``, whether the change is made."""

from asyncio import CancelledError
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from callgate.changes.diff import quoted
from callgate.changes.summary import display, summary
from callgate.core.ports import Run
from callgate.host.threads import in_thread, threads_of
from callgate.tools.builtin.structural_words import first_lines, left_out, many, not_looked_at
from callgate.tools.staging import stage
from callgate.tools.structural.rewriting import rewrite
from callgate.tools.structural.terms import (
    STANDARD,
    Cut,
    Limits,
    Op,
    Overlap,
    Replacement,
    Rewritten,
    RewrittenFile,
    Where,
)
from callgate.tools.tool import FunctionTool, tool
from callgate.words.calls import Result
from callgate.words.messages import Text
from callgate.words.traits import reads

NAME = "AstEdit"
MOST_OPS = 50
MOST_MATCHES = 10_000
"""More than the usual limit, for single files that have more: a file is changed whole or not at all."""

_SHOWN, _SHOWN_OF_FILE, _SHOWN_CHARACTERS = 100, 20, 15_000
"""How much a model reads of the replacements; a person has the whole diff, and what is applied is all of them."""
_LINES, _WIDTH = 6, 200
"""Of one side of one replacement."""
_NAMED = 20
"""Files of which nothing is shown."""


class EditOp(BaseModel):
    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(description="code to look for, with $NAME for any one node and $$$NAME for any number")
    rewrite: str = Field(description="code to put there, with the metavariables of the pattern; empty removes it")


def ast_edit() -> FunctionTool[..., Any]:
    """The tool ``AstEdit``; when it is called it needs ``callgate[edit]``, and a session that takes pending actions."""

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
        wanted = [Op(each.pattern, each.rewrite) for each in ops]
        where = Where(tuple(paths or ()), language, glob)
        limits = Limits(files=max_files, matches=max_matches)
        # The outer one of nested matches is replaced, as ast-grep's command line does it; the inner one is reported.
        made = await rewrite(run.host.normal("."), wanted, where, limits, partial(_tell, run), nested="outermost")
        # The diff of many files takes its time, and must not take the event loop's.
        result = await in_thread(partial(_result, made), threads=threads_of(run.host))
        if run.cancelled:  # the thread was waited for nevertheless, and nobody will read what would be staged
            raise CancelledError
        if made.changes.files:
            stage(made.changes.label, made.changes, source_tool_name=NAME, details=result.details)
        return result

    described = files("callgate.tools.builtin").joinpath("ast_edit.md").read_text(encoding="utf-8").strip()
    return tool(
        ast_edit,
        name=NAME,
        aliases=["ast_edit"],
        description=described,
        effects="none",
        stages=True,
        locks=lambda a: reads(*(a.paths or ["."])),
        search_hint="structural code rewrite by syntax pattern, codemod, rename across files",
    )


def _tell(run: Run, done: int, total: int) -> None:
    run.progress(current=done, total=total)


def _result(made: Rewritten) -> Result:
    shown = (display(made.changes),) if made.changes.files else ()
    return Result((Text("\n".join(_lines(made))),), display=shown, details=_counts(made))


def _counts(made: Rewritten) -> Mapping[str, Any]:
    return {
        "replacements": made.changes.count,
        "files": made.files,
        "files_changed": len(made.changes.files),
        "overlaps": made.overlap_count,
        "skipped": dict(made.skipped.counts),
        "cuts": [{"limit": cut.limit, "at": cut.at, "more": cut.more} for cut in made.cuts],
    }


def _lines(made: Rewritten) -> Iterator[str]:
    looked = f"{many(made.files, 'file', 'files')} looked at."
    if made.rewritten:
        yield from _preview(made.rewritten)
        count = sum(file.count for file in made.rewritten)
        made_in = many(len(made.rewritten), "file", "files")
        yield f"{many(count, 'replacement', 'replacements')} in {made_in}; {looked}"
    else:
        yield f"Nothing to change, and nothing is staged; {looked}"
    yield from map(_overlap, made.overlaps)
    if made.overlap_count > len(made.overlaps):
        yield f"… {many(made.overlap_count - len(made.overlaps), 'more overlap', 'more overlaps')}"
    yield from map(_cut_off, made.cuts)
    yield from left_out(made.skipped)
    yield from made.hints
    if made.rewritten:
        yield f"Nothing is written yet: {summary(made.changes)}"


def _preview(rewritten: Sequence[RewrittenFile]) -> Iterator[str]:
    """Each file with the first of its replacements; then, by name alone, the files for which there is no room."""
    unshown: list[RewrittenFile] = []
    for file, blocks in _with_room(rewritten):
        if not blocks:
            unshown.append(file)
            continue
        yield f"{quoted(file.path)}: {many(file.count, 'replacement', 'replacements')}"
        yield from blocks
        if file.count > len(blocks):
            yield f"  … {file.count - len(blocks)} more"
    if unshown:
        count = sum(file.count for file in unshown)
        names = ", ".join(f"{quoted(file.path)} ({file.count})" for file in unshown[:_NAMED])
        more = f" and {many(len(unshown) - _NAMED, 'more file', 'more files')}" if len(unshown) > _NAMED else ""
        yield f"Not shown, {many(count, 'replacement', 'replacements')}: {names}{more}"


def _with_room(rewritten: Sequence[RewrittenFile]) -> Iterator[tuple[RewrittenFile, list[str]]]:
    matches, characters = _SHOWN, _SHOWN_CHARACTERS
    for file in rewritten:
        blocks: list[str] = []
        for each in file.replacements[:_SHOWN_OF_FILE] if matches else ():
            block = _block(each)
            if not matches or len(block) > characters:
                matches = 0  # nor anything after it: what is left out is one piece, at the end
                break
            matches, characters = matches - 1, characters - len(block)
            blocks.append(block)
        yield file, blocks


def _block(each: Replacement) -> str:
    place = f"  {each.line}:{each.column}:"
    if each.after and "\n" not in each.before + each.after:
        return f"{place} {_narrow(each.before)} → {_narrow(each.after)}"
    before = [f"    - {_narrow(line)}" for line in first_lines(each.before, _LINES)]
    after = [f"    + {_narrow(line)}" for line in first_lines(each.after, _LINES)] if each.after else []
    return "\n".join((place, *before, *after))


def _overlap(overlap: Overlap) -> str:
    pair = f"{_site(overlap.first)} and {_site(overlap.second)}"
    fate = (
        "nothing is changed in this file; try its ops one after the other"
        if overlap.held
        else "the second lies inside the first, which alone is replaced; call again once that is applied"
    )
    return f"Overlap in {quoted(overlap.path)}, {pair}: {fate}."


def _site(each: Replacement) -> str:
    first, cut, _ = each.before.partition("\n")
    return f"{each.line}:{each.column} {_narrow(first)}{' …' if cut else ''} (op {each.op + 1})"


def _cut_off(cut: Cut) -> str:
    if cut.limit == "files":
        return f"{not_looked_at(cut)}: name fewer paths, or raise max_files."
    left = f"{many(cut.more, 'more replacement is', 'more replacements are')} not in it, from {quoted(cut.at)} on"
    return f"{left}: call again once it is applied, narrow it by paths or glob, or raise max_matches."


def _narrow(line: str) -> str:
    more = len(line) - _WIDTH
    return line if more <= 0 else f"{line[:_WIDTH]}… ({many(more, 'more character', 'more characters')})"
