"""The half of a Journal that is the same wherever its lines go."""

from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from pathlib import Path

from callgate.conversation.ports import Drafted
from callgate.core.ports import Maybe
from callgate.host.threads import in_thread
from callgate.transcript.writer import Lines, Writer
from callgate.words.decisions import Confirmation
from callgate.words.errors import StateError
from callgate.words.events import Durable, MessageAdded, PromptQueued


class WrittenJournal:
    """Nothing is written before the first message, then everything by the writer's thread. Other programs give no
    answers here; a journal that takes them overrides that."""

    def __init__(self, path: Path, lines: Lines, *, exists: bool, number: int, draft: tuple[str, Drafted]) -> None:
        self.path = path
        self.number = number
        self._lines = lines
        self._writer = Writer(lines, name=path.stem)
        self._held: list[Durable] | None = None if exists else []  # before the first message
        self._draft = draft
        self._closed = False

    @property
    def session(self) -> str:
        return self.path.stem

    def append(self, event: Durable) -> None:
        if self._closed:
            raise StateError(f"the journal of session {self.session} is closed")
        self.number += 1
        if self._held is None:
            self._writer.append(event)
            return
        self._held.append(event)
        if isinstance(event, MessageAdded | PromptQueued):
            held, self._held = self._held, None
            for each in held:
                self._writer.append(each)

    def barrier(self) -> Awaitable[None] | None:
        return self._writer.barrier()

    def room(self) -> Awaitable[None] | None:
        return self._writer.room()

    def draft(self, message_id: str, text: Drafted) -> None:
        if self._held is None and not self._closed:
            self._lines.draft = (message_id, text)
            self._writer.nudge()

    def drafted(self, message_id: str) -> Drafted:
        found, text = self._draft
        return text if found == message_id else ()

    async def after(self, number: int) -> Sequence[tuple[int, Durable]]:
        if self._held is not None:
            return list(enumerate(self._held[number:], number + 1))
        return await self._writer.call(partial(self._lines.after, number))

    async def answers(self) -> Sequence[Confirmation]:
        return ()

    def answer_faults(self) -> Sequence[str]:
        return ()

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        return None

    async def aclose(self) -> None:
        """Write everything and let go of the lock. JournalError when that was not possible."""
        if self._closed:
            return
        self._closed = True
        failure = await in_thread(self._finish)
        if failure is not None:
            raise failure

    def _finish(self) -> Exception | None:
        failure = self._writer.finish()
        self._lines.close()
        return failure
