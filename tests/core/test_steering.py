"""What a person does while the agent works, seen from the whole session: steer, interrupt, stop."""

import asyncio
from typing import Any

import pytest

from callgate import Session
from callgate.testing import Latch, ScriptedModel, say, settle, turn
from callgate.testing import call as scripted
from callgate.words.events import RunEnded, TurnEnded
from callgate.words.inputs import Answer, Interrupt, Prompt, Steer
from callgate.words.messages import ResultPart
from callgate.words.traits import Traits, shared
from tests.core.kit import FREE, allow_all, answer, bash, deaf, failing, saying, virtual_host

YIELDING = Traits(effects="none", declared_locks=shared, interrupt="cancel")


def session_of(model: ScriptedModel, *tools: Any, **more: Any) -> tuple[Session, list[Any]]:
    session = Session(model, list(tools), host=virtual_host(), **more)
    events: list[Any] = []
    session.listen(events.append)
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
