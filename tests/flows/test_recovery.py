"""A model that fails: requests are repeated, another model takes over, and nothing has its effect twice."""

from typing import Any

import pytest

from callgate import Interrupt, ModelSetup, Prompt, Session, SessionLimits
from callgate.conversation.record import MemoryJournal
from callgate.testing import PlainTool, ScriptedModel, call, cut_off, fail, pause, run_virtual, say, send, settle, turn
from callgate.testing.script import Ended, open_call, stop
from callgate.words.errors import ModelError
from callgate.words.events import (
    CallSettled,
    Event,
    Noted,
    RequestRetried,
    RunEnded,
    TextStreamed,
    TurnEnded,
    TurnStarted,
)
from callgate.words.inputs import Continue, SetModel
from callgate.words.limits import ExecutorSettings, LoopLimits, Retries
from callgate.words.messages import Spent, Usage
from callgate.words.model import MessageStarted
from callgate.words.traits import Traits
from tests.core.kit import virtual_host
from tests.flows.kit import Workspace, answering, run
from tests.history import faults
from tests.sessions import grouped_session
from tests.virtual import passes

STEADY = Retries(jitter=0.0)


def failing(kind: str = "overloaded", after: float | None = None, *, retryable: bool = True) -> Ended:
    return fail(ModelError("too busy", kind=kind, retryable=retryable, retry_after=after))


def opened(space: Workspace, model: ScriptedModel, *more: PlainTool, **options: Any) -> Session:
    return grouped_session(model, space.toolbox(*more), host=virtual_host(), **options)


def retried(events: list[Event]) -> list[RequestRetried]:
    return [event for event in events if isinstance(event, RequestRetried)]


def end(events: list[Event]) -> RunEnded:
    (ended,) = [event for event in events if isinstance(event, RunEnded)]
    return ended


# ---- again ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("PRV-3", "PRV-7")
def test_a_failure_that_may_pass_is_tried_again_and_people_see_each_attempt() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(failing()), turn(say("half of"), failing("connection")), turn(say("Here.")))
        async with Session(model, limits=SessionLimits(run=LoopLimits(retries=STEADY))) as session:
            events = await run(session)
            assert [(each.attempt, each.delay, each.kind, each.detail) for each in retried(events)] == [
                (1, 1.0, "overloaded", "too busy"),
                (2, 2.0, "connection", "too busy"),
            ]
            assert end(events).reason == "done"
            assert [message.text for message in session.messages] == ["go", "Here."]
            assert [event.text for event in events if isinstance(event, TextStreamed)] == ["half", " of", "Here."]

    run_virtual(main())


@pytest.mark.spec("PRV-3")
@pytest.mark.parametrize(
    ("retries", "after", "delays"),
    [
        (Retries(most=4, first=10.0, longest=25.0, jitter=0.0), None, [10.0, 20.0, 25.0, 25.0]),
        (Retries(most=3), 7.0, [7.0, 7.0, 7.0]),
        (Retries(most=0), None, []),
    ],
)
def test_repetitions_are_few_with_growing_delays_or_those_the_provider_asks_for(
    retries: Retries, after: float | None, delays: list[float]
) -> None:
    async def main() -> None:
        model = ScriptedModel(otherwise=turn(failing(after=after)))
        async with Session(model, limits=SessionLimits(run=LoopLimits(retries=retries))) as session:
            events = await run(session)
            assert [each.delay for each in retried(events)] == delays
            assert len(model.requests) == len(delays) + 1
            ended = end(events)
            assert (ended.reason, ended.kind, ended.retryable) == ("model_error", "overloaded", True)

    run_virtual(main())


@pytest.mark.spec("PRV-3")
def test_delays_are_spread_at_random_and_never_longer_than_without() -> None:
    error = ModelError("", retryable=True)
    delays = [Retries().delay(3, error, chance) for chance in (0.0, 0.5, 1.0)]
    assert delays == [4.0, 3.5, 3.0]
    assert Retries().delay(9, error) == 30.0
    assert Retries().delay(1, ModelError("", retryable=True, retry_after=9.0), 1.0) == 9.0


@pytest.mark.spec("PRV-3")
def test_a_wait_of_many_minutes_is_not_slept_but_told() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(failing("rate_limited", 900.0)), turn(say("never")))
        async with Session(model) as session:
            events = await run(session)
            ended = end(events)
            assert (ended.reason, ended.kind, ended.retryable) == ("model_error", "rate_limited", True)
            assert "the provider asks to wait 900 s: send Continue after that" in ended.sentence
            assert retried(events) == []

    run_virtual(main())


