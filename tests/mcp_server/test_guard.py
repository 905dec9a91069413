"""The guard of the HTTP server: the token, the names in Host and Origin, sizes, and the end of a session."""

import asyncio
from pathlib import Path
from socket import create_connection

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from callgate.mcp_server.http import HttpGuard, HttpServer, listen, names_of
from tests.mcp_server.kit import bench, run

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
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as http:
                for name in ("127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"):
                    more = {"Host": name, "Origin": f"http://{name.lower()}"}
                    answer = await http.post("/elsewhere", json={}, headers={**GOOD, **more})
                    assert answer.status_code == 404, name

    run(main)


def test_a_client_that_ends_its_session_closes_ours(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made:
            app = HttpGuard(PlainTextResponse("ended"), TOKEN, NAMES, made.sessions)
            served = await made.sessions.of("session one", "client")
            other = await made.sessions.of("session two", "client")
            assert served is not None
            assert other is not None
            closed = asyncio.Event()
            served.session.listen(lambda event: closed.set() if served.session.status == "closed" else None)
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
