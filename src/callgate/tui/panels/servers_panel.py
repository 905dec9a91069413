"""The panel of MCP servers: shows their state and log, reconnects or stops them."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from callgate.formats.display import counted
from callgate.tui.blocks import TableBlock
from callgate.tui.commands import seconds
from callgate.tui.panels.list_panel import ListItem, ListPanel

if TYPE_CHECKING:
    from callgate.admin.servers import Server, ServerState
    from callgate.assembly import Session
    from callgate.tui.port import Terminal


ACTIONS = {"log": "show its last lines", "reconnect": "connect again", "disable": "stop it for this session"}
_LOG_LINES = 40
_SIGNS = {"connected": "+", "connecting": "~", "disabled": "-"}


class ServersPanel(ListPanel):
    """A panel that lists the MCP servers with the last lines of their logs. Enter opens the actions for a server."""

    def __init__(self, terminal: Terminal, servers: Sequence[Server]) -> None:
        self._servers = {each.name: each for each in servers}
        self._following: list[Task[Any]] = []
        super().__init__(
            terminal, "MCP servers", self._rows_now(), self._ask_what, preview=self._about, closed=self._stop_following
        )

    def open(self) -> None:
        self._terminal.open_panel(self)
        self._following = [self._terminal.start(self._follow(each)) for each in self._servers.values()]

    def lines(self, width: int, height: int) -> Sequence[str]:
        self.set_items(self._rows_now())
        return super().lines(width, height)

    def _rows_now(self) -> list[ListItem]:
        states = [(name, each.state) for name, each in self._servers.items()]
        return [
            ListItem(name, name, f"{state.status}  {_briefly(state)}".rstrip(), _SIGNS.get(state.status, "!"))
            for name, state in states
        ]

    def _about(self, item: ListItem) -> str:
        server = self._servers[item.key]
        return "\n".join((about_state(server.state), "", *server.log.lines()[-_LOG_LINES:]))

    async def _follow(self, server: Server) -> None:
        while True:
            await server.moved()
            self._terminal.redraw()

    def _stop_following(self) -> None:
        for each in self._following:
            each.cancel()

    def _ask_what(self, item: ListItem) -> None:
        self._stop_following()
        actions = [ListItem(name, name, about) for name, about in ACTIONS.items()]
        server = self._servers[item.key]
        title = f"{item.title}: {server.state.status}. {about_state(server.state)}"
        self._terminal.open_panel(
            ListPanel(self._terminal, title, actions, lambda way: self._act(server, way.key), closed=self.open)
        )

    def _act(self, server: Server, action: str) -> None:
        if action == "log":
            show_log(self._terminal, server)
            return
        self._terminal.start(server.end() if action == "disable" else server.reconnect())
        self.open()


def show_log(terminal: Terminal, server: Server) -> None:
    shown = tuple((line,) for line in server.log.lines()[-_LOG_LINES:])
    where = "" if server.log.path is None else str(server.log.path)
    terminal.show(TableBlock(shown, f"Log of {server.name}", note=where))


def _briefly(state: ServerState) -> str:
    return counted(state.tools, "tool") if state.status == "connected" else state.reason


def about_state(state: ServerState) -> str:
    if state.status != "connected":
        return state.reason
    took = "" if state.seconds is None else f", connected in {seconds(state.seconds)}"
    return f"{_briefly(state)}, protocol {state.version}{took}"


def server_tools(session: Session) -> dict[str, tuple[str, str]]:
    """Return the server and the description of each MCP tool, by tool name."""
    return {
        each.spec.name: (server.name, each.definition.description)
        for server in session.controls.mcp_servers
        for each in server.tools
    }
