"""Plans undos: computes how undoing changes would change the current files.

A file that was not changed again gets its previous content. A file that was changed again is merged by lines; if the
merge fails, it is a conflict. A created file is removed only if it was not changed again, and a deleted file is
restored only if no other file has its path.
"""

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path

from callgate.changes import UNDO
from callgate.changes.history import LARGE, ChangeHistory, Kept
from callgate.changes.merge import Conflict, merge
from callgate.host.beneath import OpenFolder
from callgate.host.paths import Resolver
from callgate.words.changes import ChangeSet, Content, FileChange, Stored, digest
from callgate.words.noun import noun


@noun
class FileState:
    """The current or the planned state of a file."""

    content: Content
    mode: int | None = None
    link: bool = False
    owner: tuple[int, int] | None = None

    @property
    def sign(self) -> tuple[str | None, bool]:
        return digest(self.content), self.link


Read = Callable[[str], FileState | None]
_Planned = tuple[FileChange, FileState | None]


@noun
class UndoPlan:
    """The plan to undo some changes.

    changes    the changes to apply to the files
    undone     the changes that are undone completely
    conflicts  a message for each file with a conflict; other files of the same change may still be restored
    """

    changes: ChangeSet
    undone: tuple[Kept, ...]
    conflicts: tuple[str, ...] = ()


def plan(history: ChangeHistory, wanted: Sequence[Kept], read: Read) -> UndoPlan:
    """Return the plan to undo these changes, the last applied first. Files with a conflict are not changed."""
    newest_first = sorted(wanted, key=lambda kept: kept.order, reverse=True)
    state = _UndoState(read)
    conflicts: list[str] = []
    undone: list[Kept] = []
    emptied: list[str] = []
    for kept in newest_first:
        inverse = history.load(kept).inverse
        problems = state.undo(inverse)
        emptied += inverse.emptied
        conflicts += problems
        undone += [] if problems else [kept]
    label = f"undo: {newest_first[0].label}" if len(newest_first) == 1 else f"undo {len(newest_first)} changes"
    changes = ChangeSet(label, state.changes(), UNDO, emptied=tuple(dict.fromkeys(emptied)))
    return UndoPlan(changes, tuple(undone), tuple(dict.fromkeys(conflicts)))


class _UndoState:
    """The current files and their planned states, computed in memory."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._first: dict[str, FileState | None] = {}
        self._now: dict[str, FileState | None] = {}
        self._stuck: set[str] = set()
        self._odd: dict[str, str] = {}

    def _at(self, path: str) -> FileState | None:
        if path not in self._first:
            found: FileState | None = None
            try:
                found = self._read(path)
            except OSError as error:
                self._odd[path] = error.strerror or str(error)
            self._first[path] = self._now[path] = found
        return self._now[path]

    def undo(self, inverse: ChangeSet) -> list[str]:
        """Plan the inverse of a change for all its files without a conflict, and return the conflicts."""
        problems: list[str] = []
        ready: list[_Planned] = []
        for change in inverse.files:
            wanted = self._wanted(change)
            if isinstance(wanted, str):
                problems.append(self._give_up(change, wanted))
            else:
                ready.append((change, wanted))
        while blocked := [(each, why) for each in ready if (why := self._blocked(each, ready)) is not None]:
            for each, why in blocked:
                ready.remove(each)
                problems.append(self._give_up(each[0], why))
        for change, _ in ready:
            self._now[change.source or change.path] = None
        for change, wanted in ready:
            if wanted is not None:
                self._now[change.path] = wanted
        return problems

    def _give_up(self, change: FileChange, why: str) -> str:
        self._stuck.update(change.paths)
        return why

    def _wanted(self, change: FileChange) -> FileState | str | None:
        """Return the state to restore, None to remove the file, or the conflict as a text."""
        for path in change.paths:
            if path in self._stuck:
                return f"{path}: a later change of the file could not be undone"
            self._at(path)
            if path in self._odd:
                return f"{path}: {self._odd[path]}"
        here = change.source or change.path
        now = self._at(here)
        wanted = None if change.after is None else FileState(change.after, change.mode, change.link, change.owner)
        if change.before is None:
            return wanted
        if now is None:
            return None if wanted is None else f"{here}: the file does not exist any more"
        if now.link != change.link:
            return f"{here}: it is {'a symbolic link' if now.link else 'no symbolic link any more'}"
        if now.sign != (digest(change.before), change.link):
            if wanted is None:
                return f"{here}: the file was created by this change, and has changed since then"
            merged = _merged(change, now)
            if isinstance(merged, str):
                return f"{here}: {merged}"
            wanted = FileState(merged, wanted.mode)
        return wanted if wanted is None or wanted.mode is not None else replace(wanted, mode=now.mode)

    def _blocked(self, each: _Planned, ready: list[_Planned]) -> str | None:
        """Return a message if another file occupies the path of a file to restore, otherwise None."""
        change, wanted = each
        now = self._at(change.path)
        if wanted is None or now is None or now.sign == wanted.sign:
            return None
        leaving = {other.source or other.path for other, _ in ready if other.before is not None}
        if change.path in leaving:
            return None
        gone = "moved away" if change.source else "deleted"
        return f"{change.path}: the file was {gone} by this change, and another file exists there now"

    def changes(self) -> tuple[FileChange, ...]:
        found: list[FileChange] = []
        for path, first in self._first.items():
            now = self._now[path]
            if first == now:
                continue
            link = (first or now or FileState(b"")).link
            mode = None if now is None or (first is not None and first.mode == now.mode) else now.mode
            before, after = (None if each is None else each.content for each in (first, now))
            mode_before = None if first is None or link else first.mode
            owner = now.owner if first is None and now is not None else None
            found.append(FileChange(path, before, after, mode=mode, mode_before=mode_before, link=link, owner=owner))
        return tuple(found)


def _merged(change: FileChange, now: FileState) -> bytes | str:
    """Return the current content without the change, or the reason why it cannot be merged."""
    before, after = change.before, change.after
    if not isinstance(before, bytes) or not isinstance(after, bytes) or not isinstance(now.content, bytes):
        return "the file has changed since then, and is too large to merge"
    if change.link:
        return "the target of the link has changed since then"
    found = merge(before, now.content, after)
    return found.text() if isinstance(found, Conflict) else found


def reader(root: Path | str) -> Read:
    """Return a function that reads files below a folder. The function blocks, and raises OSError for a path outside the
    folder."""
    resolver = Resolver(Path(root))

    def read(path: str) -> FileState | None:
        above, name = os.path.split(path)
        parts = resolver.parts_beneath(above)
        if parts is None:
            raise PermissionError(f"{path} is outside the workspace")
        try:
            with OpenFolder.held(resolver.root) as top, top.below(parts) as where:
                return _file_state(where, name)
        except FileNotFoundError:
            return None

    return read


def _file_state(folder: OpenFolder, name: str) -> FileState:
    status = folder.status(name)
    if stat.S_ISLNK(status.st_mode):
        return FileState(os.fsencode(os.readlink(folder.of(name), dir_fd=folder.descriptor)), link=True)
    with open(folder.opened(name), "rb") as file:
        found = os.fstat(file.fileno())
        mode = stat.S_IMODE(found.st_mode)
        if found.st_size <= LARGE:
            return FileState(file.read(), mode)
        sha256 = file_digest(file, "sha256").hexdigest()
        return FileState(Stored(sha256, found.st_size, os.path.join(folder.path, name)), mode)
