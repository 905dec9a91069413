"""Finds calls that block the event loop beyond their timeout. A timeout cannot cancel a call that blocks the event
loop."""

from collections.abc import Callable
from threading import Condition, Thread
from time import monotonic

from callgate.core.call import Call

_LATE = 0.2  # seconds after the timeout, in which the event loop cancels a call that does not block it


class LoopWatch:
    """Watches the running calls of a message. All calls share one thread, which ends after the last call.

    overdue  called in that thread with each call that still runs after its timeout
    """

    def __init__(self, overdue: Callable[[Call], None]) -> None:
        self._overdue = overdue
        self._due: dict[Call, float] = {}
        self._changed = Condition()
        self._has_thread = False

    def add(self, call: Call, timeout: float) -> None:
        with self._changed:
            self._due[call] = monotonic() + timeout + _LATE
            self._changed.notify()
            if not self._has_thread:
                self._has_thread = True
                Thread(target=self._watch, name="callgate-loop-watch", daemon=True).start()

    def remove(self, call: Call) -> None:
        with self._changed:
            self._due.pop(call, None)
            self._changed.notify()

    def _watch(self) -> None:
        while (call := self._next()) is not None:
            self._overdue(call)

    def _next(self) -> Call | None:
        """Wait for the next overdue call and return it. Return None if no call is watched any more."""
        with self._changed:
            while self._due:
                call = min(self._due, key=self._due.__getitem__)
                left = self._due[call] - monotonic()
                if left <= 0:
                    del self._due[call]
                    return call
                self._changed.wait(left)
            self._has_thread = False
            return None
