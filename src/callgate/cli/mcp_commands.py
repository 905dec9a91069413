"""The commands ``callgate mcp``.

Servers of the Model Context Protocol (MCP) bring further tools. Your own are in mcp.json, in the folder of your
settings; a project's servers are in .mcp.json and apply after you trust the folder. `serve` offers our own tools to
other programs.
"""

import asyncio
import json
import logging
import os
import re
import signal
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, cast

from callgate.admin import servers
from callgate.cli.command_parser import USAGE, pair, tool_names
from callgate.cli.command_rows import JSON, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.start_options import RULES
from callgate.cli.terminal import Span, clip, signs_for
from callgate.cli.text_output import json_fields, out, put, put_json, put_paragraph, put_text, say, text_width
from callgate.config import Config, load_config
from callgate.formats.display import counted
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.mcp_server.served_session import ServedSessions
    from callgate.mcp_server.server import McpToolServer

PORT = 8765
TOKEN = "CALLGATE_MCP_TOKEN"
_ADDRESS = re.compile(r"[\w.-]+:\d+(?:/|$)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_LOG_LINES = 20
INSTALL = "callgate mcp serve needs the package mcp: pip install 'callgate[mcp]'"
_STYLES = {"connected": "green", "needs login": "yellow", "disabled": "dim", "connecting": "yellow", "failed": "red"}


def add(
    name: str,
    words: Sequence[str],
    transport: str | None,
    env: Sequence[tuple[str, str]],
    header: Sequence[tuple[str, str]],
    trusted: bool,
    scope: servers.ServerScope,
) -> int:
    """Add an MCP server: a command or an address. ${VAR} and ${VAR:-default} are replaced by environment variables
    when the server is connected, so that no secret has to be stored.

    examples:
      callgate mcp add time -- uvx mcp-server-time
      callgate mcp add github https://api.example.com/mcp --header 'Authorization: Bearer ${GITHUB_TOKEN}'
      callgate mcp add db --env 'DB_URL=${DB_URL}' -- npx -y some-server --read-only
    """
    words = words[1:] if words[0] == "--" else words
    if not words:
        raise CommandMisuse("name a server: an address, or -- and a command")
    target, *rest = words
    if transport is None and _ADDRESS.match(target):
        raise CommandMisuse(f"an address begins with http:// or https://: http://{target}")
    if _VARIABLE.match(target):
        raise CommandMisuse(f"{target} is not a command; pass each variable with its own -e")
    if not rest and " " in target and not Path(target).exists():
        raise CommandMisuse(f"write the command as separate words: callgate mcp add {name} -- {target}")
    if transport is None:
        transport = "http" if "://" in target or target.startswith("${") else "stdio"
    if transport != "stdio" and rest:
        raise CommandMisuse(f"a server of type {transport} has one address and nothing else")
    if transport == "stdio" and header:
        raise CommandMisuse("--header is for servers with an address")
    if transport != "stdio" and env:
        raise CommandMisuse("--env is for servers that are commands")
    if trusted and scope == "project":
        raise CommandMisuse("--trusted is allowed only for your own servers, not for a project's")
    entry: dict[str, Any] = {"type": transport}
    if transport == "stdio":
        entry |= {"command": target, "args": rest, "env": dict(env)}
    else:
        entry |= {"url": target, "headers": dict(header)}
    if trusted:
        entry["trusted"] = True
    return _add(name, {key: value for key, value in entry.items() if value not in ([], {})}, scope)


def add_json(name: str, entry: str, scope: servers.ServerScope) -> int:
    """Add an MCP server as a JSON object with command, args and env, or with type, url and headers.

    examples:
      callgate mcp add-json time '{"command": "uvx", "args": ["mcp-server-time"]}'
    """
    try:
        read = json.loads(entry)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the entry is not JSON: {error}") from None
    return _add(name, read, scope)


def _add(name: str, entry: Any, scope: servers.ServerScope) -> int:
    added = servers.add_server(name, entry, scope)
    made = added.config
    put_text(f"The server {made.name} is in {added.file}: its tools are called mcp__{made.name}__…")
    if added.before is not None and servers.as_entry(added.before) != servers.as_entry(made):
        put_paragraph(f"It replaces: {added.before.target}", "dim")
    for note in added.notes:
        say(note)
    if scope == "project":
        put_text("It is used once you trust the folder: callgate trust add")
    put_text(f"Try it with: callgate mcp test {made.name}", "dim")
    return 0


def remove(name: str, scope: servers.ServerScope) -> int:
    """Remove the entry of a server and its login."""
    put_text(f"The server {name} is removed from {servers.remove_server(name, scope)}.")
    return 0


def list_all(as_json: bool) -> int:
    """Connect all servers at once and show their states. Servers of a folder that is not trusted are not started."""
    rows, notes = servers.list_servers()
    if as_json:
        put_json([_as_json(row) for row in rows])
        return 0
    if not rows:
        put_text("There are no servers. Add one with: callgate mcp add NAME -- COMMAND")
    longest = max((len(row.config.name) for row in rows), default=0)
    for row in rows:
        put([(Span(f"{row.config.name:<{longest}}  "), *_state(row))])
        what = row.state.reason or row.config.target
        put_paragraph(f"{row.config.origin.layer}: {what}", "dim", indent=longest + 2)
    failed = [row.config.name for row in rows if row.state.status == "failed"]
    if failed:
        put_text(f"To see the log of a failed server: callgate mcp test {failed[0]}")
    for note in notes:
        say(note)
    return 0


def get(name: str, as_json: bool) -> int:
    """Show the configuration of one server. Secret values are not shown."""
    found = servers.find_server(name)
    shown = _without_values(found)
    if as_json:
        put_json({"name": found.name, "origin": str(found.origin), **shown})
        return 0
    put([(Span(f"{found.name}  ", "bold"), Span(str(found.origin), "dim"))])
    for key, value in shown.items():
        text = ", ".join(cast("list[str]", value)) if isinstance(value, list) else str(value)
        put_paragraph(f"{key}: {text}", indent=2)
    return 0


def test(name: str, as_json: bool) -> int:
    """Connect one server. Shows the connection time, the tools, the tools that are left out with the reason, and
    descriptions that read like instructions to the model. No tool is called.

    exit codes: 0 the server is connected, 1 it is not
    """
    row = servers.try_server(name)
    connected = row.state.status == "connected"
    if as_json:
        put_json(_as_json(row))
        return 0 if connected else 1
    put([(Span(f"{row.config.name}  "), *_state(row))])
    room, signs = text_width(), signs_for(out())
    if row.state.reason:
        put_paragraph(row.state.reason, "red", indent=2)
    for tool in row.tools:
        name, definition = tool.spec.name, tool.definition
        described = clip(" ".join(definition.description.split()), max(room - len(name) - 5, 20))
        put([(Span(f"  {name}  "), Span(described, "dim"))])
        if definition.suspicion:
            text = f"{signs.bad} this looks like an instruction to the model: … {definition.suspicion} …"
            put_paragraph(text, "yellow", indent=4)
    for note in row.notes:
        put_paragraph(note, "yellow", indent=2)
    for line in row.log[-_LOG_LINES:] if not connected else [line for line in row.log if "left out" in line]:
        put_paragraph(line, "dim", indent=2)
    return 0 if connected else 1


def login(name: str) -> int:
    """Log in to a server. Prints the address to open and waits until the browser has returned. Tokens are stored in
    the system keyring if there is one, otherwise in a file that only you can read."""
    row = servers.log_in(name, lambda text: say(text.replace("\n", " ")))
    put([(Span(f"{row.config.name}  "), *_state(row))])
    return 0


def logout(name: str) -> int:
    """Delete the tokens of a server."""
    had = servers.log_out(name)
    put_text(f"The token for {name} is deleted." if had else f"There was no login to {name}.")
    return 0


def _state(row: servers.TriedServer) -> list[Span]:
    state = row.state
    found = [Span(state.status, _STYLES[state.status])]
    if state.status == "connected":
        took = "" if state.seconds is None else f" in {state.seconds:.1f} s"
        found.append(Span(f"{took}, {counted(state.tools, 'tool')}, protocol {state.version}"))
    return found


def _as_json(row: servers.TriedServer) -> dict[str, Any]:
    paths = ("config.name", "config.transport", "state.status", "state.reason", "state.seconds")
    about = json_fields(row, *paths, scope="config.origin.layer", protocol="state.version")
    return {**about, "tools": [json_fields(each, "spec.name", "definition.suspicion") for each in row.tools]}


def _without_values(found: servers.ServerConfig) -> dict[str, Any]:
    """Return the entry without the values of variables and headers, which may be secrets."""
    entry = servers.as_entry(found)
    return {key: sorted(value) if key in ("env", "headers", "oauth") else value for key, value in entry.items()}


# ---- mcp serve -------------------------------------------------------------------------------------------------------


def serve(
    tools: tuple[str, ...] | None,
    http: bool,
    port: int | None,
    host: str | None,
    no_save: bool,
    debug: bool,
    **rules: Any,
) -> int:
    """Offer the built-in tools to an MCP client: over standard input and output, or with --http on a port of this
    machine. Each call is judged by the rules of this folder. Questions are sent to the client; if the client cannot
    ask its user, the call is denied and the denial names the rule that would allow it. Edits are previewed first:
    the client applies or discards them with `resolve`. Each connection is a session, see callgate session list.

    examples:
      callgate mcp serve --tools Read,Grep,Bash --allow 'Bash(npm test)'
      callgate mcp serve --http --port 8765

    exit codes: 0 the client disconnected, 1 failed, 2 the package mcp is missing, or usage
    """
    if not http and (port is not None or host is not None):
        raise CommandMisuse("--port and --host require --http")
    if find_spec("mcp") is None:
        say(INSTALL)
        return USAGE
    from callgate.assembly.settings import broken_settings

    config = load_config(**rules)
    faults = broken_settings(config)
    if faults:
        raise UsageError(f"every call is denied until the settings are fixed: {faults[0]}")
    if not debug:  # the SDK and the HTTP server log the requests of clients
        for name in ("mcp", "uvicorn"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
    address = (host or "127.0.0.1", PORT if port is None else port) if http else None
    return asyncio.run(_serve(config, tools, address, keeps=not no_save))


async def _serve(config: Config, tools: tuple[str, ...] | None, address: tuple[str, int] | None, *, keeps: bool) -> int:
    from callgate import Store
    from callgate.assembly.serving import served_tools
    from callgate.mcp_server.served_session import IDLE, ServedSessions, session_opener
    from callgate.mcp_server.server import McpToolServer  # imports the SDK

    _, noted = await served_tools(config, tools)  # an unknown name of a tool is an error now
    for note in noted.notes:
        say(str(note))

    opener = session_opener(noted, tools, Store(config.root, config.data) if keeps else None)
    sessions = ServedSessions(opener, idle=None if address is None else IDLE)
    door = McpToolServer(sessions, str(config.root))
    try:
        await (_over_stdio(door, sessions) if address is None else _over_http(address, door, sessions))
    finally:
        await sessions.aclose()
    return 0


async def _over_stdio(door: "McpToolServer", sessions: "ServedSessions") -> None:
    """Serve until the client closes standard input. A signal ends the whole program, because the thread that reads
    standard input cannot be stopped."""
    from anyio import BrokenResourceError, ClosedResourceError
    from mcp.server.stdio import stdio_server

    async def leave(code: int) -> None:
        await sessions.aclose()
        os._exit(code)

    ending: list[asyncio.Task[None]] = []
    _on_signals(lambda number: ending.append(asyncio.ensure_future(leave(128 + number))))
    try:
        async with stdio_server() as (read, write):
            await door.server.run(read, write, door.server.create_initialization_options())
    except* (BrokenPipeError, BrokenResourceError, ClosedResourceError):
        pass  # the client is gone


async def _over_http(at: tuple[str, int], door: "McpToolServer", sessions: "ServedSessions") -> None:
    from callgate.mcp_server.http import PATH, HttpServer, listen, names_of

    given = os.environ.pop(TOKEN, "").strip()  # commands do not inherit it
    token = given or token_urlsafe(32)
    with listen(*at) as bound:
        address, port = bound.getsockname()[:2]
        names = names_of(at[0], port, address)
        server = HttpServer(door.server, sessions, token, names)
        _on_signals(lambda number: server.stop())
        say(f"MCP at http://{names[0]}{PATH}")
        say(f"clients send the token of ${TOKEN}" if given else f"clients send: Authorization: Bearer {token}")
        await server.serve(bound)


def _on_signals(act: Callable[[int], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, ValueError):  # Windows, or not the main thread
            loop.add_signal_handler(number, act, number)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 1 << 16):
        raise ArgumentTypeError(f"must be a port from 0 to 65535, not {text!r}")
    return int(text)


_NEW_NAME = ArgumentRow("NAME", "its tools are called mcp__NAME__TOOL")
_NAME = ArgumentRow("NAME", "of the server", offers=servers.own_names)
_SCOPE = ArgumentRow("-s --scope user|project", "user (default): every folder; project: this folder", default="user")
COMMANDS = (
    CommandRow(
        "mcp add",
        add,
        "add a server: a command, or an address",
        (
            _NEW_NAME,
            ArgumentRow("URL|-- COMMAND+", "an address, or a command with its arguments", "words"),
            ArgumentRow("-t --transport stdio|http|sse", "sse is for old servers with an address; mostly not needed"),
            ArgumentRow("-e --env NAME=VALUE", "a variable for it", read=pair("="), many=True),
            ArgumentRow("-H --header 'NAME: VALUE'", "sent with requests", read=pair(":"), many=True),
            ArgumentRow("--trusted", "trust the server's marks of read-only tools"),
            _SCOPE,
        ),
        unknown="; put the command and its flags after --: callgate mcp add NAME -- COMMAND",
    ),
    CommandRow(
        "mcp add-json",
        add_json,
        "add a server by its JSON entry",
        (_NEW_NAME, ArgumentRow("JSON", "the entry", "entry"), _SCOPE),
    ),
    CommandRow("mcp remove", remove, "remove a server", (_NAME, _SCOPE)),
    CommandRow("mcp list", list_all, "list every server with its status, number of tools and connection time", (JSON,)),
    CommandRow("mcp get", get, "show the configuration of a server", (_NAME, JSON)),
    CommandRow("mcp test", test, "connect to a server and list its tools", (_NAME, JSON)),
    CommandRow("mcp login", login, "log in to a server", (_NAME,)),
    CommandRow("mcp logout", logout, "forget a login", (_NAME,)),
    CommandRow(
        "mcp serve",
        serve,
        "provide the built-in tools to other programs",
        (
            ArgumentRow("--tools LIST", "only these tools, such as Read,Grep", read=tool_names),
            ArgumentRow("--http", f"on a port; clients send the token of ${TOKEN}, or a new one that is printed"),
            ArgumentRow("--port N", f"with --http (default {PORT}; 0 takes a free one)", read=_port),
            ArgumentRow("--host ADDRESS", "with --http: the address on this machine (default 127.0.0.1)"),
            *RULES,
            ArgumentRow("--settings FILE", "a settings file with priority over all others"),
            ArgumentRow("--trust", "trust this folder with its tools and hooks for this start"),
            ArgumentRow("--no-save", "keep no record"),
            ArgumentRow("--debug"),
        ),
    ),
)
