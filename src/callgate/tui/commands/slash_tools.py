"""Slash commands that show information about the session: /recap, /cost, /tools, /skills, /tasks, /permissions,
/hooks, /calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from json import dumps
from time import time
from typing import TYPE_CHECKING

from callgate.formats.display import counted
from callgate.tui.blocks import CallBlock, NoticeBlock, TableBlock
from callgate.tui.commands import (
    config_of,
    count_of,
    dollars,
    first_sentence,
    said,
    seconds,
    session_of,
)
from callgate.tui.commands.slash_servers import server_tools
from callgate.tui.render.call_rows import decided_text
from callgate.words.decisions import ApprovalPolicy, Origin, arguments_hash
from callgate.words.errors import UsageError
from callgate.words.modes import MODES

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_MOST_TOOLS = 20
"""The number of tools listed for a server, and of other deferred tools; there may be thousands."""


async def recap(terminal: Terminal, _text: str) -> None:
    """Show a one-line summary of the session, written by a model outside the conversation."""
    said(terminal, await session_of(terminal).controls.recap())


def cost(terminal: Terminal, _text: str) -> None:
    session = session_of(terminal)
    by_model = {each.model: each for each in session.costs}
    now = session.controls.open_spent
    if now is not None:
        by_model[now.model] = by_model[now.model] + now if now.model in by_model else now
    spent = by_model.values()
    if not spent:
        said(terminal, "No request was sent yet.")
        return
    rows: list[tuple[str, ...]] = []
    for each in spent:
        counts = (each.usage.input, each.usage.cache_read, each.usage.cache_write, each.usage.output)
        rows.append((each.model, *(f"{count:,}" for count in counts), dollars(each.cost)))
    known = [each.cost for each in spent if each.cost is not None]
    unknown = [each.model for each in spent if each.cost is None]
    without = f", without {', '.join(unknown)} (unknown price)" if unknown else ""
    note = f"Total: {dollars(sum(known))}{without}." if known else "The price is unknown."
    heads = ("model", "input", "cached", "to cache", "output", "cost")
    terminal.show(TableBlock(tuple(rows), "Tokens and cost of the session", heads, note))


def tools(terminal: Terminal, text: str) -> None:
    """Show the tools, grouped by MCP server. With a text, show the tools whose names contain the text; a single
    match is shown with its whole description."""
    session = session_of(terminal)
    shown = {each.name: each.description for each in (*session.controls.tool_specs, *session.controls.deferred_specs)}
    of_server: dict[str, str] = {}
    for name, (server, description) in server_tools(session).items():
        if name in shown:
            of_server[name], shown[name] = server, description  # the description for the model also names the server
    if text:
        _named_tools(terminal, text, shown, of_server)
        return
    loaded = [each.name for each in session.controls.tool_specs if each.name not in of_server]
    note = "Custom tools are Python files in .callgate/tools or in the tools folder of your settings."
    terminal.show(_tool_table(loaded, shown, counted(len(loaded), "tool"), note=note))
    for server in dict.fromkeys(of_server.values()):
        names = [name for name, each in of_server.items() if each == server]
        title = f"{counted(len(names), 'tool')} of the MCP server {server}, named mcp__{server}__…"
        terminal.show(_tool_table(names, shown, title, server, most=_MOST_TOOLS))
    use = session.controls.tool_search
    if use is not None:
        others = [each.name for each in session.controls.deferred_specs if each.name not in of_server]
        title = f"{len(others):,} deferred; the model finds them by search" if others else ""
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
    more = f"{left:,} more: /tools {server or 'TEXT (a part of their names)'}." if left else ""
    return TableBlock(rows, title, note=f"{note} {more}".strip(), one_line=True)


def _named_tools(terminal: Terminal, text: str, shown: Mapping[str, str], of_server: Mapping[str, str]) -> None:
    names = [text] if text in shown else [name for name in shown if text.casefold() in name.casefold()]
    if not names:
        raise UsageError(f"No tool name contains {text!r:.60}; /tools lists all tools.")
    if len(names) > 1:
        terminal.show(_tool_table(names, shown, counted(len(names), "tool")))
        return
    (name,) = names
    whose = f", described by the MCP server {of_server[name]}" if name in of_server else ""
    lines = (shown[name] or "no description").strip().split("\n")
    terminal.show(TableBlock(tuple((line,) for line in lines), f"{name}{whose}"))


def tool_words(terminal: Terminal) -> Sequence[tuple[str, str]]:
    if terminal.session is None:
        return ()
    session = terminal.session
    servers = [(each.name, counted(len(each.tools), "tool")) for each in session.controls.mcp_servers if each.tools]
    return [*servers, *((each.name, "") for each in (*session.controls.tool_specs, *session.controls.deferred_specs))]


async def skills(terminal: Terminal, _text: str) -> None:
    from callgate.tui.commands.custom_prompts import skills_of

    found = await asyncio.to_thread(skills_of, config_of(terminal))
    if not found.by_name:
        said(terminal, "There are no skills. To add one, create a folder with a SKILL.md in .callgate/skills.")
    else:
        rows = tuple((f"/{each.name}", each.description) for each in found.by_name.values())
        terminal.show(
            TableBlock(rows, counted(len(rows), "skill"), note="The model uses them automatically; /NAME uses one now.")
        )
    for problem in found.problems:
        terminal.show(NoticeBlock(problem, "warning"))


async def tasks(terminal: Terminal, text: str) -> None:
    """Show the background tasks, or stop them: ``stop ID`` or ``stop all``."""
    session, words = session_of(terminal), text.split()
    if words and (words[0] != "stop" or len(words) != 2):
        raise UsageError(f"/tasks accepts no argument, stop ID, or stop all, not {text!r:.60}")
    found = session.controls.background_tasks
    if words:
        wanted = [each for each in found if each.status == "running" and words[1] in (each.id, "all")]
        if not wanted:
            raise UsageError(f"No task {words[1]} is running; /tasks lists them.")
        for each in wanted:
            await session.controls.stop_background(each.id)
        return
    if not found:
        said(terminal, "There are no background tasks.")
        return
    now = time()
    rows = tuple(
        (each.id, each.status, seconds(max((each.ended or now) - each.record.started, 0.0)), each.record.label)
        for each in found
    )
    terminal.show(TableBlock(rows, "Background work", note="/tasks stop ID stops one."))


def task_words(terminal: Terminal) -> Sequence[tuple[str, str]]:
    if terminal.session is None:
        return ()
    running = [each for each in terminal.session.controls.background_tasks if each.status == "running"]
    return [("stop all", "stop all of them"), *((f"stop {each.id}", each.record.label[:60]) for each in running)]


async def permissions(terminal: Terminal, text: str) -> None:
    """Show the permission rules with their origins and the remembered answers, or remove answers: ``revoke ID…``."""
    from callgate.admin.workspace_policy import WorkspacePolicy

    words = text.split()
    if words and words[0] != "revoke":
        raise UsageError(f"/permissions accepts no argument, or revoke ID…, not {text!r:.60}")
    policy = await asyncio.to_thread(WorkspacePolicy, config_of(terminal).root)
    if words:
        if not words[1:]:
            raise UsageError("Add the ids of the answers: /permissions lists them.")
        for each in await asyncio.to_thread(policy.revoke, words[1:]):
            said(
                terminal,
                f"Rule removed: {each.policy.effect} {each.covers}. You will be asked again from the next prompt on.",
            )
        return
    mode = session_of(terminal).mode
    note = f"Mode {mode}: {MODES[mode].meaning}."
    rules = tuple((rule.effect, rule.text, _short(rule.origin)) for rule in policy.rulebook.rules)
    heads = ("", "rule", "from")
    terminal.show(TableBlock(rules, f"{counted(len(rules), 'active rule')}", heads, note))
    answers = tuple(
        (each.id, each.policy.effect, each.covers, "expired" if each.expired else each.policy.scope)
        for each in await asyncio.to_thread(policy.answers)
    )
    answers = (*answers, *_of_this_session(terminal))
    forget = "/permissions revoke ID removes one. " if any(each[0] for each in answers) else ""
    forget += (
        "Answers for this session apply until it ends; /clear starts a new session. "
        if not all(each[0] for each in answers)
        else ""
    )
    note = f"{forget}`callgate policy explain` explains the decision about a call."
    terminal.show(TableBlock(answers, counted(len(answers), "remembered answer"), note=note))
    for fault in policy.faults:
        terminal.show(NoticeBlock(f"Every call is denied until this is fixed: {fault}", "error"))


def _of_this_session(terminal: Terminal) -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each answer that is remembered for this session only."""
    session = session_of(terminal)
    for each in session.controls.remembered:
        if each.scope == "session":
            yield "", each.effect, _covered(terminal, each), "this session"


