"""The command ``callgate mcp serve``: offers the built-in tools to programs that speak MCP."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

from callgate import Store
from callgate.assembly.serving import served_tools
from callgate.assembly.settings import broken_settings
from callgate.cli.command_parser import USAGE
from callgate.cli.command_rows import CommandMisuse
from callgate.cli.mcp_commands import PORT, TOKEN
from callgate.cli.text_output import say
from callgate.config import Config, load_config
from callgate.mcp_server.served_session import IDLE, ServedSessions, session_opener
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.mcp_server.server import McpToolServer

INSTALL = "callgate mcp serve needs the package mcp: pip install 'callgate[mcp]'"


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
    _, noted = await served_tools(config, tools)  # an unknown name of a tool is an error now
    for note in noted.notes:
        say(str(note))

    from callgate.mcp_server.server import McpToolServer  # imports the SDK

    opener = session_opener(noted, tools, Store(config.root, config.data) if keeps else None)
    sessions = ServedSessions(opener, idle=None if address is None else IDLE)
    door = McpToolServer(sessions, str(config.root))
    try:
        await (_over_stdio(door, sessions) if address is None else _over_http(address, door, sessions))
    finally:
        await sessions.aclose()
    return 0


async def _over_stdio(door: "McpToolServer", sessions: ServedSessions) -> None:
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


async def _over_http(at: tuple[str, int], door: "McpToolServer", sessions: ServedSessions) -> None:
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
