"""The locks of a host, shared by all executors. A call gets all of its locks at once, in the order of the requests.

A claim either *holds* its locks or waits for earlier conflicting claims. A *deferred* claim does not hold its locks,
because its call waits for a place to run. The deferred claim keeps its position, and later conflicting claims wait for
it.

A nested call never waits for its ancestors, the calls that contain the nested call. The nested call also overtakes
claims that wait for an ancestor, directly or through other claims, because the ancestor cannot end until the nested
call has ended. For the same reason the nested call overtakes a deferred call in the message of an ancestor, because
the deferred call waits for the place of the ancestor.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, Protocol

from callgate.core.lanes import BoundLocks, Claims, Watched, conflict

_ALL = 1 << 62
_NAMED = 10


class Claimant(Protocol):
    """Protocol of a call that requests locks. ``label`` is its name in messages to waiting calls."""

    @property
    def label(self) -> str: ...


class Claim:
    """A request for locks.

    granted  called with the claimant when a waiting claim gets its locks, on the thread that released the locks
    lineage  the call ids from the root to the claimant
    """

    __slots__ = ("granted", "holds", "lineage", "locks", "number", "who")

    def __init__(
        self, who: Claimant, locks: BoundLocks, granted: Callable[[Any], object], lineage: tuple[str, ...] = ()
    ) -> None:
        self.who = who
        self.locks = locks
        self.granted = granted
        self.lineage = lineage
        self.number = -1
        self.holds = False


class LockTable:
    """The claims of a host. Thread-safe: each thread may have its own event loop."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._last = 0
        self._holding = Claims()
        self._waiting = Claims()
        self._claims: dict[int, Claim] = {}
        self._deferred: set[Claim] = set()
        self._watched: Watched[Claim] = Watched()

    def __len__(self) -> int:
        return len(self._claims)

    def enter(self, claim: Claim) -> bool:
        """Request the locks of a claim. Return False if the claim has to wait."""
        with self._guard:
            self._number(claim)
            if len(self._waiting):
                self._overtake_waiting(claim)
            elif self._holding.latest(claim.locks, _ALL) < 0:
                self._holding.put(claim.number, claim.locks)
                claim.holds = True
                return True
            return self._grant_or_watch(claim)

    def leave(self, claim: Claim) -> None:
        """Release the locks of a claim, or remove the claim from the queue."""
        granted: list[Claim] = []
        with self._guard:
            self._deferred.discard(claim)
            if self._claims.pop(claim.number, None) is not None:
                (self._holding if claim.holds else self._waiting).drop(claim.number)
                claim.holds = False
                if self._watched.waits:
                    self._watched.stop(claim)
                    freed = sorted(self._watched.freed_by(claim), key=lambda each: each.number)
                    granted = [each for each in freed if self._grant_or_watch(each)]
        for other in granted:
            other.granted(other.who)

    def defer(self, claim: Claim) -> None:
        """Release the locks of a claim. The claim keeps its position in the queue, and gets the locks again only by
        ``retry``."""
        granted: list[Claim] = []
        with self._guard:
            self._holding.drop(claim.number)
            self._waiting.put(claim.number, claim.locks)
            claim.holds = False
            self._deferred.add(claim)
            for other in [self._claims[number] for number in self._waiting.earliest()]:
                if _needs_place_beside(claim, other):
                    self._waiting.drop(other.number)
                    self._watched.stop(other)
                    self._overtake_waiting(other)
                    if other in self._deferred:
                        self._waiting.put(other.number, other.locks)  # it waits for a place, not for locks
                    elif self._grant_or_watch(other):
                        granted.append(other)
        for other in granted:
            other.granted(other.who)

    def retry(self, claim: Claim) -> bool:
        """Request the locks of a deferred claim again. Return False if the claim has to wait."""
        with self._guard:
            self._deferred.discard(claim)
            return self._grant_or_watch(claim)

    def holders(self, claim: Claim) -> list[str]:
        """Return the labels of at most ten claims that block this claim."""
        with self._guard:
            numbers = [*self._holding.earliest(), *self._waiting.earliest()]
            found: list[str] = []
            for other in (self._claims[number] for number in numbers):
                before = other.holds or other.number < claim.number
                may_block = before and other is not claim and not _is_ancestor(other, claim)
                if may_block and conflict(other.locks, claim.locks):
                    found.append(other.who.label)
                    if len(found) == _NAMED:
                        break
            return found

    def _number(self, claim: Claim) -> None:
        self._last += 1
        claim.number = self._last
        self._claims[claim.number] = claim

    def _grant_or_watch(self, claim: Claim) -> bool:
        # Waiting claims first: they leave after claims that hold, so fewer claims look again.
        blocker, waits = None, False
        if len(self._waiting):
            blocker, waits = self._blocker(claim, self._waiting, claim.number), claim.number in self._waiting
        if blocker is None:
            blocker = self._blocker(claim, self._holding, _ALL)
        if blocker is not None:
            self._watched.watch(claim, blocker)
            if not waits:
                self._waiting.put(claim.number, claim.locks)
            return False
        if waits:
            self._waiting.drop(claim.number)
        self._holding.put(claim.number, claim.locks)
        claim.holds = True
        return True

    def _blocker(self, claim: Claim, claims: Claims, before: int) -> Claim | None:
        number = claims.latest(claim.locks, before)
        while number >= 0:
            other = self._claims[number]
            if not _is_ancestor(other, claim):
                return other
            number = claims.latest(claim.locks, number)
        return None

    def _overtake_waiting(self, claim: Claim) -> None:
        """Move the claim ahead of the claims that wait for an ancestor of the claim to release a lock or its place.

        The moved claims keep their order. No other claim waits for a moved claim, so the order of all other
        conflicting pairs is unchanged.
        """
        if self._blocker(claim, self._waiting, _ALL) is None:
            return
        ahead = Claims()
        for number in self._holding.earliest():
            if _is_ancestor(self._claims[number], claim):
                ahead.put(number, self._claims[number].locks)
        passed: list[Claim] = []
        for number in self._waiting.earliest() if len(ahead) or self._deferred else ():
            other = self._claims[number]
            stands_aside = other in self._deferred and _needs_place_beside(other, claim)
            if stands_aside or self._blocker(other, ahead, _ALL) is not None:
                ahead.put(number, other.locks)
                passed.append(other)
        for other in passed:
            self._waiting.drop(other.number)
            del self._claims[other.number]
            self._number(other)
            self._waiting.put(other.number, other.locks)


def _is_ancestor(elder: Claim, claim: Claim) -> bool:
    return 0 < len(elder.lineage) < len(claim.lineage) and claim.lineage[: len(elder.lineage)] == elder.lineage


def _needs_place_beside(deferred: Claim, claim: Claim) -> bool:
    """Return True if the claim is nested in a different call of the message that contains the deferred claim."""
    message = deferred.lineage[:-1]
    return 0 < len(message) < len(claim.lineage) - 1 and claim.lineage[: len(message)] == message
