"""Work that may never end, in a thread and within a time."""

import sys
from asyncio import Future, get_running_loop
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

from callgate.core.ports import Clock
from callgate.words.noun import noun

T = TypeVar("T")


@noun
class Late:
    """It did not end in time. ``at`` are the files and lines where it was, the innermost first."""

    at: tuple[tuple[str, int], ...]


async def attempt(work: Callable[[], T], patience: float, clock: Clock) -> T | Late:
    """Run ``work``, which must not raise, and wait ``patience`` seconds for it.

    After that, or a cancel, it is left behind in a daemon thread. (An exception could be put into the thread. One that
    waits outside of Python would not see it, and until it does every other thread runs slower.)
    """
    loop = get_running_loop()
    over: Future[T | Late] = loop.create_future()

    def settle(value: T | Late) -> None:
        if not over.done():
            over.set_result(value)

    def run() -> None:
        value = work()
        with suppress(RuntimeError):  # the loop was closed first
            loop.call_soon_threadsafe(settle, value)

    thread = Thread(target=run, name="callgate-loading", daemon=True)
    thread.start()
    timer = clock.call_later(patience, lambda: settle(Late(_where(thread))))
    try:
        return await over
    finally:
        timer.cancel()


def _where(thread: Thread) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    frame = sys._current_frames().get(thread.ident or 0)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)
