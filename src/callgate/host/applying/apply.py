"""Applies a ChangeSet to the disk: either all of its files are changed, or none."""

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from callgate.host.applying.journal import ApplyJournal, lock_journal, lock_workspace
from callgate.host.applying.planned_files import Parts, PlannedFile, planned_files
from callgate.host.applying.recovery import Recovered, recover_locked
from callgate.host.applying.replacement import FileReplacement
from callgate.host.applying.swap import remove_folders, sync_folders
from callgate.host.beneath import OpenFolder
from callgate.host.paths import Resolver
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import HalfApplied, ToolFailure


def apply_changes(changes: ChangeSet, root: Path, journal: Path | None = None, kept: str = "") -> ChangeSet:
    """Apply a change set and return a copy with the file modes and created folders, which an undo needs. Blocks.

    Raise ToolFailure if nothing was changed. Raise HalfApplied if a disk failure prevented files from being restored;
    the next recovery restores them.

    journal  a private folder; without it, the change cannot be recovered after a crash
    kept     the name of the change in the history; the journal keeps an entry until the history contains the change
    """
    resolver = Resolver(root)
    plans = planned_files(changes, resolver)
    with nullcontext() if journal is None else lock_journal(journal), lock_workspace(resolver.root):
        try:
            if journal is not None:
                _refuse_overlap(plans, recover_locked(resolver.root, journal))
            with OpenFolder.held(resolver.root) as top:
                emptied = tuple(filter(None, map(resolver.parts_beneath, changes.emptied)))
                return _Apply(changes, plans, emptied, top, ApplyJournal(journal, os.urandom(8).hex(), kept)).run()
        except OSError as error:
            raise ToolFailure(f"The workspace {resolver.root} cannot be opened: {error.strerror}") from error


def _refuse_overlap(plans: Sequence[PlannedFile], recovered: Sequence[Recovered]) -> None:
    """Raise ToolFailure if recovery has not finished an earlier apply that changes one of these files."""
    wanted = {"/".join((*plan.folder, plan.name)) for plan in plans}
    for each in recovered:
        if each.outcome == "unfinished" and not wanted.isdisjoint(each.paths):
            why = f"an earlier change of the same files, {each.label}, is partly applied and cannot be completed yet"
            raise ToolFailure(f"Nothing was changed: {why}: {_first_items(each.left)}")


class _Apply:
    """The state of one apply.

    emptied  folders that are removed at the end if they are empty
    """

    def __init__(
        self,
        changes: ChangeSet,
        plans: list[PlannedFile],
        emptied: tuple[Parts, ...],
        top: OpenFolder,
        journal: ApplyJournal,
    ) -> None:
        self._changes = changes
        self._emptied = emptied
        self._top = top
        self._journal = journal
        self._files = [FileReplacement(plan, top, f"{journal.token}-{number}") for number, plan in enumerate(plans)]
        self._made: list[Parts] = []
        by_key = {each.plan.key: each for each in self._files}
        for each in self._files:
            if each.plan.like is not None:
                each.like = by_key[each.plan.like.key]

    def run(self) -> ChangeSet:
        differences = [f"{each.plan.path}: {found}" for each in self._files if (found := each.difference()) is not None]
        if differences:
            raise ToolFailure(
                "Nothing was changed, because files have changed since the preview: " + _first_items(differences)
            )
        done: list[FileReplacement] = []
        current: FileReplacement | None = None
        try:
            self._begin()
            for current in self._files:
                current.stage(self._made)
            sync_folders(self._top, self._affected_folders())
            self._journal.note("ready")
            for current in self._files:
                current.commit()
                done.append(current)
        except BaseException as error:
            where = self._changes.label if current is None else current.plan.path
            left = [each.plan.path for each in reversed(done) if not each.undo()]
            self._roll_back(left)
            if not isinstance(error, OSError):
                raise
            text = f"Could not write {where}: {error.strerror or error}"
            if left:
                later = ": this happens when the session is resumed, or before the next change"
                text = f"{text}; could not restore {_first_items(left)}"
                raise HalfApplied(text + (later if self._journal.is_kept else "")) from error
            raise ToolFailure(f"{text}; nothing was changed") from error
        self._finish()
        applied = with_modes(
            self._changes,
            {each.plan.path: each.mode for each in self._files},
            ["/".join(parts) for parts in self._made],
        )
        owners = {each.plan.path: each.owner for each in self._files}
        files = tuple(replace(each, owner_before=owners.get(each.source or each.path)) for each in applied.files)
        return replace(applied, files=files, notes=tuple(each.note for each in self._files if each.note))

    def _begin(self) -> None:
        self._journal.begin(
            {
                "root": self._top.path,
                "label": self._changes.label,
                "files": [each.journal_entry() for each in self._files],
                "made": self._missing(),
                "emptied": self._emptied,
            }
        )

    def _missing(self) -> list[Parts]:
        wanted = {each.plan.folder for each in self._files if each.plan.after is not None}
        every = {folder[:depth] for folder in wanted for depth in range(1, len(folder) + 1)}
        return [parts for parts in sorted(every) if not self._is_there(parts)]

    def _is_there(self, parts: Parts) -> bool:
        try:
            with self._top.below(parts):
                return True
        except OSError:
            return False

    def _affected_folders(self) -> set[Parts]:
        folders = {each.plan.folder for each in self._files if not each.is_nothing}
        return folders | {parts[:-1] for parts in (*self._made, *self._emptied)}

    def _finish(self) -> None:
        """Remove the temporary files and the journal entry.

        The staged names of created files are removed only after the new names are synced. Replaced files need no
        sync here: if a power failure loses a rename, recovery completes the replacement.
        """
        if any(each.creates for each in self._files):
            self._sync()
        tidy = self._remove_temporary() and remove_folders(self._top, self._emptied)
        self._sync()
        self._journal.end("finished", tidy=tidy)

    def _roll_back(self, left: Sequence[str]) -> None:
        self._sync()
        if left:  # recovery needs the backups
            with suppress(OSError):
                self._journal.note("failed")
            return
        tidy = self._remove_temporary() and remove_folders(self._top, self._made)
        self._sync()
        self._journal.end("undone", tidy=tidy)

    def _sync(self) -> None:
        with suppress(OSError):  # a rename stays in place even if the sync fails
            sync_folders(self._top, self._affected_folders())

    def _remove_temporary(self) -> bool:
        return not [each for each in self._files if not each.swap.remove_temporary()]


def with_modes(changes: ChangeSet, modes: Mapping[str, int | None], made: Sequence[str]) -> ChangeSet:
    """Return a copy of the change set with the file modes (by path) and the created folders of its apply."""

    def filled(change: FileChange) -> FileChange:
        mode = modes.get(change.source or change.path)
        return change if change.before is None or change.link else replace(change, mode_before=mode)

    return replace(changes, files=tuple(map(filled, changes.files)), made=tuple(made))


def _first_items(items: Sequence[str]) -> str:
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return "; ".join(items[:5]) + more