def _covered(terminal: Terminal, policy: ApprovalPolicy) -> str:
    """Return the calls that an answer covers. Exact arguments are shown as the call that was approved."""
    if policy.pattern is None or policy.pattern.kind != "exact":
        return policy.covers
    for call in terminal.fold.blocks:
        if isinstance(call, CallBlock) and arguments_hash(call.name, call.arguments) == policy.pattern.value:
            return f"{session_of(terminal).controls.face(call.name, call.arguments).line}, exactly"
    return f"{policy.tool}(exactly one call)"


def hooks(terminal: Terminal, _text: str) -> None:
    config = config_of(terminal)
    if not config.hooks:
        said(
            terminal,
            "There are no hooks. To add one, write a [[hooks]] table in your settings; see the guide on hooks.",
        )
        return
    rows = tuple(
        (each.event, each.matcher or each.condition or "all", each.target, _short(each.origin)) for each in config.hooks
    )
    measures = terminal.fold.measures
    note = "" if measures is None else f"The hooks took {measures.hooks:.2f} s in the last turn."
    terminal.show(TableBlock(rows, counted(len(rows), "hook"), ("event", "for", "runs", "from"), note))


def _short(origin: Origin) -> str:
    return f"{origin.layer}:{origin.line}" if origin.line else origin.layer


