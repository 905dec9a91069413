"""What a person does while the agent works, seen from the whole session: steer, interrupt, stop."""

import asyncio
from typing import Any

import pytest

from callgate import Session
from callgate.testing import Latch, ScriptedModel, say, settle, turn
from callgate.testing import call as scripted
from callgate.words.events import CallSettled, CallStarted, InterruptibleChanged, RunEnded, TurnEnded
from callgate.words.inputs import Answer, Interrupt, Prompt, Steer
from callgate.words.messages import ResultPart
from callgate.words.traits import Traits, shared
from tests.core.kit import FREE, Desk, allow_all, answer, bash, call, deaf, failing, saying, virtual_host
from tests.sessions import grouped_session, with_event

YIELDING = Traits(effects="none", declared_locks=shared, interrupt="cancel")


def session_of(model: ScriptedModel, *tools: Any, **more: Any) -> tuple[Session, list[Any]]:
    session = grouped_session(model, list(tools), host=virtual_host(), **more)
    events: list[Any] = []
    session.listen(with_event(events.append))
    return session, events


def said(model: ScriptedModel) -> list[str]:
    """The texts of people in the newest request."""
    return [message.text for message in model.requests[-1].messages if message.role == "user"]


def result_texts(session: Session) -> list[str]:
    parts = [part for message in session.messages for part in message.parts if isinstance(part, ResultPart)]
    return ["".join(getattr(piece, "text", "") or "" for piece in part.content) for part in parts]


def ended(events: list[Any]) -> list[str]:
    return [event.reason for event in events if isinstance(event, TurnEnded | RunEnded)]


@pytest.mark.spec("EXE-16")
async def test_text_typed_while_calls_run_that_give_way_cancels_them_and_is_delivered() -> None:
    model, latch = ScriptedModel(turn(scripted("Wait")), turn(say("Fine."))), Latch("Wait", YIELDING)
    session, events = session_of(model, latch)
    session.post(Prompt("Go"))
    await latch.entered()
    await session.send(Steer("Not that one."))
    assert latch.cancelled == ["call_1"]
    assert said(model) == ["Go", "Not that one."]
    assert ended(events) == ["calls", "answered", "done"]
    await session.aclose()


@pytest.mark.spec("EXE-16")
async def test_text_typed_while_calls_run_that_do_not_give_way_waits_for_them() -> None:
    model, latch = ScriptedModel(turn(scripted("Work")), turn(say("Fine."))), Latch("Work", FREE)
    session, _events = session_of(model, latch)
    session.post(Prompt("Go"))
    await latch.entered()
    session.post(Steer("By the way."))
    await settle()
    assert len(model.requests) == 1
    latch.open()
    await settle()
    assert said(model) == ["Go", "By the way."]
    assert result_texts(session) == ["let go"]
    await session.aclose()


@pytest.mark.spec("EXE-16")
async def test_an_interrupt_cancels_with_grace_and_ends_the_turn() -> None:
    opened = asyncio.Event()
    model = ScriptedModel(turn(scripted("Deaf"), scripted("Bash", command="ls")))
    session, events = session_of(model, deaf(opened), bash())
    session.post(Prompt("Go"))
    await settle()
    await session.send(Interrupt())
    assert asyncio.get_running_loop().time() == 5.0
    assert ended(events) == ["interrupted", "interrupted"]
    assert len(model.requests) == 1
    assert len(result_texts(session)) == 2
    opened.set()
    await session.aclose()


@pytest.mark.spec("EXE-14")
async def test_a_rejection_with_stop_ends_the_turn_and_the_history_stays_valid() -> None:
    model = ScriptedModel(turn(scripted("Bash", command="rm x"), scripted("Bash", command="ls")))
    session, events = session_of(model, bash())
    await session.send(Prompt("Go"))
    await session.send(Answer(answer(session.questions[0], "no", stop=True)))
    assert ended(events) == ["stopped", "stopped"]
    assert len(model.requests) == 1
    assert len(result_texts(session)) == 2
    await session.aclose()


@pytest.mark.spec("EXE-14")
async def test_a_rejection_without_stop_lets_the_model_go_on() -> None:
    model = ScriptedModel(turn(scripted("Bash", command="rm x")), turn(say("Then not.")))
    session, events = session_of(model, bash())
    await session.send(Prompt("Go"))
    await session.send(Answer(answer(session.questions[0], "no")))
    assert ended(events) == ["calls", "answered", "done"]
    await session.aclose()


@pytest.mark.spec("EXE-15")
async def test_a_failure_of_one_message_does_not_cancel_the_calls_of_the_next() -> None:
    cascading = Traits(effects="none", declared_locks=shared, cascade=True)
    model = ScriptedModel(turn(scripted("Bash")), turn(scripted("Look")), turn(say("Done.")))
    session, _events = session_of(model, failing(traits=cascading), saying("Look", "seen"), gate=allow_all())
    await session.send(Prompt("Go"))
    assert result_texts(session) == ["exit code 1", "seen"]
    await session.aclose()


@pytest.mark.spec("EXE-29")
async def test_an_event_says_when_a_message_would_interrupt_and_when_not_any_more() -> None:
    giving, blocking = Latch("Wait", YIELDING), Latch("Work", FREE)
    desk = Desk(giving, blocking)

    def told() -> list[bool]:
        return [event.interruptible for event in desk.told(InterruptibleChanged)]

    desk.add(call("a", "Wait"))
    await giving.entered()
    assert told() == [True]
    assert desk.executor.interruptible
    desk.add(call("b", "Work"))
    await blocking.entered()
    assert told() == [True, False]
    desk.executor.close()
    blocking.open()
    await settle()
    assert told() == [True, False, True]
    giving.open()
    await desk.rest()
    assert told() == [True, False, True, False]


@pytest.mark.spec("RUN-8")
async def test_that_a_call_starts_and_settles_is_told_with_its_place_and_the_number_known_so_far() -> None:
    latch = Latch("Wait", FREE)
    desk = Desk(latch, saying("Say", "said"))
    desk.add(call("a", "Wait"))
    await latch.entered()
    desk.add(call("b", "Say"), call("c", "Nothing"))
    await settle()
    latch.open()
    await desk.finish()
    started = {event.call_id: (event.index, event.of) for event in desk.told(CallStarted)}
    settled = {event.call_id: (event.index, event.of) for event in desk.told(CallSettled)}
    assert started == {"a": (0, 1), "b": (1, 3)}
    assert settled == {"a": (0, 3), "b": (1, 3), "c": (2, 3)}
