"""The status of a session, and the tasks that run beside its turns."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from callgate.tools.staging import outside_calls
from callgate.words.events import SessionStatus


class StatusTracker:
    """Holds the status; ``tell`` is called with every change. While tasks run beside the turn it is ``working``."""

    def __init__(self, status: SessionStatus, tell: Callable[[SessionStatus], None]) -> None:
        self.status: SessionStatus = status
        self._own: SessionStatus = status
        self._tell = tell
        self._tasks: set[asyncio.Task[None]] = set()

    def set(self, status: SessionStatus) -> None:
        self._own = status
        shown: SessionStatus = "working" if self._tasks and status != "closed" else status
        if shown != self.status:
            self.status = shown
            self._tell(shown)

    def run_beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs the work as a task while a turn is under way."""
        task = asyncio.get_running_loop().create_task(work, context=outside_calls())
        self._tasks.add(task)
        task.add_done_callback(self._done)
        self.set(self._own)

    async def finished(self) -> None:
        """Waits for every task beside the turn."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.set(self._own)
