"""Tools for servers that are not connected yet: a tool that waits for servers, and a tool that answers early calls."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Tool
from callgate.mcp.server import Server
from callgate.tools.tool import schema_tool, tool
from callgate.tools.wrappers import Named
from callgate.words.calls import Result
from callgate.words.traits import shared

WAIT = "WaitForMcpServers"
_DESCRIPTION = Path(__file__).with_name("wait_for_servers.md").read_text(encoding="utf-8").strip()


def is_late(server: Server) -> bool:
    """Return True until the first attempt to connect the server has succeeded or failed."""
    return server.state.status == "connecting" and not server.state.reason


def late_ones(servers: Mapping[str, Server]) -> list[Server]:
    return [each for each in servers.values() if is_late(each)]


def prefix_of(server: str) -> str:
    """Return the prefix of a server's tool names, ``mcp__server__``."""
    return f"mcp__{server}__"


class WaitingTool(Named):
    """The tool ``WaitForMcpServers``. It is offered while servers are still connecting at the start of a session."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        late = [each.name for each in late_ones(servers)]
        self._expects = tuple(map(prefix_of, late))

        async def wait_for_servers() -> str:
            await asyncio.gather(*(each.settled() for each in servers.values()))
            lines = (f"{each.name}: {_state(each)}" for each in servers.values())
            return "\n".join(lines)

        made = tool(
            wait_for_servers,
            name=WAIT,
            description=_DESCRIPTION.format(", ".join(late) or "none"),
            title="Wait for MCP servers",
            effects="none",
            locks=shared,
            search_hint=f"tools of {' '.join(late)}",
        )
        super().__init__(made, WAIT)

    @property
    def facts(self) -> ToolFacts:
        return replace(super().facts, expects=self._expects)


def early_call(name: str, server: Server) -> Tool:
    """Return a tool that waits until its server is connected and then asks the model to repeat the call."""

    async def wait(arguments: dict[str, Any]) -> Result:
        await server.settled()
        text = f"The server {server.name} was still being connected, so nothing was sent. Now it is {_state(server)}"
        return Result.failed("tool_error", f"{text}\nCall the tool again if it is there.", effects="none")

    return schema_tool(
        name, "", {"type": "object"}, wait, effects="none", locks=shared, server=server.name, own_state=True
    )


def absent(server: Server) -> str:
    """Return why the tools of a server are missing and what to do next; an empty string if the server is connected."""
    state = server.state
    if state.status == "connected":
        return ""
    next_step = {
        "connecting": "It is being tried again: wait, or go on without it.",
        "needs login": f"mcp__{server.name}__log_in asks the user to log in.",
    }.get(state.status, f"The user can connect it with /mcp reconnect {server.name}; go on without it, or ask.")
    why = f"{state.status}: {state.reason}" if state.reason else state.status
    return f"The MCP server {server.name} is not connected ({why}). {next_step}"


async def settled(servers: Mapping[str, Server], tools: Sequence[str]) -> None:
    """Wait until the first attempt to connect each server of these tools has succeeded or failed."""
    wanted = [each for name, each in servers.items() if any(tool.startswith(prefix_of(name)) for tool in tools)]
    await asyncio.gather(*(each.settled() for each in wanted))


def _state(server: Server) -> str:
    state = server.state
    return f"{state.status}, {state.tools} tools. {state.reason}".rstrip()
