"""Finishes or undoes the applies that a crash cut short."""

import errno
import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from callgate.host.applying.journal import ApplyEntry, ApplyJournal, lock_journal, open_entries
from callgate.host.applying.swap import Swap, hash_of, link_target, remove_folders, sync_folders
from callgate.host.applying.workspace_lock import lock_workspace
from callgate.host.beneath import OpenFolder
from callgate.words.noun import noun


@noun
class Recovered:
    """An apply that was cut short. ``left`` are files that are neither old nor new, each with the reason. While it is
    ``unfinished`` the disk or its permissions kept recovery from working: the next start tries again."""

    label: str
    kept: str
    outcome: Literal["finished", "undone", "unfinished"]
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One sentence for people."""
        text = f"{self.label or 'a change'} was cut short when a program ended"
        if self.outcome == "unfinished":
            return f"{text} and is half applied; it cannot be finished yet: {'; '.join(self.left)}"
        text = f"{text}; it is {self.outcome} now"
        return f"{text}, but for {'; '.join(self.left)}" if self.left else text


def recover(root: Path | str, journal: Path) -> list[Recovered]:
    """Finish or undo what was being applied to this workspace when a program died. Blocks."""
    real = os.path.realpath(root)
    if not open_entries(journal, real):
        return []
    with lock_journal(journal), lock_workspace(real):
        return recover_locked(real, journal)


def recover_locked(root: str, journal: Path) -> list[Recovered]:
    """Like ``recover``, for a caller that holds both locks."""
    entries = open_entries(journal, root)
    if not entries:
        return []
    with OpenFolder.held(root) as top:
        recovered = [_recovered(entry, top, journal) for entry in entries]
    return [each for each in recovered if each is not None]


def _recovered(entry: ApplyEntry, top: OpenFolder, journal: Path) -> Recovered | None:
    """None for an apply that was over and only had to be tidied up."""
    files = [_CutFile(each, top) for each in entry.files]
    paths = tuple(each.path for each in files)
    folders = {each.swap.folder for each in files} | {parts[:-1] for parts in (*entry.made, *entry.emptied)}
    forward, left = entry.state == "finished", list[str]()
    if entry.half_applied:
        try:
            forward, left = _settle(files, back=entry.state == "failed")
            sync_folders(top, folders)
        except OSError as error:
            return Recovered(entry.label, entry.kept, "unfinished", paths, (_reason(error),))
    left_over = [each for each in files if not each.swap.tidy_up()]
    tidy = remove_folders(top, entry.emptied if forward else entry.made) and not left_over
    with suppress(OSError):
        sync_folders(top, folders)
    outcome = "finished" if forward else "undone"
    ApplyJournal(journal, entry.file.stem, entry.kept).end(outcome, tidy=tidy)
    over = entry.state in ("finished", "undone")
    return None if over else Recovered(entry.label, entry.kept, outcome, paths, tuple(left))


def _settle(files: "list[_CutFile]", *, back: bool) -> tuple[bool, list[str]]:
    """Make all files new if no edit of others is lost by that, else all old but for those that others have edited.
    True for new, and the files that are neither. OSError: it cannot be done yet."""
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
            left.append(f"{each.path}: what it was is not kept any more")
    return forward, left


def _reason(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)


class _CutFile:
    """One file of an apply that was cut short: what the journal says of it, and what is there."""

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
            # Only its mode was to change: it is new when its staged copy has taken its place.
            return "old" if self._hash(self.swap.staged) is not None else "new"
        if found == self._before:
            return "old"
        return "new" if found == self._after else "foreign"

    def can_finish(self) -> bool:
        """True if its new content is still staged."""
        return self._after is None or self._hash(self.swap.staged) == self._after

    def was_replaced(self) -> bool:
        """True if its staged content took its place: an edit that is there now came later."""
        return self._after is not None and self._hash(self.swap.staged) is None

    def can_undo(self) -> bool:
        """True if its old content is still kept; of a created file, its staged copy proves that this apply made it."""
        if self._before is None:
            return self._after is None or self._hash(self.swap.staged) == self._after
        return self._hash(self.swap.backup) == self._before

    def _hash(self, name: str) -> str | None:
        """None where there is no file; anything but files and links gets a text that is no hash."""
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
