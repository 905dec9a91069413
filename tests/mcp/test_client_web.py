"""Servers on the web that send too much, go away and forget."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from callgate.mcp.server_config import ServerConfig
from callgate.mcp.server_context import ServerLimits
from callgate.mcp.tool_definitions import MOST_TOOLS
from tests.mcp.client_kit import OWN, connected, place_in, until, use
from tests.mcp.client_login_server import LoginServer, running


class Talkative(LoginServer):
    """Answers calls with so many megabytes."""

    def __init__(self, megabytes: int) -> None:
        super().__init__()
        self.tokens = {"open"}
        self.megabytes = megabytes

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        answer = super().answer(message)
        if message.get("method") == "tools/call" and answer is not None:
            answer["result"]["content"][0]["text"] = "x" * (self.megabytes << 20)
        return answer


def open_to(server: LoginServer) -> ServerConfig:
    return ServerConfig("web", "http", OWN, url=f"{server.base}/mcp", headers={"Authorization": "Bearer open"})


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize(("megabytes", "is_error"), [(1, False), (9, True)])
def test_a_body_that_is_too_large_fails_its_call_alone(tmp_path: Path, megabytes: int, is_error: bool) -> None:
    async def main(server: Talkative) -> None:
        async with connected(place_in(tmp_path), open_to(server)) as servers:
            result = await use(servers.servers["web"], "whoami")
            assert result.is_error is is_error
            assert ("more than 8 MiB" in result.text) is is_error
            server.megabytes = 0
            assert not (await use(servers.servers["web"], "whoami")).is_error

    with running(Talkative(megabytes)) as server:
        asyncio.run(main(server))


class Listing(LoginServer):
    """Lists thousands of tools."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = {"open"}

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        answer = super().answer(message)
        if message.get("method") == "tools/list" and answer is not None:
            answer["result"]["tools"] = listed(10_000)
        return answer


def listed(count: int) -> list[dict[str, Any]]:
    return [{"name": f"tool{at}", "description": "x" * 80, "inputSchema": {"type": "object"}} for at in range(count)]


@pytest.mark.spec("MCP-3")
def test_a_long_list_is_parsed_in_a_thread_and_what_the_loop_parses_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = pytest.importorskip("mcp.client.streamable_http")
    adapter, sizes = transport.jsonrpc_message_adapter, list[int]()

    class Measured:
        """The SDK's own parser, which it calls on the loop."""

        def validate_json(self, data: bytes | str, **options: Any) -> Any:
            sizes.append(len(data))
            return adapter.validate_json(data, **options)

    monkeypatch.setattr(transport, "jsonrpc_message_adapter", Measured())

    async def main(server: Listing) -> None:
        async with connected(place_in(tmp_path), open_to(server)) as servers:
            assert servers.servers["web"].state.tools == MOST_TOOLS

    with running(Listing()) as server:
        asyncio.run(main(server))
    assert max(sizes) <= len(json.dumps(listed(1_000))) + 1_000


