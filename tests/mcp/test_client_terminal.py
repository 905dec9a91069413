"""/mcp in the terminal, prompts of servers as commands, and what doctor says of servers."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.admin.doctor.diagnosis import Patient
from callgate.admin.doctor.workspace import mcp_servers
from callgate.assembly.agent import agent_session
from callgate.formats.columns import width as measured
from callgate.mcp.server_config import as_entry
from callgate.testing import ScriptedModel, say, turn
from callgate.tui.commands import all_commands, argument_words, run_command
from callgate.tui.composer.candidates import candidates_at
from callgate.tui.composer.completion_sources import CompletionSources
from callgate.tui.panels.panel_page import CODES
from callgate.tui.panels.question_queue import QuestionQueue
from callgate.words.decisions import Question
from callgate.words.inputs import Prompt
from callgate.words.messages import Text
from callgate.words.model import RunOptions
from tests.mcp.client_kit import friendly, raw
from tests.mcp.test_client_session import config_in, flags
from tests.tui.fakes import FakeTerminal


@pytest.mark.spec("MCP-9")
def test_the_terminal_shows_servers_with_reconnect_disable_and_log(tmp_path: Path) -> None:
    async def main() -> None:
        config, model = config_in(tmp_path), ScriptedModel(turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(raw(), raw("exits", name="bad"))) as session:
            terminal = FakeTerminal(session, config)
            assert session.controls.servers is not None
            await session.controls.servers.settled()
            assert "cannot find my settings" in await terminal.run("/mcp log bad")
            assert "srv: disabled" in await terminal.run("/mcp disable srv")
            assert session.controls.servers.tools() == ()
            assert "srv: connected" in await terminal.run("/mcp reconnect srv")
            assert "Unknown server 'none'" in await terminal.run("/mcp log none")
            assert "accepts no argument" in await terminal.run("/mcp dance")
        async with await agent_session(config, model) as session:
            assert "callgate mcp add" in await FakeTerminal(session, config).run("/mcp")

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_mentions_are_completed_with_names_of_servers_and_addresses_of_resources(tmp_path: Path) -> None:
    async def main() -> None:
        config, model = config_in(tmp_path), ScriptedModel(turn(say("Done.")))
        (config.root / "srv.txt").touch()
        async with await agent_session(config, model, mcp=flags(raw(), raw("never connects", name="slow"))) as session:
            terminal, came = FakeTerminal(session, config), asyncio.Event()
            await session.controls.mcp_servers[0].settled()
            sources = CompletionSources(terminal.start, lambda: config.root, came.set)

            def shown(text: str) -> list[tuple[str, str]]:
                found = candidates_at(terminal, sources, text, len(text))
                return [] if found is None else [(found.kind, each.text) for each in found.candidates]

            assert shown("see @sr") == [("files", "@srv:")]  # the names of servers are there at once
            await came.wait()
            assert shown("see @sr") == [("files", "@srv:"), ("files", "@srv.txt")]
            came.clear()
            assert shown("see @srv:") == []  # the server is asked meanwhile
            await came.wait()
            assert shown("see @srv:") == [("resources", "@srv:note://a ")]
            assert shown('see @"srv:NOTE') == [("resources", "@srv:note://a ")]
            assert shown("see @srv:note://a") == shown("see @srv:other") == []
            assert shown("@slow:") == []  # typing does not wait for a server that is not there

    asyncio.run(main())


@pytest.mark.spec("MCP-9")
def test_the_panel_of_servers_is_drawn_again_as_they_change(tmp_path: Path) -> None:
    class Drawn(FakeTerminal):
        """Hears of each wish to draw."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.wanted = asyncio.Event()

        def redraw(self) -> None:
            self.wanted.set()

        async def until(self, holds: Callable[[str], bool], width: int = 59) -> str:
            while not holds(shown := "\n".join(self.panels[-1].lines(width, 20))):
                self.wanted.clear()
                await self.wanted.wait()
            assert all(measured(CODES.sub("", line)) <= width for line in shown.split("\n"))
            return shown

    async def main() -> None:
        config, model = config_in(tmp_path), ScriptedModel(turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(raw(), raw("exits", name="bad"))) as session:
            terminal = Drawn(session, config)
            run_command(terminal, "/mcp")
            await terminal.opened.wait()
            assert "connecting" in await terminal.until(lambda text: True)
            await terminal.until(lambda text: "connected  2 tools" in text and "it ended with" in text)
            beside = await terminal.until(lambda text: "connected: raw 1" in text, 120)
            assert "protocol 2025-06-18" in beside
            terminal.panels[-1].act("choose")
            for step in ("down", "down", "choose"):
                terminal.panels[-1].act(step)
            await terminal.until(lambda text: "disabled" in text)
            for step in ("choose", "down", "choose"):
                terminal.panels[-1].act(step)
            await terminal.until(lambda text: "connected  2 tools" in text)
            for step in ("down", "choose", "choose"):
                terminal.panels[-1].act(step)
            assert terminal.panels == []
            assert "cannot find my settings" in terminal.text()

    asyncio.run(main())


