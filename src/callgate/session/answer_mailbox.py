"""The mailbox for answers that other programs write next to the log of a session."""

import asyncio
from collections.abc import Callable

from callgate.conversation.ports import Journal
from callgate.core.ports import Clock, Timer
from callgate.words.decisions import Confirmation

_EVERY = 0.25  # seconds; only while a question is open


class AnswerMailbox:
    """A mailbox that polls the journal for answers of other programs while questions are open.

    take    callback for an answer; if the callback returns False, the answer stays in the mailbox
    waits   callback that returns True while a question is open
    report  callback for the error text of each answer that cannot be read
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        take: Callable[[Confirmation], bool],
        waits: Callable[[], bool],
        report: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._take = take
        self._waits = waits
        self._report = report
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def open(self) -> None:
        """Start polling. Polling stops when the last open question has an answer."""
        if self._timer is None and self._task is None and not self._closed and self._journal.session:
            self._timer = self._clock.call_later(_EVERY, self._look)

    async def aclose(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            await asyncio.wait((self._task,))

    def _forget(self, confirmation: Confirmation) -> None:
        waiting = self._journal.forget_answers((confirmation.call_id,))
        if waiting is not None:  # a failure of the record is raised where the record is waited for
            asyncio.ensure_future(waiting).add_done_callback(lambda done: done.cancelled() or done.exception())

    def _look(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._collect())

    async def _collect(self) -> None:
        try:
            answers = await self._journal.answers()
            for fault in self._journal.answer_faults():
                self._report(fault)
            for confirmation in answers:
                if not self._closed and self._take(confirmation):
                    self._forget(confirmation)
        finally:
            self._task = None
            if self._waits():
                self.open()
