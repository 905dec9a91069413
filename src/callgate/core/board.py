"""The board: a state machine that decides the next step of each call of a message, without I/O, clock or event loop.

The inputs are methods, such as ``arrived``, ``judged``, ``granted``, ``started``, ``settled`` and ``over``. Each input
moves calls by the table ``MOVES`` and queues actions. The engine performs the actions in order and passes their
outcomes back to the board as inputs. StateError is raised for an input that ``MOVES`` does not contain.

The board decides the order of the calls, how many calls run at once, which calls may start before the message ends,
which calls a failure or a cancel affects, and when results are released.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from enum import StrEnum
from heapq import heappop, heappush
from typing import Generic, Literal, TypeVar

from callgate.core import outcomes
from callgate.core.lanes import EXCLUSIVE, SHARED, BoundLocks, Lanes
from callgate.words.calls import HOOK_STOP, Result
from callgate.words.errors import StateError

Start = Literal["early", "eager", "after"]


class Stage(StrEnum):
    """The stages of a call. The comment at each stage names the step or resource that the call waits for."""

    JUDGING = "judging"  # the gate
    HELD = "held"  # earlier calls, or the end of the message
    PREPARING = "preparing"  # hooks, the preview or the record, before the question is asked
    ASKED = "asked"  # the user
    READY = "ready"  # a free place to run
    LOCKING = "locking"  # locks of the host
    STARTING = "starting"  # the record; its tool has not been called
    RUNNING = "running"  # its tool
    STOPPING = "stopping"  # its tool, which was cancelled
    STRAY = "stray"  # its tool, which did not stop: settled, but it keeps its locks
    SETTLED = "settled"


class Move(StrEnum):
    DECIDED = "decided"
    CLEARED = "cleared"  # no earlier call conflicts, so its question may be asked
    ASKED = "asked"
    ANSWERED = "answered"
    REBOUND = "rebound"  # its paths now resolve to other files
    QUEUED = "queued"
    BLOCKED = "blocked"  # the locks of an earlier call changed
    LOCKED = "locked"  # it requests its locks from the host
    DEFERRED = "deferred"  # it got its locks when no place was free
    BEGUN = "begun"
    STARTED = "started"
    CANCELLED = "cancelled"
    OVERDUE = "overdue"  # its grace period ended
    ENDED = "ended"
    SETTLED = "settled"
    HALTED = "halted"  # the session stops; the call stays open in the record


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

# As globals: an attribute lookup in an enum class is slower than a comparison.
JUDGING, HELD, PREPARING, ASKED, READY, LOCKING, STARTING, RUNNING, STOPPING, STRAY, SETTLED = Stage
DECIDED, QUEUED, LOCKED, BEGUN, STARTED = Move.DECIDED, Move.QUEUED, Move.LOCKED, Move.BEGUN, Move.STARTED
ACTIVE = frozenset((STARTING, RUNNING, STOPPING))
_WAITING = frozenset((HELD, ASKED, STRAY, SETTLED))  # stages without work under way


def _counted(before: Stage, after: Stage) -> tuple[Stage, int, int]:
    moving = (after not in _WAITING) - (before not in _WAITING)
    return after, moving, (after in ACTIVE) - (before in ACTIVE)


_STEPS = {
    move: {before: _counted(before, after[move]) for before, after in MOVES.items() if move in after} for move in Move
}


class BoardCall:
    """The state of a call on the board.

    index      the position among the calls of the message
    early      True if the call has no effects
    cascade    True if a failure of the call cancels the other calls that have effects
    yields     True if a message of the user cancels the call
    asks       True if the user has to allow the call
    reason     the code of the reason for the cancel of the call, or None
    because    the reason as a sentence
    has_place  True if the call takes one of the places for running calls
    held       True if the result is not released until the results of earlier calls are released
    """

    __slots__ = (
        *("asks", "because", "cascade", "early", "has_place", "held", "id", "index", "locks", "reason", "result"),
        *("stage", "yields"),
    )

    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.index = -1
        self.stage: Stage = JUDGING
        self.locks: BoundLocks = EXCLUSIVE
        self.early = self.cascade = self.yields = self.asks = False
        self.reason: str | None = None
        self.because = ""
        self.has_place = self.held = False
        self.result: Result | None = None

    @property
    def label(self) -> str:
        """The name of the call in messages for the user and for the model."""
        return self.id


C = TypeVar("C", bound=BoardCall)
Action = Literal[
    "judge", "ask", "lock", "limit_wait", "defer", "start", "cancel_tool", "withdraw", "unlock", "settle", "release"
]
"""The actions of a board; no performer of an action may raise an exception of a tool, a hook or a check.

