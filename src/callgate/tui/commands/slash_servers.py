"""The slash command /mcp, and the prompts of MCP servers as commands ``/server:prompt``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from shlex import split
from typing import TYPE_CHECKING, Any

from callgate.tui.commands import said, session_of
from callgate.tui.panels.servers_panel import ACTIONS, ServersPanel, about_state, show_log
from callgate.tui.port import SlashCommand
from callgate.words.errors import UsageError
from callgate.words.inputs import Prompt
from callgate.words.model import RunOptions

if TYPE_CHECKING:
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
