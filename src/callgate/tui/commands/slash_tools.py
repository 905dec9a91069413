"""Commands that show facts about the session: /recap, /cost, /tools, /skills, /tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import time
from typing import TYPE_CHECKING

from callgate.formats.display import counted
from callgate.tui.blocks import NoticeBlock, TableBlock
from callgate.tui.commands.slash_support import config_of, dollars, first_sentence, said, seconds, session_of
from callgate.tui.panels.servers_panel import server_tools
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_MOST_TOOLS = 20
"""The number of tools listed for a server, and of other deferred tools; there may be thousands."""


async def recap(terminal: Terminal, _text: str) -> None:
    """Show a model's one-line summary of the session, which is not part of the conversation."""
    said(terminal, await session_of(terminal).recap())


def cost(terminal: Terminal, _text: str) -> None:
    session = session_of(terminal)
    by_model = {each.model: each for each in session.costs}
    now = session.open_spent
    if now is not None:
        by_model[now.model] = by_model[now.model] + now if now.model in by_model else now
    spent = by_model.values()
    if not spent:
        said(terminal, "Nothing was asked of a model yet, so nothing was spent.")
        return
    rows: list[tuple[str, ...]] = []
    for each in spent:
        counts = (each.usage.input, each.usage.cache_read, each.usage.cache_write, each.usage.output)
        rows.append((each.model, *(f"{count:,}" for count in counts), dollars(each.cost)))
    known = [each.cost for each in spent if each.cost is not None]
    unknown = [each.model for each in spent if each.cost is None]
    without = f", without {', '.join(unknown)}, whose price is not known" if unknown else ""
    note = f"In all {dollars(sum(known))}{without}." if known else "The price is not known."
    heads = ("model", "input", "cached", "to cache", "output", "cost")
    terminal.show(TableBlock(tuple(rows), "Tokens and cost of the session", heads, note))


def tools(terminal: Terminal, text: str) -> None:
    """Show all tools, grouped by MCP server; with a text, those whose names contain it; one tool with its whole
    description."""
    session = session_of(terminal)
    shown = {each.name: each.description for each in (*session.tool_specs, *session.deferred_specs)}
    of_server: dict[str, str] = {}
    for name, (server, description) in server_tools(session).items():
        if name in shown:
            of_server[name], shown[name] = server, description  # the description for the model also names the server
    if text:
        _named_tools(terminal, text, shown, of_server)
        return
    loaded = [each.name for each in session.tool_specs if each.name not in of_server]
    note = "Your own are Python files in .callgate/tools or in the tools folder of your settings."
    terminal.show(_tool_table(loaded, shown, counted(len(loaded), "tool"), note=note))
    for server in dict.fromkeys(of_server.values()):
        names = [name for name, each in of_server.items() if each == server]
        title = f"{counted(len(names), 'tool')} of the MCP server {server}, called mcp__{server}__…"
        terminal.show(_tool_table(names, shown, title, server, most=_MOST_TOOLS))
    use = session.tool_search
    if use is not None:
        others = [each.name for each in session.deferred_specs if each.name not in of_server]
        title = f"{len(others):,} deferred, which the model finds by search" if others else ""
        terminal.show(_tool_table(others, shown, title, note=f"Tool search is {use.sentence}.", most=_MOST_TOOLS))


def _tool_table(
    names: Sequence[str],
    shown: Mapping[str, str],
    title: str,
    server: str = "",
    *,
    note: str = "",
    most: int | None = None,
) -> TableBlock:
    rows = tuple((name.removeprefix(f"mcp__{server}__"), first_sentence(shown[name])) for name in names[:most])
    left = len(names) - len(rows)
    more = f"{left:,} more: /tools {server or 'TEXT, a part of their names'}." if left else ""
    return TableBlock(rows, title, note=f"{note} {more}".strip(), one_line=True)


def _named_tools(terminal: Terminal, text: str, shown: Mapping[str, str], of_server: Mapping[str, str]) -> None:
    names = [text] if text in shown else [name for name in shown if text.casefold() in name.casefold()]
    if not names:
        raise UsageError(f"No tool has {text!r:.60} in its name; /tools lists them.")
    if len(names) > 1:
        terminal.show(_tool_table(names, shown, counted(len(names), "tool")))
        return
    (name,) = names
    whose = f", in the words of the MCP server {of_server[name]}" if name in of_server else ""
    lines = (shown[name] or "no description").strip().split("\n")
    terminal.show(TableBlock(tuple((line,) for line in lines), f"{name}{whose}"))


def tool_words(terminal: Terminal) -> Sequence[tuple[str, str]]:
    if terminal.session is None:
        return ()
    session = terminal.session
    servers = [(each.name, counted(len(each.tools), "tool")) for each in session.mcp_servers if each.tools]
    return [*servers, *((each.name, "") for each in (*session.tool_specs, *session.deferred_specs))]


async def skills(terminal: Terminal, _text: str) -> None:
    from callgate.tui.commands.custom_prompts import skills_of

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
    """List background tasks; ``stop ID`` or ``stop all`` stops them."""
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
        (each.id, each.status, seconds(max((each.ended or now) - each.record.started, 0.0)), each.record.label)
        for each in found
    )
    terminal.show(TableBlock(rows, "Background work", note="/tasks stop ID ends one."))


def task_words(terminal: Terminal) -> Sequence[tuple[str, str]]:
    if terminal.session is None:
        return ()
    running = [each for each in terminal.session.background_tasks if each.status == "running"]
    return [("stop all", "ends all of them"), *((f"stop {each.id}", each.record.label[:60]) for each in running)]
