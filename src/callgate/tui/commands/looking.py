"""Commands that show the session: /recap, /cost, /tools, /skills, /tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import time
from typing import TYPE_CHECKING

from callgate.formats.display import counted
from callgate.tui.blocks import NoticeBlock, TableBlock
from callgate.tui.commands.parts import config_of, dollars, first_sentence, said, seconds, session_of
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_MOST_DEFERRED = 50
"""Deferred tools that are shown; there may be thousands."""


async def recap(terminal: Terminal, _text: str) -> None:
    """One line of at most 40 words on where things stand, by a model; it is no part of the conversation."""
    said(terminal, await session_of(terminal).recap())


def cost(terminal: Terminal, _text: str) -> None:
    session = session_of(terminal)
    spent = list(session.costs)
    if session.open_spent is not None:
        at = next((at for at, each in enumerate(spent) if each.model == session.open_spent.model), None)
        if at is None:
            spent.append(session.open_spent)
        else:
            spent[at] += session.open_spent
    if not spent:
        said(terminal, "Nothing was asked of a model yet, so nothing was spent.")
        return
    rows = [
        (
            each.model,
            f"{each.usage.input:,}",
            f"{each.usage.cache_read:,}",
            f"{each.usage.cache_write:,}",
            f"{each.usage.output:,}",
            dollars(each.cost),
        )
        for each in spent
    ]
    known = [each.cost for each in spent if each.cost is not None]
    unknown = [each.model for each in spent if each.cost is None]
    without = f", without {', '.join(unknown)}, whose price is not known" if unknown else ""
    note = f"In all {dollars(sum(known))}{without}." if known else "The price is not known."
    heads = ("model", "input", "cached", "to cache", "output", "cost")
    terminal.show(TableBlock(tuple(rows), "Tokens and cost of the session", heads, note))


def tools(terminal: Terminal, _text: str) -> None:
    session = session_of(terminal)
    rows = tuple((each.name, first_sentence(each.description)) for each in session.tool_specs)
    note = "Your own are Python files in .callgate/tools or in the tools folder of your settings."
    terminal.show(TableBlock(rows, counted(len(rows), "tool"), note=note))
    use, deferred = session.tool_search, session.deferred_specs
    if use is None:
        return
    rows = tuple((each.name, first_sentence(each.description)) for each in deferred[:_MOST_DEFERRED])
    left = len(deferred) - len(rows)
    more = f" {left:,} more are not shown." if left else ""
    title = f"{len(deferred):,} deferred, which the model finds by search"
    terminal.show(TableBlock(rows, title, note=f"Tool search is {use.sentence}.{more}"))


async def skills(terminal: Terminal, _text: str) -> None:
    from callgate.admin.custom_commands import skills_of

    found = await asyncio.to_thread(skills_of, config_of(terminal))
    if not found.by_name:
        said(terminal, "There are no skills. A folder with a SKILL.md in .callgate/skills makes one.")
    else:
        rows = tuple((f"/{each.name}", each.description) for each in found.by_name.values())
        terminal.show(
            TableBlock(rows, counted(len(rows), "skill"), note="The model uses them by itself; /NAME uses one now.")
        )
    for problem in found.problems:
        terminal.show(NoticeBlock(problem, "warning"))


async def tasks(terminal: Terminal, text: str) -> None:
    """Background work; ``stop ID`` ends one, ``stop all`` all."""
    session, words = session_of(terminal), text.split()
    if words and (words[0] != "stop" or len(words) != 2):
        raise UsageError(f"/tasks takes nothing, stop ID, or stop all, not {text!r:.60}")
    found = session.background_tasks
    if words:
        wanted = [each for each in found if each.status == "running" and words[1] in (each.id, "all")]
        if not wanted:
            raise UsageError(f"No task {words[1]} is running; /tasks lists them.")
        for each in wanted:
            await session.stop_background(each.id)
        return
    if not found:
        said(terminal, "Nothing runs in the background.")
        return
    now = time()
    rows = tuple(
        (
            each.id,
            each.status,
            seconds(max((each.ended or now) - each.record.started, 0.0)),
            each.record.label,
        )
        for each in found
    )
    terminal.show(TableBlock(rows, "Background work", note="/tasks stop ID ends one."))


def task_words(terminal: Terminal) -> Sequence[tuple[str, str]]:
    if terminal.session is None:
        return ()
    running = [each for each in terminal.session.background_tasks if each.status == "running"]
    return [("stop all", "ends all of them"), *((f"stop {each.id}", each.record.label[:60]) for each in running)]
