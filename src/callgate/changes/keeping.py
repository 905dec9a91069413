"""A host that keeps every change it applies, with what it takes to undo it."""

from collections.abc import Callable, Sequence, Set
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
            save = partial(self.history.save, changes, self.session, now=self.clock.now(), state="applying")
            kept = await self._in_thread(save)
        except JournalError as error:
            raise ToolFailure(f"Nothing was changed: {error}") from error
        try:
            applied = await self._host.apply(changes)
        except ToolFailure:
            await self._mark(kept, "discarded")
            raise
        # Whoever gives up waiting for it does not know what became of it: the next start finds out.
        await self._mark(kept, "applied", applied)
        return applied

    async def recover(self) -> list[Recovered]:
        """Finish or undo what was being applied when a program died, and see what became of it."""
        found = await self._host.recover()
        await self._in_thread(partial(self._settle, {each.id for each in found if each.id}))
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
        mark = partial(self.history.mark, kept, state, now=self.clock.now(), applied=applied)
        try:
            await self._in_thread(mark)
        except JournalError:
            # The files say what became of it: the next start finds out.
            return

    def _settle(self, recovered: Set[str]) -> None:
        """Changes that nobody said the end of, or that were given up and finished since, were applied if the files are
        as they would be then."""
        read = reader(self.root)
        for kept in self.history.all(self.session):
            if kept.state == "applying" or (kept.state == "discarded" and kept.id in recovered):
                applied = all(_is(read, each) for each in kept.files)
                self.history.mark(kept, "applied" if applied else "discarded", now=self.clock.now())

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await in_thread(work, threads=self.threads)


def _is(read: Read, change: FileChange) -> bool:
    """Whether the file is as the change wanted it."""
    try:
        there = read(change.path)
    except OSError:  # something else than a file
        return False
    if there is None or change.after is None:
        return there is None and change.after is None
    return there.sign == (digest(change.after), change.link)
