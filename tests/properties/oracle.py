"""The obvious way to say what may run: slow, without any cleverness, and easy to believe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from posixpath import join, normpath
from typing import TYPE_CHECKING

from callgate.core.lanes import BoundLocks
from callgate.words.traits import Locks

if TYPE_CHECKING:
    from callgate.words.limits import ExecutorSettings
    from tests.properties.stage import Plan


def places(paths: tuple[str, ...]) -> list[str]:
    return [normpath(join("/workspace", path)) for path in paths]


def covers(above: str, below: str) -> bool:
    return above == "/" or below == above or below.startswith(above + "/")


def meet(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(covers(a, b) or covers(b, a) for a in places(some) for b in places(others))


def conflict(one: Locks | BoundLocks, other: Locks | BoundLocks) -> bool:
    """EXE-1: two calls conflict when one writes what the other reads or writes; exclusive with everything."""
    if "exclusive" in (one.scope, other.scope):
        return True
    if "shared" in (one.scope, other.scope):
        return False
    return meet(one.writes, other.writes) or meet(one.writes, other.reads) or meet(one.reads, other.writes)


def kin(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one of the two lineages is an ancestor of the other."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) < len(longer) and longer[: len(shorter)] == shorter


class Tie(Exception):
    """Two things happen at the same instant: what comes first is nobody's promise."""


@dataclass
class Seen:
    """What the model says about one call."""

    began: float | None = None
    settled: float | None = None
    code: str | None = None


class Simulation:
    """The calls of one message as the spec tells it, one event at a time.

    After every event all calls are looked at in arrival order, and whatever may happen does. Tools stop at once when
    they are cancelled, so nobody outlives its call.
    """

    def __init__(self, plans: list[Plan], settings: ExecutorSettings) -> None:
        self.plans = plans
        self.settings = settings
        self.seen = [Seen() for _ in plans]
        self.locks = [plan.traits().locks for plan in plans]
        self.arrived: list[int] = []
        self.decided: dict[int, str] = {}  # ask or allow
        self.asked: set[int] = set()
        self.whole = False
        self.fallen: dict[bool, str] = {}  # by whether the call has effects
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, when: float, what: Callable[[], None]) -> None:
        heappush(self._heap, (when, next(self._order), what))

    def play(self, close_at: float, whole: bool, actions: list[tuple[float, str, int]]) -> list[Seen]:
        for n, plan in enumerate(self.plans):
            self.at(plan.arrives, partial(self._arrive, n))
        self.at(close_at, partial(self._close, whole))
        for when, what, n in actions:
            self.at(when, partial(self._act, what, n))
        while self._heap:
            when, _, what = heappop(self._heap)
            if when == self.now and when > 0:
                raise Tie
            self.now = when
            what()
            self._look_at_all()
        return self.seen

    # ---- events -------------------------------------------------------------------------------------------------

    def _arrive(self, n: int) -> None:
        self.arrived.append(n)
        plan = self.plans[n]
        if plan.kind == "unknown":
            self._settle(n, "unknown_tool")
        elif plan.kind == "invalid":
            self._settle(n, "invalid_arguments")
        elif self._changes(n) in self.fallen:
            self._settle(n, self.fallen[self._changes(n)])
        elif plan.verdict.after:
            self.at(self.now + plan.verdict.after, partial(self._judged, n))
        else:
            self._judged(n)

    def _judged(self, n: int) -> None:
        if self._done(n):
            return
        verdict = self.plans[n].verdict
        if verdict.kind in ("deny", "raise"):
            self._settle(n, "denied")
            return
        if verdict.swap:
            self.locks[n] = self.plans[n].traits(swapped=True).locks
        self.decided[n] = verdict.kind

    def _answered(self, n: int) -> None:
        if self._done(n):
            return
        kind = self.plans[n].reply.kind
        if kind in ("no", "stop"):
            self._settle(n, "denied")
            if kind == "stop":
                self._fall("cancelled_by_user")
            return
        if kind == "swap":
            self.locks[n] = self.plans[n].traits(swapped=True).locks
        self.decided[n] = "allow"

    def _ended(self, n: int, code: str) -> None:
        if not self._done(n):
            self._settle(n, code)

    def _close(self, whole: bool) -> None:
        self.whole = whole
        if not whole:
            for n in self.arrived:
                if not self._done(n) and self.seen[n].began is None:
                    self._settle(n, "not_run_truncated")

    def _act(self, what: str, n: int) -> None:
        if what == "interrupt":
            self._fall("cancelled_by_user")
        elif n in self.arrived and not self._done(n):
            self._settle(n, "cancelled_by_user")

    # ---- consequences -------------------------------------------------------------------------------------------

    def _settle(self, n: int, code: str) -> None:
        self.seen[n].settled = self.now
        self.seen[n].code = code
        if code in ("tool_error", "timed_out") and self.plans[n].cascade:
            self._fall("cancelled_by_sibling")

    def _fall(self, code: str) -> None:
        groups = (True,) if code == "cancelled_by_sibling" else (True, False)
        fallen = [changes for changes in groups if changes not in self.fallen]
        self.fallen |= dict.fromkeys(fallen, code)
        for n in self.arrived:
            if not self._done(n) and self._changes(n) in fallen:
                self._settle(n, code)

    def _changes(self, n: int) -> bool:
        return self.plans[n].effects != "none"

    def _look_at_all(self) -> None:
        for n in self.arrived:
            if self._done(n) or self.seen[n].began is not None or n not in self.decided:
                continue
            earlier = [m for m in self.arrived[: self.arrived.index(n)] if not self._done(m)]
            if any(conflict(self.locks[m], self.locks[n]) for m in earlier):
                continue
            if self.decided[n] == "ask":
                self._ask(n)
            elif self._may_start(n):
                self._start(n)

    def _ask(self, n: int) -> None:
        reply = self.plans[n].reply
        if n not in self.asked:
            self.asked.add(n)
            if reply.kind is not None:
                self.at(self.now + reply.after, partial(self._answered, n))

    def _may_start(self, n: int) -> bool:
        running = [m for m in self.arrived if self.seen[m].began is not None and not self._done(m)]
        early = self.settings.start == "early" and self.plans[n].effects == "none"
        known = self.whole or self.settings.start == "eager" or early
        room = len(running) < self.settings.max_concurrency
        return known and room and not any(conflict(self.locks[m], self.locks[n]) for m in running)

    def _start(self, n: int) -> None:
        plan = self.plans[n]
        self.seen[n].began = self.now
        if plan.timeout is not None and plan.timeout < plan.lasts:
            self.at(self.now + plan.timeout, partial(self._ended, n, "timed_out"))
        else:
            code = "ok" if plan.ends == "ok" else "tool_error"
            self.at(self.now + plan.lasts, partial(self._ended, n, code))

    def _done(self, n: int) -> bool:
        return self.seen[n].settled is not None
