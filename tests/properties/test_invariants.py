"""Whatever tools, hooks and people do, and whenever: what an executor promises for every schedule."""

import asyncio
import gc
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal
from callgate.formats.jsonable import from_json, to_json
from callgate.testing import run_virtual
from callgate.words.calls import ToolCall
from callgate.words.errors import StateError
from callgate.words.events import (
    CallProgressed,
    CallSettled,
    ContextUpdated,
    Event,
    StrayEnded,
    StrayFound,
)
from callgate.words.limits import ExecutorSettings
from tests.profiles import fewer
from tests.properties.stage import EPOCH, Plan, Reply, SlowJournal, Stage, Verdicted, about
from tests.properties.strategies import locks

GRACE = 3.0
HORIZON = 400.0
"""By then everything has ended that ends at all, however long it waited for a stray."""

times = st.integers(0, 6).map(float)

BROKEN = ("raise", "panic", "exit", "cancel")
"""Whatever a check or a hook may raise: an Exception, a BaseException, SystemExit, a CancelledError of its own."""


def some(*values: Any, rare: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Mostly the first values, now and then a rare one; shrinks to the first."""
    return st.sampled_from(values * 4 + rare)


@st.composite
def plans(draw: st.DrawFn, n: int) -> Plan:
    kind = draw(some("tool", "tool", rare=("unknown", "invalid", "traits_raise")))
    effects = draw(st.sampled_from(("none", "idempotent", "mutating")))
    return Plan(
        arrives=float(draw(st.integers(0, 4))),
        kind=kind,
        effects="mutating" if kind == "traits_raise" else effects,  # a tool that cannot say may do anything
        locks=draw(st.one_of(st.none(), locks, locks)),
        other=draw(st.one_of(st.none(), locks)),
        lasts=draw(times),
        ends=draw(
            some(
                "ok",
                "ok",
                rare=(
                    "failure",
                    "error",
                    "panic",
                    "exit",
                    "cancels_itself",
                    "nothing",
                    "number",
                    "error_result",
                    "odd_code",
                    "empty",
                ),
            )
        ),
        on_cancel=draw(st.sampled_from(("stop", "linger", "finish", "fail", "never"))),
        lingers=draw(times),
        timeout=draw(st.sampled_from((None, None, None, 1.0, 3.0))),
        cascade=draw(st.integers(0, 3)) == 3,
        interrupt=draw(st.sampled_from(("block", "cancel"))),
        verdict=Verdicted(
            draw(some("allow", "ask", rare=("deny", "deny_swapped", "panic_swapped", *BROKEN))),
            draw(st.sampled_from((0.0, 0.0, 1.0, 4.0))),
            swap=draw(st.integers(0, 3)) == 3,
            stubborn=draw(st.sampled_from((0.0, 0.0, 0.0, 2.0, inf))),
        ),
        reply=Reply(
            draw(some("yes", "swap", rare=("no", "stop", "always", "invalid", "wrong_hash", None))), draw(times)
        ),
        update=draw(
            some(None, "mapping", "function", rare=("raising", "panicking", "exiting", "cancelling", "not_a_mapping"))
        ),
        progress=draw(st.booleans()),
        after_hook=draw(some("none", "none", rare=("slow", "hang", *BROKEN))),
    )


@dataclass(frozen=True)
class Schedule:
    plans: list[Plan]
    cap: int = 2
    start: str = "early"
    close_after: float = 1.0
    whole: bool = True
    actions: list[tuple[float, str, int]] = field(default_factory=list[tuple[float, str, int]])
    pace: float | None = 0.0  # of the reader; None: nobody reads before the end
    watched: bool = False  # somebody waits in stalled() as well
    delays: tuple[float | None, ...] = ()  # until the record is durable
    reflexes: tuple[tuple[str, int, str], ...] = ()  # what a listener does at once: at which event, of which call, what

    @property
    def close_at(self) -> float:
        return max((plan.arrives for plan in self.plans), default=0.0) + self.close_after

    def events(self) -> list[tuple[float, str, int]]:
        """By time; what happens at one time happens in the order it is written here."""
        adds = [(plan.arrives, "add", n) for n, plan in enumerate(self.plans)]
        return sorted([*adds, *self.actions, (self.close_at, "close", 0)], key=lambda event: event[0])


@st.composite
def schedules(draw: st.DrawFn, *kinds: str, each: Callable[[int], st.SearchStrategy[Plan]] = plans) -> Schedule:
    made = [draw(each(n)) for n in range(draw(st.integers(1, 6)))]
    made = [replace(plan, arrives=at) for plan, at in zip(made, sorted(plan.arrives for plan in made), strict=True)]
    which = st.sampled_from(kinds) if kinds else st.nothing()
    return Schedule(
        made,
        draw(st.integers(1, 4)),
        draw(some("early", rare=("eager", "after"))),
        draw(times),
        draw(st.integers(0, 3)) > 0,
        draw(st.lists(st.tuples(times, which, st.integers(0, len(made) - 1)), max_size=3)) if kinds else [],
        draw(st.sampled_from((0.0, 0.0, 1.0, None))),
        draw(st.booleans()),
    )


class Play:
    """One schedule, played to its end. What was seen is kept for the assertions."""

    def __init__(self, schedule: Schedule, journal: MemoryJournal | None = None) -> None:
        self.schedule = schedule
        settings = ExecutorSettings(
            max_concurrency=schedule.cap,
            start=schedule.start,  # pyright: ignore[reportArgumentType]
            grace=GRACE,
            lock_wait=20.0,
        )
        journal = journal or (SlowJournal(schedule.delays) if schedule.delays else MemoryJournal())
        self.stage = Stage(schedule.plans, settings, journal=journal, reflex=self._react)
        self.cancels: dict[str, float] = {}  # when a call was told to stop, by id
        self.by_user = False
        self.discarded_at: float | None = None
        self.emitted_before_discard = 0
        self.discard_gave: tuple[ToolCall, ...] | None = None
        self.unsettled_at_discard: set[str] = set()
        self.complaints: list[str] = []
        self.late: list[str] = []
        self.stuck = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reflexes = {(kind, self.stage.id(n)): what for kind, n, what in schedule.reflexes}

    async def run(self) -> "Play":
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, about: self.complaints.append(str(about)))
        stage, schedule = self.stage, self.schedule
        if schedule.watched:
            self._spawn(self._watch())
        for when, what, n in schedule.events():
            await asyncio.sleep(when - loop.time())
            self._guarded(getattr(self, f"_{what}"), n)
        await asyncio.sleep(HORIZON)
        if not stage.executor.settled:
            self.stuck = not any(map(self._may_last, stage.executor.calls())) and self.discarded_at is None
            self._interrupt(0)
            await asyncio.sleep(GRACE)
        self.late = [call.id for call in stage.executor.calls() if not call.settled]
        await asyncio.sleep(GRACE)  # stubborn checks
        if self.discarded_at is None:
            await stage.drain()
        await stage.executor.aclose()
        self.strays = [ran for ran in stage.world if ran.ended is None]
        self.locks_of_strays = len(stage.host.locks)
        stage.released.set()
        for task in self._tasks:
            await task
        await asyncio.sleep(GRACE)
        self.left_over = asyncio.all_tasks() - {asyncio.current_task()}
        gc.collect(1)
        return self

    def _may_last(self, call: ToolCall) -> bool:
        """Whether it is a person, or a hook or preview without a limit, that keeps the message open."""
        plan = self.stage.plan(call.id)
        hangs = plan.after_hook == "hang" or (plan.edit is not None and plan.edit.preview == "hang")
        return not call.settled and (call.status == "awaiting_approval" or hangs)

    # ---- what happens -------------------------------------------------------------------------------------------

    def _guarded(self, act: Callable[[int], None], n: int = 0) -> None:
        try:
            act(n)
        except BaseException as error:
            self.complaints.append(f"{act.__name__} raised {error!r}")

    def _add(self, n: int) -> None:
        if self.discarded_at is not None:
            with pytest.raises(StateError):
                self.stage.add(n)
        else:
            self.stage.add(n)

    def _close(self, _n: int) -> None:
        self.stage.close("tool_calls" if self.schedule.whole else "max_tokens")
        if self.schedule.pace is not None and self.discarded_at is None:
            self._spawn(self.stage.drain(self.schedule.pace))

    def _interrupt(self, _n: int) -> None:
        self.by_user = True
        self.stage.fallen = "an interrupt"
        self.stage.all_fallen = True
        for call in self.stage.executor.calls():
            self._told(call)
        self.stage.executor.interrupt()

    def _cancel(self, n: int) -> None:
        if self.stage.id(n) in self.stage.ledger.calls:
            self.by_user = True
            self._told(self.stage.ledger.call(self.stage.id(n)))
            self.stage.executor.cancel(self.stage.id(n))

    def _steer(self, _n: int) -> None:
        before = {ran.id for ran in self.stage.ran.values() if ran.ended is None}
        able = self.stage.executor.interruptible
        assert self.stage.executor.steer() == able
        if able:
            self.by_user = True
            for call_id in before:
                self._told(self.stage.ledger.call(call_id))

    def _take(self, _n: int) -> None:
        self.stage.take()

    def _look(self, _n: int) -> None:
        self.stage.look()

    def _drift(self, n: int) -> None:
        """Somebody else writes to the file."""
        if self.schedule.plans[n].edit is not None:
            files = self.stage.host.files
            path = self.stage.host.normal(self.stage.edited_path({"n": n, "swapped": False}))
            files[path] = files.get(path, b"") + b"~"

    def _react(self, event: Event) -> None:
        """A listener that does not wait until the event has been heard by all."""
        call_id = about(event)
        what = self._reflexes.pop((type(event).__name__, call_id), None)
        if what is not None:
            self._guarded(getattr(self, f"_{what}"), self.stage.index(call_id))

    def _reply(self, n: int) -> None:
        for question in self.stage.executor.questions:
            if question.call_id == self.stage.id(n):
                self.stage.answer(question, "yes")

    def _discard(self, _n: int) -> None:
        self._spawn(self._discarding())

    async def _discarding(self) -> None:
        if self.discarded_at is None:
            self.discarded_at = asyncio.get_running_loop().time()
            self.emitted_before_discard = len(self.stage.emitted)
            self.unsettled_at_discard = {call.id for call in self.stage.executor.calls() if not call.settled}
        self.stage.fallen = "discard"
        self.stage.all_fallen = True
        for call in self.stage.executor.calls():
            self._told(call)
        gave = await self.stage.executor.discard()
        assert self.discard_gave in (None, gave), "a second discard tells the same"
        self.discard_gave = gave

    async def _watch(self) -> None:
        executor = self.stage.executor
        await executor.stalled()
        while not (executor.settled and self.stage.closed_as) and self.discarded_at is None:
            await executor.changed()
            await executor.stalled()

    def _told(self, call: ToolCall) -> None:
        if not call.settled:
            self.cancels.setdefault(call.id, asyncio.get_running_loop().time())

    def _spawn(self, coroutine: Any) -> None:
        self._tasks.add(asyncio.get_running_loop().create_task(coroutine))


def play(schedule: Schedule) -> Play:
    async def main() -> Play:
        return await Play(schedule).run()

    return run_virtual(main())


# ---- what is asserted -----------------------------------------------------------------------------------------------


def check_nothing_raised(played: Play) -> None:
    assert played.complaints == []
    assert not played.stuck, "nothing moves any more, and nobody was asked"
    assert played.stage.faults == []


def check_one_result_each(played: Play) -> None:
    """EXE-8, EXE-18: one result, and never later than a grace period after the cancel."""
    stage = played.stage
    settled = [event.call_id for event in stage.journal.events if isinstance(event, CallSettled)]
    arrived = [call.id for call in stage.executor.calls()]
    assert sorted(settled) == sorted(arrived)
    assert played.late == []
    for call_id, at in played.cancels.items():
        assert stage.settled[call_id] <= at + GRACE
    for ran in stage.ran.values():
        if ran.cancelled is not None:
            assert stage.settled[ran.id] <= ran.cancelled + GRACE
    assert len(stage.runs) == len(set(stage.runs)), "nothing runs twice"


def check_real_results_are_kept(played: Play) -> None:
    for n, plan in enumerate(played.schedule.plans):
        ran = played.stage.ran.get(played.stage.id(n))
        if ran is None or not ran.finished or played.discarded_at is not None:
            continue
        result = played.stage.ledger.call(ran.id).result
        assert result is not None
        if plan.ends == "ok":
            assert result.code == "ok"
            assert result.text.startswith(f"result {n}")
        elif plan.ends == "empty":
            assert result.code == "ok"
        else:
            assert result.code == "tool_error"


def check_order_of_results(played: Play) -> None:
    """EXE-7."""
    stage, schedule = played.stage, played.schedule
    order = [stage.index(call.id) for call in stage.results]
    assert order == list(range(len(order)))
    if played.discarded_at is not None:
        assert len(stage.emitted) == played.emitted_before_discard, "nothing is emitted after discard"
        return
    assert len(order) == len(schedule.plans)
    if schedule.pace == 0.0:
        ready = 0.0
        for n, (at, _call) in enumerate((at, item) for at, item in stage.emitted if isinstance(item, ToolCall)):
            ready = max(ready, stage.settled[stage.id(n)])
            assert at <= max(ready, schedule.close_at), "a result leaves as soon as it may"
            assert at >= ready
        # When it happened: listeners hear of it later where an event before it waits until it is durable.
        told = [(event.at - EPOCH, event) for _, event in stage.events if isinstance(event, CallProgressed)]
        for at, event in told:
            if at >= schedule.close_at:
                assert any(
                    isinstance(item, CallProgressed) and item.call_id == event.call_id and event.text in item.text
                    for when, item in stage.emitted
                    if when == at
                ), "progress leaves at once"


def check_codes_have_causes(played: Play) -> None:
    stage = played.stage
    calls = stage.executor.calls()
    failed = [
        call
        for call in calls
        if stage.plan(call.id).cascade and call.result and call.result.code in ("tool_error", "timed_out")
    ]
    stopped = any(kind == "stop" for _, _, kind in stage.answers)
    for call in calls:
        assert call.result is not None
        code = call.result.code
        ran = stage.ran.get(call.id)
        if code == "cancelled_by_sibling":
            assert any(other.id != call.id for other in failed)
            assert stage.plan(call.id).effects != "none"
        elif code == "cancelled_by_user":
            assert played.by_user or stopped
        elif code == "discarded":
            assert call.id in played.unsettled_at_discard
        elif code == "not_run_truncated":
            assert ran is None
            assert stage.closed_as == "cut off"
        elif code in ("denied", "unknown_tool", "invalid_arguments"):
            assert ran is None
        elif code == "outcome_unknown":
            assert stage.plan(call.id).effects != "none"
            assert ran is not None
            assert ran.cancelled is not None
        elif code == "ok":
            assert ran is not None
        if ran is None and call.id not in stage.host.applying_now:
            assert call.result.effects in (None, "none")


def check_strays(played: Play) -> None:
    """EXE-18: found and ended are on record; each keeps its locks until it ends."""
    stage = played.stage
    found = [event.call_id for event in stage.journal.events if isinstance(event, StrayFound)]
    ended = [event.call_id for event in stage.journal.events if isinstance(event, StrayEnded)]
    assert sorted(found) == sorted(ended)
    assert len(set(found)) == len(found)
    assert {ran.id for ran in played.strays} <= set(found)
    assert played.locks_of_strays >= sum(ran.locks.scope != "shared" for ran in played.strays)
    assert len(stage.host.locks) == 0
    assert played.left_over == set()


def check_context(played: Play) -> None:
    """EXE-23."""
    stage = played.stage
    assert dict(stage.executor.context) == stage.folded_context()
    updated = [stage.index(e.call_id) for e in stage.journal.events if isinstance(e, ContextUpdated)]
    assert updated == sorted(updated)


def check_record(played: Play) -> None:
    """State is the fold of the journal, every prefix folds, every event survives JSON."""
    stage = played.stage
    events = stage.journal.events
    again = Ledger()
    for event in events:
        again.fold(event)
    for call in stage.executor.calls():
        assert again.call(call.id) == replace(call, live_output="")
    assert again.context == stage.ledger.context
    assert again.policies == stage.ledger.policies
    for event in events:
        assert from_json(type(event), json.loads(json.dumps(to_json(event)))) == event


def check_everything(played: Play) -> None:
    check_nothing_raised(played)
    check_one_result_each(played)
    check_real_results_are_kept(played)
    check_order_of_results(played)
    check_codes_have_causes(played)
    check_strays(played)
    check_context(played)
    check_record(played)


@pytest.mark.spec("EXE-1", "EXE-2", "EXE-3", "EXE-5", "EXE-6", "EXE-7", "EXE-8", "EXE-13", "EXE-15", "EXE-23", "CALL-3")
@given(schedules())
def test_a_message_left_to_itself_keeps_every_promise(schedule: Schedule) -> None:
    check_everything(play(schedule))


@pytest.mark.spec("EXE-8", "EXE-13", "EXE-14", "EXE-16", "EXE-18")
@given(schedules("interrupt", "cancel", "steer", "take"))
def test_cancels_of_every_kind_at_any_time_keep_every_promise(schedule: Schedule) -> None:
    check_everything(play(schedule))


@pytest.mark.spec("EXE-8", "EXE-13", "EXE-19")
@given(schedules("discard", "discard", "interrupt", "cancel", "take"))
@fewer(25)
def test_discard_at_any_time_leaves_nothing_behind(schedule: Schedule) -> None:
    played = play(schedule)
    check_everything(played)
    if played.discarded_at is not None:
        stage = played.stage
        assert played.discard_gave is not None
        for call in played.discard_gave:
            assert stage.plan(call.id).effects != "none"
            assert call.id in stage.ran
        told = {call.id for call in played.discard_gave}
        for ran in stage.ran.values():
            if ran.finished and stage.plan(ran.id).effects != "none" and stage.plan(ran.id).ends == "ok":
                assert ran.id in told, "what had finished with effects is reported"
        for call_id in played.unsettled_at_discard:
            ran = stage.ran.get(call_id)
            if ran is None or not ran.finished:
                result = stage.ledger.call(call_id).result
                assert result is not None
                # One that was stopped before keeps that cause while its hook after the run takes its time.
                before = ran is not None and ran.cancelled is not None and ran.cancelled <= played.discarded_at
                causes = ("cancelled_by_user", "cancelled_by_sibling", "timed_out") if before else ()
                assert result.code in ("discarded", *causes)
