"""What a session says that it is doing."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from callgate.tools.staging import unserved
from callgate.words.events import SessionStatus


class Doing:
    """``tell`` hears of every change. It rests when nothing is done beside its turns either."""

    def __init__(self, status: SessionStatus, tell: Callable[[SessionStatus], None]) -> None:
        self.status: SessionStatus = status
        self._own: SessionStatus = status
        self._tell = tell
        self._beside: set[asyncio.Task[None]] = set()

    def be(self, status: SessionStatus) -> None:
        self._own = status
        shown: SessionStatus = "working" if self._beside and status != "closed" else status
        if shown != self.status:
            self.status = shown
            self._tell(shown)

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this while a turn is under way."""
        task = asyncio.get_running_loop().create_task(work, context=unserved())
        self._beside.add(task)
        task.add_done_callback(self._done)
        self.be(self._own)

    async def through(self) -> None:
        """Wait for all that is done beside."""
        while self._beside:
            await asyncio.wait(tuple(self._beside))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        self.be(self._own)
