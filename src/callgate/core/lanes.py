"""The order of the calls of one message by their declared locks: a call never overtakes a conflicting call.

A call is *free* if no unfinished earlier call has conflicting locks. A blocked call watches one earlier conflicting
call. When this earlier call leaves, the blocked call watches the next earlier conflicting call.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from posixpath import dirname
from typing import Generic, TypeVar

from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun
from callgate.words.traits import Locks


@noun
class BoundLocks:
    """Locks with normalised paths, so that equal paths compare equal."""

    scope: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


SHARED = BoundLocks("shared")
EXCLUSIVE = BoundLocks("exclusive")


def bind_locks(locks: Locks, normal: Callable[[str], str]) -> BoundLocks:
    """Return the declared locks with normalised paths. ``normal`` is the method of the host."""
    if locks.scope == "shared":
        return SHARED
    if locks.scope == "exclusive":
        return EXCLUSIVE
    return BoundLocks("paths", tuple(map(normal, locks.reads)), tuple(map(normal, locks.writes)))


def check_covered(changes: ChangeSet, bound: BoundLocks, normal: Callable[[str], str]) -> None:
    """Raise ToolFailure if a change writes a file outside the locks of the call."""
    if bound is EXCLUSIVE:
        return
    for path in changes.paths:
        changed = normal(path)
        if not any(changed == held or changed.startswith(held.rstrip("/") + "/") for held in bound.writes):
            raise ToolFailure(f"{path} would be changed, but the locks of this call do not include this file")


def conflict(one: BoundLocks, other: BoundLocks) -> bool:
    """Return True if one of two locks writes a path that the other lock reads or writes, or if one of the locks is
    exclusive."""
    if one.scope == "exclusive" or other.scope == "exclusive":
        return True
    return _overlap(one.writes, other.writes) or _overlap(one.writes, other.reads) or _overlap(one.reads, other.writes)


def _overlap(some: Iterable[str], others: Iterable[str]) -> bool:
    return any(a == b or b in parent_folders(a) or a in parent_folders(b) for a in some for b in others)


def parent_folders(path: str) -> tuple[str, ...]:
    """Return the parent folders of a path, nearest first."""
    found: list[str] = []
    folder = dirname(path)
    while folder != path:
        found.append(folder)
        path, folder = folder, dirname(folder)
    return tuple(found)


class _Index:
    """The sorted numbers of claims, by locked path and by parent folder of a locked path."""

    __slots__ = ("_parents", "at", "below")

    def __init__(self) -> None:
        self.at: dict[str, list[int]] = {}
        self.below: dict[str, list[int]] = {}
        self._parents: dict[str, tuple[str, ...]] = {}

    def put(self, path: str, number: int) -> None:
        _put(self.at, path, number)
        for folder in self.folders(path):
            _put(self.below, folder, number)

    def drop(self, path: str, number: int) -> None:
        _drop(self.at, path, number)
        for folder in self.folders(path):
            _drop(self.below, folder, number)
        if path not in self.at:
            self._parents.pop(path, None)

    def folders(self, path: str) -> tuple[str, ...]:
        found = self._parents.get(path)
        if found is None:
            found = parent_folders(path)
            if path in self.at:
                self._parents[path] = found
        return found

    def latest(self, path: str, before: int) -> int:
        """Return the highest number below ``before`` that locks the path, a path below it or a parent folder. Return
        -1 if there is none."""
        found = max(_latest(self.at.get(path), before), _latest(self.below.get(path), before))
        for folder in self.folders(path):
            numbers = self.at.get(folder)
            if numbers is not None:
                found = max(found, _latest(numbers, before))
        return found


def _put(index: dict[str, list[int]], key: str, number: int) -> None:
    numbers = index.get(key)
    if numbers is None:
        index[key] = [number]
    else:
        _add(numbers, number)


def _drop(index: dict[str, list[int]], key: str, number: int) -> None:
    numbers = index.get(key)
    if numbers is not None:
        _remove(numbers, number)
        if not numbers:
            del index[key]


def _add(numbers: list[int], number: int) -> None:
    if not numbers or numbers[-1] < number:
        numbers.append(number)
    elif numbers[bisect_left(numbers, number)] != number:
        insort(numbers, number)


def _remove(numbers: list[int], number: int) -> None:
    at = bisect_left(numbers, number)
    if at < len(numbers) and numbers[at] == number:
        del numbers[at]


def _latest(numbers: list[int] | None, before: int) -> int:
    if not numbers:
        return -1
    if numbers[-1] < before:
        return numbers[-1]
    at = bisect_left(numbers, before)
    return numbers[at - 1] if at else -1


class Claims:
    """Numbered claims, with a search for the latest claim that conflicts with given locks.

    Claims that only read are not indexed until the first claim that writes is added. Until then, each claim needs
    only one dict entry.
    """

    __slots__ = ("_all", "_exclusive", "_filed", "_read", "_unfiled", "_written")

    def __init__(self) -> None:
        self._unfiled: dict[int, BoundLocks] = {}  # readers that are not indexed yet
        self._filed: dict[int, BoundLocks] = {}
        self._all: list[int] = []  # indexed numbers
        self._exclusive: list[int] = []
        self._read = _Index()
        self._written = _Index()

    def __len__(self) -> int:
        return len(self._unfiled) + len(self._filed)

    def __contains__(self, number: int) -> bool:
        return number in self._unfiled or number in self._filed

    def put(self, number: int, locks: BoundLocks) -> None:
        if locks.writes or locks.scope == "exclusive":
            self._file(number, locks)
        else:
            self._unfiled[number] = locks

    def drop(self, number: int) -> None:
        if self._unfiled.pop(number, None) is not None:
            return
        locks = self._filed.pop(number)
        _remove(self._all, number)
        if locks.scope == "exclusive":
            _remove(self._exclusive, number)
        for path in locks.reads:
            self._read.drop(path, number)
        for path in locks.writes:
            self._written.drop(path, number)

    def latest(self, locks: BoundLocks, before: int) -> int:
        """Return the highest number below ``before`` of a conflicting claim, or -1."""
        if locks.scope == "exclusive":
            self._file_readers()
            return _latest(self._all, before)
        found = _latest(self._exclusive, before) if self._exclusive else -1
        if self._written.at:
            for path in locks.reads:
                found = max(found, self._written.latest(path, before))
        for path in locks.writes:
            self._file_readers()
            found = max(found, self._written.latest(path, before), self._read.latest(path, before))
        return found

    def earliest(self) -> Iterable[int]:
        self._file_readers()
        return iter(self._all)

    def locks(self, number: int) -> BoundLocks:
        return self._unfiled.get(number) or self._filed[number]

    def _file(self, number: int, locks: BoundLocks) -> None:
        self._filed[number] = locks
        _add(self._all, number)
        if locks.scope == "exclusive":
            _add(self._exclusive, number)
        for path in locks.reads:
            self._read.put(path, number)
        for path in locks.writes:
            self._written.put(path, number)

    def _file_readers(self) -> None:
        for number, locks in self._unfiled.items():
            self._file(number, locks)
        self._unfiled.clear()


K = TypeVar("K")


class Watched(Generic[K]):
    """A map from each waiting item to the item that it watches."""

    __slots__ = ("_watchers", "waits")

    def __init__(self) -> None:
        self.waits: dict[K, K] = {}
        self._watchers: dict[K, dict[K, None]] = {}

    def watch(self, waiting: K, blocker: K) -> None:
        self.waits[waiting] = blocker
        self._watchers.setdefault(blocker, {})[waiting] = None

    def stop(self, waiting: K) -> None:
        blocker = self.waits.pop(waiting, None)
        if blocker is not None:
            watchers = self._watchers[blocker]
            del watchers[waiting]
            if not watchers:
                del self._watchers[blocker]

    def freed_by(self, blocker: K) -> list[K]:
        """Remove the items that watch ``blocker``, and return them."""
        watchers = self._watchers.pop(blocker, None)
        if watchers is None:
            return []
        for waiting in watchers:
            del self.waits[waiting]
        return list(watchers)


class Lanes(Claims):
    """The locks of the calls of one message, by position. Methods return the positions of calls that became free."""

    __slots__ = ("_watched",)

    def __init__(self) -> None:
        super().__init__()
        self._watched: Watched[int] = Watched()

    def free(self, number: int) -> bool:
        """Return True if no earlier call blocks this call. If False, a later call of ``leave`` or ``relock`` returns
        the number of this call when it becomes free."""
        return not self._filed or (number not in self._watched.waits and self._is_free_or_watch(number))

    def leave(self, number: int) -> list[int]:
        """Remove a call, and return the numbers of the calls that are no longer blocked."""
        if self._unfiled.pop(number, None) is None:
            if number not in self._filed:
                return []
            self.drop(number)
        return self._freed_by(number) if self._watched.waits else []

    def relock(self, number: int, locks: BoundLocks) -> list[int]:
        """Replace the locks of a call, and return the numbers of the calls that are no longer blocked."""
        self.drop(number)
        self.put(number, locks)
        return self._freed_by(number)

    def _freed_by(self, number: int) -> list[int]:
        self._watched.stop(number)
        return [each for each in sorted(self._watched.freed_by(number)) if self._is_free_or_watch(each)]

    def _is_free_or_watch(self, number: int) -> bool:
        blocker = self.latest(self.locks(number), number)
        if blocker < 0:
            return True
        self._watched.watch(number, blocker)
        return False
