"""Completes or undoes applies that a crash has interrupted."""

import errno
import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from callgate.host.applying.journal import ApplyEntry, ApplyJournal, lock_journal, lock_workspace, open_entries
from callgate.host.applying.swap import Swap, hash_of, link_target, remove_folders, sync_folders
from callgate.host.beneath import OpenFolder
from callgate.words.noun import noun


@noun
class Recovered:
    """The result of recovering one interrupted apply.

    outcome  ``unfinished`` if a disk failure or a missing permission prevented recovery; the next start tries again
    left     files with neither their old nor their new content, with the reason
    """

    label: str
    kept: str
    outcome: Literal["finished", "undone", "unfinished"]
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        text = f"{self.label or 'a change'} was interrupted when Callgate ended"
        if self.outcome == "unfinished":
            return f"{text} and is partly applied; it cannot be completed yet: {'; '.join(self.left)}"
        text = f"{text} and is now {self.outcome}"
        return f"{text}, except {'; '.join(self.left)}" if self.left else text


def recover(root: Path | str, journal: Path) -> list[Recovered]:
    """Complete or undo the interrupted applies of a workspace and return the results. Blocks."""
    real = os.path.realpath(root)
    if not open_entries(journal, real):
        return []
    with lock_journal(journal), lock_workspace(real):
        return recover_locked(real, journal)


def recover_locked(root: str, journal: Path) -> list[Recovered]:
    """Recover a workspace as ``recover`` does; the caller holds the workspace lock and the journal lock."""
    entries = open_entries(journal, root)
    if not entries:
        return []
    with OpenFolder.held(root) as top:
        recovered = [_recover_entry(entry, top, journal) for entry in entries]
    return [each for each in recovered if each is not None]


def _recover_entry(entry: ApplyEntry, top: OpenFolder, journal: Path) -> Recovered | None:
    """Recover one apply. Return None if the apply had already ended and only temporary files were left."""
    files = [_InterruptedFile(each, top) for each in entry.files]
    paths = tuple(each.path for each in files)
    folders = {each.swap.folder for each in files} | {parts[:-1] for parts in (*entry.made, *entry.emptied)}
    forward, left = entry.state == "finished", list[str]()
    if entry.half_applied:
        try:
            forward, left = _complete_or_undo(files, back=entry.state == "failed")
            sync_folders(top, folders)
        except OSError as error:
            return Recovered(entry.label, entry.kept, "unfinished", paths, (_reason(error),))
    left_over = [each for each in files if not each.swap.remove_temporary()]
    tidy = remove_folders(top, entry.emptied if forward else entry.made) and not left_over
    with suppress(OSError):
        sync_folders(top, folders)
    outcome = "finished" if forward else "undone"
    ApplyJournal(journal, entry.file.stem, entry.kept).end(outcome, tidy=tidy)
    over = entry.state in ("finished", "undone")
    return None if over else Recovered(entry.label, entry.kept, outcome, paths, tuple(left))


def _complete_or_undo(files: "list[_InterruptedFile]", *, back: bool) -> tuple[bool, list[str]]:
    """Complete the change if no later edit is lost; otherwise undo it, except in files that were edited later.

    Return True if the change was completed, and the files with neither their old nor their new content. Raise
    OSError if a disk failure prevents recovery.
    """
    states = [(each, each.state()) for each in files]
    left = [f"{each.path}: another program has changed it since" for each, state in states if state == "foreign"]
    finishable = all(each.can_finish() for each, state in states if state == "old")
    undoable = all(each.can_undo() for each, state in states if state == "new")
    all_new = all(state == "new" or (state == "foreign" and each.was_replaced()) for each, state in states)
    forward = finishable and (not undoable or all_new or not left) and not (back and undoable)
    for each, state in states:
        if forward and state == "old":
            with each.swap.opened() as folder:
                each.swap.commit(folder)
        elif not forward and state == "new" and each.can_undo():
            each.swap.undo()
        elif not forward and state == "new":
            left.append(f"{each.path}: its old content is no longer stored")
    return forward, left


def _reason(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)


class _InterruptedFile:
    def __init__(self, noted: dict[str, Any], top: OpenFolder) -> None:
        names = {key: noted[key] for key in ("name", "staged", "backup", "before", "after")}
        self.swap = Swap(top=top, folder=tuple(noted["folder"]), **names)
        self._before, self._after = self.swap.before, self.swap.after

    @property
    def path(self) -> str:
        return "/".join((*self.swap.folder, self.swap.name))

    def state(self) -> Literal["old", "new", "foreign"]:
        found = self._hash(self.swap.name)
        if self._before == self._after == found:
            # If only the mode changes, the file is new once its staged copy is gone.
            return "old" if self._hash(self.swap.staged) is not None else "new"
        if found == self._before:
            return "old"
        return "new" if found == self._after else "foreign"

    def can_finish(self) -> bool:
        return self._after is None or self._hash(self.swap.staged) == self._after

    def was_replaced(self) -> bool:
        """Return True if the apply has already replaced the file; any other content of the file is then a later
        edit."""
        return self._after is not None and self._hash(self.swap.staged) is None

    def can_undo(self) -> bool:
        """Return True if the old content is still available.

        A file that was created has no old content. It can be removed if its staged copy still exists, because the
        copy proves that this operation created the file.
        """
        if self._before is None:
            return self._after is None or self._hash(self.swap.staged) == self._after
        return self._hash(self.swap.backup) == self._before

    def _hash(self, name: str) -> str | None:
        try:
            with self.swap.opened() as folder:
                status = folder.status(name)
                if stat.S_ISLNK(status.st_mode):
                    return sha256(link_target(folder, name)).hexdigest()
                if not stat.S_ISREG(status.st_mode):
                    return "not a file"
                with open(folder.opened(name), "rb") as file:
                    return hash_of(file)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise
