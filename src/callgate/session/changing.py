"""The changes of a session: what a crash cut short, and what a person takes back."""

from collections.abc import Callable
from typing import get_args

from callgate.changes.history import Kept
from callgate.changes.keeping import KeptHost
from callgate.changes.reverting import UNDO
from callgate.changes.stack import Stack
from callgate.changes.summary import summary
from callgate.core.loop import remind
from callgate.core.ports import Host
from callgate.core.record import Record
from callgate.host.applying import Recovered
from callgate.words.errors import CallgateError, in_words
from callgate.words.events import Noted
from callgate.words.inputs import Undo, UndoScope

_NOT_KEPT = "the changes of this session are not kept: it has no journal, or a host of its own"


class Changing:
    """``now`` is the time of day for what is put on record; ``stack`` is what waits to be applied."""

    def __init__(self, host: Host, record: Record, now: Callable[[], float], stack: Stack) -> None:
        self._host = host if isinstance(host, KeptHost) else None
        self._record = record
        self._now = now
        self._stack = stack
        self._recovered = False

    async def recover(self) -> None:
        """Before anything else is done: finish or undo what was being applied when a program died, and see what became
        of what was pending then. Once."""
        await self._recover()
        await self._stack.reconcile()

    async def _recover(self) -> None:
        if self._host is None or self._recovered:
            return
        try:
            found = await self._host.recover()
        except (CallgateError, OSError) as error:
            # Nothing is lost by that: whoever applies something next tries again first.
            note = f"it could not be seen whether a change was cut short: {in_words(error)}"
            self._record.write(Noted(self._now(), note, "warning"))
            return
        self._recovered = True
        for each in found:
            self._record.write(Noted(self._now(), _told(each), "warning" if each.left else "info"))

    async def undo(self, sent: Undo) -> str | None:
        """Take changes back, and tell the model. Why it could not be done, if it could not: then nothing was."""
        if self._host is None:
            return _NOT_KEPT
        if sent.scope not in get_args(UndoScope):
            return f"there is no scope {sent.scope!r}; there are {', '.join(get_args(UndoScope))}"
        await self.recover()
        try:
            wanted = meant(await self._host.changes(), sent)
            if not wanted:
                return "there is no change to take back"
            found = await self._host.undo(wanted)
            if found.conflicts and not sent.partly:
                return f"nothing was taken back: {'; '.join(found.conflicts)}"
            await self._host.take_back(found)
        except (CallgateError, OSError) as error:
            return str(error)
        labels = ", ".join(kept.label for kept in wanted)
        text = f"taken back: {labels} ({summary(found.changes)})"
        left = f"; not: {'; '.join(found.conflicts)}" if found.conflicts else ""
        self._record.write(Noted(self._now(), text + left, "warning" if left else "info"))
        # The model would go on as if its changes were there.
        told = f"The user took back these changes of yours: {labels}. The files are as they were before{left}."
        remind(self._record, told, "undo", self._now())
        return None


def meant(history: list[Kept], sent: Undo) -> list[Kept]:
    """Which of the changes, newest first, an Undo is about. What an earlier one did is only meant by its number."""
    if sent.change is not None:
        return [kept for kept in history if kept.number == sent.change and kept.state == "applied"]
    applied = [kept for kept in history if kept.state == "applied" and kept.tool != UNDO]
    if sent.scope == "session" or not applied:
        return applied
    newest = applied[0]
    if sent.scope == "call" or not newest.turn:
        return [newest]
    return [kept for kept in applied if kept.turn == newest.turn]


def _told(each: Recovered) -> str:
    what = each.label or "a change"
    done = "finished" if each.outcome == "finished" else "undone"
    text = f"{what} was cut short when a program ended; it is {done} now"
    return f"{text}, but for {'; '.join(each.left)}" if each.left else text
