"""The guard of the HTTP server: the token, the names in Host and Origin, sizes, and the end of a session."""

import asyncio
from pathlib import Path
from socket import create_connection

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from callgate.mcp_server.http import HttpGuard, HttpServer, listen, names_of
from callgate.words.errors import UsageError
from tests.mcp_server.kit import bench, run
from tests.sessions import with_event

pytestmark = pytest.mark.spec("MCP-5")
TOKEN = "token-of-the-test"
GOOD = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
NAMES = names_of("127.0.0.1", 8765)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": f"bearer {TOKEN}"}, 401),
        ({"Host": "evil.example:8765"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1:80"}, 421),
        ({"Host": "127.0.0.1:8765.evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:80"}, 403),
        ({"Origin": "null"}, 403),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
def test_a_request_that_is_not_meant_for_this_server_gets_nowhere(
    method: str, headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made:
            app = HttpServer(made.door.server, made.sessions, TOKEN, NAMES).app
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as http:
                answer = await http.request(method, "/mcp", json={}, headers={**GOOD, **headers})
        assert answer.status_code == status
        assert ("www-authenticate" in answer.headers) == (status == 401)

    run(main)


def test_names_of_this_machine_and_pages_of_this_server_are_let_through(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made:
            app = HttpServer(made.door.server, made.sessions, TOKEN, NAMES).app
            transport = httpx2.ASGITransport(app)
            async with (
                made.door.server.session_manager.run(),
                httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as http,
            ):
                for name in ("127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"):
                    more = {"Host": name, "Origin": f"http://{name.lower()}"}
                    answer = await http.post("/mcp", json={}, headers={**GOOD, **more})
                    assert (answer.status_code, "Validation error" in answer.text) == (400, True), name

    run(main)


def test_names_are_those_that_clients_send() -> None:
    """They write names small and addresses in full, and leave out the port 80."""
    assert "myhost:8765" in names_of("MyHost", 8765, "192.0.2.1")
    assert "192.0.2.1:8765" in names_of("192.0.513", 8765, "192.0.2.1")
    assert "[2001:db8::1]:8765" in names_of("2001:DB8::1", 8765, "2001:db8::1")
    assert {"localhost", "127.0.0.1", "[::1]", "localhost:80"} <= {*names_of("127.0.0.1", 80)}
    assert "localhost" not in NAMES


def test_a_client_that_ends_its_session_closes_ours(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made:
            app = HttpGuard(PlainTextResponse("ended"), TOKEN, NAMES, made.sessions)
            served = await made.sessions.of("session one", "client")
            other = await made.sessions.of("session two", "client")
            assert served is not None
            assert other is not None
            closed = asyncio.Event()
            served.session.listen(with_event(lambda event: closed.set() if served.session.status == "closed" else None))
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as http:
                await http.delete("/mcp", headers={**GOOD, "Mcp-Session-Id": "one"})
            await closed.wait()
            assert other.session.status != "closed"

    run(main)


def test_it_listens_on_loopback_alone() -> None:
    with listen("127.0.0.1", 0) as bound:
        host, port = bound.getsockname()
        assert host == "127.0.0.1"
        assert f"localhost:{port}" in names_of(host, port)
        create_connection((host, port)).close()  # before it is served: the address is told first


@pytest.mark.parametrize("host", ["0.0.0.0", "0", "0x0", "::", "::0", "::ffff:0:0"])
def test_it_does_not_listen_on_every_address_however_that_is_written(host: str) -> None:
    with pytest.raises(UsageError, match="the address that clients use"):
        listen(host, 0)


def test_an_address_that_cannot_be_had_is_named() -> None:
    with listen("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        with pytest.raises(UsageError, match=rf"127\.0\.0\.1, port {port}: Address already in use"):
            listen("127.0.0.1", port)
    with pytest.raises(UsageError, match="encoding"):
        listen("ä" * 70, 0)
