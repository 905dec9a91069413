"""Servers for tests of the client, connected from a place of their own."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from callgate.core.ports import Run
from callgate.host.local import LocalHost
from callgate.mcp.approvals import ApprovedDefinitions
from callgate.mcp.server import Server
from callgate.mcp.server_config import ServerConfig
from callgate.mcp.server_context import ServerContext
from callgate.mcp.server_list import ServerList
from callgate.testing.plain import PlainRun
from callgate.words.calls import Accepted, Result
from callgate.words.decisions import AskedField, FieldAnswer, Origin

HERE = Path(__file__).parent
RAW, FRIENDLY = HERE / "client_raw_server.py", HERE / "client_server.py"
OWN = Origin("user")


def raw(behaviour: str = "plain", value: str = "", *, name: str = "srv", **facts: Any) -> ServerConfig:
    args = ("-I", "-S", str(RAW), behaviour, *((value,) if value else ()))
    return ServerConfig(name, "stdio", OWN, command=sys.executable, args=args, **facts)


def friendly(name: str = "friendly", **facts: Any) -> ServerConfig:
    return ServerConfig(name, "stdio", OWN, command=sys.executable, args=(str(FRIENDLY), "stdio"), **facts)


def place_in(folder: Path, **facts: Any) -> ServerContext:
    host = facts.pop("host", None) or LocalHost(folder)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "SECRET_TOKEN": "s3cret"}
    made = ServerContext(host, (str(folder),), environ, folder / "data", ApprovedDefinitions(folder / "data"))
    return replace(made, **facts)


@asynccontextmanager
async def connected(place: ServerContext, *configs: ServerConfig) -> AsyncGenerator[ServerList]:
    servers = ServerList(configs)
    servers.begin(place)
    try:
        await servers.settled()
        yield servers
    finally:
        await servers.aclose()


async def use(server: Server, tool: str, run: Run | None = None, **arguments: Any) -> Result:
    """Calls a tool by the name that its server gave it."""
    found = next(each for each in server.tools if each.definition.given == tool)
    read = found.read(arguments)
    assert isinstance(read, Accepted), read
    return await found.run(read.arguments, run or PlainRun())


class ToldRun(PlainRun):
    """A Run whose ``told`` is set once the tool reports progress."""

    def __init__(self) -> None:
        super().__init__()
        self.told = asyncio.Event()

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        super().progress(text, current=current, total=total)
        self.told.set()


async def until(server: Server, holds: Callable[[], bool]) -> None:
    """Waits until this holds, looking whenever the server changes."""
    while not holds():
        await server.moved()


class Answering:
    """A Person who answers each question with the next of these; None says no."""

    def __init__(self, *answers: tuple[FieldAnswer, ...] | None) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, str, tuple[AskedField, ...]]] = []

    async def ask(
        self, fields: Sequence[AskedField], *, by: str, text: str, name: str
    ) -> tuple[FieldAnswer, ...] | None:
        self.asked.append((by.removeprefix("MCP server "), text, tuple(fields)))
        return self._answers.pop(0)
