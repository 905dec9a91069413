"""Slash commands on a real session, without a screen."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from callgate import Session, Toolbox, load_config, tool
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tui.commands import COMMANDS, is_command
from callgate.tui.commands.command_table import MISSING
from callgate.tui.commands.slash_usage import report_of
from callgate.words.events import CallSettled
from callgate.words.inputs import Compact, Prompt
from tests.search.deferred_kit import Changing, server_tool
from tests.sessions import grouped_session
from tests.tui.fakes import FakeTerminal

Play = Callable[[FakeTerminal, Session], Awaitable[None]]


@tool(effects="none")
def look(what: str) -> str:
    """Looks at something. Nothing is changed by that."""
    return f"seen {what}"


def played(play: Play, model: ScriptedModel | None = None, **options: Any) -> FakeTerminal:
    """Plays with a terminal whose model calls a tool once."""
    model = model or ScriptedModel(turn(say("Well."), call("look", what="x")), otherwise=turn(say("Done.")))

    async def main() -> FakeTerminal:
        async with grouped_session(model, Toolbox(look), **options) as session:
            terminal = FakeTerminal(session)
            await play(terminal, session)
            return terminal

    return asyncio.run(main())


def test_every_command_of_the_table_has_its_functions_and_names_are_taken_once() -> None:
    for each in COMMANDS:
        assert isinstance(each.run, str)
        for name in (each.run, *([each.words] if each.words and isinstance(each.words, str) else [])):
            module, _, function = name.partition(":")
            assert callable(getattr(import_module(f"callgate.tui.commands.{module}"), function)), name
        assert each.help.rstrip(".") == each.help != "", each.name
    names = [word for each in COMMANDS for word in (each.name, *each.aliases)]
    assert len(names) == len(set(names))
    assert not set(names) & set(MISSING)


@pytest.mark.spec("CMD-8")
def test_recap_shows_the_line_and_says_nothing_in_the_conversation() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "no messages to recap" in await terminal.run("/recap")
        await session.send(Prompt("go"))
        before = session.messages
        assert "Done." in await terminal.run("/recap")
        assert session.messages == before

    played(play)


@pytest.mark.spec("CMD-4")
def test_perf_counts_requests_and_tools_and_has_no_word_of_the_conversation() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "no request sent yet" in await terminal.run("/perf")
        await session.send(Prompt("the secret plan"))
        shown = await terminal.run("/perf --limit 1")
        for word in ("memory", "CPU", "from cache", "The last 1 request", "look"):
            assert word in shown
        assert "secret plan" not in shown
        told = [event for _number, event in await session.events_after(0)]
        report = report_of(told, None)
        assert [each["turn"] for each in report["requests"]] == [1, 2]
        assert report["tools"]["look"]["calls"] == 1
        assert "plan" not in str(report)
        assert "seen x" not in str(report)
        assert "accepts --json" in await terminal.run("/perf fast")

    played(play)


def test_help_lists_every_command_and_says_more_of_one() -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        shown = await terminal.run("/help")
        assert all(f"/{each.name}" in shown for each in COMMANDS)
        assert "accept_edits" in await terminal.run("/help mode")
        assert "did you mean /mode?" in await terminal.run("/help mdoe")
        assert "Ctrl-C" in await terminal.run("/keys")

    played(play)


WANTED = (
    *("help", "model", "mode", "effort", "context", "compact", "clear", "resume", "branch", "rewind", "undo", "diff"),
    *("tools", "mcp", "agents", "tasks", "workflows", "permissions", "hooks", "memory", "skills", "cost", "export"),
    *("doctor", "statusline", "init", "review", "quit"),
)


@pytest.mark.spec("TUI-3")
def test_every_command_that_people_expect_is_there_or_says_what_is_missing() -> None:
    there = {word for each in COMMANDS for word in (each.name, *each.aliases)}
    assert [name for name in WANTED if name not in there and name not in MISSING] == []
    assert {name for name in WANTED if name in MISSING} == {"agents", "workflows", "memory"}


@pytest.mark.spec("CMD-13")
def test_a_command_that_is_not_there_says_what_is_missing_or_suggests_another() -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        listed = await terminal.run("/help")
        assert not {*MISSING} & {name for each in COMMANDS for name in (each.name, *each.aliases)}
        for name in MISSING:
            assert f"/{name} " not in listed
            shown = await terminal.run(f"/{name}")
            assert f"/{name} does not exist" in shown
            assert len(shown) > len(name) + 40, "what to do instead"
        assert "did you mean /cost?" in await terminal.run("/csot")
        assert "did you mean /compact?" in await terminal.run("/compa")
        assert "/help lists them" in await terminal.run("/zzzzzz")

    played(play)


def test_a_path_and_a_lone_slash_are_no_commands() -> None:
    assert not is_command("/usr/bin/env is missing")
    assert not is_command("/ what")
    assert not is_command("/")
    assert is_command("/cost")


def test_a_command_before_there_is_a_session_runs_when_it_is_open() -> None:
    async def main() -> None:
        terminal = FakeTerminal()
        await terminal.run("/cost")
        assert not terminal.fold.blocks
        await terminal.run("/version")
        assert terminal.notices
        async with Session(ScriptedModel()) as session:
            terminal.session = session
            for action in terminal.later:
                action()
            assert "No request was sent" in terminal.text()

    asyncio.run(main())


def test_a_command_that_needs_rest_is_refused_while_the_agent_works() -> None:
    async def play(terminal: FakeTerminal, _session: Session) -> None:
        terminal.fold.status = "working"
        assert "press Esc to" in await terminal.run("/compact the tests")
        assert not terminal.sent
        terminal.fold.status = "idle"
        await terminal.run("/compact the tests")
        assert terminal.sent == [Compact("the tests")]

    played(play)


def test_mode_title_and_tags_are_set_and_shown() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "> " in await terminal.run("/mode")
        await terminal.run("/mode accept-edits")
        assert session.mode == "accept_edits"
        assert "Unknown mode 'fast'" in await terminal.run("/mode fast")
        assert "has no title" in await terminal.run("/title")
        await terminal.run("/title  The   shop")
        assert session.title == "The shop"
        assert "The shop" in await terminal.run("/title")
        await terminal.run("/tags a, b a")
        assert session.controls.tags == ("a", "b")
        await terminal.run("/tags none")
        assert session.controls.tags == ()

    played(play)


def test_cost_and_tools_show_the_session() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "No request was sent" in await terminal.run("/cost")
        await session.send(Prompt("go"))
        assert "output" in await terminal.run("/cost")
        shown = await terminal.run("/tools")
        assert "look" in shown
        assert "Looks at something." in shown
        assert "Nothing is changed" not in shown

    played(play)


@pytest.mark.spec("SRC-11")
def test_tools_shows_the_mode_of_search_the_number_deferred_and_their_cost() -> None:
    source = Changing(*(server_tool(f"t{n}", "Does a thing. And more.") for n in range(60)))

    async def play(terminal: FakeTerminal, session: Session) -> None:
        shown = await terminal.run("/tools")
        assert "60 deferred" in shown
        assert "mcp__hub__t0" in shown
        flat = " ".join(shown.split())
        assert re.search(r"Tool search is on: 60 tools are deferred; .* they would take about [\d,]+ tokens", flat)
        assert "40 more: /tools TEXT (a part of their names)." in flat
        assert "mcp__hub__t59" not in shown
        assert "mcp__hub__t59" in await terminal.run("/tools HUB")
        one = await terminal.run("/tools t59")
        assert "Does a thing. And more." in one
        assert "mcp__hub__t5 " not in one
        assert "No tool name contains 'zzz'" in await terminal.run("/tools zzz")

    played(play, deferred=source)


@pytest.mark.spec("CMD-3")
def test_calls_shows_the_last_calls_with_arguments_decision_times_result_and_ids() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        assert "any tool yet" in await terminal.run("/calls")
        settled = [event async for event in session.send(Prompt("go")) if isinstance(event, CallSettled)]
        shown = await terminal.run("/calls")
        for wanted in ("look", settled[0].call_id, '{"what": "x"}', "allowed by", "waited", "success (ok) seen x"):
            assert wanted in shown, wanted
        await session.send(Prompt("again"))
        assert "a number from 1 on" in await terminal.run("/calls many")

    played(play)


def test_calls_shows_as_many_as_were_asked_for() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        await session.send(Prompt("go"))
        shown = await terminal.run("/calls 1")
        assert '"what": "b"' in shown
        assert '"what": "a"' not in shown
        assert "1 earlier" in shown

    twice = ScriptedModel(turn(call("look", what="a"), call("look", what="b")), otherwise=turn(say("Done.")))
    played(play, twice)


@pytest.mark.spec("CMD-1")
def test_version_and_env_name_program_platform_terminal_and_folders_and_mask_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLGATE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CALLGATE_API_KEY", "hunter2-hunter2-hunter2")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:s3cretpassw0rd@proxy.example:80")
    monkeypatch.setenv("TERM", "xterm-odd")

    async def main() -> None:
        async with Session(ScriptedModel()) as session:
            terminal = FakeTerminal(session, load_config(tmp_path))
            assert "Python" in await terminal.run("/version")
            await terminal.run("/env")
            rows = {row[0]: row[1] for row in terminal.tables[-1].rows}
            assert rows["workspace"] == str(tmp_path)
            assert rows["terminal"] == "xterm-odd"
            assert {"callgate", "Python", "platform", "data", "settings"} <= set(rows)
            assert "masked" in rows["CALLGATE_API_KEY"]
            assert "hunter2" not in str(rows)
            assert "s3cretpassw0rd" not in str(rows)

    asyncio.run(main())
