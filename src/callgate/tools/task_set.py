"""Background tasks that no caller waits for individually."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from callgate.tools.staging import outside_calls


class TaskSet:
    """Keeps references to tasks until they end. ``done`` is called after each. The tasks run outside of any call."""

    def __init__(self, done: Callable[[], None] = lambda: None) -> None:
        self._tasks: set[asyncio.Task[object]] = set()
        self._call_done = done

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(work, context=outside_calls())
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def finished(self, *until: asyncio.Future[Any]) -> None:
        """Wait until no task is left, or one of ``until`` is done."""
        while self._tasks and not any(each.done() for each in until):
            await asyncio.wait((*self._tasks, *until), return_when=asyncio.FIRST_COMPLETED)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        self._call_done()
