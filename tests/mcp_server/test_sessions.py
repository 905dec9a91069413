"""The sessions of clients: how many there are at a time."""

import asyncio
import gc
import shutil
from pathlib import Path
from typing import Any

import pytest

from callgate import tool
from callgate.mcp_server.served_session import MOST_SESSIONS, ServedSession, ServedSessions
from tests.mcp_server.kit import bench, run

pytestmark = pytest.mark.spec("MCP-5")


def test_clients_that_come_at_once_have_no_more_sessions_than_others() -> None:
    async def waits(client: str) -> ServedSession:
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        sessions = ServedSessions(waits)
        opening = [asyncio.ensure_future(sessions.of(f"client {number}", "x")) for number in range(MOST_SESSIONS)]
        await asyncio.sleep(0)
        assert await sessions.of("one more", "x") is None
        for each in opening:
            each.cancel()
        await asyncio.wait(opening)

    run(main)


def test_one_more_closes_the_session_that_was_used_least_recently_unless_all_have_calls(tmp_path: Path) -> None:
    async def main() -> None:
        go_on = asyncio.Event()

        @tool(name="Wait", effects="none")
        async def wait() -> str:
            """Wait for the test."""
            await go_on.wait()
            return ""

        async with bench(tmp_path, own=[wait]) as made:
            found = [await made.sessions.of(f"client {number}", "x") for number in range(MOST_SESSIONS)]
            first, second, *others = [each for each in found if each is not None]
            second.begin("Wait", {})
            assert await made.sessions.of("client 0", "x") is first
            assert await made.sessions.of("one more", "x") is not None
            assert await made.sessions.of("client 0", "x") is first
            assert await made.sessions.of("client 1", "x") is second, "it has a call"
            assert await made.sessions.of("client 2", "x") is not others[0], "it was closed, and is opened again"
            for number in range(MOST_SESSIONS):
                each = await made.sessions.of(f"client {number}", "x")
                assert each is not None
                each.begin("Wait", {})
            assert await made.sessions.of("too many", "x") is None
            go_on.set()

    run(main)


def test_a_session_that_cannot_be_closed_is_no_matter_of_the_terminal(tmp_path: Path) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        told: list[object] = []
        loop.set_exception_handler(lambda loop, context: told.append(context))
        async with bench(tmp_path) as made:
            shutil.rmtree(tmp_path / "data", ignore_errors=True)
            (tmp_path / "data").write_text("no folder")
            served = await made.sessions.of("one", "x")
            assert served is not None
            result = await served.begin("Glob", {"pattern": "*"}).next()
            assert "the record cannot be written" in str(result)
            before = asyncio.all_tasks()
            made.sessions.end("one")
            await asyncio.wait(asyncio.all_tasks() - before)
            gc.collect()  # which tells of failures that no one took
            assert not told

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


def test_a_session_that_cannot_be_closed_keeps_no_other_one_open() -> None:
    class Closing:
        """A session that takes a turn of the loop to close, and may fail."""

        def __init__(self, *, fails: bool) -> None:
            self.fails = fails
            self.closed = False

        async def aclose(self) -> None:
            if self.fails:
                raise OSError("the disk is full")
            await asyncio.sleep(0)
            self.closed = True

    async def main() -> None:
        made: Any = {"bad": Closing(fails=True), "good": Closing(fails=False)}

        async def opened(client: str) -> ServedSession:
            return made[client]

        sessions = ServedSessions(opened)
        for name in made:
            await sessions.of(name, name)
        await sessions.aclose()
        assert made["good"].closed

    run(main)
