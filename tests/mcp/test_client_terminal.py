"""/mcp in the terminal, prompts of servers as commands, and what doctor says of servers."""

import asyncio
import json
from pathlib import Path

import pytest

from callgate.admin.doctor.diagnosis import Patient
from callgate.admin.doctor.servers import mcp_servers
from callgate.assembly.agent import agent_session
from callgate.mcp.config import as_entry
from callgate.testing import ScriptedModel, say, turn
from callgate.tui.commands import all_commands
from callgate.words.inputs import Prompt
from callgate.words.messages import Text
from tests.mcp.client_kit import friendly, raw
from tests.mcp.test_client_session import config_in, flags
from tests.tui.fakes import FakeTerminal


@pytest.mark.spec("MCP-9")
def test_the_terminal_shows_servers_with_reconnect_disable_and_log(tmp_path: Path) -> None:
    async def main() -> None:
        config, model = config_in(tmp_path), ScriptedModel(turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(raw(), raw("exits", name="bad"))) as session:
            terminal = FakeTerminal(session, config)
            assert session.servers is not None
            await session.servers.settled()
            shown = await terminal.run("/mcp")
            assert "2 tools, protocol 2025-06-18" in shown
            assert "it ended with exit status 1" in shown
            assert "cannot find my settings" in await terminal.run("/mcp log bad")
            assert "srv: disabled" in await terminal.run("/mcp disable srv")
            assert session.servers.tools() == ()
            assert "srv: connected" in await terminal.run("/mcp reconnect srv")
            assert "There is no server" in await terminal.run("/mcp log none")
            assert "takes nothing" in await terminal.run("/mcp dance")
        async with await agent_session(config, model) as session:
            assert "callgate mcp add" in await FakeTerminal(session, config).run("/mcp")

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_prompts_of_servers_are_commands(tmp_path: Path) -> None:
    async def main() -> None:
        config, model = config_in(tmp_path), ScriptedModel(otherwise=turn(say("Done.")))
        async with await agent_session(config, model, mcp=flags(friendly())) as session:
            terminal = FakeTerminal(session, config)
            assert session.servers is not None
            await session.servers.settled()
            command = next(each for each in all_commands(terminal) if each.name == "friendly:review")
            assert (command.arguments, command.help) == ("PATH", "Review a file. (MCP)")
            await terminal.run("/friendly:review 'my file.py'")
            sent = next(each for each in terminal.sent if isinstance(each, Prompt))
            assert sent.content == (Text("Review my file.py with care."),)
            assert "this prompt needs path" in await terminal.run("/friendly:review")

    asyncio.run(main())


@pytest.mark.spec("MCP-9")
def test_doctor_connects_servers_and_says_what_is_wrong(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    assert [each.saw for each in mcp_servers(Patient(config, "", {}))] == ["none is configured"]
    assert config.folder is not None
    config.folder.mkdir(parents=True)
    found = {"mcpServers": {"srv": as_entry(raw()), "bad": as_entry(raw("exits"))}}
    (config.folder / "mcp.json").write_text(json.dumps(found), encoding="utf-8")
    (problem,) = mcp_servers(Patient(config, "", {}))
    assert (problem.status, problem.saw, problem.repair) == ("fault", "bad", ("callgate mcp test bad",))
    (config.folder / "mcp.json").write_text(json.dumps({"mcpServers": {"srv": as_entry(raw())}}), encoding="utf-8")
    assert [each.saw for each in mcp_servers(Patient(config, "", {}))] == ["1 connected, with 2 tools"]
