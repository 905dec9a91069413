"""Which calls may start now: declared locks, no overtaking.

A Claim enters behind those already there and is *free* once no earlier claim that conflicts with it is left. One
structure serves twice: Lanes orders the calls of one message, LockTable is shared by every executor of a host.

Only conflicts that matter are stored. Everything after an exclusive claim waits for it, so what came before it need
not be compared again; when an exclusive claim leaves before its turn, those behind it are compared anew.
"""

from collections.abc import Callable, Iterable, Iterator
from posixpath import dirname
from typing import Any, Protocol

from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun
from callgate.words.traits import Locks


@noun
class Placed:
    """Locks whose paths were brought to the host's normal form, so that equal places compare equal."""

    scope: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


SHARED = Placed("shared")
EXCLUSIVE = Placed("exclusive")


def place(locks: Locks, normal: Callable[[str], str]) -> Placed:
    """Bind declared locks to places; ``normal`` is the host's."""
    if locks.scope == "shared":
        return SHARED
    if locks.scope == "exclusive":
        return EXCLUSIVE
    return Placed("paths", tuple(map(normal, locks.reads)), tuple(map(normal, locks.writes)))


def check_covered(changes: ChangeSet, placed: Placed, normal: Callable[[str], str]) -> None:
    """ToolFailure when a change reaches a file that the call did not declare to write: nobody holds it back there."""
    if placed is EXCLUSIVE:
        return
    for path in changes.paths:
        place = normal(path)
        if not any(place == held or place.startswith(held.rstrip("/") + "/") for held in placed.writes):
            raise ToolFailure(f"{path} would be changed, but the locks of this call do not cover it")


class Claimant(Protocol):
    """Whoever waits; ``label`` is how others name it while they wait for it."""

    @property
    def label(self) -> str: ...


class Claim:
    """A claimant's wish to run. ``freed`` is called with the claimant when nothing is in the way any more.

    ``lineage`` is the path of call ids from the root, the claimant's own last.
    """

    __slots__ = ("blockers", "followers", "freed", "lineage", "locks", "seq", "who")

    def __init__(
        self, who: Claimant, locks: Placed, freed: Callable[[Any], object], lineage: tuple[str, ...] = ()
    ) -> None:
        self.who = who
        self.locks = locks
        self.freed = freed
        self.lineage = lineage
        self.seq = -1
        self.blockers: set[Claim] | None = None
        self.followers: set[Claim] | None = None

    @property
    def free(self) -> bool:
        return not self.blockers


def _ancestors(path: str) -> Iterator[str]:
    above = dirname(path)
    while above != path:
        yield above
        path, above = above, dirname(above)


class _Places:
    """Claims by the path they lock, and by every folder above it."""

    __slots__ = ("at", "below")

    def __init__(self) -> None:
        self.at: dict[str, set[Claim]] = {}
        self.below: dict[str, set[Claim]] = {}

    def put(self, path: str, claim: Claim) -> None:
        self.at.setdefault(path, set()).add(claim)
        for above in _ancestors(path):
            self.below.setdefault(above, set()).add(claim)

    def drop(self, path: str, claim: Claim) -> None:
        self._drop(self.at, path, claim)
        for above in _ancestors(path):
            self._drop(self.below, above, claim)

    @staticmethod
    def _drop(index: dict[str, set[Claim]], path: str, claim: Claim) -> None:
        claims = index.get(path)
        if claims is not None:
            claims.discard(claim)
            if not claims:
                del index[path]

    def touching(self, path: str) -> Iterator[Claim]:
        yield from self.at.get(path, ())
        yield from self.below.get(path, ())
        for above in _ancestors(path):
            yield from self.at.get(above, ())


