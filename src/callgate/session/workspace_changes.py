"""Changes to the workspace: recovery of a change that a crash cut short, and undo."""

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from callgate.changes import UNDO, kept_changes
from callgate.conversation.ports import Reminder
from callgate.conversation.record import Record
from callgate.conversation.reminders import remind, reminder
from callgate.core.ports import Host
from callgate.staging.stack import Stack
from callgate.words.errors import CallgateError, in_words
from callgate.words.events import Noted
from callgate.words.inputs import Undo

if TYPE_CHECKING:
    from callgate.changes.history import Kept

_NOT_KEPT = "the changes of this session are not kept: it has no journal, or a host of its own"

_OUTCOMES = {
    "applied": " The change of files that it showed is applied, all of it.",
    "discarded": " No file of the change that it showed is changed.",
}


class WorkspaceChanges:
    """``stack`` holds the pending actions."""

    def __init__(self, host: Host, record: Record, stack: Stack) -> None:
        self._host = kept_changes(host)
        self._record = record
        self._now = host.clock.now
        self._stack = stack
        self._said: set[str] = set()
        self._untold: list[tuple[Kept, list[str]]] | None = None
        self._states: dict[str, str] = {}

    async def recover(self) -> None:
        """Finishes or undoes a change that was being applied when a program died, brings the pending actions in line
        with it, and tells the model of undos that it was not told of. Called before any other work."""
        await self._stack.reconcile(again=await self._recover())
        if self._host is not None and self._record.ledger.open_turn is not None:
            with suppress(OSError):
                self._states = {kept.id: kept.state for kept in await self._host.changes()}
        await self._tell()

    def file_outcome(self, change: str) -> str:
        """A sentence for the model about a change that a call was making when a program died."""
        return _OUTCOMES.get(self._states.get(change, ""), "")

    async def _recover(self) -> bool:
        """True if something may have been recovered."""
        if self._host is None or not self._host.unsettled:
            return False
        try:
            found = await self._host.recover()
        except (CallgateError, OSError) as error:
            # Nothing is lost by that: the next apply tries again first.
            self._note(f"it could not be seen whether a change was cut short: {in_words(error)}", "warning")
            return False
        for each in found:
            self._note(each.text, "warning" if each.left else "info")
        return True

    def _note(self, text: str, level: Literal["info", "warning"]) -> None:
        """Writes a note for people, once in this program."""
        if text not in self._said:
            self._said.add(text)
            self._record.write(Noted(self._now(), text, level))

    async def _tell(self) -> None:
        """Tells the model of undos that it was not told of, except in the middle of a turn that is not finished."""
        if self._host is None or self._record.ledger.open_turn is not None:
            return
        if self._untold is None:
            try:
                self._untold = await self._host.untold()
            except OSError:  # the next turn tries again
                return
        for kept, labels in self._untold:
            told = f"The user took back these changes of yours: {', '.join(labels)}."
            self._remind(f"{told} The files are as they were before them.")
            await self._host.mark_told(kept)
        self._untold = []

    async def undo(self, sent: Undo) -> str | None:
        """Takes changes back and tells the model. Gives the reason if nothing was changed."""
        if self._host is None:
            return _NOT_KEPT
        await self.recover()
        try:
            wanted = changes_to_undo(await self._host.changes(), sent)
            if not wanted:
                return "there is no change to take back"
            found = await self._host.undo(wanted)
            if found.conflicts and not sent.partly:
                return f"nothing was taken back: {'; '.join(found.conflicts)}"
            undo = await self._host.take_back(found)
        except (CallgateError, OSError) as error:
            return str(error)
        from callgate.changes.summary import summary  # loaded with the first change

        labels = ", ".join(kept.label for kept in wanted)
        text = f"taken back: {labels} ({summary(found.changes)})"
        left = f"; not: {'; '.join(found.conflicts)}" if found.conflicts else ""
        self._record.write(Noted(self._now(), text + left, "warning" if left else "info"))
        # Otherwise the model goes on as if its changes were there.
        told = f"The user took back these changes of yours: {labels}. The files are as they were before{left}."
        self._remind(told)
        if undo is not None:
            await self._host.mark_told(undo)
        return None

    def _remind(self, text: str) -> None:
        remind(self._record, Reminder(reminder(text), "undo"), self._now())


def changes_to_undo(history: "list[Kept]", sent: Undo) -> "list[Kept]":
    """Selects the changes, the last applied first, that an Undo takes back. A change made by an earlier undo is
    selected by its number alone."""
    if sent.change is not None:
        return [kept for kept in history if kept.number == sent.change and kept.state == "applied"]
    applied = [kept for kept in history if kept.state == "applied" and kept.tool != UNDO]
    if sent.scope == "session" or not applied:
        return applied
    newest = applied[0]
    if sent.scope == "call" or not newest.turn:
        return [newest]
    return [kept for kept in applied if kept.turn == newest.turn]
