"""The clock of the running loop."""

import asyncio
import threading
import time

from callgate.host.clock import LoopClock
from callgate.testing import VirtualLoop, run_virtual

HOUR = 3600.0


def test_it_tells_the_time_of_the_loop_that_runs() -> None:
    clock = LoopClock()

    async def main() -> float:
        before = clock.monotonic()
        await asyncio.sleep(HOUR)
        assert clock.monotonic() == asyncio.get_running_loop().time()
        return clock.monotonic() - before

    assert run_virtual(main()) == HOUR
    assert run_virtual(main()) == HOUR, "one clock serves one loop after the other"


def test_a_thread_gets_the_time_of_the_loop_it_belongs_to() -> None:
    clock = LoopClock()

    async def main() -> None:
        await asyncio.sleep(HOUR)
        assert clock.monotonic() == HOUR
        seen: list[float] = []
        thread = threading.Thread(target=lambda: seen.append(clock.monotonic()))
        thread.start()
        thread.join()
        assert seen == [HOUR]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def test_without_a_loop_it_is_the_machine_that_tells_the_time() -> None:
    before = time.monotonic()
    assert before <= LoopClock().monotonic() <= time.monotonic()
    wall = time.time()
    assert wall - 60 < LoopClock().now() < wall + 60
