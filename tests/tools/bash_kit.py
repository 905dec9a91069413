"""One session's Bash for tests, without a session."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from callgate.core.capabilities import SessionFacts
from callgate.host.local import LocalHost
from callgate.testing import ManualClock
from callgate.tools.builtin.bash import BashTool, bash
from callgate.words.calls import Accepted, Result
from tests.tools.fake_run import FakeRun

GATE = "mkfifo never; exec 8<>never; "
BLOCK = "read _ <&8"
"""Waits until a test writes into the FIFO that GATE has made."""


async def until(seen: Callable[[], object]) -> None:
    """Lets the loop run until a thread has done something."""
    loop = asyncio.get_running_loop()
    while not seen():
        again = loop.create_future()
        loop.call_later(0.001, again.set_result, None)
        await again


class Shell:
    """One session's Bash without a session: the context updates of a call reach the next one."""

    def __init__(self, folder: Path, tool: BashTool | None = None) -> None:
        self.clock = ManualClock()
        self.host = LocalHost(folder, folder / ".data", self.clock)
        self.tool = tool or bash()
        self.context: dict[str, Any] = {}
        self.tool.bind(SessionFacts(lambda: self.context))
        self.calls = 0
        self.run = FakeRun()

    def begin(self, command: str, **more: Any) -> Coroutine[Any, Any, Result]:
        read = self.tool.read({"command": command, **more})
        assert isinstance(read, Accepted), read
        self.calls += 1
        lineage = ("session", "a1", f"c{self.calls}")
        self.run = FakeRun(call_id=lineage[-1], host=self.host, context=dict(self.context), lineage=lineage)
        return self._take(self.tool.run(read.arguments, self.run))

    async def _take(self, work: Awaitable[Result]) -> Result:
        result = await work
        if result.context_update is not None:
            self.context |= cast("Mapping[str, Any]", result.context_update)
        return result

    def __call__(self, command: str, **more: Any) -> Result:
        return asyncio.run(self.begin(command, **more))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    return Shell(folder)


# ---- what persists --------------------------------------------------------------------------------------------------
