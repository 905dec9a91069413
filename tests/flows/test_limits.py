"""Limits of a run and of a session: turns, tokens, dollars and seconds; each stops before it is passed."""

from typing import Any

import pytest

from callgate import Continue, Interrupt, Nesting, Prompt, Session
from callgate.conversation.allowance import budget_in
from callgate.core.ports import Run
from callgate.testing import (
    PlainTool,
    ScriptedModel,
    call,
    fail,
    limit,
    pause,
    run_virtual,
    say,
    send,
    settle,
    turn,
)
from callgate.testing.script import stop
from callgate.words.errors import ModelError
from callgate.words.events import Event, Noted, QuestionAsked, RunEnded, TurnStarted
from callgate.words.limits import LoopLimits, Retries
from callgate.words.messages import Usage
from callgate.words.model import Abilities, MessageStarted, RunOptions
from callgate.words.traits import Traits
from tests.core.kit import virtual_host
from tests.flows.kit import Workspace, answering, run
from tests.rows import rows
from tests.sessions import grouped_session
from tests.virtual import passes


def price(model: str, usage: Usage) -> float | None:
    """A dollar for a thousand tokens of output, a tenth of that for input."""
    return None if model == "local" else usage.output / 1_000 + usage.input / 10_000


def opened(model: Any, *more: PlainTool, space: Workspace | None = None, **options: Any) -> Session:
    return grouped_session(model, (space or Workspace()).toolbox(*more), host=virtual_host(), **options)


def working(output: int, **options: Any) -> ScriptedModel:
    """A model that never stops calling, and writes so many tokens each time."""

    def scene(request: Any) -> Any:
        return turn(call("read", path=str(len(request.messages))), stop("tool_calls", Usage(input=10, output=output)))

    return ScriptedModel(otherwise=scene, **options)


def end(events: list[Event]) -> RunEnded:
    (ended,) = [event for event in events if isinstance(event, RunEnded)]
    return ended


def notes(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Noted)]


# ---- TRN-2 ----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRN-2")
@rows(
    ("limits", "reason", "kind", "requests"),
    [
        (LoopLimits(max_turns=3), "limit", "turns", 3),
        (LoopLimits(max_output_tokens=250), "limit", "output tokens", 3),
        (LoopLimits(max_cost=1.0), "budget", "dollars", 8),
    ],
)
def test_a_model_that_never_stops_is_ended_by_each_limit(
    limits: LoopLimits, reason: str, kind: str, requests: int
) -> None:
    async def main() -> None:
        model = working(100)
        async with opened(model, limits=limits, price=price) as session:
            ended = end(await run(session))
            assert (ended.reason, ended.kind, ended.exit_code) == (reason, kind, 4)
            assert len(model.requests) == requests
            assert session.cost <= 1.0

    run_virtual(main())


@pytest.mark.spec("TRN-2")
def test_a_model_that_always_makes_the_same_call_is_put_before_a_person() -> None:
    async def main() -> None:
        async with opened(ScriptedModel(otherwise=turn(call("read", path="a")))) as session:
            events = await session.send(Prompt("go"))
            assert session.status == "waiting_confirmation"
            assert any(isinstance(event, QuestionAsked) for event in events)

    run_virtual(main())


@pytest.mark.spec("TRN-2")
def test_a_request_is_limited_to_the_tokens_and_dollars_that_are_left() -> None:
    async def main() -> None:
        model = working(100, abilities=Abilities(output_tokens=64_000))
        async with opened(model, limits=LoopLimits(max_output_tokens=250)) as session:
            await run(session)
            assert [each.limits.max_output_tokens for each in model.requests] == [250, 150, 50]
        model = working(100, abilities=Abilities(output_tokens=500))
        async with opened(model, limits=LoopLimits(max_cost=1.0), price=price) as session:
            await run(session)
            asked = [each.limits.max_output_tokens for each in model.requests]
            assert asked == [None, None, None, None, None, 494, 393, 292]

    run_virtual(main())


@pytest.mark.spec("TRN-2")
def test_a_message_that_ends_at_a_limit_of_the_run_ends_the_run_and_is_not_continued() -> None:
    async def main() -> None:
        model = ScriptedModel(otherwise=turn(say("More"), limit(Usage(output=200))))
        async with opened(model, limits=LoopLimits(max_output_tokens=200)) as session:
            ended = end(await run(session))
            assert (ended.reason, ended.kind, len(model.requests)) == ("limit", "output tokens", 1)
            assert session.messages[-1].text == "More"

    run_virtual(main())


