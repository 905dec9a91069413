"""The next step of each call of a message: a state machine without I/O, clock or event loop.

Inputs are methods: a call arrived, was judged, answered, granted its locks, started, finished, was cancelled; the
message is over. Each moves calls through the one table ``MOVES`` and queues actions; the executor performs them in
order and feeds back their outcome. An input that the table does not know is a StateError.

The board owns the order of calls (no overtaking), the number that run at once, what may start before the message is
whole, what a failure or a cancel takes along, and which results may leave.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from enum import StrEnum
from heapq import heappop, heappush
from typing import Generic, Literal, TypeVar

from callgate.core import outcomes
from callgate.core.lanes import EXCLUSIVE, SHARED, Lanes, Placed
from callgate.words.calls import CODES, HOOK_STOP, Result
from callgate.words.errors import StateError

Start = Literal["early", "eager", "after"]


class Stage(StrEnum):
    """The stages of a call, by the thing it waits for."""

    JUDGING = "judging"  # the gate
    HELD = "held"  # earlier calls, or the end of the message
    PREPARING = "preparing"  # hooks, a preview or the record, before a person can be asked
    ASKED = "asked"  # a person
    READY = "ready"  # a free slot
    LOCKING = "locking"  # locks of the host
    STARTING = "starting"  # the record: nothing of it has run
    RUNNING = "running"  # its tool
    STOPPING = "stopping"  # its tool, which was told to stop
    STRAY = "stray"  # settled, but its tool could not be stopped and keeps its locks
    SETTLED = "settled"


class Move(StrEnum):
    DECIDED = "decided"
    CLEARED = "cleared"  # nothing is in the way of its question
    ASKED = "asked"
    ANSWERED = "answered"
    REBOUND = "rebound"  # its paths lead elsewhere than when it was judged
    QUEUED = "queued"
    BLOCKED = "blocked"  # an earlier call got other locks meanwhile
    LOCKED = "locked"  # it asks the host for its locks
    DEFERRED = "deferred"  # it got them when no slot was free
    BEGUN = "begun"
    STARTED = "started"
    CANCELLED = "cancelled"
    OVERDUE = "overdue"  # its grace period is over
    ENDED = "ended"
    SETTLED = "settled"
    HALTED = "halted"  # it stays open on record


_S, _M = Stage, Move
_LEAVES = {_M.SETTLED: _S.SETTLED, _M.HALTED: _S.HELD}

MOVES: Mapping[Stage, Mapping[Move, Stage]] = {
    _S.JUDGING: {_M.DECIDED: _S.HELD, **_LEAVES},
    _S.HELD: {_M.CLEARED: _S.PREPARING, _M.QUEUED: _S.READY, **_LEAVES},
    _S.PREPARING: {_M.ASKED: _S.ASKED, _M.ANSWERED: _S.JUDGING, _M.REBOUND: _S.JUDGING, **_LEAVES},
    _S.ASKED: {_M.ANSWERED: _S.JUDGING, **_LEAVES},
    _S.READY: {_M.BLOCKED: _S.HELD, _M.LOCKED: _S.LOCKING, _M.BEGUN: _S.STARTING, **_LEAVES},
    _S.LOCKING: {
        _M.BEGUN: _S.STARTING,
        _M.DEFERRED: _S.READY,
        _M.BLOCKED: _S.HELD,
        _M.REBOUND: _S.JUDGING,
        **_LEAVES,
    },
    _S.STARTING: {_M.STARTED: _S.RUNNING, _M.SETTLED: _S.SETTLED},
    _S.RUNNING: {_M.CANCELLED: _S.STOPPING, _M.SETTLED: _S.SETTLED},
    _S.STOPPING: {_M.OVERDUE: _S.STRAY, _M.SETTLED: _S.SETTLED},
    _S.STRAY: {_M.ENDED: _S.SETTLED},
    _S.SETTLED: {},
}

# By name, because looking a member up in its class costs more than comparing it.
JUDGING, HELD, PREPARING, ASKED, READY, LOCKING, STARTING, RUNNING, STOPPING, STRAY, SETTLED = Stage
DECIDED, QUEUED, LOCKED, BEGUN, STARTED = Move.DECIDED, Move.QUEUED, Move.LOCKED, Move.BEGUN, Move.STARTED
ACTIVE = frozenset((STARTING, RUNNING, STOPPING))
_RESTING = frozenset((HELD, ASKED, STRAY, SETTLED))  # it goes on only when something else happens


def _counted(before: Stage, after: Stage) -> tuple[Stage, int, int]:
    """The stage after a move, and by how many calls more go on by themselves, and more run."""
    moving = (after not in _RESTING) - (before not in _RESTING)
    return after, moving, (after in ACTIVE) - (before in ACTIVE)


_STEPS = {
    move: {before: _counted(before, after[move]) for before, after in MOVES.items() if move in after} for move in Move
}


class Do(StrEnum):
    """The actions the executor performs for a call."""

    JUDGE = "judge"
    ASK = "ask"
    LOCK = "lock"
    WAIT = "wait"  # for calls of this message that hold no locks; time is limited as for locks
    DEFER = "defer"  # give the locks back and keep the place in their queue
    START = "start"
    CANCEL = "cancel"
    WITHDRAW = "withdraw"  # let go of whatever was under way or waited for
    UNLOCK = "unlock"
    SETTLE = "settle"
    RELEASE = "release"


JUDGE, ASK, LOCK, WAIT, DEFER, START, CANCEL, WITHDRAW, UNLOCK, SETTLE, RELEASE = Do


class Slot:
    """A call on the board. ``index`` is its place among the calls of the message."""

    __slots__ = (
        *("asks", "because", "cascade", "early", "held", "id", "index", "locks", "reason", "result", "stage"),
        *("takes_slot", "yields"),
    )

    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.index = -1
        self.stage: Stage = JUDGING
        self.locks: Placed = EXCLUSIVE
        self.early = False  # it has no effects
        self.cascade = False  # its failure cancels the others
        self.yields = False  # it gives way to a message of the user
        self.asks = False  # a person has to say yes
        self.reason: str | None = None  # why it is being cancelled
        self.because = ""
        self.takes_slot = False
        self.held = False  # its result waits for earlier ones
        self.result: Result | None = None

    @property
    def label(self) -> str:
        """Names the call for people and for the model."""
        return self.id


S = TypeVar("S", bound=Slot)


class Board(Generic[S]):
    """``actions`` are to be performed in order; performing one may feed the board, which adds more."""

    def __init__(self, max_concurrency: int = 10, start: Start = "early") -> None:
        self.actions: deque[tuple[Do, S, Result | None]] = deque()
        self.slots: list[S] = []
        self.front = 0  # every call before it has settled and left
        self.moving = 0  # calls that go on without a person
        self.whole = False  # the message has ended as it should
        self.fallen: tuple[str, str] | None = None  # why later arrivals do not start either
        self.stopped = False  # the turn is over
        self._halted = False
        self._most = max_concurrency
        self._eager = start == "eager"
        self._begins = start != "after"  # calls may start before the message is whole
        self._lanes = Lanes()
        self._relocked = False  # only then can a call that was free be so no longer
        self._ready: list[int] = []
        self._taken = 0  # slots
        self._active = self._blocking = 0  # calls that run, and those of them that do not give way
        self.interruptible = False  # something runs, and all of it gives way to a message of the user
        self._shared: set[int] = set()  # those that run and hold no locks
        self._parked: list[S] = []  # exclusive ones that wait for these

    # ---- what happened to one call ------------------------------------------------------------------------------

    def arrived(self, slot: S, refused: Result | None = None) -> None:
        """It takes the last place; ``refused`` is its result if it goes no further."""
        slot.index = len(self.slots)
        self.slots.append(slot)
        self.moving += 1
        if refused is None and self.fallen is not None:
            refused = outcomes.not_started(*self.fallen)
        if refused is not None:
            self.settled(slot, refused)
            return
        self._lanes.put(slot.index, slot.locks)
        self.actions.append((JUDGE, slot, None))

    def recalled(self, slot: S, result: Result) -> None:
        """It had settled before the message was taken up again; it only keeps its place."""
        slot.index = len(self.slots)
        slot.stage = SETTLED
        slot.result = result
        self.slots.append(slot)
        self._release()

    def judged(self, slot: S, *, asks: bool) -> None:
        slot.asks = asks
        self._move(slot, DECIDED)
        self._advance(slot)
        if self._taken < self._most:
            self._fill()

    def relocked(self, slot: S, locks: Placed) -> None:
        """Other arguments: it keeps its place, and waits for what conflicts now."""
        slot.locks = locks
        self._relocked = True
        self._advance_all(self._lanes.relock(slot.index, locks))
        self._fill()

    def rebound(self, slot: S, locks: Placed) -> None:
        """Its paths lead elsewhere now: it has to be judged again."""
        self._free_slot(slot)
        self._move(slot, Move.REBOUND)
        self.relocked(slot, locks)

    def asked(self, slot: S) -> None:
        self._move(slot, Move.ASKED)

    def answered(self, slot: S) -> None:
        self._move(slot, Move.ANSWERED)

    def lock_busy(self, slot: S) -> None:
        """The host's locks are not free: the call waits for them and takes no slot meanwhile."""
        self._free_slot(slot)
        self._fill()

    def granted(self, slot: S) -> None:
        """It holds its locks."""
        if slot.takes_slot or self._taken < self._most:
            self._begin(slot)
        else:  # locks are never held while waiting for a slot, which one may have that waits for them
            self.actions.append((DEFER, slot, None))
            self._move(slot, Move.DEFERRED)
            heappush(self._ready, slot.index)
        self._fill()

    def started(self, slot: S) -> None:
        self._move(slot, STARTED)

    def settled(self, slot: S, result: Result, *, stop: str = "") -> None:
        """Its one result. ``stop`` says why the whole turn ends with it."""
        self._settle(slot, result)
        if stop:
            self.stop(stop)
        self._fill()

    def expired(self, slot: S, result: Result) -> None:
        """It waited too long for its locks."""
        self._withdraw(slot, result)
        self._fill()

    def overdue(self, slot: S, result: Result) -> None:
        """It did not stop within its grace period: it settles, and keeps its locks until it ends."""
        self._settle(slot, result, Move.OVERDUE)
        self._fill()

    def ended(self, slot: S) -> None:
        """A stray is through."""
        self.actions.append((UNLOCK, slot, None))
        self._move(slot, Move.ENDED)
        self._unshare(slot)
        self._fill()

    def cancelled(self, slot: S, reason: str, because: str) -> None:
        self._cancel(slot, reason, because)
        self._fill()

    # ---- what happened to the message ---------------------------------------------------------------------------

    def over(self, *, whole: bool) -> None:
        """The message has ended. Unless it is whole, what has not started will not start."""
        self.whole = self._begins = whole
        if whole:
            self._advance_all(range(len(self.slots)))
        else:
            for slot in reversed(self.slots):
                if slot.result is None and slot.stage not in (RUNNING, STOPPING):
                    self._withdraw(slot, outcomes.truncated(closed=True))
        self._fill()

    def fell(self, reason: str, because: str) -> None:
        """Cancel everything of the message, and what still arrives."""
        self._fall(reason, because)
        self._fill()

    def stop(self, because: str) -> None:
        """The turn is over."""
        if not self.stopped:
            self.stopped = True
            self._fall("user", because)

    def halted(self, because: str) -> None:
        """Cancel what runs. What has not started stays open, and nothing begins any more."""
        self._halted = True
        for slot in reversed(self.slots):
            if slot.stage in ACTIVE:
                self._cancel(slot, "user", because)
            elif slot.result is None:
                self.actions.append((WITHDRAW, slot, None))
                self._free_slot(slot)
                self._move(slot, Move.HALTED)

    @property
    def closed(self) -> bool:
        return self.front == len(self.slots)

    def active(self) -> list[S]:
        """Those that run."""
        return [slot for slot in self.slots if slot.stage in ACTIVE]

    def at(self, stage: Stage) -> list[S]:
        return [slot for slot in self.slots if slot.stage is stage]

    def in_the_way(self) -> list[str]:
        """The labels of those that run and hold no locks."""
        return [self.slots[index].label for index in sorted(self._shared)]

    # ---- moves --------------------------------------------------------------------------------------------------

    def _move(self, slot: S, move: Move) -> None:
        step = _STEPS[move].get(slot.stage)
        if step is None:
            raise StateError(f"call {slot.id}: {move} is not legal while {slot.stage}")
        slot.stage, moving, active = step
        if moving:
            self.moving += moving
        if active:
            self._active += active
            if not slot.yields:
                self._blocking += active
            self.interruptible = self._active > 0 and self._blocking == 0

    def _advance_all(self, indices: Sequence[int]) -> None:
        for index in indices:
            self._advance(self.slots[index])

    def _advance(self, slot: S) -> None:
        """See whether it can go on."""
        if slot.stage is not HELD or self._halted:
            return
        if slot.asks:
            if self._lanes.free(slot.index):
                self._move(slot, Move.CLEARED)
                self.actions.append((ASK, slot, None))
        elif (self.whole or slot.early or self._eager) and self._begins and self._lanes.free(slot.index):
            self._move(slot, QUEUED)
            heappush(self._ready, slot.index)

    def _fill(self) -> None:
        """Take what is ready, earliest first, while there are slots."""
        ready = self._ready
        while ready and self._taken < self._most and not self._halted:
            slot = self.slots[heappop(ready)]
            if slot.stage is not READY:
                continue
            if slot.locks is SHARED:
                self._begin(slot)
            elif slot.locks is EXCLUSIVE and self._shared:  # they had started before, or are strays
                self._move(slot, LOCKED)
                self._parked.append(slot)
                self.actions.append((WAIT, slot, None))
            else:
                slot.takes_slot = True
                self._taken += 1
                self._move(slot, LOCKED)
                self.actions.append((LOCK, slot, None))

    def _begin(self, slot: S) -> None:
        if self._relocked and not self._lanes.free(slot.index):  # an earlier call got other locks meanwhile
            self._free_slot(slot)
            self.actions.append((UNLOCK, slot, None))
            self._move(slot, Move.BLOCKED)
            return
        if slot.locks is SHARED:
            self._shared.add(slot.index)
        if not slot.takes_slot:
            slot.takes_slot = True
            self._taken += 1
        self._move(slot, BEGUN)
        self.actions.append((START, slot, None))

    def _free_slot(self, slot: S) -> None:
        if slot.takes_slot:
            slot.takes_slot = False
            self._taken -= 1

    def _unshare(self, slot: S) -> None:
        """Exclusive calls waited for those that hold no locks."""
        self._shared.discard(slot.index)
        while self._parked and not self._shared:
            parked = self._parked.pop()
            if parked.stage is LOCKING:
                self._move(parked, Move.DEFERRED)
                heappush(self._ready, parked.index)

    # ---- settle -------------------------------------------------------------------------------------------------

    def _settle(self, slot: S, result: Result, move: Move = Move.SETTLED) -> None:
        if move is Move.SETTLED and slot.stage in ACTIVE:
            if slot.locks is SHARED:
                self._unshare(slot)
            else:
                self.actions.append((UNLOCK, slot, None))
        self._free_slot(slot)
        self._move(slot, move)
        slot.result = result
        slot.held = slot.index > self.front
        self.actions.append((SETTLE, slot, result))
        if CODES[result.code].cascades and slot.cascade and self.fallen is None:
            self._fall("sibling", f"Cancelled: parallel tool call {slot.label} errored.")
        if result.details and HOOK_STOP in result.details:
            self.stop("A hook stopped the turn.")
        freed = self._lanes.leave(slot.index)
        if freed:
            self._advance_all(freed)
        self._release()

    def _release(self) -> None:
        """Results leave in arrival order."""
        slots, front = self.slots, self.front
        while front < len(slots) and slots[front].result is not None:
            self.actions.append((RELEASE, slots[front], None))
            front += 1
        self.front = front

    # ---- cancel -------------------------------------------------------------------------------------------------

    def _fall(self, reason: str, because: str) -> None:
        if self.fallen is None or outcomes.RANK[reason] > outcomes.RANK[self.fallen[0]]:
            self.fallen = (reason, because)
        for slot in reversed(self.slots):
            self._cancel(slot, reason, because)

    def _cancel(self, slot: S, reason: str, because: str) -> None:
        if slot.result is not None:
            return
        if slot.reason is None or outcomes.RANK[reason] > outcomes.RANK[slot.reason]:
            slot.reason, slot.because = reason, because
        if slot.stage is RUNNING:
            self._move(slot, Move.CANCELLED)
            self.actions.append((CANCEL, slot, None))
        elif slot.stage is not STOPPING:
            self._withdraw(slot, outcomes.not_started(reason, because))

    def _withdraw(self, slot: S, result: Result) -> None:
        """Settle a call that has not started."""
        self.actions.append((WITHDRAW, slot, None))
        self._settle(slot, result)
