"""The slash command /mcp with its panel, and the prompts of MCP servers as commands ``/server:prompt``."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Mapping, Sequence
from functools import partial
from shlex import split
from typing import TYPE_CHECKING, Any

from callgate.formats.display import counted
from callgate.tui.blocks import TableBlock
from callgate.tui.commands import said, seconds, session_of
from callgate.tui.panels.list_panel import ListItem, ListPanel
from callgate.tui.port import SlashCommand
from callgate.words.errors import UsageError
from callgate.words.inputs import Prompt
from callgate.words.model import RunOptions

if TYPE_CHECKING:
    from callgate.admin.servers import Server, ServerState
    from callgate.assembly import Session
    from callgate.tui.port import Terminal


async def mcp(terminal: Terminal, text: str) -> None:
    """Open the panel of MCP servers, or run ``reconnect``, ``disable`` or ``log`` for one server."""
    servers, words = {each.name: each for each in session_of(terminal).controls.mcp_servers}, text.split()
    if not servers:
        said(terminal, "There are no MCP servers. `callgate mcp add NAME -- COMMAND` adds one for the next start.")
        return
    if not words:
        ServersPanel(terminal, [*servers.values()]).open()
        return
    if len(words) != 2 or words[0] not in ACTIONS:
        raise UsageError(f"/mcp accepts no argument, or reconnect, disable or log with a name, not {text!r:.60}")
    server = servers.get(words[1])
    if server is None:
        raise UsageError(f"Unknown server {words[1]!r}. Servers: {', '.join(servers)}.")
    if words[0] == "log":
        show_log(terminal, server)
        return
    if words[0] == "disable":
        await server.end()
    else:
        await server.reconnect()
        await server.settled()
    said(terminal, f"{server.name}: {server.state.status}. {about_state(server.state)}")


def server_words(terminal: Terminal) -> Sequence[tuple[str, str]]:
    names = [] if terminal.session is None else [each.name for each in terminal.session.controls.mcp_servers]
    return [(f"{action} {name}".rstrip(), about) for name in names or [""] for action, about in ACTIONS.items()]


def server_prompts(terminal: Terminal) -> tuple[SlashCommand, ...]:
    """Return the prompts of the connected MCP servers as slash commands."""
    servers = () if terminal.session is None else terminal.session.controls.mcp_servers
    return tuple(
        SlashCommand(
            f"{server.name}:{prompt['name']}",
            f"{prompt['description'] or 'a prompt'} (MCP)",
            partial(_send, server.name, prompt),
            arguments=" ".join(_form(each) for each in prompt.get("arguments") or ()),
        )
        for server in servers
        for prompt in server.prompts
    )


async def _send(server: str, prompt: Mapping[str, Any], terminal: Terminal, text: str) -> None:
    found = next(each for each in session_of(terminal).controls.mcp_servers if each.name == server)
    parts = await found.requests.prompt_parts(prompt["name"], _arguments(prompt, text))
    terminal.post(Prompt(parts, RunOptions(quoted=True)))


def _arguments(prompt: Mapping[str, Any], text: str) -> dict[str, str]:
    """Assign the words of a text to the prompt's arguments in order; the last argument gets the rest of the text."""
    arguments = prompt.get("arguments") or ()
    names = [each["name"] for each in arguments]
    try:
        words = split(text)
    except ValueError as error:
        raise UsageError(f"the arguments are invalid: {error}") from None
    if len(words) > len(names) > 0:
        words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
    found = dict(zip(names, words, strict=False))
    missing = [each["name"] for each in arguments if each.get("required") and each["name"] not in found]
    if missing:
        raise UsageError(f"this prompt needs {', '.join(missing)}")
    return found


def _form(argument: Mapping[str, Any]) -> str:
    name = str(argument["name"]).upper()
    return name if argument.get("required") else f"[{name}]"


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
        self.terminal.open_panel(self)
        self._following = [self.terminal.start(self._follow(each)) for each in self._servers.values()]

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
            self.terminal.redraw()

    def _stop_following(self) -> None:
        for each in self._following:
            each.cancel()

    def _ask_what(self, item: ListItem) -> None:
        self._stop_following()
        actions = [ListItem(name, name, about) for name, about in ACTIONS.items()]
        server = self._servers[item.key]
        title = f"{item.title}: {server.state.status}. {about_state(server.state)}"
        self.terminal.open_panel(
            ListPanel(self.terminal, title, actions, lambda way: self._act(server, way.key), closed=self.open)
        )

    def _act(self, server: Server, action: str) -> None:
        if action == "log":
            show_log(self.terminal, server)
            return
        self.terminal.start(server.end() if action == "disable" else server.reconnect())
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
