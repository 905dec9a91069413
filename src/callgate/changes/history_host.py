"""The host of a session with a history: every change is stored before it is applied."""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from callgate.changes.history import ChangeHistory, Kept, State
from callgate.changes.undo import Read, UndoPlan, plan, reader
from callgate.core.ports import Clock
from callgate.host.applying.apply import with_modes
from callgate.host.applying.journal import applied_entries, forget_applied, open_entries
from callgate.host.applying.recovery import Recovered
from callgate.host.local import LocalHost
from callgate.host.threads import in_thread
from callgate.words.changes import ChangeSet, FileChange, digest
from callgate.words.errors import HalfApplied, JournalError, ToolFailure

T = TypeVar("T")


class HistoryHost(LocalHost):
    """The local host of one session. Each change is stored, with the previous contents of its files, before it is
    applied.

    unsettled  True if a change may be incomplete and ``recover`` must be called: at the start, and after an apply that
               failed half-way
    """

    def __init__(
        self,
        history: ChangeHistory,
        session: str,
        root: Path | None = None,
        data: Path | None = None,
        clock: Clock | None = None,
        *,
        clean: Callable[[bytes], bytes] | None = None,
        journal: Path | None = None,
    ) -> None:
        super().__init__(root, data, clock, clean=clean, journal=journal)
        self.history = history
        self.session = session
        self.unsettled = True

    @property
    def kept_changes(self) -> "HistoryHost":
        """The host itself. A wrapper of the host can forward this property."""
        return self

    async def apply(self, changes: ChangeSet) -> ChangeSet:
        applied, _ = await self._apply(changes)
        return applied

    async def _apply(self, changes: ChangeSet, reverts: tuple[int, ...] = ()) -> tuple[ChangeSet, Kept]:
        try:
            kept = await self._in_thread(partial(self._begin, changes, self.clock.now(), reverts))
        except JournalError as error:
            raise ToolFailure(f"Nothing was changed: {error}") from error
        try:
            applied = await self.apply_kept(changes, kept.name)
        except HalfApplied:
            self.unsettled = True  # recovery marks it
            raise
        except ToolFailure:
            await self._mark(kept, _not_applied(kept))
            raise
        # A caller that is cancelled before this leaves it ``applying``: the next start reads the journal.
        return applied, await self._mark(kept, "applied", applied)

    def _begin(self, changes: ChangeSet, now: float, reverts: tuple[int, ...]) -> Kept:
        if changes.staged is None:
            return self.history.save(changes, self.session, now=now, state="applying", reverts=reverts)
        return self.history.mark_applying(self._staged(changes.staged), now=now, id=changes.id)

    def _staged(self, number: int) -> Kept:
        kept = self.history.numbered(self.session, number)
        if kept is None or kept.state != "staged":
            raise JournalError(f"change {number} is {'removed' if kept is None else kept.state} and no longer staged")
        return kept

    async def stage(self, changes: ChangeSet) -> int:
        """Store a change until it is applied or discarded, and return its number. Raise JournalError if it cannot be
        stored."""
        kept = await self._in_thread(partial(self.history.save, changes, self.session, now=self.clock.now()))
        return kept.number

    async def staged(self, number: int) -> ChangeSet:
        """Return a staged change. Raise JournalError if it does not exist."""

        def load() -> ChangeSet:
            return replace(self.history.load(self._staged(number)), staged=number)

        return await self._in_thread(load)

    async def discard_staged(self, number: int) -> None:
        """Mark a staged change as discarded. Raise JournalError if the mark cannot be stored."""

        def drop() -> None:
            kept = self.history.numbered(self.session, number)
            if kept is not None and kept.state == "staged":
                self.history.mark(kept, "discarded", now=self.clock.now())

        await self._in_thread(drop)

    async def discard_staged_except(self, numbers: Collection[int | None]) -> None:
        """Discard every staged change that no pending action names. A process that ends between storing a change and
        recording its action leaves such a change."""

        def drop() -> None:
            for kept in self.history.all(self.session):
                if kept.state == "staged" and kept.number not in numbers:
                    self.history.mark(kept, "discarded", now=self.clock.now())

        with suppress(JournalError, OSError):  # a remaining staged change does no harm
            await self._in_thread(drop)

    async def state_of(self, number: int) -> State | None:
        """Return the state of a change, or None if its file does not exist or cannot be parsed. Raise OSError if the
        disk cannot be read."""

        def look() -> State | None:
            with suppress(FileNotFoundError), self.history.file(self.session, number).open("rb"):
                kept = self.history.numbered(self.session, number)
                return None if kept is None else kept.state
            return None

        return await self._in_thread(look)

    async def recover(self) -> list[Recovered]:
        """Finish or undo a change that was being applied when a process ended, and store the outcome."""
        found = await super().recover()
        await self._in_thread(self._settle)
        self.unsettled = any(each.outcome == "unfinished" for each in found)
        return found

    async def changes(self) -> list[Kept]:
        return await self._in_thread(partial(self.history.all, self.session))

    async def undo(self, wanted: Sequence[Kept]) -> UndoPlan:
        """Return the plan to undo these changes. No file is changed."""
        return await self._in_thread(partial(plan, self.history, wanted, reader(self.root)))

    async def apply_undo(self, undoing: UndoPlan) -> Kept | None:
        """Apply an undo and return it, or None if no file had to be changed. The undo is stored like any change, with
        the numbers of the undone changes."""
        if undoing.changes.files:
            return (await self._apply(undoing.changes, tuple(kept.number for kept in undoing.undone)))[1]
        for kept in undoing.undone:
            await self._mark(kept, "reverted")
        return None

    async def unreported_undos(self) -> list[tuple[Kept, list[str]]]:
        """Return the applied undos about which the model was not informed, each with the labels of the undone changes.
        They were made outside the session or before a crash."""
        every = await self.changes()
        found = [each for each in every if each.reverts and each.state == "applied" and not each.told]
        return [(undo, [each.label for each in every if each.number in undo.reverts]) for undo in found]

    async def mark_reported(self, kept: Kept) -> None:
        with suppress(JournalError):  # then it is reported twice
            await self._in_thread(partial(self.history.mark_reported, kept))

    async def _mark(self, kept: Kept, state: State, applied: ChangeSet | None = None) -> Kept:
        def mark() -> Kept:
            marked = self.history.mark(kept, state, now=self.clock.now(), applied=applied)
            self._forget_applied(kept)
            return marked

        try:
            return await self._in_thread(mark)
        except JournalError:  # the journal of the apply has the outcome: the next start marks it
            self.unsettled = True
            return replace(kept, state=state)

    def _settle(self) -> None:
        """Store the missing outcome of changes. The outcome is read from the journal, or without a journal from the
        files."""
        self.history.tidy_up(self.session)
        journal = self.journal
        applied = {} if journal is None else applied_entries(journal, self.session)
        cut = {} if journal is None else {each.kept: each for each in open_entries(journal, str(self.root))}
        for kept in self.history.all(self.session):
            entry = applied.get(kept.name)
            if entry is not None:
                made = ["/".join(parts) for parts in entry.made]
                found = with_modes(ChangeSet(kept.label, kept.files), entry.modes, made)
                self._mark_settled(kept, "applied", found)
            elif kept.state == "applying" and not (kept.name in cut and cut[kept.name].half_applied):
                # Without a journal, compare the files.
                done = journal is None and all(_is(reader(self.root), each) for each in kept.files)
                self._mark_settled(kept, "applied" if done else _not_applied(kept))

    def _mark_settled(self, kept: Kept, state: State, applied: ChangeSet | None = None) -> None:
        with suppress(JournalError):  # the next start tries again
            if kept.state not in ("applied", "reverted"):
                self.history.mark(kept, state, now=self.clock.now(), applied=applied)
            self._forget_applied(kept)

    def _forget_applied(self, kept: Kept) -> None:
        if self.journal is not None:
            forget_applied(self.journal, kept.name)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await in_thread(work, threads=self.threads)


def _not_applied(kept: Kept) -> State:
    return "staged" if kept.staged else "discarded"


def _is(read: Read, change: FileChange) -> bool:
    """Return True if the file is in the state after the change."""
    try:
        there = read(change.path)
    except OSError:  # something else than a file
        return False
    if there is None or change.after is None:
        return there is None and change.after is None
    return there.sign == (digest(change.after), change.link)
