"""All servers of a session as one source of tools, which change while the session runs."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from callgate.core.ports import Target, Tool, Unknown
from callgate.mcp.late_servers import WAIT, EarlyTool, WaitingTool, absent, is_late, late_ones, prefix_of
from callgate.mcp.resource_tools import READ, login_tool, resource_tools
from callgate.mcp.server import Server
from callgate.mcp.server_config import ServerConfig
from callgate.mcp.server_context import ServerContext
from callgate.tools.toolbox import unknown

Raw = str | Mapping[str, Any]


class ServerList:
    """All servers of a session. They are started on the event loop of the session and closed with the session.

    awaited  the ids of calls that waited for the connection of their server and may be sent
    hides    called with the names of a tool and a server; returns True if a rule denies the tool completely, so that
             the model does not see it
    """

    def __init__(self, configs: Iterable[ServerConfig], hides: Callable[[str, str], bool] | None = None) -> None:
        self.configs = tuple(configs)
        self.servers: dict[str, Server] = {}
        self.awaited: set[str] = set()
        self._hides = hides
        self._own = resource_tools(self.servers, self._hidden)

    def begin(self, place: ServerContext) -> None:
        for each in self.configs:
            server = self.servers[each.name] = Server(each, place)
            server.begin()

    async def settled(self) -> None:
        """Wait until the first attempt to connect each server has succeeded or failed."""
        await asyncio.gather(*(each.settled() for each in self.servers.values()))

    async def aclose(self) -> None:
        await asyncio.gather(*(each.end() for each in self.servers.values()), return_exceptions=True)

    # ---- the source of tools ------------------------------------------------------------------------------------

    def tools(self) -> Sequence[Tool]:
        found: list[Tool] = []
        for server in self.servers.values():
            found += _tools_of(server)
        shown = [each for each in found if not self._hidden(each.spec.name, each.traits({}).server)]
        allowed = {name: each for name, each in self.servers.items() if not self._hidden(prefix_of(name), name)}
        waiting = (WaitingTool(allowed),) if late_ones(allowed) else ()
        there = shown or any(
            each.state.status == "connected" and not self._hidden(READ, each.name) for each in self.servers.values()
        )
        return (*shown, *waiting, *(self._own if there else ()))

    def resolve(self, name: str, raw: Raw) -> Target | Unknown:
        """Return the tool to call. While its server is connecting, return a tool that waits for the server; if the
        server cannot be connected, return the reason. ``WaitForMcpServers`` can always be called."""
        found: Tool | None = next((each for each in self._own if each.spec.name == name), None)
        if name == WAIT and self.servers:
            found = WaitingTool(self.servers)
        its = [each for key, each in self.servers.items() if name.startswith(prefix_of(key))]
        for server in its:
            if not self._hidden(name, server.name):
                found = found or next((each for each in _tools_of(server) if each.spec.name == name), None)
                if found is None and is_late(server):
                    found = EarlyTool(name, server, self.awaited)
        if found is not None:
            return Target(found, raw)
        denied = f"A rule denies {name[:80]}."
        reason = next((denied if self._hidden(name, each.name) else absent(each) for each in its), "")
        return unknown(name, self.tools, reason)

    def _hidden(self, tool: str, server: str) -> bool:
        return self._hides is not None and self._hides(tool, server)


def _tools_of(server: Server) -> Sequence[Tool]:
    return (login_tool(server), *server.tools) if server.state.status == "needs login" else server.tools
