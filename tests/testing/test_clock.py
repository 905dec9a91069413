"""Time under a test's control."""

import asyncio
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.host.threads import in_thread
from callgate.testing import ManualClock, StuckError, VirtualLoop, run_virtual, settle

HOUR = 3600.0
MONTH = 30 * 24 * HOUR


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(now=100.0)
    assert (clock.now(), clock.monotonic()) == (100.0, 0.0)
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (102.5, 2.5)


def test_due_timers_fire_in_order_at_their_exact_times() -> None:
    clock, seen = ManualClock(), list[tuple[str, float]]()

    def note(name: str) -> None:
        seen.append((name, clock.monotonic()))

    def note_and_add(name: str) -> None:
        note(name)
        clock.call_later(1.0, lambda: note("added"))

    clock.call_later(3.0, lambda: note("c"))
    clock.call_later(1.0, lambda: note_and_add("a"))
    clock.call_later(1.0, lambda: note("b"))
    clock.call_later(2.0, lambda: note("cancelled")).cancel()
    clock.call_later(9.0, lambda: note("later"))
    assert clock.next_timer == 1.0
    clock.advance(3.5)
    assert seen == [("a", 1.0), ("b", 1.0), ("added", 2.0), ("c", 3.0)]
    assert clock.monotonic() == 3.5
    assert clock.next_timer == 9.0


def test_a_timer_cancelled_by_an_earlier_one_does_not_fire() -> None:
    clock, seen = ManualClock(), list[str]()
    late = clock.call_later(1.0, lambda: seen.append("late"))
    clock.call_later(0.5, late.cancel)
    clock.advance(2.0)
    assert seen == []


@pytest.mark.parametrize("run", [asyncio.run, run_virtual])
def test_settling_runs_what_a_timer_wakes_before_the_next_one_fires(run: type) -> None:
    async def main() -> None:
        clock, seen = ManualClock(), list[float]()

        async def walk() -> None:
            for _ in range(3):
                await clock.sleep(1.0)
                seen.append(clock.monotonic())

        task = asyncio.create_task(walk())
        await clock.advance_and_settle(2.5)
        assert seen == [1.0, 2.0]
        await clock.advance_and_settle(0.5)
        assert task.done()
        assert seen == [1.0, 2.0, 3.0]

    run(main())


def test_a_cancelled_sleep_leaves_no_timer() -> None:
    async def main() -> None:
        clock = ManualClock()
        task = asyncio.create_task(clock.sleep(5.0))
        await settle()
        task.cancel()
        await settle()
        assert clock.next_timer is None

    asyncio.run(main())


def test_virtual_time_passes_without_waiting() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        await asyncio.gather(asyncio.sleep(MONTH), asyncio.sleep(HOUR))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), HOUR)
        return loop.time()

    before = time.monotonic()
    assert run_virtual(main()) == MONTH + HOUR
    assert time.monotonic() - before < 60


def test_virtual_centuries_pass_too() -> None:
    async def main() -> float:
        for _ in range(20):
            await asyncio.sleep(100 * MONTH)
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == pytest.approx(2000 * MONTH)


# asyncio itself fires timers up to a nanosecond early, so shorter times than that promise nothing.
SECONDS = st.integers(0, 10**12).map(lambda micro: micro / 1e6)


@given(st.lists(SECONDS, min_size=1, max_size=8), SECONDS)
def test_sleeping_never_ends_early_and_takes_exactly_its_time(delays: list[float], start: float) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(start)

        async def sleeper(delay: float) -> None:
            due = loop.time() + delay
            await asyncio.sleep(delay)
            assert due <= loop.time() <= due + 1e-6 * (1 + len(delays))

        await asyncio.gather(*(sleeper(delay) for delay in delays))

    run_virtual(main())


def test_cancelled_timers_do_not_stop_the_clock_on_its_way() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        for delay in (1.0, 2.0, 3.0):
            loop.call_later(delay, print).cancel()
        await asyncio.sleep(HOUR)
        return loop.time()

    assert run_virtual(main()) == HOUR


def test_without_timers_the_loop_really_waits_for_a_thread() -> None:
    async def main() -> str:
        release = threading.Event()
        helper = threading.Timer(0.01, release.set)
        helper.start()
        return await in_thread(lambda: "done" if release.wait(30) else "late")

    assert run_virtual(main()) == "done"


def test_time_stands_still_for_executor_jobs_and_inside_hold() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        release = threading.Event()
        async with asyncio.timeout(HOUR):
            threading.Timer(0.01, release.set).start()
            assert await asyncio.to_thread(release.wait, 30)
        assert loop.time() == 0.0
        release.clear()
        async with asyncio.timeout(HOUR):
            threading.Timer(0.01, release.set).start()
            with loop.hold():
                assert await in_thread(lambda: release.wait(30))
        assert loop.time() == 0.0
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), HOUR)

    run_virtual(main())


def test_idle_is_reached_before_any_time_passes() -> None:
    async def main() -> None:
        loop, steps = asyncio.get_running_loop(), list[int]()

        async def busy() -> None:
            for step in range(500):
                steps.append(step)
                await asyncio.sleep(0)
            await asyncio.sleep(HOUR)

        task = asyncio.create_task(busy())
        await settle()
        assert len(steps) == 500
        assert loop.time() == 0.0
        assert not task.done()
        await task

    run_virtual(main())


def test_a_deadlock_is_an_error_that_names_who_waits() -> None:
    async def waits_for_ever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(StuckError, match="waits_for_ever"), asyncio.Runner(loop_factory=impatient) as runner:
        runner.run(waits_for_ever())


def impatient() -> VirtualLoop:
    return VirtualLoop(patience=0.01)  # threads of other tests may still be idling
