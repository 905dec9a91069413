"""``callgate mcp serve``: the built-in tools for programs that speak MCP."""

import asyncio
import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from callgate import Store
from callgate.assembly.serving import served_tools
from callgate.assembly.settings import broken_settings
from callgate.cli.mcp_serve_arguments import PORT, TOKEN
from callgate.cli.parsing import USAGE
from callgate.cli.terminal import safe
from callgate.config import Config, load_config
from callgate.mcp_server.opening import session_opener
from callgate.mcp_server.sessions import IDLE, ServedSessions
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.mcp_server.server import McpDoor

DONE = 0
INSTALL = "callgate mcp serve needs the package mcp: pip install 'callgate[mcp]'"


def serve(options: Namespace) -> int:
    if find_spec("mcp") is None:
        say(INSTALL)
        return USAGE
    config = load_config(
        mode=options.mode,
        allow=options.allow,
        ask=options.ask,
        deny=options.deny,
        settings=options.settings,
        trust=options.trust,
    )
    faults = broken_settings(config)
    if faults:
        raise UsageError(f"nothing is allowed while settings are wrong: {faults[0]}")
    if not options.debug:  # the SDK logs what clients send, the HTTP server what anybody sends
        for name in ("mcp", "uvicorn"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
    return asyncio.run(_serve(options, config))


def say(text: str) -> None:
    """On standard error: standard output is the protocol's."""
    with suppress(OSError):
        print(f"callgate: {safe(text)}", file=sys.stderr, flush=True)


async def _serve(options: Namespace, config: Config) -> int:
    _, noted = await served_tools(config, options.tools)  # a name that there is not is told now
    for note in noted.notes:
        say(str(note))

    from callgate.mcp_server.server import McpDoor  # it brings the SDK

    store = None if options.no_save else Store(config.root, config.data)
    opener = session_opener(noted, options.tools, store)
    sessions = ServedSessions(opener, idle=IDLE if options.http else None)
    door = McpDoor(sessions, str(config.root))
    try:
        await (_over_http(options, door, sessions) if options.http else _over_stdio(door, sessions))
    finally:
        await sessions.aclose()
    return DONE


async def _over_stdio(door: "McpDoor", sessions: ServedSessions) -> None:
    """Until the client closes standard input. A signal ends the program: a thread waits for the next line, and cannot
    be stopped."""
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
        pass  # the client is gone: there is no one to answer


async def _over_http(options: Namespace, door: "McpDoor", sessions: ServedSessions) -> None:
    from callgate.mcp_server.http import PATH, HttpServer, listen, names_of

    host = options.host or "127.0.0.1"
    given = os.environ.pop(TOKEN, "").strip()  # commands do not get it
    token = given or token_urlsafe(32)
    with listen(host, PORT if options.port is None else options.port) as bound:
        address, port = bound.getsockname()[:2]
        names = names_of(host, port, address)
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
