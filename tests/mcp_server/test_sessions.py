"""The sessions of clients: how many there are at a time."""

import asyncio
from pathlib import Path

import pytest

from callgate import tool
from callgate.mcp_server.calls import ServedSession
from callgate.mcp_server.sessions import MOST_SESSIONS, ServedSessions
from tests.mcp_server.kit import bench, run

pytestmark = pytest.mark.spec("MCP-5")


@tool(name="Look", effects="none")
def look() -> str:
    """Look at nothing."""
    return ""


def test_clients_that_come_at_once_have_no_more_sessions_than_others(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, own=[look]) as made:
            found = await asyncio.gather(
                *(made.sessions.of(f"client {number}", "x") for number in range(MOST_SESSIONS + 1))
            )
            assert found.index(None) == MOST_SESSIONS
            assert await made.sessions.of("client 0", "x") is found[0]
            made.sessions.end("client 0")
            assert await made.sessions.of("another", "x") is not None
            assert await made.sessions.of("client 0", "x") is None

    run(main)


def test_a_session_that_cannot_be_opened_takes_no_place() -> None:
    async def fails(client: str) -> ServedSession:
        raise OSError("the disk is full")

    async def main() -> None:
        sessions = ServedSessions(fails)
        for number in range(MOST_SESSIONS + 1):
            with pytest.raises(OSError, match="full"):
                await sessions.of(f"client {number}", "x")

    run(main)
