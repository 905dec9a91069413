"""Questions and answers on record, after a restart."""

from collections.abc import Sequence
from typing import Any

import pytest

from callgate import Answer, Continue, Prompt, Session
from callgate.assembly import DecisionGate
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Case, Check
from callgate.policy.checks import standard_checks
from callgate.testing import PlainTool, ScriptedModel, call, turn
from callgate.words.decisions import Ask, Question
from callgate.words.events import (
    CallDecided,
    CallSettled,
    CallStarted,
    Event,
    MessageAdded,
    PolicyAdded,
    QuestionAnswered,
)
from callgate.words.inputs import Interrupt
from callgate.words.traits import Traits, shared
from tests.flows.gated import DONE, KeptJournal, of
from tests.flows.kit import Workspace


async def asking(journal: MemoryJournal, *calls: Any, **more: Any) -> Session:
    """A session whose model makes these calls."""
    session = Workspace().session(ScriptedModel(turn(*calls), DONE), journal=journal, **more)
    await session.send(Prompt("go"))
    return session


async def asked_by(resumed: Session) -> tuple[Question, ...]:
    """What a resumed session asks when it goes on; then it is over."""
    await resumed.send(Continue())
    asked = resumed.questions
    resumed.post(Interrupt())
    await resumed.aclose()
    return asked


def first(events: Sequence[Event], kind: type[Event]) -> int:
    """Where the first event of this kind is."""
    return next(at for at, event in enumerate(events) if isinstance(event, kind))


@pytest.mark.spec("GATE-8")
async def test_nobody_is_asked_after_a_restart_in_a_mode_that_asks_nobody() -> None:
    journal = KeptJournal()
    session = await asking(journal, call("write", path="a.py"))
    assert session.questions
    await session.aclose()
    space = Workspace()
    resumed = space.session(ScriptedModel(DONE), journal=KeptJournal(journal.events), mode="dont_ask")
    assert await asked_by(resumed) == ()
    assert space.done == []


@pytest.mark.spec("GATE-6")
async def test_a_no_that_is_on_record_is_not_asked_about_again() -> None:
    journal = MemoryJournal()
    session = await asking(journal, call("write", path="a.py"))
    await session.send(Answer(session.questions[0].no("leave it")), until="idle")
    await session.aclose()
    cut = first(journal.events, CallSettled)
    resumed = Workspace().session(ScriptedModel(DONE), journal=MemoryJournal(journal.events[:cut]))
    assert await asked_by(resumed) == ()


@pytest.mark.spec("GATE-6")
async def test_a_no_that_stops_the_turn_stops_it_after_a_crash_too() -> None:
    journal = MemoryJournal()
    calls = (call("write", path="a.py"), call("write", path="b.py"))
    session = await asking(journal, *calls)
    await session.send(Answer(session.questions[0].no("stop it", stop=True)), until="idle")
    await session.aclose()
    cut = first(journal.events, CallSettled) + 1
    model = ScriptedModel(DONE)
    resumed = Workspace().session(model, journal=MemoryJournal(journal.events[:cut]))
    assert await asked_by(resumed) == ()
    assert model.requests == []


@pytest.mark.spec("GATE-6")
async def test_an_always_is_remembered_whenever_the_program_ends_after_it() -> None:
    journal = MemoryJournal()
    session = await asking(journal, call("write", path="a.py"))
    await session.send(Answer(session.questions[0].always()), until="idle")
    await session.aclose()
    events = journal.events
    for cut in range(first(events, QuestionAnswered) + 1, len(events)):
        again = MemoryJournal(events[:cut])
        resumed = Workspace().session(ScriptedModel(DONE), journal=again)
        if resumed.status == "paused":
            await resumed.send(Continue())
        assert of(again.events, PolicyAdded), f"lost after {type(events[cut - 1]).__name__}"
        await resumed.aclose()


@pytest.mark.spec("GATE-5")
async def test_a_yes_to_what_is_always_asked_about_is_not_asked_for_twice() -> None:
    """Hard safety is judged again on resume; the person's yes about these arguments is on record."""

    def guard(case: Case) -> Ask | None:
        return Ask("guard", "look at it", unconditional=True) if case.name == "write" else None

    def gate() -> DecisionGate:
        return DecisionGate([Check("guard", guard, again=True), *standard_checks()])

    journal = MemoryJournal()
    session = await asking(journal, call("write", path="a.py"), gate=gate())
    await session.send(Answer(session.questions[0].yes()), until="idle")
    await session.aclose()
    cut = first(journal.events, CallStarted)
    resumed = Workspace().session(ScriptedModel(DONE), journal=MemoryJournal(journal.events[:cut]), gate=gate())
    assert await asked_by(resumed) == ()


@pytest.mark.spec("GATE-5")
async def test_a_yes_to_one_question_is_no_yes_to_a_danger_that_came_later() -> None:
    """Between the two lives of the program the path became a dangerous one."""

    def guard(case: Case) -> Ask | None:
        return Ask("hard safety", "it leads elsewhere now", unconditional=True) if case.name == "write" else None

    journal = MemoryJournal()
    session = await asking(journal, call("write", path="a.py"))
    await session.send(Answer(session.questions[0].yes()), until="idle")
    await session.aclose()
    cut = first(journal.events, CallStarted)
    gate = DecisionGate([Check("guard", guard, again=True), *standard_checks()])
    space = Workspace()
    resumed = space.session(ScriptedModel(DONE), journal=MemoryJournal(journal.events[:cut]), gate=gate)
    assert [question.by for question in await asked_by(resumed)] == ["hard safety"]
    assert space.done == []


@pytest.mark.spec("EXE-26")
async def test_a_call_that_is_judged_after_a_crash_is_not_counted_as_its_own_repetition() -> None:
    journal = MemoryJournal()
    look = PlainTool("look", traits=Traits("none", shared))
    same = call("look", at="a")
    session = Workspace().session(ScriptedModel(turn(same), turn(same), DONE), look, journal=journal)
    await session.send(Prompt("go"), until="idle")
    await session.aclose()
    decided = [at for at, event in enumerate(journal.events) if isinstance(event, CallDecided)]
    message = of(journal.events[decided[1] + 1 :], MessageAdded)[:1]
    resumed_from = [*journal.events[: decided[1]], *message]  # the second call was arriving when the program ended
    resumed = Workspace().session(ScriptedModel(DONE), look, journal=MemoryJournal(resumed_from))
    assert await asked_by(resumed) == ()