@pytest.mark.spec("PRV-7")
@pytest.mark.parametrize(
    "scene", [turn(say("half"), cut_off()), turn(open_call("read", '{"pa'), cut_off()), turn(cut_off())]
)
def test_a_stream_without_its_end_is_a_failure_like_others_before_a_call_has_arrived(scene: Any) -> None:
    async def main() -> None:
        model = ScriptedModel(scene, turn(say("Whole.")))
        space = Workspace()
        async with opened(space, model) as session:
            events = await run(session)
            assert [each.kind for each in retried(events)] == ["cut_off"]
            assert [message.text for message in session.messages] == ["go", "Whole."]
            assert space.done == []

    run_virtual(main())


# ---- another model --------------------------------------------------------------------------------------------------


@pytest.mark.spec("PRV-3")
def test_after_three_overloads_in_a_row_the_fallback_answers_this_run_and_the_next_asks_the_own_model_again() -> None:
    async def main() -> None:
        own = ScriptedModel(turn(failing()), turn(failing()), turn(failing()), turn(say("Back.")), name="own")
        other = ScriptedModel(turn(call("read", path="a")), turn(say("Instead.")), name="other")
        async with opened(Workspace(), own, fallback=other) as session:
            events = await run(session)
            assert [(each.attempt, each.instead) for each in retried(events)] == [(1, ""), (2, ""), (3, "other")]
            notes = [event.text for event in events if isinstance(event, Noted)]
            assert notes == ["own is overloaded: other is used until this run ends"]
            assert session.messages[-1].text == "Instead."
            assert len(other.requests) == 2
            await run(session)
            assert session.messages[-1].text == "Back."

    run_virtual(main())


def test_a_message_of_the_fallback_has_the_price_of_the_fallback_while_a_person_is_asked_and_after_a_restart() -> None:
    async def main() -> None:
        own = ScriptedModel(turn(failing()), turn(failing()), turn(failing()), name="own")
        writes = turn(call("write", path="a"), stop("tool_calls", Usage(input=10)))
        other = ScriptedModel(writes, turn(say("Instead.")), name="far/other")
        journal = MemoryJournal()
        options: dict[str, Any] = {"price": lambda name, usage: 7.0 if name == "far/other" else 1.0, "fallback": other}
        first = opened(Workspace(), own, journal=journal, **options)
        await first.send(Prompt("go"))
        assert first.status == "waiting_confirmation"
        assert first.controls.open_spent == Spent("far/other", Usage(input=10), 7.0)
        left = MemoryJournal(journal.events)
        await first.aclose()
        async with opened(Workspace(), ScriptedModel(turn(say("Done.")), name="own"), journal=left, **options) as again:
            assert again.controls.open_spent == Spent("far/other", Usage(input=10), 7.0)
            async for event in again.send(Continue()):
                answering(again, event)
            assert Spent("far/other", Usage(input=10), 7.0) in again.costs

    run_virtual(main())


@pytest.mark.spec("PRV-3")
def test_overloads_that_are_not_in_a_row_call_no_fallback_and_one_that_is_overloaded_too_ends() -> None:
    async def main() -> None:
        busy, gone = turn(failing()), turn(failing("connection"))
        own = ScriptedModel(busy, busy, gone, busy, busy, turn(say("Fine.")))
        async with Session(ModelSetup(own, fallback=ScriptedModel())) as session:
            assert end(await run(session)).reason == "done"
        other = ScriptedModel(otherwise=busy)
        async with Session(ModelSetup(ScriptedModel(otherwise=busy), fallback=other)) as session:
            events = await run(session)
            assert end(events).kind == "overloaded"
            assert len(other.requests) == 1 + Retries().most
            assert len(retried(events)) == 3 + Retries().most

    run_virtual(main())


@pytest.mark.spec("PRV-3")
def test_a_fallback_that_cannot_answer_at_all_is_left_for_the_own_model() -> None:
    async def main() -> None:
        busy = turn(failing())
        own = ScriptedModel(busy, busy, busy, turn(say("Back.")), name="own")
        other = ScriptedModel(turn(failing("no_key", retryable=False)), name="other")
        async with Session(ModelSetup(own, fallback=other)) as session:
            events = await run(session)
            assert [each.kind for each in retried(events)] == ["overloaded"] * 3 + ["no_key"]
            assert session.messages[-1].text == "Back."
            assert len(other.requests) == 1

    run_virtual(main())