class Lanes:
    """Claims in order of entry; not thread-safe, owned by one event loop."""

    _exclusive_implies = True

    def __init__(self) -> None:
        self._seq = 0
        self._clear()

    def _clear(self) -> None:
        self._all: dict[Claim, None] = {}
        self._exclusive: dict[Claim, None] = {}
        self._readers = _Places()
        self._writers = _Places()

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, claim: Claim) -> bool:
        """Queue the claim behind the others; True when it is free at once."""
        self._seq += 1
        claim.seq = self._seq
        if claim.locks is SHARED and not self._exclusive:
            self._all[claim] = None
            return True
        self._wait(claim, self._in_the_way(claim))
        self._file(claim)
        return not claim.blockers

    def leave(self, claim: Claim) -> None:
        """Take the claim out, whether it was free or not, and tell those it held back."""
        if claim not in self._all:
            return
        if claim.locks is SHARED and not claim.blockers and not claim.followers:
            del self._all[claim]
            return
        early = bool(claim.blockers)
        self._unfile(claim)
        for blocker in claim.blockers or ():
            if blocker.followers:
                blocker.followers.discard(claim)
        claim.blockers = None
        followers, claim.followers = claim.followers, None
        freed: list[Claim] = []
        for follower in followers or ():
            if follower.blockers:
                follower.blockers.discard(claim)
            if early and self._exclusive_implies and claim.locks.scope == "exclusive":
                self._wait(follower, self._in_the_way(follower))
            if not follower.blockers:
                freed.append(follower)
        for follower in sorted(freed, key=lambda claim: claim.seq):
            follower.freed(follower.who)

    def relock(self, claim: Claim, locks: Placed) -> None:
        """Other arguments, other locks: the claim keeps its place and all waits are computed again."""
        claim.locks = locks
        claims = sorted(self._all, key=lambda claim: claim.seq)
        waiting = {claim for claim in claims if claim.blockers}
        self._clear()
        for each in claims:
            each.blockers = each.followers = None
        for each in claims:
            self._wait(each, self._in_the_way(each))
            self._file(each)
        for each in claims:
            if each in waiting and each is not claim and not each.blockers:
                each.freed(each.who)

    def _file(self, claim: Claim) -> None:
        self._all[claim] = None
        if claim.locks.scope == "exclusive":
            self._exclusive[claim] = None
        for path in claim.locks.reads:
            self._readers.put(path, claim)
        for path in claim.locks.writes:
            self._writers.put(path, claim)

    def _unfile(self, claim: Claim) -> None:
        del self._all[claim]
        self._exclusive.pop(claim, None)
        for path in claim.locks.reads:
            self._readers.drop(path, claim)
        for path in claim.locks.writes:
            self._writers.drop(path, claim)

    def _wait(self, claim: Claim, blockers: Iterable[Claim]) -> None:
        for blocker in blockers:
            if claim.blockers is None:
                claim.blockers = set()
            if blocker.followers is None:
                blocker.followers = set()
            claim.blockers.add(blocker)
            blocker.followers.add(claim)

    def _in_the_way(self, claim: Claim) -> Iterable[Claim]:
        """Earlier claims that conflict, those implied by an exclusive one in between left out."""
        seq = claim.seq
        last = next((each for each in reversed(self._exclusive) if each.seq < seq), None)
        found = [] if last is None else [last]
        if claim.locks.scope == "exclusive":
            for each in reversed(self._all):
                if each is last:
                    break
                if each.seq < seq:
                    found.append(each)
        else:
            found += [each for each in self._on_paths(claim) if each.seq < seq]
        return found

    def _on_paths(self, claim: Claim) -> Iterator[Claim]:
        for path in claim.locks.reads:
            yield from self._writers.touching(path)
        for path in claim.locks.writes:
            yield from self._writers.touching(path)
            yield from self._readers.touching(path)


class LockTable(Lanes):
    """The locks of a host: all of a claim's locks at once or none, first come first served.

    A descendant never conflicts with what its ancestors hold. It also passes those that wait, directly or behind
    others, for such an ancestor, because the ancestor itself waits for it; whom it passes then waits for it as well.
    """

    # Exemptions break the "everything before an exclusive claim is implied" shortcut, so each claim is compared with
    # all: only calls that could run right now enter here, which keeps the table short.
    _exclusive_implies = False

    def enter(self, claim: Claim) -> bool:
        self._seq += 1
        claim.seq = self._seq
        if claim.locks is SHARED and not self._exclusive:
            self._all[claim] = None
            return True
        for other in list(self._in_the_way(claim)):
            if self._is_kin(other, claim):
                continue
            if self._waits_for_kin(other, claim):
                self._wait(other, (claim,))
            else:
                self._wait(claim, (other,))
        self._file(claim)
        return not claim.blockers

    def holders(self, claim: Claim) -> list[str]:
        """The labels of those the claim waits for."""
        return [each.who.label for each in sorted(claim.blockers or (), key=lambda claim: claim.seq)]

    def _waits_for_kin(self, waiter: Claim, claim: Claim) -> bool:
        seen: set[Claim] = set()
        todo = list(waiter.blockers or ())
        while todo:
            each = todo.pop()
            if self._is_kin(each, claim):
                return True
            if each not in seen:
                seen.add(each)
                todo.extend(each.blockers or ())
        return False

    @staticmethod
    def _is_kin(elder: Claim, claim: Claim) -> bool:
        return len(elder.lineage) < len(claim.lineage) and claim.lineage[: len(elder.lineage)] == elder.lineage

    def _in_the_way(self, claim: Claim) -> Iterable[Claim]:
        exclusive = claim.locks.scope == "exclusive"
        on_paths: set[Claim] = set() if exclusive else set(self._on_paths(claim))
        return [
            each
            for each in self._all
            if each.seq < claim.seq and (exclusive or each.locks.scope == "exclusive" or each in on_paths)
        ]
