"""Lists and reverts the changes of stored sessions. The functions block."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from callgate.admin.sessions import Archive, opened
from callgate.changes import UNDO
from callgate.changes.diff import hard_links, section, unified
from callgate.changes.history import ChangeHistory, Kept
from callgate.changes.history_host import HistoryHost
from callgate.changes.hunks import Shown, diffs
from callgate.changes.undo import UndoPlan
from callgate.core.call_ledger import CallLedger, Entry
from callgate.host.applying.recovery import Recovered
from callgate.policy.well_known import known_traits
from callgate.transcript.reader import all_entries
from callgate.words.changes import ChangeKind, ChangeSet
from callgate.words.decisions import Allow
from callgate.words.errors import StateError, UsageError
from callgate.words.events import CallArrived, CallDecided, CallSettled, CallStarted, Durable, Forked, SessionOpened
from callgate.words.inputs import Undo
from callgate.words.noun import noun

__all__ = ["UNDO"]


@noun
class SessionChanges:
    """The changes of one session, newest first.

    faults  entries of the history that cannot be read
    """

    log: Path
    workspace: str
    changes: tuple[Kept, ...]
    faults: tuple[str, ...] = ()

    @property
    def session(self) -> str:
        return self.log.stem


@noun
class ChangedFile:
    """The change of one file. Only a file that is ``shown`` as lines has counts and hunks.

    hunks  the lines of the diff from the first ``@@`` on
    """

    path: str
    source: str | None
    kind: ChangeKind
    shown: Shown
    added: int
    removed: int
    hunks: tuple[str, ...] = ()


@noun
class ChangeDiff:
    """The diff of a change. In ``patch``, bytes that are not UTF-8 are lone surrogates."""

    kept: Kept
    files: tuple[ChangedFile, ...]
    patch: str


@noun
class OtherCall:
    """A call that may have changed something, but for which the history has no change.

    what  the command of the call, or its first text argument
    """

    id: str
    message: str
    tool: str
    what: str


@noun
class PlannedUndo:
    """The plan of an undo.

    found      None if there is nothing to undo
    missing    the reason why there is nothing to undo, if the caller named a change
    others     calls that cannot be undone
    recovered  changes that were finished or reverted after a crash
    """

    past: SessionChanges
    root: Path
    found: UndoPlan | None
    files: tuple[ChangedFile, ...]
    others: tuple[OtherCall, ...]
    recovered: tuple[Recovered, ...]
    missing: str = ""

    @property
    def notes(self) -> list[str]:
        """Warnings about files with hard links."""
        return [] if self.found is None else hard_links(self.found.changes, str(self.root))

    @property
    def patch(self) -> str:
        return "" if self.found is None else unified(self.found.changes, root=str(self.root))


def changed_files(changes: ChangeSet) -> tuple[ChangedFile, ...]:
    """Return the files of a change set with their diffs. The texts are not escaped."""
    files: list[ChangedFile] = []
    for found in diffs(changes):
        lines = section(found).decode("utf-8", "surrogateescape").removesuffix("\n").split("\n") if found.hunks else []
        first = next((at for at, line in enumerate(lines) if line.startswith("@@ ")), 0)
        path, source, kind, shown = found.change.path, found.change.source, found.kind, found.shown
        added, removed, hunks = found.added, found.removed, tuple(lines[first:])
        files.append(ChangedFile(path, source, kind, shown=shown, added=added, removed=removed, hunks=hunks))
    return tuple(files)


# ---- listed ---------------------------------------------------------------------------------------------------------


def read_changes(which: str | None) -> SessionChanges:
    """Return the changes of a session. ``which`` identifies the session as in ``Archive.find``."""
    log = Archive().find(which)
    return _past(log, workspace_of(log))


def read_all_changes() -> Sequence[SessionChanges]:
    """Return the changes of each session of this workspace that has changes. The session that was used last comes
    first."""
    found = [_past(Path(each.path), each.about.workspace) for each in Archive().here()]
    return [past for past in found if past.changes or past.faults]


def read_diff(past: SessionChanges, number: int) -> ChangeDiff:
    """Return the diff of one change. Raise UsageError if there is no change with this number."""
    kept, changes = _load(past, number)
    return ChangeDiff(kept, changed_files(changes), unified(changes, root=past.workspace))


def read_staged(session: str, number: int) -> ChangeSet:
    """Return a staged change of a session. Raise UsageError if there is no change with this number."""
    return _load(read_changes(session), number)[1]


def _load(past: SessionChanges, number: int) -> tuple[Kept, ChangeSet]:
    kept = next((each for each in past.changes if each.number == number), None)
    if kept is None:
        raise UsageError(_no_such(past, number))
    return kept, ChangeHistory(past.log.parent).load(kept)


def _past(log: Path, workspace: str) -> SessionChanges:
    found, faults = ChangeHistory(log.parent).read(log.stem)
    return SessionChanges(log, workspace, tuple(found), tuple(faults))


def _no_such(past: SessionChanges, number: int) -> str:
    numbers = sorted(each.number for each in past.changes)
    there = "there are none" if not numbers else f"there is {numbers[0]}"
    if len(numbers) > 1:
        there = f"there are {numbers[0]} to {numbers[-1]}"
    return f"there is no change {number} in session {past.session}; {there}"


# ---- taken back -----------------------------------------------------------------------------------------------------


def plan_undo(which: str | None, wanted: Undo) -> PlannedUndo:
    """Plan an undo. Changes that a crash interrupted are finished or reverted first, because the content of the
    files is unknown until then."""
    from callgate.staging.workspace import changes_to_undo  # loads the runtime, which a list does not need

    log = Archive().find(which)
    logged = LoggedCalls(log)
    root = Path(logged.workspace or os.getcwd())
    if not root.is_dir():
        raise UsageError(f"the folder of session {log.stem} is gone: {root}")
    host = _host(log, root)
    recovered = asyncio.run(host.recover())
    past = _past(log, str(root))
    picked = changes_to_undo(list(past.changes), wanted)
    found = asyncio.run(host.undo(picked)) if picked else None
    return PlannedUndo(
        past=past,
        root=root,
        found=found,
        files=() if found is None else changed_files(found.changes),
        others=other_calls(logged, past.changes, picked, wanted),
        recovered=tuple(recovered),
        missing=_why_not(past, wanted) if found is None else "",
    )


def take_back(planned: PlannedUndo) -> int | None:
    """Perform the planned undo. Return the number of the new change; None if no file had to be changed.

    Raise ToolFailure, and change nothing, if the files have changed since the plan.
    """
    assert planned.found is not None
    host = _host(planned.past.log, planned.root)
    made = asyncio.run(host.apply_undo(planned.found))
    return None if made is None else made.number


def _host(log: Path, root: Path) -> HistoryHost:
    return HistoryHost(ChangeHistory(log.parent), log.stem, root, journal=log.parent / "applying")


def _why_not(past: SessionChanges, wanted: Undo) -> str:
    if wanted.change is None:
        return ""
    named = next((each for each in past.changes if each.number == wanted.change), None)
    if named is None:
        return _no_such(past, wanted.change)
    state = "is not applied yet" if named.state == "staged" else f"was {named.state}"
    return f"change {named.number} ({named.label}) {state}, so there is nothing to undo"


# ---- calls without a change -----------------------------------------------------------------------------------------


def _had_effects(call: Entry) -> bool:
    """Return True if the call may have changed something outside the session."""
    if call.started_at is None:
        return False
    result = call.result
    if isinstance(call.decision, Allow) and call.decision.by == "default":
        return False  # the gate allows only reading calls by default
    if call.name == "resolve" and result is not None and result.details.get("action") == "discard":
        return False
    traits = known_traits(call.name, call.arguments)
    return traits.effects != "none" and not traits.own_state and (result is None or result.effects != "none")


class LoggedCalls:
    """All calls in a log. Rewound calls are included, because their effects on files remain."""

    def __init__(self, log: Path) -> None:
        """Read the log. Raise JournalError if the file is not a log."""
        self.workspace = ""
        self.calls: list[Entry] = []
        ledger = CallLedger()
        for event in _events(log):
            match event:
                case SessionOpened():
                    self.workspace = event.workspace
                case Forked():  # earlier calls were made in another session, which can undo them
                    self.calls.clear()
                case CallArrived():
                    ledger.fold(event)
                    self.calls.append(ledger.calls[event.call_id])
                case CallDecided() | CallStarted() | CallSettled():
                    with suppress(KeyError, StateError):  # lines before it are missing
                        ledger.fold(event)
                case _:
                    pass


def other_calls(
    logged: LoggedCalls, history: Sequence[Kept], picked: Sequence[Kept], wanted: Undo
) -> tuple[OtherCall, ...]:
    """Return the calls in the scope of an undo that may have changed something and that the undo cannot revert.
    ``picked`` has the changes that the undo reverts."""
    if wanted.change is not None or wanted.scope == "call":
        return ()
    calls: Iterable[Entry] = logged.calls
    if wanted.scope == "turn":
        turn = picked[0].turn if picked else logged.calls[-1].message_id if logged.calls else ""
        calls = (call for call in logged.calls if call.message_id == turn)
    kept = {each.id for each in history}
    found = (call for call in calls if _had_effects(call) and f"{call.message_id}/{call.id}" not in kept)
    return tuple(OtherCall(call.id, call.message_id, call.name, _about(call.arguments)) for call in found)


def _about(arguments: Mapping[str, Any]) -> str:
    texts = [value for value in (arguments.get("command"), *arguments.values()) if isinstance(value, str)]
    return texts[0] if texts else ""


def workspace_of(log: Path) -> str:
    """Return the workspace of a session. Raise JournalError if the file is not a log."""
    return next((event.workspace for event in _events(log) if isinstance(event, SessionOpened)), "")


def _events(log: Path) -> Iterator[Durable]:
    with opened(log) as fd:
        yield from (entry.event for entry in all_entries(fd) if entry.event is not None)