_MOST_CALLS = 10
_LONGEST_FACT = 400


def calls(terminal: Terminal, text: str) -> None:
    count = count_of(text, _MOST_CALLS, "/calls")
    found = [each for each in terminal.fold.blocks if isinstance(each, CallBlock) and not each.path]
    if not found:
        said(terminal, "The model has not called any tool yet.")
        return
    for each in found[-count:]:
        terminal.show(_call_table(each))
    if len(found) > count:
        said(terminal, f"{counted(len(found) - count, 'earlier call')}: /calls {len(found)} shows all.")


def _call_table(call: CallBlock) -> TableBlock:
    decided = "not decided" if call.decision is None else decided_text(call.decision)
    decided = f"{call.answered.replace('_', ' ')} by the user" if call.answered else decided
    facts = [("arguments", dumps(dict(call.arguments), ensure_ascii=False, default=str)), ("decision", decided)]
    if call.started is not None:
        facts.append(("waited", seconds(max(call.started - call.arrived, 0.0))))
    result = call.result
    facts.append(("result", "no result yet" if result is None else f"{result.status} ({result.code}) {result.text}"))
    took = "" if call.duration_ms is None else seconds(call.duration_ms / 1000)
    clock = datetime.fromtimestamp(call.arrived).strftime("%H:%M:%S")
    title = " ".join(part for part in (call.name, call.id, clock, took) if part)
    return TableBlock(tuple((name, _shortened(" ".join(value.split()))) for name, value in facts), title)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_FACT else f"{text[:_LONGEST_FACT]}… ({len(text):,} characters)"
