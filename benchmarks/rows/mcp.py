"""What a call of a server's tool costs through our client, against the SDK's own client and the same server."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import Size, interleaved, ratio, spread
from benchmarks.report import Row
from callgate.host.local import LocalHost
from callgate.mcp.approvals import ApprovedDefinitions
from callgate.mcp.server_config import ServerConfig
from callgate.mcp.server_context import ServerContext
from callgate.mcp.server_list import ServerList
from callgate.testing import PlainRun
from callgate.words.calls import Accepted
from callgate.words.decisions import Origin

SERVER = Path(__file__).parents[2] / "tests" / "mcp" / "client_raw_server.py"
LIMIT = 1.3
Call = Callable[[], Awaitable[object]]


def rows(size: Size) -> list[Row]:
    many = max(5, size.calls // 5)
    with TemporaryDirectory(prefix="callgate-bench-") as place, asyncio.Runner() as runner:
        stage = _Stage(Path(place))
        ours, plain = runner.run(stage.open())

        def measure(call: Call) -> Callable[[], float]:
            return lambda: runner.run(_timed(call, many))

        taken = interleaved({"ours": measure(ours), "plain": measure(plain)}, size.rounds)
        runner.run(stage.close())
    found = ratio(taken["ours"], taken["plain"])
    measured, yardstick = (median(taken[name]) / many * 1e6 for name in ("ours", "plain"))
    work = "a call of an MCP server's tool, against the SDK's client"
    return [Row("mcp_call", work, "µs", measured, yardstick, found, LIMIT, spread(taken["ours"]))]


async def _timed(call: Call, many: int) -> float:
    begun = time.perf_counter()
    for _ in range(many):
        await call()
    return time.perf_counter() - begun


class _Stage:
    """Both clients, connected; each in a task that stays, because the SDK wants to be closed where it was opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._over = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> tuple[Call, Call]:
        loop = asyncio.get_running_loop()
        ours, plain = loop.create_future(), loop.create_future()
        self._tasks = [loop.create_task(self._ours(ours)), loop.create_task(self._plain(plain))]
        return await ours, await plain

    async def close(self) -> None:
        self._over.set()
        await asyncio.gather(*self._tasks)

    async def _ours(self, ready: "asyncio.Future[Call]") -> None:
        host = LocalHost(self._folder)
        servers = ServerList([ServerConfig("srv", "stdio", Origin("user"), command=sys.executable, args=_ARGS)])
        servers.begin(ServerContext(host, (str(self._folder),), {}, None, ApprovedDefinitions(None)))
        await servers.settled()
        tool, run = servers.servers["srv"].tools[0], PlainRun()

        async def call() -> object:
            read = tool.read('{"a": 1, "b": 2}')
            assert isinstance(read, Accepted)
            return await tool.run(read.arguments, run)

        ready.set_result(call)
        await self._over.wait()
        await servers.aclose()

    async def _plain(self, ready: "asyncio.Future[Call]") -> None:
        from mcp.client.client import Client
        from mcp.client.stdio import StdioServerParameters

        async with Client(StdioServerParameters(command=sys.executable, args=[*_ARGS])) as client:
            await client.list_tools()
            ready.set_result(lambda: client.call_tool("add", {"a": 1, "b": 2}))
            await self._over.wait()


_ARGS = ("-I", "-S", str(SERVER), "plain")