@pytest.mark.spec("MCP-3")
def test_events_are_given_whole_and_large_ones_lighter(monkeypatch: pytest.MonkeyPatch) -> None:
    httpx2 = pytest.importorskip("httpx2")
    from callgate.mcp import http_transport
    from callgate.mcp.stdio_transport import message_rate

    types = pytest.importorskip("mcp_types")
    adapter, threads = types.jsonrpc_message_adapter, list[threading.Thread]()

    class Noted:
        """The SDK's own parser, which says where it is used."""

        def validate_json(self, data: bytes, **options: Any) -> Any:
            threads.append(threading.current_thread())
            return adapter.validate_json(data, **options)

    monkeypatch.setattr(types, "jsonrpc_message_adapter", Noted())
    large = json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"tools": listed(3_000)}}).encode()

    class Pieces(httpx2.AsyncByteStream):
        """A stream of events in small pieces, with every kind of line end."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            whole = (
                b'event: message\r\ndata: {"a": 1}\r\n\r\n: ping\n\ndata: 1\rdata: 2\r\rid: 7\ndata: ' + large + b"\n\n"
            )
            for at in range(0, len(whole), 1_000):
                yield whole[at : at + 1_000]
            yield b"data: no mess" + b"x" * http_transport.LARGE

        async def aclose(self) -> None: ...

    async def main() -> bytes:
        return b"".join([piece async for piece in http_transport.BoundedStream(Pieces(), message_rate(), events=True)])

    small, _, rest = asyncio.run(main()).partition(b"id: 7\n")
    assert small == b'event: message\r\ndata: {"a": 1}\r\n\r\n: ping\n\ndata: 1\rdata: 2\r\r'
    light, _, last = rest.partition(b"\n\n")
    assert len(json.loads(light.removeprefix(b"data: "))["result"]["tools"]) == 1_000
    assert last == b"data: null\n"
    assert len(threads) == 2
    assert threading.main_thread() not in threads


@pytest.mark.spec("MCP-3")
def test_a_stream_of_many_events_is_read_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    httpx2 = pytest.importorskip("httpx2")
    from callgate.mcp.http_transport import BoundedStream
    from callgate.mcp.rate_limit import RateLimit

    class Counting(RateLimit):
        """Counts, and wants a pause of a moment each time."""

        spent = 0.0

        def spend(self, cost: float) -> float:
            self.spent += cost
            return 1e-9

    class Flood(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _ in range(10):
                yield b"data: {}\n\n" * 100

        async def aclose(self) -> None: ...

    paused: list[float] = []

    async def sleep(seconds: float) -> None:
        paused.append(seconds)

    async def main() -> float:
        rate = Counting(1, 1)
        assert [piece async for piece in BoundedStream(Flood(), rate, events=True)]
        return rate.spent

    monkeypatch.setattr("callgate.mcp.http_transport.asyncio.sleep", sleep)
    assert int(asyncio.run(main())) == 1_001  # the events, and a little for their bytes
    assert len(paused) == 10


@pytest.mark.spec("MCP-3")
def test_a_rate_limit_is_a_burst_and_then_so_much_each_second() -> None:
    from callgate.mcp.rate_limit import RateLimit

    now = 100.0
    rate = RateLimit(10, 5, lambda: now)
    assert [rate.spend(10), rate.spend(1), rate.spend(4)] == [0.0, 0.2, 1.0]
    now += 1.0
    assert rate.spend(0) == 0.0
    now += 1_000.0
    assert rate.spend(11) == 0.2


@pytest.mark.spec("MCP-3")
def test_streams_are_opened_again_within_a_rate_and_calls_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    httpx2 = pytest.importorskip("httpx2")
    from callgate.mcp.http_transport import paced
    from callgate.mcp.rate_limit import RateLimit

    paused: list[float] = []

    async def sleep(seconds: float) -> None:
        paused.append(seconds)

    async def main() -> None:
        hook = paced(RateLimit(2, 1, lambda: 0.0))
        for method in ("GET", "POST", "GET", "GET", "POST"):
            await hook(httpx2.Request(method, "http://127.0.0.1/mcp"))

    monkeypatch.setattr("callgate.mcp.http_transport.asyncio.sleep", sleep)
    asyncio.run(main())
    assert paused == [0.0, 0.0, 1.0]


@pytest.mark.spec("MCP-3")
def test_a_large_body_that_is_not_one_message_becomes_a_short_one_that_is_refused() -> None:
    pytest.importorskip("httpx2")
    from callgate.mcp.http_transport import LARGE, lighter_message

    blank, message = b" " * LARGE, b'{"jsonrpc":"2.0","method":"a","params":{"b":"\\ud800"}}'
    for body in (b"[" + blank + b"]", b"[" + message + blank + b"]", message + blank, b"[1]" + blank, blank):
        assert lighter_message(body) == b"null", body[-60:]


class Forgetful(BaseHTTPRequestHandler):
    """Forgets its first session at the first call, and says so as servers of the SDKs do: in JSON."""

    protocol_version = "HTTP/1.1"
    known: ClassVar[list[str]] = []

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message["method"] == "initialize":
            self.known.append(f"s{len(self.known)}")
        if message["method"] == "tools/call" and self.headers["mcp-session-id"] == "s0":
            self._send(404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}})
        else:
            answer = LoginServer().answer(message)
            self._send(202 if answer is None else 200, answer)

    def do_GET(self) -> None:
        self._send(405, None)

    def do_DELETE(self) -> None:
        self._send(405, None)

    def _send(self, status: int, value: Any) -> None:
        data = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(data))}.items():
            self.send_header(name, text)
        if self.known:
            self.send_header("mcp-session-id", self.known[-1])
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        http.daemon_threads = True
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield http.server_address[1]
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.spec("MCP-3")
def test_a_session_that_the_server_has_forgotten_is_begun_anew(tmp_path: Path) -> None:
    async def main(port: int) -> None:
        Forgetful.known.clear()
        config = ServerConfig("web", "http", OWN, url=f"http://127.0.0.1:{port}/mcp")
        async with connected(place_in(tmp_path), config) as servers:
            found = servers.servers["web"]
            assert (await use(found, "whoami")).is_error
            await until(found, lambda: found.state.reason == "its session is over")
            assert (await use(found, "whoami")).text == "you are known"

    with served(Forgetful) as port:
        asyncio.run(main(port))


class WithoutStream(Forgetful):
    """Has sessions, and no stream for GET: it answers as to any path that there is not."""

    known: ClassVar[list[str]] = ["s1"]

    def do_GET(self) -> None:
        self._send(404, None)


@pytest.mark.spec("MCP-1")
def test_a_server_with_sessions_and_without_a_stream_stays_connected(tmp_path: Path) -> None:
    async def main(port: int) -> None:
        config = ServerConfig("web", "http", OWN, url=f"http://127.0.0.1:{port}/mcp")
        async with connected(place_in(tmp_path), config) as servers:
            found = servers.servers["web"]
            for _ in range(3):
                assert (await use(found, "whoami")).text == "you are known"
            assert (found.state.status, found.state.reason) == ("connected", "")

    with served(WithoutStream) as port:
        asyncio.run(main(port))


class Refusing(BaseHTTPRequestHandler):
    """Answers every POST with the status in its path."""

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(self.path[1:]))
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.mark.spec("MCP-9")
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (
            405,
            "it answered 405 Method Not Allowed. Check the address. "
            'An old server that supports only SSE needs "type": "sse"',
        ),
        (403, "it answered 403 Forbidden"),
    ],
)
def test_a_refusal_is_named_and_an_old_server_is_told_from_it(tmp_path: Path, status: int, reason: str) -> None:
    async def main(port: int) -> None:
        config = ServerConfig("web", "http", OWN, url=f"http://127.0.0.1:{port}/{status}")
        async with connected(place_in(tmp_path), config) as servers:
            assert servers.servers["web"].state.reason == reason

    with served(Refusing) as port:
        asyncio.run(main(port))


@pytest.mark.spec("MCP-3")
def test_a_compressed_answer_is_refused() -> None:
    httpx2 = pytest.importorskip("httpx2")
    from callgate.mcp.http_transport import TooLarge, bound_body
    from callgate.mcp.stdio_transport import message_rate

    async def main() -> None:
        answer = httpx2.Response(200, headers={"content-encoding": "gzip"}, content=b"")
        with pytest.raises(TooLarge, match="compressed"):
            await bound_body(answer, message_rate())

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_server_that_goes_away_is_lost_and_says_why(tmp_path: Path) -> None:
    async def main(server: LoginServer, end_server: Callable[[], None]) -> None:
        place = place_in(tmp_path, limits=ServerLimits(connect=5.0))
        async with connected(place, open_to(server)) as servers:
            found = servers.servers["web"]
            assert found.state.status == "connected"
            end_server()
            result = await use(found, "whoami")
            assert result.is_error
            assert result.effects == "unknown"
            await until(found, lambda: bool(found.state.reason))
            assert "connect" in found.state.reason.lower()

    with ExitStack() as stack:
        server = stack.enter_context(running(LoginServer()))
        server.tokens = {"open"}
        asyncio.run(main(server, stack.close))