@pytest.mark.spec("TRN-2")
@pytest.mark.parametrize("where", ["stream", "call", "retry"])
def test_time_that_is_up_ends_the_run_wherever_it_is(where: str) -> None:
    async def slow(arguments: Any, run: Run) -> str:
        await passes(1_000.0)
        return "late"

    from tests.flows.test_recovery import failing

    scenes = {
        "stream": turn(say("a"), pause(1_000.0)),
        "call": turn(call("slow")),
        "retry": turn(failing(after=100.0)),
    }

    async def main() -> None:
        model = ScriptedModel(scenes[where])
        async with opened(
            model, PlainTool("slow", slow, traits=Traits("none")), limits=LoopLimits(max_seconds=60.0)
        ) as session:
            events = await run(session)
            ended = end(events)
            assert (ended.reason, ended.kind, ended.detail) == ("limit", "seconds", "The run has worked for 60 s.")
            assert ended.at - events[0].at <= 66.0

    run_virtual(main())


@pytest.mark.spec("TRN-2")
def test_time_spent_waiting_for_a_person_does_not_count() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(call("write", path="a")), turn(say("Done.")))
        async with opened(model, limits=LoopLimits(max_seconds=60.0)) as session:
            events: list[Event] = []
            async for event in session.send(Prompt("go")):
                events.append(event)
                if isinstance(event, QuestionAsked):
                    await passes(600.0)
                answering(session, event)
            assert end(events).reason == "done"

    run_virtual(main())


def test_a_person_interrupts_a_run_with_a_time_limit_as_any_other() -> None:
    async def main() -> None:
        async with opened(ScriptedModel(turn(pause(100.0))), limits=LoopLimits(max_seconds=60.0)) as session:
            reply = session.send(Prompt("go"))
            await settle()
            session.post(Interrupt())
            assert end(await reply).reason == "interrupted"

    run_virtual(main())


# ---- CLI-10 ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("CLI-10")
def test_a_threshold_of_cost_is_told_once_when_it_is_passed() -> None:
    async def main() -> None:
        done = turn(say("Done."), stop("end", Usage(output=300)))
        async with opened(ScriptedModel(otherwise=done), limits=LoopLimits(warn_cost=0.5), price=price) as session:
            told = [notes(await run(session)) for _ in range(4)]
            assert told == [[], ["this session has cost $0.60, more than limits.warn_cost ($0.50)"], [], []]

    run_virtual(main())


@pytest.mark.spec("CLI-10")
def test_a_hard_limit_of_cost_holds_for_the_session_and_stops_before_the_next_request() -> None:
    async def main() -> None:
        model = ScriptedModel(otherwise=turn(say("Done."), stop("end", Usage(output=900))))
        async with opened(model, limits=LoopLimits(max_cost=1.0), price=price) as session:
            assert end(await run(session)).reason == "done"
            ended = end(await run(session))
            assert (ended.reason, ended.exit_code, len(model.requests)) == ("budget", 4, 1)
            assert "$0.90 of $1.00 are spent" in ended.sentence
            assert end(await session.send(Continue())).reason == "budget"

    run_virtual(main())


@pytest.mark.spec("CLI-10")
def test_a_model_without_a_price_is_said_to_be_outside_the_limits() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(say("Done."), stop("end", Usage(output=900))), name="local")
        async with opened(model, limits=LoopLimits(max_cost=0.1), price=price) as session:
            assert notes(await run(session)) == ["the price of local is unknown, so cost limits do not apply to it"]

    run_virtual(main())


# ---- TRN-13 ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRN-13")
@rows(
    ("text", "tokens"),
    [
        ("+500k fix it", 500_000),
        ("fix it +500k", 500_000),
        ("fix it\n+1.5m ", 1_500_000),
        ("add +500k to the sum", None),
        ("fix+500k", None),
        ("+500", None),
        ("+0k", None),
        ("", None),
    ],
)
def test_a_budget_is_the_first_or_last_word_of_a_prompt(text: str, tokens: int | None) -> None:
    assert budget_in(text) == tokens


@pytest.mark.spec("TRN-13")
def test_a_budget_in_the_prompt_is_a_hard_limit_and_the_model_is_told_near_its_end() -> None:
    async def main() -> None:
        model = working(300)
        async with opened(model) as session:
            ended = end(await run(session, "+1k go"))
            assert (ended.reason, ended.kind, ended.exit_code) == ("budget", "tokens", 4)
            assert [each.limits.max_output_tokens for each in model.requests] == [1_000, 700, 400, 100]
            told = [message.text for message in model.requests[-1].messages if "are left for this task" in message.text]
            assert len(told) == 1
            assert "About 100 of 1,000 output tokens" in told[0]

    run_virtual(main())


