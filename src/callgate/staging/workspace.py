"""The feature ``workspace``: recovery of interrupted changes of files, and undo."""

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from callgate.changes import UNDO
from callgate.conversation.feature import Feature, FeaturePart, Handler, OpenSession
from callgate.notices.notices_feature import NAME as NOTICES
from callgate.notices.notices_feature import NoticesPart
from callgate.staging.feature import NAME as STAGING
from callgate.staging.feature import RelaxedStaging
from callgate.staging.stack import kept_changes
from callgate.words.errors import CallgateError, JournalError, in_words
from callgate.words.events import Noted
from callgate.words.inputs import Undo

if TYPE_CHECKING:
    from callgate.changes.history import Kept

_NOT_KEPT = "the changes of this session are not stored: it has no journal, or a custom host"

_OUTCOMES = {
    "applied": " All file changes in its preview were applied.",
    "discarded": " No file was changed.",
}


class WorkspacePart(FeaturePart):
    """The part of a session that recovers interrupted changes of files and undoes changes."""

    def __init__(self, opened: OpenSession) -> None:
        self._host = kept_changes(opened.host)
        self._record, self._journal = opened.record, opened.journal
        self._now = opened.now
        self._stack = opened.needed(STAGING, RelaxedStaging).stack
        self._notices = opened.needed(NOTICES, NoticesPart)
        self._noted: set[str] = set()
        self._undone: list[tuple[Kept, list[str]]] | None = None  # undos without a notice
        self._states: dict[str, str] = {}
        self.inputs = {Undo: Handler(self._undo, "between", recover=True)}

    async def recover(self) -> None:
        """Recover interrupted changes of files, record the ends of pending actions, and add missing notices."""
        await self._stack.reconcile(again=await self._recover())
        if self._host is not None and self._record.ledger.open_turn is not None:
            with suppress(OSError):
                self._states = {kept.id: kept.state for kept in await self._host.changes()}
        await self._add_notices()

    def file_outcome(self, change: str) -> str:
        return _OUTCOMES.get(self._states.get(change, ""), "")

    async def _recover(self) -> bool:
        if self._host is None or not self._host.unsettled:
            return False
        try:
            found = await self._host.recover()
        except (CallgateError, OSError) as error:
            # The next apply tries again.
            self._note(f"interrupted changes could not be checked: {in_words(error)}", "warning")
            return False
        for each in found:
            self._note(each.text, "warning" if each.left else "info")
        return True

    def _note(self, text: str, level: Literal["info", "warning"]) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._record.write(Noted(self._now(), text, level))

    async def _add_notices(self) -> None:
        """Add notices for undos by another program and for undos before a crash. Do nothing while a turn is open."""
        if self._host is None or self._record.ledger.open_turn is not None:
            return
        if self._undone is None:
            try:
                self._undone = await self._host.unreported_undos()
            except OSError:  # the next turn tries again
                return
        for kept, labels in self._undone:
            text = f"The user undid these changes of yours: {', '.join(labels)}."
            self._notices.add("undo", f"{text} The files are as they were before them.", id=f"undo-{kept.id}")
            await self._mark_reported(kept)
        self._undone = []

    async def _mark_reported(self, undo: "Kept") -> None:
        """Mark an undo as reported when its notice is on disk. If the record cannot be written, the notice is added
        again at the next start."""
        assert self._host is not None
        with suppress(JournalError):
            if (waiting := self._journal.barrier()) is not None:
                await waiting
            await self._host.mark_reported(undo)

    async def _undo(self, sent: Undo) -> str | None:
        if self._host is None:
            return _NOT_KEPT
        try:
            wanted = changes_to_undo(await self._host.changes(), sent)
            if not wanted:
                return "there is no change to undo"
            found = await self._host.undo(wanted)
            if found.conflicts and not sent.partly:
                return f"nothing was undone: {'; '.join(found.conflicts)}"
            undo = await self._host.apply_undo(found)
        except (CallgateError, OSError) as error:
            return str(error)
        from callgate.changes.diff import summary  # loaded with the first change

        labels = ", ".join(kept.label for kept in wanted)
        text = f"undone: {labels} ({summary(found.changes)})"
        left = f"; not undone: {'; '.join(found.conflicts)}" if found.conflicts else ""
        self._record.write(Noted(self._now(), text + left, "warning" if left else "info"))
        notice = f"The user undid these changes of yours: {labels}. The files are as they were before{left}."
        self._notices.add("undo", notice, id="" if undo is None else f"undo-{undo.id}")
        if undo is not None:
            await self._mark_reported(undo)
        return None


def workspace_feature() -> Feature:
    """Return the feature that recovers interrupted changes of files after a crash and undoes changes."""
    return Feature("workspace", WorkspacePart, needs=frozenset({STAGING, NOTICES}))


def changes_to_undo(history: "list[Kept]", sent: Undo) -> "list[Kept]":
    """Return the changes that an Undo input reverts, newest first. A change made by an undo must be selected by its
    number."""
    if sent.change is not None:
        return [kept for kept in history if kept.number == sent.change and kept.state == "applied"]
    applied = [kept for kept in history if kept.state == "applied" and kept.tool != UNDO]
    if sent.scope == "session" or not applied:
        return applied
    newest = applied[0]
    if sent.scope == "call" or not newest.turn:
        return [newest]
    return [kept for kept in applied if kept.turn == newest.turn]
