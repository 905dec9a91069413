"""Blocking work in threads: nobody ends before the thread does, and a stuck one hurts nobody."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable

import pytest

from callgate.host.local import LocalHost
from callgate.host.threads import Threads, in_thread, threads_of
from callgate.testing import MemoryHost, settle


@pytest.fixture(params=["own thread", "cached"])
def threads(request: pytest.FixtureRequest) -> Threads | None:
    return Threads() if request.param == "cached" else None


class Stuck:
    """A function that stays in its thread until it is let go."""

    def __init__(self, outcome: Callable[[], str] = lambda: "done") -> None:
        self.inside = threading.Event()
        self.let_go = threading.Event()
        self.outcome = outcome

    def __call__(self) -> str:
        self.inside.set()
        assert self.let_go.wait(30)
        return self.outcome()

    async def entered(self) -> None:
        assert await asyncio.to_thread(self.inside.wait, 30)


def test_the_value_comes_back_from_a_daemon_thread(threads: Threads | None) -> None:
    async def main() -> threading.Thread:
        return await in_thread(threading.current_thread, threads=threads)

    thread = asyncio.run(main())
    assert thread is not threading.current_thread()
    assert thread.daemon


def test_an_error_comes_back_as_it_was(threads: Threads | None) -> None:
    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 // 0, threads=threads)

    asyncio.run(main())


def test_context_variables_are_copied(threads: Threads | None) -> None:
    variable = contextvars.ContextVar("variable", default="outside")

    def change() -> str:
        before = variable.get()
        variable.set("thread")
        return before

    async def main() -> tuple[str, str]:
        variable.set("task")
        return await in_thread(change, threads=threads), variable.get()

    assert asyncio.run(main()) == ("task", "task")


def test_a_cancel_tells_the_thread_once_and_waits_for_its_value(threads: Threads | None) -> None:
    async def main() -> None:
        stuck, told = Stuck(), []
        task = asyncio.create_task(in_thread(stuck, on_cancel=lambda: told.append("cancel"), threads=threads))
        await stuck.entered()
        task.cancel()
        await settle()
        assert not task.done()
        assert told == ["cancel"]
        stuck.let_go.set()
        assert await task == "done"

    asyncio.run(main())


def test_a_cancelled_thread_that_fails_raises_its_error(threads: Threads | None) -> None:
    def interrupted() -> str:
        raise KeyError("interrupted")

    async def main() -> None:
        stuck = Stuck(interrupted)
        task = asyncio.create_task(in_thread(stuck, on_cancel=stuck.let_go.set, threads=threads))
        await stuck.entered()
        task.cancel()
        with pytest.raises(KeyError, match="interrupted"):
            await task

    asyncio.run(main())


def test_a_cancel_after_the_end_keeps_the_value(threads: Threads | None) -> None:
    async def main() -> None:
        told: list[str] = []
        task = asyncio.create_task(in_thread(lambda: "done", on_cancel=lambda: told.append("cancel"), threads=threads))
        loop = asyncio.get_running_loop()
        original = loop.call_soon_threadsafe

        def cancel_just_after(callback: Callable[..., object], *args: object, **_: object) -> asyncio.Handle:
            handle = original(callback, *args)
            original(task.cancel)
            return handle

        loop.call_soon_threadsafe = cancel_just_after  # type: ignore[method-assign]
        assert await task == "done"
        assert told == []

    asyncio.run(main())


def test_an_on_cancel_that_raises_is_reported_and_does_not_end_the_wait() -> None:
    async def main() -> None:
        reports: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context["message"]))
        stuck = Stuck()

        def broken() -> None:
            raise ValueError("broken")

        task = asyncio.create_task(in_thread(stuck, on_cancel=broken))
        await stuck.entered()
        task.cancel()
        await settle()
        assert not task.done()
        assert reports == ["on_cancel of a thread raised"]
        stuck.let_go.set()
        assert await task == "done"

    asyncio.run(main())


def test_idle_workers_are_used_again() -> None:
    async def main() -> None:
        threads = Threads()
        seen = {await in_thread(threading.get_ident, threads=threads) for _ in range(50)}
        assert len(seen) == 1
        assert threads.idle == 1

    asyncio.run(main())


def test_stuck_workers_starve_nobody_and_only_few_idle_ones_are_kept() -> None:
    async def main() -> None:
        threads = Threads(keep_idle=3)
        stuck = [Stuck() for _ in range(40)]
        tasks = [asyncio.create_task(in_thread(each, threads=threads)) for each in stuck]
        for each in stuck:
            await each.entered()
        assert await in_thread(lambda: "quick", threads=threads) == "quick"
        for each in stuck:
            each.let_go.set()
        assert await asyncio.gather(*tasks) == ["done"] * 40
        assert threads.idle <= 3

    asyncio.run(main())


def test_jobs_that_wait_are_taken_by_one_worker_in_their_order() -> None:
    async def main() -> None:
        threads, first, order = Threads(patience=30), Stuck(), list[int]()
        seen: set[int] = set()

        def job(number: int) -> None:
            order.append(number)
            seen.add(threading.get_ident())

        leader = asyncio.create_task(in_thread(first, threads=threads))
        await first.entered()
        jobs = [asyncio.create_task(in_thread(lambda n=number: job(n), threads=threads)) for number in range(20)]
        await settle()
        assert order == []
        first.let_go.set()
        await asyncio.gather(leader, *jobs)
        assert order == list(range(20))
        assert len(seen) == 1
        assert threads.idle == 1

    asyncio.run(main())


def test_a_leader_that_is_stuck_holds_up_nobody_after_it_was_found_out() -> None:
    async def main() -> None:
        threads, stuck = Threads(patience=0.001), Stuck()
        held = asyncio.create_task(in_thread(stuck, threads=threads))
        await stuck.entered()
        assert await in_thread(lambda: "later", threads=threads) == "later"
        threads._patience = 30  # pyright: ignore[reportPrivateUsage]
        assert await in_thread(lambda: "at once", threads=threads) == "at once"
        stuck.let_go.set()
        assert await held == "done"

    asyncio.run(main())


def test_a_job_that_was_left_before_it_began_never_runs() -> None:
    async def main() -> None:
        threads, stuck, ran = Threads(patience=30), Stuck(), list[str]()
        held = asyncio.create_task(in_thread(stuck, threads=threads))
        await stuck.entered()
        left = asyncio.create_task(in_thread(lambda: ran.append("left"), threads=threads))
        await settle()
        left.cancel()
        await settle()
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        after = asyncio.create_task(in_thread(lambda: ran.append("after"), threads=threads))
        stuck.let_go.set()
        await asyncio.gather(held, after)
        assert ran == ["after"]

    asyncio.run(main())


def test_threads_serve_a_loop_after_another_one_was_closed_in_the_middle() -> None:
    threads, stuck = Threads(patience=30), Stuck()

    async def leave() -> None:
        task = asyncio.create_task(in_thread(stuck, threads=threads))
        await stuck.entered()
        waiting = asyncio.create_task(in_thread(lambda: None, threads=threads))
        await settle()
        for each in (task, waiting):
            each.cancel()
        await settle()

    async def go_on() -> None:
        jobs = [in_thread(lambda n=number: n, threads=threads) for number in range(3)]
        work = asyncio.gather(*jobs)
        stuck.let_go.set()
        assert await work == [0, 1, 2]

    asyncio.run(leave())
    asyncio.run(go_on())


def test_an_idle_worker_leaves_after_a_while() -> None:
    async def main() -> None:
        threads = Threads(idle_seconds=0.001)
        worker = await in_thread(threading.current_thread, threads=threads)
        worker.join(30)
        assert not worker.is_alive()
        assert threads.idle == 0
        assert await in_thread(lambda: "again", threads=threads) == "again"

    asyncio.run(main())


def test_a_second_cancel_leaves_the_thread_behind() -> None:
    async def main() -> None:
        threads, stuck = Threads(), Stuck()
        task = asyncio.create_task(in_thread(stuck, threads=threads))
        await stuck.entered()
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        stuck.let_go.set()

    asyncio.run(main())


def test_a_thread_that_ends_after_its_loop_makes_no_noise(threads: Threads | None) -> None:
    stuck = Stuck()
    ended = threading.Event()
    used: list[threading.Thread] = []

    def run() -> str:
        used.append(threading.current_thread())
        try:
            return stuck()
        finally:
            ended.set()

    loop = asyncio.new_event_loop()
    errors: list[object] = []
    before, threading.excepthook = threading.excepthook, errors.append
    try:
        coroutine = in_thread(run, threads=threads)
        task = loop.create_task(coroutine)
        loop.run_until_complete(stuck.entered())
        loop.set_exception_handler(lambda *_: None)  # "Task was destroyed" is asyncio's to say, and ours to provoke
        loop.close()
        stuck.let_go.set()
        assert ended.wait(30)
        if threads is None:
            used[0].join(30)
        coroutine.close()
        del task
        gc.collect()
    finally:
        threading.excepthook = before
    assert errors == []


def test_an_idle_worker_does_not_keep_the_last_call_alive() -> None:
    class Big:
        pass

    async def main() -> None:
        threads, big = Threads(), Big()
        gone = weakref.ref(big)
        await in_thread(lambda held=big: held and None, threads=threads)
        await in_thread(lambda: None, threads=threads)  # the worker is past its first call
        del big
        assert threads.idle == 1
        while gone() is not None:
            gc.collect()

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_stuck_thread_does_not_keep_the_interpreter() -> None:
    program = (
        "import asyncio, threading\n"
        "from callgate.host.threads import Threads, in_thread\n"
        "async def main():\n"
        "    threads = Threads()\n"
        "    task = asyncio.create_task(in_thread(threading.Event().wait, threads=threads))\n"
        "    await asyncio.sleep(0)\n"
        "    task.cancel()\n"
        "    await asyncio.sleep(0)\n"
        "asyncio.run(main())\n"
        "print('left')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("left\n", "", 0)


def test_a_host_lends_its_threads_or_has_none() -> None:
    host = LocalHost()
    assert threads_of(host) is host.threads
    assert threads_of(MemoryHost()) is None
