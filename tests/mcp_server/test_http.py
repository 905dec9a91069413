"""``callgate mcp serve --http`` as a process, and real clients of both eras."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from callgate import Store
from tests.mcp_server.kit import ERAS, Person, pending_of, run, text_of
from tests.mcp_server.process_kit import HttpAddress, over_http

pytestmark = [pytest.mark.spec("MCP-5"), pytest.mark.slow]


@asynccontextmanager
async def connected(at: HttpAddress, era: str, person: Person | None = None) -> AsyncGenerator[Client]:
    async with httpx2.AsyncClient(headers=at.headers, timeout=60) as http:
        transport = streamable_http_client(at.url, http_client=http)
        fill = None if person is None else person.fill
        async with Client(transport, mode=era, elicitation_callback=fill) as client:
            yield client


@pytest.mark.parametrize("era", ERAS)
def test_a_real_client_lists_calls_previews_and_answers(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        person = Person(["yes", "no"])
        async with over_http(tmp_path) as at, connected(at, era, person) as client:
            assert "Read" in {each.name for each in (await client.list_tools()).tools}
            shown = await client.call_tool("Write", {"file_path": "a.txt", "content": "new\n"})
            assert "+new" in text_of(shown)
            resolution = {"action": "apply", "reason": "fine", "id": pending_of(shown)}
            assert not (await client.call_tool("resolve", resolution)).is_error
            assert (tmp_path / "work/a.txt").read_text() == "new\n"
            denied = await client.call_tool("Bash", {"command": "touch b"})
            assert denied.is_error
        assert len(person.asked) == 2

    run(main)


def test_two_clients_have_sessions_of_their_own(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "work").mkdir()
        (tmp_path / "work/sub").mkdir()
        async with (
            over_http(tmp_path, "--mode", "bypass") as at,
            connected(at, "legacy") as one,
            connected(at, "legacy") as other,
        ):
            await one.call_tool("Bash", {"command": "cd sub"})
            assert text_of(await one.call_tool("Bash", {"command": "pwd"})).endswith("/sub")
            assert text_of(await other.call_tool("Bash", {"command": "pwd"})).endswith("/work")
            shown = await one.call_tool("Write", {"file_path": "a.txt", "content": "new\n"})
            taken = {"action": "apply", "reason": "fine", "id": pending_of(shown)}
            assert (await other.call_tool("resolve", taken)).is_error
        assert len(Store(tmp_path / "work", tmp_path / "data").list()) == 2

    run(main)


def test_the_token_may_come_from_the_environment_and_commands_do_not_see_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            over_http(tmp_path, "--mode", "bypass", CALLGATE_MCP_TOKEN="given-by-a-person\n") as at,
            connected(at, "auto") as client,
        ):
            assert at.token == "given-by-a-person"
            seen = await client.call_tool("Bash", {"command": "env"})
            assert "given-by-a-person" not in text_of(seen)

    run(main)


def test_a_client_that_hangs_up_cancels_its_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with over_http(tmp_path, "--mode", "bypass") as at:
            began = asyncio.Event()

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                began.set()

            async with connected(at, "auto") as client:
                command = "echo $$ > pid; echo ready; sleep 1000"
                call = asyncio.ensure_future(client.call_tool("Bash", {"command": command}, progress_callback=hear))
                await began.wait()
                call.cancel()
                await asyncio.wait((call,))
                after = await client.call_tool("Bash", {"command": "kill -0 $(cat pid) || echo gone"})
                assert "gone" in text_of(after)

    run(main)


def test_requests_that_make_no_sense_are_not_told_on_the_terminal_and_hold_up_no_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with over_http(tmp_path) as at:  # which holds that nothing was said on standard error
            port = int(at.url.rpartition(":")[2].partition("/")[0])
            good = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {at.token}\r\n"
            nonsense = ("no request", f"GET /mcp HTTP/1.1\r\n{good}{good}\r\n", f"GET /mcp HTTP/1.1\r\n{'a' * 100_000}")
            for text in (*nonsense, f"GET /mcp HTTP/1.1\r\n{good}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"):
                answers, requests = await asyncio.open_connection("127.0.0.1", port)
                requests.write(f"{text}\r\n\r\n".encode())
                assert (await answers.readline()).startswith(b"HTTP/1.1 4")
                requests.close()
            _, slow = await asyncio.open_connection("127.0.0.1", port)
            slow.write(f"POST /mcp HTTP/1.1\r\n{good}Content-Length: 1000\r\n\r\n".encode())
            async with connected(at, "legacy") as client:
                assert (await client.list_tools()).tools
            at.process.terminate()
            await at.process.wait()
            slow.close()

    run(main)