@pytest.mark.spec("PRV-3")
def test_a_model_that_a_person_sets_takes_the_place_of_the_fallback() -> None:
    async def main() -> None:
        busy = turn(failing())
        own, third = ScriptedModel(busy, busy, busy, name="own"), ScriptedModel(turn(say("Mine.")), name="third")
        other = ScriptedModel(turn(call("read", path="a"), pause(1.0)), name="other")
        async with opened(Workspace(), own, fallback=other, models=[third]) as session:
            async for event in session.send(Prompt("go")):
                if isinstance(event, CallSettled):
                    session.post(SetModel("third"))
            assert session.messages[-1].text == "Mine."

    run_virtual(main())


# ---- after calls ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("PRV-7", "TRN-3")
def test_a_stream_that_fails_after_calls_keeps_their_results_and_tells_the_next_attempt() -> None:
    async def main() -> None:
        space = Workspace()
        first = turn(call("read", path="a"), pause(1.0), call("write", path="b"), failing("connection"))
        model = ScriptedModel(first, turn(call("write", path="b")), turn(say("Done.")))
        async with opened(space, model) as session:
            events = await run(session)
            assert space.done == ["read a", "write b"]
            assert [each.kind for each in retried(events)] == ["connection"]
            codes = [event.result.code for event in events if isinstance(event, CallSettled)]
            assert codes == ["ok", "discarded", "ok"]
            turns = [event for event in events if isinstance(event, TurnStarted | TurnEnded)]
            assert [each.because if isinstance(each, TurnStarted) else each.reason for each in turns] == [
                *("prompt", "retried", "retried", "calls", "results", "answered")
            ]
            told = model.requests[1].messages[-1].text
            assert "cut off by a failure (connection)" in told
            assert "None of them changed anything." in told
            assert faults(session.messages) == []

    run_virtual(main())


@pytest.mark.spec("PRV-7", "TRN-3")
def test_calls_that_had_effects_are_named_to_the_next_attempt() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(turn(call("write", path="b"), pause(1.0), failing()), turn(say("Done.")))
        async with opened(space, model, settings=ExecutorSettings(start="eager"), mode="bypass") as session:
            await run(session)
            assert space.done == ["write b"]
            assert "These calls took effect, or may have: write (call_1)." in model.requests[1].messages[-1].text
            assert faults(session.messages) == []

    run_virtual(main())


@pytest.mark.spec("PRV-7")
def test_a_model_that_fails_after_its_calls_again_and_again_is_shown_in_the_end() -> None:
    async def main() -> None:
        model = ScriptedModel(otherwise=lambda request: turn(call("read", path=str(len(request.messages))), failing()))
        async with opened(Workspace(), model) as session:
            events = await run(session)
            assert (end(events).reason, end(events).kind) == ("model_error", "overloaded")
            assert len(model.requests) == Retries().most + 1
            assert faults(session.messages) == []

    run_virtual(main())


@pytest.mark.spec("PRV-7", "TRN-4")
def test_an_interrupt_while_a_repetition_waits_leaves_a_legal_history() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(call("read", path="a"), failing(after=60.0)), turn(say("never")))
        async with opened(Workspace(), model) as session:
            reply = session.send(Prompt("go"))
            await settle()
            session.post(Interrupt())
            assert end(await reply).reason == "interrupted"
            assert len(model.requests) == 1
            assert faults(session.messages) == []

    run_virtual(main())


def test_a_message_that_is_to_be_repeated_is_counted_once_and_leaves_no_text_when_it_is_interrupted() -> None:
    async def main() -> None:
        begun = send(MessageStarted("m", "x", Usage(input=50, output=7)))
        model = ScriptedModel(turn(begun, say("half"), failing(after=60.0)))
        async with opened(Workspace(), model) as session:
            reply = session.send(Prompt("go"))
            await settle()
            session.post(Interrupt())
            await reply
            assert [message.text for message in session.messages] == ["go"]
            assert session.usage == Usage(input=50, output=7)

    run_virtual(main())


def test_a_slow_read_of_a_message_that_failed_is_cancelled_before_the_next_attempt() -> None:
    async def main() -> None:
        ended: list[str] = []

        async def slow(arguments: Any, run: Any) -> str:
            try:
                await passes(1_000.0)
            finally:
                ended.append(f"at request {len(model.requests)}")
            return "late"

        model = ScriptedModel(turn(call("slow"), pause(1.0), failing()), turn(say("Done.")))
        async with opened(Workspace(), model, PlainTool("slow", slow, traits=Traits("none"))) as session:
            await run(session)
            assert ended == ["at request 1"]

    run_virtual(main())


@pytest.mark.spec("TRN-8")
def test_a_failure_that_cannot_pass_is_shown_at_once() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(failing("wrong_key", retryable=False)), turn(stop("end")))
        async with Session(model) as session:
            events = await run(session)
            assert (end(events).kind, end(events).retryable, retried(events)) == ("wrong_key", False, [])

    run_virtual(main())
