"""Which call starts and settles when, against a naive model of the spec."""

import asyncio
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from callgate.testing import run_virtual
from callgate.words.limits import ExecutorSettings
from tests.properties.oracle import Seen, Simulation, Tie
from tests.properties.stage import Plan, Reply, Stage, Verdicted
from tests.properties.strategies import locks

_GRAINS = Random(11).sample(range(1, 2**24), 200)


def odd(slot: int, whole: int) -> float:
    """A time that hardly ever meets another one: each slot has its own fraction of a second."""
    return whole + _GRAINS[slot] / 2**24


Message = tuple[list[Plan], float, bool, list[tuple[float, str, int]]]
"""Plans, when the message closes, whether it is whole then, and what people do when to which call."""

MOST = 7
times = st.integers(0, 5)


@st.composite
def plans_and_actions(draw: st.DrawFn, *, changes: bool) -> Message:
    """A message without ties; ``changes`` lets hooks and people change arguments, and with them locks."""
    plans: list[Plan] = []
    verdicts = ("allow", "allow", "allow", "ask", "ask", "deny", "raise")
    replies = ("yes", "yes", "no", "stop", None) + (("swap", "swap") if changes else ())
    for n in range(draw(st.integers(1, MOST))):
        slot = n * 8
        effects = draw(st.sampled_from(("none", "none", "idempotent", "mutating")))
        waits = draw(st.booleans())
        plans.append(
            Plan(
                arrives=odd(slot, n) if waits else odd(slot, 0) + n / 8,
                kind=draw(st.sampled_from(("tool",) * 8 + ("unknown", "invalid"))),
                effects=effects,
                locks=draw(st.one_of(st.none(), locks, locks)),
                other=draw(locks) if changes else None,
                lasts=odd(slot + 1, draw(times)),
                ends=draw(st.sampled_from(("ok", "ok", "ok", "failure", "error"))),
                timeout=None if changes or draw(st.integers(0, 3)) else odd(slot + 2, draw(times)),
                cascade=draw(st.integers(0, 4)) == 4,
                verdict=Verdicted(
                    draw(st.sampled_from(verdicts)),
                    odd(slot + 3, draw(times)) if draw(st.booleans()) else 0.0,
                    swap=changes and draw(st.booleans()),
                ),
                reply=Reply(draw(st.sampled_from(replies)), odd(slot + 4, draw(times))),
            )
        )
    plans = [replace(plan, arrives=at) for plan, at in zip(plans, sorted(plan.arrives for plan in plans), strict=True)]
    close_at = max(plan.arrives for plan in plans) + odd(100, draw(times))
    whole = draw(st.integers(0, 3)) > 0
    kinds = st.sampled_from(("cancel", "cancel", "interrupt"))
    chosen = draw(st.lists(st.tuples(st.integers(0, 12), kinds, st.integers(0, len(plans) - 1)), max_size=2))
    actions = [(odd(110 + at, when), what, n) for at, (when, what, n) in enumerate(chosen)]
    return plans, close_at, whole, actions


async def really(
    stage: Stage, close_at: float, whole: bool, actions: list[tuple[float, str, int]], until: float
) -> list[Seen]:
    """What the executor makes of it."""
    loop = asyncio.get_running_loop()

    def act(what: str, n: int) -> None:
        if what == "interrupt":
            stage.executor.interrupt()
        elif stage.id(n) in stage.ledger.calls:
            stage.executor.cancel(stage.id(n))

    for n, plan in enumerate(stage.plans):
        loop.call_at(plan.arrives, stage.add, n)
    loop.call_at(close_at, stage.close, "tool_calls" if whole else "max_tokens")
    for when, what, n in actions:
        loop.call_at(when, act, what, n)
    await asyncio.sleep(until)
    seen = [
        Seen(
            stage.ran[stage.id(n)].started if stage.id(n) in stage.ran else None,
            stage.settled.get(stage.id(n)),
            None if (result := stage.ledger.call(stage.id(n)).result) is None else result.code,
        )
        for n in range(len(stage.plans))
    ]
    await stage.executor.aclose()
    return seen


def compare(schedule: Message, settings: ExecutorSettings) -> Stage:
    plans, close_at, whole, actions = schedule
    try:
        expected = Simulation(plans, settings).play(close_at, whole, actions)
    except Tie:
        assume(False)
        raise

    async def main() -> tuple[Stage, list[Seen]]:
        stage = Stage(plans, settings)
        return stage, await really(stage, close_at, whole, actions, until=110.0)

    stage, seen = run_virtual(main())
    assert seen == expected
    assert stage.faults == []
    assert len(stage.host.locks) == 0
    assert sorted(stage.runs) == sorted(set(stage.runs)), "nothing runs twice"
    return stage


modes = st.sampled_from(("early", "early", "early", "eager", "after"))


@pytest.mark.spec("EXE-1", "EXE-2", "EXE-3", "EXE-5", "EXE-6", "EXE-15", "EXE-20", "EXE-21")
@given(plans_and_actions(changes=False), st.integers(1, 4), modes)
def test_every_call_starts_and_settles_when_the_naive_model_says(schedule: Message, cap: int, start: str) -> None:
    compare(schedule, ExecutorSettings(max_concurrency=cap, start=start))  # pyright: ignore[reportArgumentType]


@pytest.mark.spec("EXE-1", "EXE-2", "EXE-22")
@given(plans_and_actions(changes=True), modes)
def test_changed_arguments_move_a_call_to_where_its_new_locks_belong(schedule: Message, start: str) -> None:
    compare(schedule, ExecutorSettings(start=start))  # pyright: ignore[reportArgumentType]
