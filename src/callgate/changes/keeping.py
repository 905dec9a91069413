"""A host that keeps every change it applies, with what it takes to undo it."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from callgate.changes.history import History, Kept, State
from callgate.changes.reverting import Read, Undoing, plan, reader
from callgate.core.lanes import LockTable
from callgate.core.ports import Clock
from callgate.host.applying import Recovered
from callgate.host.local import LocalHost
from callgate.host.threads import Threads, in_thread
from callgate.words.changes import ChangeSet, FileChange, digest
from callgate.words.errors import JournalError, ToolFailure
from callgate.words.places import Place

T = TypeVar("T")


class KeptHost:
    """The local host of one session that is kept. A change is on disk, with the contents before it, before it is
    applied; without that nothing is."""

    def __init__(self, host: LocalHost, history: History, session: str) -> None:
        self._host = host
        self.history = history
        self.session = session

    @property
    def root(self) -> Path:
        return self._host.root

    @property
    def clock(self) -> Clock:
        return self._host.clock

    @property
    def locks(self) -> LockTable:
        return self._host.locks

    @property
    def threads(self) -> Threads:
        return self._host.threads

    def normal(self, path: str) -> str:
        return self._host.normal(path)

    def place(self, path: str) -> Place:
        return self._host.place(path)

    async def keep(self, name: str, data: bytes) -> str:
        return await self._host.keep(name, data)

    async def apply(self, changes: ChangeSet) -> ChangeSet:
        try:
            kept = await self._in_thread(partial(self._take_on, changes, self.clock.now()))
        except JournalError as error:
            raise ToolFailure(f"Nothing was changed: {error}") from error
        try:
            applied = await self._host.apply(changes, kept=kept.name)
        except ToolFailure:
            await self._mark(kept, _undone(kept))
            raise
        # Whoever gives up waiting for it does not know what became of it: the next start finds out.
        await self._mark(kept, "applied", applied)
        return applied

    def _take_on(self, changes: ChangeSet, now: float) -> Kept:
        """Keep it, or go on with what was kept when it was staged."""
        if changes.staged is None:
            return self.history.save(changes, self.session, now=now, state="applying")
        kept = self._staged(changes.staged)
        return self.history.mark(kept, "applying", now=now, id=changes.id)

    def _staged(self, number: int) -> Kept:
        kept = self.history.numbered(self.session, number)
        if kept is None or kept.state != "staged":
            raise JournalError(f"change {number} is {'gone' if kept is None else kept.state}, and not staged any more")
        return kept

    async def stage(self, changes: ChangeSet) -> int:
        """Keep it with all its contents, for somebody's word; its number. JournalError if it cannot be."""
        kept = await self._in_thread(partial(self.history.save, changes, self.session, now=self.clock.now()))
        return kept.number

    async def staged(self, number: int) -> ChangeSet:
        """One that waits; JournalError if there is none."""

        def load() -> ChangeSet:
            return replace(self.history.load(self._staged(number)), staged=number)

        return await self._in_thread(load)

    async def drop(self, number: int) -> None:
        """It will not be applied; JournalError if that cannot be kept."""

        def drop() -> None:
            kept = self.history.numbered(self.session, number)
            if kept is not None and kept.state == "staged":
                self.history.mark(kept, "discarded", now=self.clock.now())

        await self._in_thread(drop)

    async def drop_staged_but(self, numbers: Collection[int | None]) -> None:
        """What was staged when a program died, and is on nobody's record."""

        def drop() -> None:
            for kept in self.history.all(self.session):
                if kept.state == "staged" and kept.number not in numbers:
                    self.history.mark(kept, "discarded", now=self.clock.now())

        with suppress(JournalError, OSError):  # it is in nobody's way
            await self._in_thread(drop)

    async def state_of(self, number: int) -> State | None:
        """None where there is none that makes sense; OSError where nobody can tell right now."""

        def look() -> State | None:
            with suppress(FileNotFoundError), self.history.file(self.session, number).open("rb"):
                kept = self.history.numbered(self.session, number)
                return None if kept is None else kept.state
            return None

        return await self._in_thread(look)

    async def recover(self) -> list[Recovered]:
        """Finish or undo what was being applied when a program died, and see what became of it."""
        found = await self._host.recover()
        await self._in_thread(self._settle)
        return found

    async def changes(self) -> list[Kept]:
        """Those of this session, newest first."""
        return await self._in_thread(partial(self.history.all, self.session))

    async def undo(self, wanted: Sequence[Kept], *, label: str = "") -> Undoing:
        """What it would take to take these back; nothing is done."""
        return await self._in_thread(partial(plan, self.history, wanted, reader(self.root), label=label))

    async def take_back(self, undoing: Undoing) -> ChangeSet:
        """Do it. What was taken back is marked, and the undoing itself is kept like any change."""
        applied = await self.apply(undoing.changes) if undoing.changes.files else undoing.changes
        for kept in undoing.undone:
            await self._mark(kept, "reverted")
        return applied

    async def _mark(self, kept: Kept, state: State, applied: ChangeSet | None = None) -> None:
        def mark() -> None:
            self.history.mark(kept, state, now=self.clock.now(), applied=applied)
            self._host.known(kept.name)

        with suppress(JournalError):  # the journal of the apply says what became of it: the next start finds out
            await self._in_thread(mark)

    def _settle(self) -> None:
        """Changes that nobody said the end of, or that were given up and finished since."""
        for kept in self.history.all(self.session):
            if kept.state not in ("applying", "staged", "discarded"):
                continue
            applied = self._host.was_applied(kept.name)
            if applied is None and kept.state == "applying":  # nothing but the files can tell
                read = reader(self.root)
                applied = all(_is(read, each) for each in kept.files)
            if applied or kept.state == "applying":
                self.history.mark(kept, "applied" if applied else _undone(kept), now=self.clock.now())
                self._host.known(kept.name)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await in_thread(work, threads=self.threads)


def _undone(kept: Kept) -> State:
    """What it is that was not applied after all."""
    return "staged" if kept.staged else "discarded"


def _is(read: Read, change: FileChange) -> bool:
    """Whether the file is as the change wanted it."""
    try:
        there = read(change.path)
    except OSError:  # something else than a file
        return False
    if there is None or change.after is None:
        return there is None and change.after is None
    return there.sign == (digest(change.after), change.link)