judge        ask the gate, then pass ``judged`` or ``settled`` to the board
ask          ask the user, then pass ``asked`` and ``answered``
lock         request the locks of the call from the host, then pass ``granted`` or ``lock_busy``
limit_wait   start the timeout of an exclusive call, which waits until the calls without locks have ended
defer        release the locks of the call, which keeps its position in the queue for the locks
start        record the start of the call and run its tool; pass ``started`` when the start is recorded, and ``settled``
             when the tool has ended, or ``ended`` if the call was settled before
cancel_tool  cancel the tool of the call; pass ``overdue`` if the tool does not end within the grace period
withdraw     cancel the task and the lock request of a call that has not started
unlock       release the locks of the call
settle       record the result of the call (``call.result``)
release      release the result of the call; the results of all earlier calls have been released
"""


class Board(Generic[C]):
    """The stages of the calls of one message, and the queue of actions to perform.

    actions            the queue of actions; performing an action may queue more actions
    front              the number of released results
    moving             the number of calls that do not wait for the user or for an earlier call
    whole              True when the message is complete
    cancelled_because  the reason why calls with effects that arrive later do not start, or None
    stopped            True if the turn ends after this message
    interruptible      True if calls are running and a message of the user would cancel all of them
    """

    def __init__(self, max_concurrency: int = 10, start: Start = "early") -> None:
        self.actions: deque[tuple[Action, C]] = deque()
        self.calls: list[C] = []
        self.front = self.moving = 0
        self.whole = self.stopped = self.interruptible = False
        self.cancelled_because: tuple[str, str] | None = None
        self._all_cancelled_because: tuple[str, str] | None = None  # also calls without effects
        self._halted = False
        self._free_places = max_concurrency
        self._eager = start == "eager"
        self._begins = start != "after"  # calls may start before the message ends
        self._lanes = Lanes()
        self._relocked = False  # locks of a call changed, so a free call may be blocked again
        self._ready: list[int] = []
        self._active = self._blocking = 0  # running calls, and running calls that do not yield
        self._shared: set[int] = set()  # running calls without locks
        self._parked: list[C] = []  # exclusive calls that wait until no call without locks is running

    # ---- what happened to one call ------------------------------------------------------------------------------

    def arrived(self, call: C, refused: Result | None = None) -> None:
        """Append a call. ``refused`` is the result of a call that must not run."""
        call.index = len(self.calls)
        self.calls.append(call)
        self.moving += 1
        refused = refused or self.refuses(call)
        if refused is not None:
            self.settled(call, refused)
            return
        self._lanes.put(call.index, call.locks)
        self.actions.append(("judge", call))

    def refuses(self, call: C) -> Result | None:
        """Return the result of a call that must not start, or None. A failed call stops only calls with effects."""
        because = self._all_cancelled_because if call.early else self.cancelled_because
        return because and outcomes.not_started(*because)

    def recalled(self, call: C, result: Result) -> None:
        """Append a settled call of a resumed message."""
        call.index = len(self.calls)
        call.stage = SETTLED
        call.result = result
        self.calls.append(call)
        self._release()

    def judged(self, call: C, *, asks: bool) -> None:
        call.asks = asks
        self._move(call, DECIDED)
        refused = self.refuses(call)
        if refused is not None:  # changed arguments gave it effects after a failure
            self._withdraw(call, refused)
        self._advance(call)
        if self._free_places:
            self._fill()

    def relocked(self, call: C, locks: BoundLocks) -> None:
        """Replace the locks of a call whose arguments changed. The call keeps its position."""
        call.locks = locks
        self._relocked = True
        self._advance_all(self._lanes.relock(call.index, locks))
        self._fill()

    def rebound(self, call: C, locks: BoundLocks) -> None:
        """Replace the locks of a call whose paths now resolve to other files, and queue ``judge`` for the call."""
        self._free_place(call)
        self._move(call, Move.REBOUND)
        self.relocked(call, locks)
        self.actions.append(("judge", call))

    def asked(self, call: C) -> None:
        self._move(call, Move.ASKED)

    def answered(self, call: C) -> None:
        self._move(call, Move.ANSWERED)

    def lock_busy(self, call: C) -> None:
        """Free the place of a call whose locks are not available. The call stays in the queue for the locks."""
        self._free_place(call)
        self._fill()

    def granted(self, call: C) -> None:
        """Start a call that received its locks. If no place is free, defer the call."""
        if call.has_place or self._free_places:
            self._begin(call)
        else:  # a call that waits for a place holds no locks: a call with a place may wait for them
            self.actions.append(("defer", call))
            self._move(call, Move.DEFERRED)
            heappush(self._ready, call.index)
        self._fill()

    def started(self, call: C) -> None:
        self._move(call, STARTED)

    def settled(self, call: C, result: Result, *, stop: str = "") -> None:
        """Settle a call. If ``stop`` is given, end the turn for this reason."""
        self._settle(call, result)
        if stop:
            self.stop(stop)
        self._fill()

    def expired(self, call: C, result: Result) -> None:
        """Settle a call whose wait for locks timed out."""
        self._withdraw(call, result)
        self._fill()

    def overdue(self, call: C, result: Result) -> None:
        """Settle a call whose tool did not stop within the grace period. The call keeps its locks until its tool
        ends."""
        self._settle(call, result, Move.OVERDUE)
        self._fill()

    def ended(self, call: C) -> None:
        """Release the locks of a call whose tool ended after the call was settled."""
        self.actions.append(("unlock", call))
        self._move(call, Move.ENDED)
        self._unshare(call)
        self._fill()

    def cancelled(self, call: C, reason: str, because: str) -> None:
        self._cancel(call, reason, because)
        self._fill()

    # ---- what happened to the message ---------------------------------------------------------------------------

    def over(self, *, whole: bool) -> None:
        """End the message. If it is incomplete, settle the calls that have not started."""
        self.whole = self._begins = whole
        if whole:
            self._advance_all(range(len(self.calls)))
        else:
            for call in reversed(self.calls):
                if call.result is None and call.stage not in (RUNNING, STOPPING):
                    self._withdraw(call, outcomes.truncated(closed=True))
        self._fill()

    def cancel_all(self, reason: str, because: str) -> None:
        """Cancel all calls of the message, and refuse calls that arrive later."""
        self._cancel_all(reason, because)
        self._fill()

    def stop(self, because: str) -> None:
        """End the turn and cancel all calls."""
        if not self.stopped:
            self.stopped = True
            self._cancel_all("user", because)

    def halted(self, because: str) -> None:
        """Cancel the running calls. The calls that have not started stay open in the record."""
        self._halted = True
        for call in reversed(self.calls):
            if call.stage in ACTIVE:
                self._cancel(call, "user", because)
            elif call.result is None:
                self.actions.append(("withdraw", call))
                self._free_place(call)
                self._move(call, Move.HALTED)

    @property
    def is_settled(self) -> bool:
        return self.front == len(self.calls)

    def active(self) -> list[C]:
        return [call for call in self.calls if call.stage in ACTIVE]

    def at(self, stage: Stage) -> list[C]:
        return [call for call in self.calls if call.stage is stage]

    def running_without_locks(self) -> list[str]:
        return [self.calls[index].label for index in sorted(self._shared)]

    # ---- moves --------------------------------------------------------------------------------------------------

    def _move(self, call: C, move: Move) -> None:
        step = _STEPS[move].get(call.stage)
        if step is None:
            raise StateError(f"call {call.id}: {move} is not legal while {call.stage}")
        call.stage, moving, active = step
        if moving:
            self.moving += moving
        if active:
            self._active += active
            if not call.yields:
                self._blocking += active
            self.interruptible = self._active > 0 and self._blocking == 0

    def _advance_all(self, indices: Sequence[int]) -> None:
        for index in indices:
            self._advance(self.calls[index])

    def _advance(self, call: C) -> None:
        """Move a held call to its next stage if no earlier call blocks it."""
        if call.stage is not HELD or self._halted:
            return
        if call.asks:
            if self._lanes.free(call.index):
                self._move(call, Move.CLEARED)
                self.actions.append(("ask", call))
        elif (self.whole or call.early or self._eager) and self._begins and self._lanes.free(call.index):
            self._move(call, QUEUED)
            heappush(self._ready, call.index)

    def _fill(self) -> None:
        ready = self._ready
        while ready and self._free_places and not self._halted:
            call = self.calls[heappop(ready)]
            if call.stage is not READY:
                continue
            if call.locks is SHARED:
                self._begin(call)
            elif call.locks is EXCLUSIVE and self._shared:  # running calls without locks
                self._move(call, LOCKED)
                self._parked.append(call)
                self.actions.append(("limit_wait", call))
            else:
                self._take_place(call)
                self._move(call, LOCKED)
                self.actions.append(("lock", call))

    def _begin(self, call: C) -> None:
        if self._relocked and not self._lanes.free(call.index):  # the locks of an earlier call changed
            self._free_place(call)
            self.actions.append(("unlock", call))
            self._move(call, Move.BLOCKED)
            return
        if call.locks is SHARED:
            self._shared.add(call.index)
        self._take_place(call)
        self._move(call, BEGUN)
        self.actions.append(("start", call))

    def _take_place(self, call: C) -> None:
        if not call.has_place:
            call.has_place = True
            self._free_places -= 1

    def _free_place(self, call: C) -> None:
        if call.has_place:
            call.has_place = False
            self._free_places += 1

    def _unshare(self, call: C) -> None:
        """Remove an ended call without locks. After the last such call, continue the waiting exclusive calls."""
        self._shared.discard(call.index)
        while self._parked and not self._shared:
            parked = self._parked.pop()
            if parked.stage is LOCKING:
                self._move(parked, Move.DEFERRED)
                heappush(self._ready, parked.index)

    # ---- settle -------------------------------------------------------------------------------------------------

    def _settle(self, call: C, result: Result, move: Move = Move.SETTLED) -> None:
        if move is Move.SETTLED and call.stage in ACTIVE:
            if call.locks is SHARED:
                self._unshare(call)
            else:
                self.actions.append(("unlock", call))
        self._free_place(call)
        self._move(call, move)
        call.result = result
        call.held = call.index > self.front
        self.actions.append(("settle", call))
        if call.cascade and self.cancelled_because is None and outcomes.cascades(result):
            self._cancel_all("sibling", f"Cancelled: parallel tool call {call.label} errored.")
        if result.details and HOOK_STOP in result.details:
            self.stop("A hook stopped the turn.")
        freed = self._lanes.leave(call.index)
        if freed:
            self._advance_all(freed)
        self._release()

    def _release(self) -> None:
        calls, front = self.calls, self.front
        while front < len(calls) and calls[front].result is not None:
            self.actions.append(("release", calls[front]))
            front += 1
        self.front = front

    # ---- cancel -------------------------------------------------------------------------------------------------

    def _cancel_all(self, reason: str, because: str) -> None:
        """Cancel the calls of the message, or only calls that have effects if the reason is ``sibling``."""
        self.cancelled_because = outcomes.stronger(self.cancelled_because, (reason, because))
        if reason != "sibling":
            self._all_cancelled_because = outcomes.stronger(self._all_cancelled_because, (reason, because))
        for call in reversed(self.calls):
            if reason != "sibling" or not call.early:
                self._cancel(call, reason, because)

    def _cancel(self, call: C, reason: str, because: str) -> None:
        if call.result is not None:
            return
        if call.reason is None or outcomes.RANK[reason] > outcomes.RANK[call.reason]:
            call.reason, call.because = reason, because
        if call.stage is RUNNING:
            self._move(call, Move.CANCELLED)
            self.actions.append(("cancel_tool", call))
        elif call.stage is not STOPPING:
            self._withdraw(call, outcomes.not_started(reason, because))

    def _withdraw(self, call: C, result: Result) -> None:
        self.actions.append(("withdraw", call))
        self._settle(call, result)