@pytest.mark.spec("MCP-9")
def test_the_details_of_a_question_say_what_the_server_says_of_its_tool(tmp_path: Path) -> None:
    async def main() -> None:
        config, model = config_in(tmp_path), ScriptedModel(turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(raw())) as session:
            terminal = FakeTerminal(session, config)
            assert session.controls.servers is not None
            await session.controls.servers.settled()
            question = Question("c1", "mcp__srv__add", {"a": 1}, "", by="default", reason="", asked_at=0.0)
            queue = QuestionQueue(terminal)
            queue.follow({((), "c1"): question})
            assert queue.card is not None
            queue.card.act("view")
            shown = CODES.sub("", "\n".join(terminal.panels[-1].lines(60, 20)))
            assert "A tool of the MCP server srv, described as:\n    Add two numbers\n" in shown
            assert "  a: 1\n" in shown

    asyncio.run(main())


@pytest.mark.spec("MCP-9")
def test_tools_of_a_server_stand_together_one_line_each_and_one_is_shown_whole(tmp_path: Path) -> None:
    said = "Does it, with all the care that one can take of a thing in a line of sixty columns. And more."
    tools = [{"name": f"t{n}", "description": said, "inputSchema": {"type": "object"}} for n in range(30)]

    async def main() -> None:
        config, model = config_in(tmp_path), ScriptedModel(turn(say("Done.")))
        given = flags(raw("tools", json.dumps(tools)))
        async with await agent_session(config, model, mcp=given) as session:
            terminal = FakeTerminal(session, config)
            assert session.controls.servers is not None
            await session.controls.servers.settled()
            shown = await terminal.run("/tools")
            _before, _title, rows = shown.partition("30 tools of the MCP server srv, named mcp__srv__…\n")
            assert rows.startswith("  t0   Does it, with all the care that one can take of a th…\n  t1 ")
            assert "\n10 more: /tools srv.\n" in rows
            assert "data, not instructions" not in shown
            assert (await terminal.run("/tools srv")).count("mcp__srv__t") == 30
            whole = await terminal.run("/tools mcp__srv__t1")
            assert "mcp__srv__t1, described by the MCP server srv" in whole
            assert said in " ".join(whole.split())
            assert ("srv", "30 tools") in argument_words(terminal, "tools")

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_prompts_of_servers_are_commands(tmp_path: Path) -> None:
    async def main() -> None:
        config, model = config_in(tmp_path), ScriptedModel(otherwise=turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(friendly())) as session:
            terminal = FakeTerminal(session, config)
            assert session.controls.servers is not None
            await session.controls.servers.settled()
            command = next(each for each in all_commands(terminal) if each.name == "friendly:review")
            assert (command.arguments, command.help) == ("PATH", "Review a file. (MCP)")
            await terminal.run("/friendly:review 'my file.py'")
            sent = next(each for each in terminal.sent if isinstance(each, Prompt))
            assert sent == Prompt((Text("Review my file.py with care."),), RunOptions(quoted=True))
            assert "this prompt needs path" in await terminal.run("/friendly:review")

    asyncio.run(main())


@pytest.mark.spec("MCP-9")
def test_doctor_connects_servers_when_it_is_online_and_says_what_is_wrong(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    online = Patient(config, "", {}, online=True)
    assert [each.saw for each in mcp_servers(online)] == ["none is configured"]
    assert config.folder is not None
    config.folder.mkdir(parents=True)
    found = {"mcpServers": {"srv": as_entry(raw()), "bad": as_entry(raw("exits"))}}
    (config.folder / "mcp.json").write_text(json.dumps(found), encoding="utf-8")
    (problem,) = mcp_servers(online)
    assert (problem.status, problem.saw, problem.repair) == ("fault", "bad", ("callgate mcp test bad",))
    (config.folder / "mcp.json").write_text(json.dumps({"mcpServers": {"srv": as_entry(raw())}}), encoding="utf-8")
    assert [each.saw for each in mcp_servers(online)] == ["1 connected, with 2 tools"]


@pytest.mark.spec("MCP-9")
def test_doctor_starts_no_server_unless_it_is_online(tmp_path: Path) -> None:
    config, started = config_in(tmp_path), tmp_path / "started"
    assert config.folder is not None
    config.folder.mkdir(parents=True)
    entries = {"srv": {"command": "touch", "args": [str(started)]}, "odd": {"type": "pigeon"}}
    (config.folder / "mcp.json").write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    fault, number = mcp_servers(Patient(config, "", {}))
    assert (fault.status, number.status) == ("warning", "ok")
    assert "the server 'odd' is ignored" in fault.problem
    assert number.saw == "1 configured; `callgate mcp list` and `callgate doctor --online` connect to them"
    assert not started.exists()
