"""Lists and reverts the changes of stored sessions. The functions block."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from callgate.admin.other_calls import LoggedCalls, OtherCall, other_calls, workspace_of
from callgate.admin.sessions import Archive
from callgate.changes import UNDO
from callgate.changes.diff import hard_links, section, unified
from callgate.changes.history import ChangeHistory, Kept
from callgate.changes.history_host import HistoryHost
from callgate.changes.hunks import FileDiff, Shown, diffs
from callgate.changes.undo import UndoPlan
from callgate.host.applying import Recovered
from callgate.words.changes import ChangeKind, ChangeSet
from callgate.words.errors import UsageError
from callgate.words.inputs import Undo
from callgate.words.noun import noun

__all__ = ["UNDO"]


_APPLYING = "applying"


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
    """The change of one file. Added and removed lines are counted only if the file is ``shown`` as lines."""

    path: str
    source: str | None
    kind: ChangeKind
    shown: Shown
    added: int
    removed: int


@noun
class ChangeDiff:
    """The diff of a change. In ``patch``, bytes that are not UTF-8 are lone surrogates."""

    kept: Kept
    files: tuple[ChangedFile, ...]
    patch: str


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


@noun
class ShownFile:
    """The diff of one changed file.

    hunks  the lines of the diff from the first ``@@`` on; empty if the file is not shown as lines
    """

    file: ChangedFile
    hunks: tuple[str, ...] = ()


def shown_files(changes: ChangeSet) -> tuple[ShownFile, ...]:
    """Return the files of a change set with their diffs. The texts are not escaped."""
    return tuple(ShownFile(_row(found), _hunks(found)) for found in diffs(changes))


def _hunks(found: FileDiff) -> tuple[str, ...]:
    if not found.hunks:
        return ()
    lines = section(found).decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith("@@ "))
    return tuple(lines[first:])


# ---- listed -------------------------------------------------------------------------------------------------------


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
    return ChangeDiff(kept, _changed(changes), unified(changes, root=past.workspace))


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


def _changed(changes: ChangeSet) -> tuple[ChangedFile, ...]:
    return tuple(map(_row, diffs(changes)))


def _row(found: FileDiff) -> ChangedFile:
    change, added, removed = found.change, found.added, found.removed
    return ChangedFile(change.path, change.source, found.kind, shown=found.shown, added=added, removed=removed)


def _no_such(past: SessionChanges, number: int) -> str:
    numbers = sorted(each.number for each in past.changes)
    there = "there are none" if not numbers else f"there is {numbers[0]}"
    if len(numbers) > 1:
        there = f"there are {numbers[0]} to {numbers[-1]}"
    return f"there is no change {number} in session {past.session}; {there}"


# ---- taken back ---------------------------------------------------------------------------------------------------


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
        files=() if found is None else _changed(found.changes),
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
    return HistoryHost(ChangeHistory(log.parent), log.stem, root, journal=log.parent / _APPLYING)


def _why_not(past: SessionChanges, wanted: Undo) -> str:
    if wanted.change is None:
        return ""
    named = next((each for each in past.changes if each.number == wanted.change), None)
    if named is None:
        return _no_such(past, wanted.change)
    state = "is not applied yet" if named.state == "staged" else f"was {named.state}"
    return f"change {named.number} ({named.label}) {state}, so there is nothing to undo"
