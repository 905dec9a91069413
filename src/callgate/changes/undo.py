"""Plans to take changes back: computes what that would do to the files as they are now.

A file that is still as the change left it becomes what it was. One that others have changed since is merged line by
line, or is a conflict. One that the change created goes only if it is unchanged, one that it deleted comes back only
where nothing else is.
"""

import os
import stat
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from callgate.changes import UNDO
from callgate.changes.history import LARGE, ChangeHistory, Kept
from callgate.changes.merge import Conflict, merge
from callgate.host.beneath import OpenFolder
from callgate.host.paths import Resolver
from callgate.words.changes import ChangeSet, Content, FileChange, Stored, digest
from callgate.words.noun import noun

_CHUNK = 1 << 20


@noun
class There:
    """A file as it is, or as it shall be."""

    content: Content
    mode: int | None = None
    link: bool = False

    @property
    def sign(self) -> tuple[str | None, bool]:
        return digest(self.content), self.link


Read = Callable[[str], There | None]


@noun
class UndoPlan:
    """``changes`` takes back ``undone`` from the files as they are now. Each conflict names its file; a change that has
    one is not undone, though some of its files may be."""

    changes: ChangeSet
    undone: tuple[Kept, ...]
    conflicts: tuple[str, ...] = ()


def plan(history: ChangeHistory, wanted: Sequence[Kept], read: Read, *, label: str = "") -> UndoPlan:
    """Plan to take these changes back, the last applied first; files with a conflict are left as they are."""
    newest_first = sorted(wanted, key=lambda kept: kept.order, reverse=True)
    world = _World(read)
    conflicts: list[str] = []
    undone: list[Kept] = []
    emptied: list[str] = []
    for kept in newest_first:
        inverse = history.load(kept).inverse
        problems = world.take_back(inverse)
        emptied += inverse.emptied
        conflicts += problems
        undone += [] if problems else [kept]
    one = len(newest_first) == 1
    named = label or (f"undo: {newest_first[0].label}" if one else f"undo {len(newest_first)} changes")
    changes = ChangeSet(named, world.changes(), UNDO, emptied=tuple(dict.fromkeys(emptied)))
    return UndoPlan(changes, tuple(undone), tuple(dict.fromkeys(conflicts)))


class _World:
    """The files as they are, and as they will be; read once, and changed in memory alone."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._first: dict[str, There | None] = {}
        self._now: dict[str, There | None] = {}
        self._stuck: set[str] = set()
        self._odd: dict[str, str] = {}

    def _at(self, path: str) -> There | None:
        if path not in self._first:
            found: There | None = None
            try:
                found = self._read(path)
            except OSError as error:
                self._odd[path] = error.strerror or str(error)
            self._first[path] = self._now[path] = found
        return self._now[path]

    def take_back(self, inverse: ChangeSet) -> list[str]:
        """Make the inverse of a change, all its files at once, as far as it can be; what cannot be, in words."""
        problems: list[str] = []
        ready: list[tuple[FileChange, There | None]] = []
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

    def _wanted(self, change: FileChange) -> There | str | None:
        """The file that shall be at its path, None for none, or the conflict in words."""
        for path in change.paths:
            if path in self._stuck:
                return f"{path}: a later change of it could not be taken back"
            self._at(path)
            if path in self._odd:
                return f"{path}: {self._odd[path]}"
        here = change.source or change.path
        now = self._at(here)
        wanted = None if change.after is None else There(change.after, change.mode, change.link)
        if change.before is None:
            return wanted
        if now is None:
            return None if wanted is None else f"{here}: it is not there any more"
        if now.link != change.link:
            return f"{here}: it is {'a symbolic link' if now.link else 'no symbolic link any more'}"
        if now.sign != (digest(change.before), change.link):
            if wanted is None:
                return f"{here}: it was created by this change, and has been changed since"
            merged = _merged(change, now)
            if isinstance(merged, str):
                return f"{here}: {merged}"
            wanted = There(merged, wanted.mode)
        return wanted if wanted is None or wanted.mode is not None else There(wanted.content, now.mode, wanted.link)

    def _blocked(
        self, each: tuple[FileChange, There | None], ready: list[tuple[FileChange, There | None]]
    ) -> str | None:
        """The conflict with another file at its path, in words; None if there is none."""
        change, wanted = each
        now = self._at(change.path)
        if wanted is None or now is None or now.sign == wanted.sign:
            return None
        leaving = {other.source or other.path for other, _ in ready if other.before is not None}
        if change.path in leaving:
            return None
        gone = "moved away" if change.source else "deleted"
        return f"{change.path}: it was {gone} by this change, and another file is there now"

    def changes(self) -> tuple[FileChange, ...]:
        found: list[FileChange] = []
        for path, first in self._first.items():
            now = self._now[path]
            if first == now:
                continue
            link = (first or now or There(b"")).link
            mode = None if now is None or (first is not None and first.mode == now.mode) else now.mode
            before, after = (None if each is None else each.content for each in (first, now))
            mode_before = None if first is None or link else first.mode
            found.append(FileChange(path, before, after, mode=mode, mode_before=mode_before, link=link))
        return tuple(found)


def _merged(change: FileChange, now: There) -> bytes | str:
    """The file as it is without the change; why not, in words."""
    before, after = change.before, change.after
    if not isinstance(before, bytes) or not isinstance(after, bytes) or not isinstance(now.content, bytes):
        return "it has been changed since, and it is too large to be merged"
    if change.link:
        return "it leads elsewhere since"
    found = merge(before, now.content, after)
    return found.text() if isinstance(found, Conflict) else found.data


def reader(root: Path | str) -> Read:
    """Gives a function that reads the files below a folder; it raises OSError for a file outside. Blocks."""
    resolver = Resolver(Path(root))

    def read(path: str) -> There | None:
        above, name = os.path.split(path)
        parts = resolver.parts_beneath(above)
        if parts is None:
            raise PermissionError(f"{path} is outside the workspace")
        try:
            with OpenFolder.held(resolver.root) as top, top.below(parts) as where:
                return _there(where, name)
        except FileNotFoundError:
            return None

    return read


def _there(folder: OpenFolder, name: str) -> There:
    status = folder.status(name)
    if stat.S_ISLNK(status.st_mode):
        return There(os.fsencode(os.readlink(folder.of(name), dir_fd=folder.descriptor)), link=True)
    with open(folder.opened(name), "rb") as file:
        found = os.fstat(file.fileno())
        mode = stat.S_IMODE(found.st_mode)
        if found.st_size <= LARGE:
            return There(file.read(), mode)
        seen = sha256()
        while piece := file.read(_CHUNK):
            seen.update(piece)
        return There(Stored(seen.hexdigest(), found.st_size, os.path.join(folder.path, name)), mode)