@pytest.mark.spec("TRN-13", "TRN-2")
@rows(("brings", "requests"), [(600, 4), (400, 2)])
def test_a_budget_that_is_not_used_leads_to_few_continuations_that_bring_work(brings: int, requests: int) -> None:
    async def main() -> None:
        model = ScriptedModel(otherwise=turn(say("Done."), stop("end", Usage(output=brings))))
        async with opened(model) as session:
            events = await session.send(Prompt("go", RunOptions(budget=100_000)))
            assert end(events).reason == "done"
            causes = [event.because for event in events if isinstance(event, TurnStarted)]
            assert causes == ["prompt", *["budget"] * (requests - 1)]

    run_virtual(main())


@pytest.mark.spec("TRN-13")
def test_a_session_inside_a_call_shares_the_budget_of_the_run_around_it() -> None:
    async def main() -> None:
        inner = working(400)

        async def agent(arguments: Any, run: Run) -> str:
            async with Session(inner, Workspace().toolbox(), nesting=Nesting(parent=outer)) as session:
                events = await session.send(Prompt("help"))
            return end(events).kind

        model = ScriptedModel(turn(call("agent"), stop("tool_calls", Usage(output=100))), turn(say("never")))
        tool = PlainTool("agent", agent, traits=Traits("none"))
        async with opened(model, tool) as outer:
            ended = end(await run(outer, "+1k go"))
            assert (ended.reason, ended.kind) == ("budget", "tokens")
            assert len(model.requests) == 1
            assert [each.limits.max_output_tokens for each in inner.requests][-1] == 100

    run_virtual(main())


def test_attempts_that_failed_count_as_well() -> None:
    async def main() -> None:
        gone = fail(ModelError("gone", kind="connection", retryable=True))
        begun = send(MessageStarted("m", "x", Usage(input=50, output=7)))
        model = ScriptedModel(turn(begun, gone), turn(say("Done."), stop("end", Usage(output=10))))
        limits = LoopLimits(retries=Retries(jitter=0.0))
        async with opened(model, limits=limits, price=price) as session:
            await run(session)
            assert session.usage == Usage(input=50, output=17)
            assert session.cost == pytest.approx(0.022)

    run_virtual(main())


@pytest.mark.spec("PRV-11", "TRN-2")
@pytest.mark.parametrize("ending", ["failed", "interrupted"])
def test_the_usage_of_an_attempt_without_an_end_is_estimated_and_paid_for(ending: str) -> None:
    async def main() -> None:
        gone = fail(ModelError("gone", kind="connection", retryable=True)) if ending == "failed" else pause(60.0)
        model = ScriptedModel(turn(say("x" * 350), gone), turn(say("Done."), stop("end", Usage(input=9, output=10))))
        async with opened(model, limits=LoopLimits(retries=Retries(jitter=0.0)), price=price) as session:
            reply = session.send(Prompt("y" * 3_500))
            await settle()
            if ending == "interrupted":
                session.post(Interrupt())
            await reply
            written = session.usage.output - (10 if ending == "failed" else 0)
            assert (session.usage.estimated, written) == (True, 100)
            assert session.usage.input > 1_000
            assert session.cost == pytest.approx(price("", session.usage))

    run_virtual(main())


@pytest.mark.spec("TRN-2", "CLI-10")
@rows(
    ("limits", "attempts", "kind"),
    [
        ({"max_cost": 0.45}, 2, "dollars"),
        ({"max_output_tokens": 250}, 3, "output tokens"),
        ({}, 6, ""),
    ],
)
def test_a_repetition_that_would_pass_a_limit_is_not_sent(limits: dict[str, Any], attempts: int, kind: str) -> None:
    async def main() -> None:
        gone = fail(ModelError("gone", kind="connection", retryable=True))
        begun = send(MessageStarted("m", "x", Usage(input=200, output=100)))
        model = ScriptedModel(otherwise=turn(begun, gone))
        allowed = LoopLimits(retries=Retries(jitter=0.0), **limits)
        async with opened(model, limits=allowed, price=price) as session:
            ended = end(await run(session))
            assert (len(model.requests), ended.kind if kind else "") == (attempts, kind), ended
            assert ended.reason == ("model_error" if not kind else "budget" if kind == "dollars" else "limit")
            assert session.usage.output == attempts * 100

    run_virtual(main())
