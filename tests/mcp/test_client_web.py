"""Servers on the web that send too much, go away and forget."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from callgate.mcp.config import ServerConfig
from callgate.mcp.place import ServerLimits
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
            "it answered 405 Method Not Allowed. Is the address right? "
            'An old server that only speaks SSE needs "type": "sse"',
        ),
        (403, "it answered 403 Forbidden"),
    ],
)
def test_a_refusal_is_named_and_an_old_server_is_told_from_it(tmp_path: Path, status: int, reason: str) -> None:
    async def main(port: int) -> None:
        config = ServerConfig("web", "http", OWN, url=f"http://127.0.0.1:{port}/{status}")
        async with connected(place_in(tmp_path), config) as servers:
            assert servers.servers["web"].state.reason == reason

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            asyncio.run(main(http.server_address[1]))
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.spec("MCP-3")
def test_a_compressed_answer_is_refused() -> None:
    httpx2 = pytest.importorskip("httpx2")
    from callgate.mcp.web import TooLarge, refuse_large

    async def main() -> None:
        with pytest.raises(TooLarge, match="compressed"):
            await refuse_large(httpx2.Response(200, headers={"content-encoding": "gzip"}, content=b""))

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
