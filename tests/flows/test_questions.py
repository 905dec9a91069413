"""Questions as a person meets them: what they carry, how long they wait, what an answer does, when enough is enough."""

from dataclasses import replace
from typing import Any

import pytest

from callgate import Answer, Continue, Prompt, Session, SessionLimits
from callgate.assembly import DecisionGate
from callgate.core.ports import Case, Check
from callgate.policy.checks import standard_checks
from callgate.testing import MemoryHost, PlainTool, ScriptedModel, call, say, turn
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Ask, Choice, Deny, Origin, Pattern
from callgate.words.events import CallDecided, Event, InputRefused, Paused, QuestionAnswered, StatusChanged
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.traits import Traits, writes
from tests.core.kit import virtual_host
from tests.flows.kit import Workspace, check_history, results

A_DAY = 86_400.0


def told(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.spec("GATE-4")
async def test_a_question_carries_everything_a_person_needs() -> None:
    origin = Origin("user", "/home/me/settings.toml", 7)

    def rule(case: Case) -> Ask:
        return Ask("Edit(src/**)", "edits of src are looked at", risk="it is shared", origin=origin)

    preview = ChangeSet("write src/a.py", (FileChange("src/a.py", None, b"x = 1\n"),))

    def show(arguments: Any, run: Any) -> ChangeSet:
        return preview

    proposed = Choice("every file of src", Pattern("glob", "src/**", "path"))
    traits = Traits("mutating", writes("src/a.py"), choices_for_always=(proposed,))
    edit = PlainTool("edit", traits=traits, preview=show)
    session = Session(
        ScriptedModel(turn(call("edit", path="src/a.py")), turn(say("ok"))),
        [edit],
        host=MemoryHost(),
        gate=DecisionGate([Check("rule", rule)]),
    )
    await session.send(Prompt("go"))
    (question,) = session.questions
    assert (question.tool, question.arguments) == ("edit", {"path": "src/a.py"})
    assert (question.by, question.reason, question.risk) == (
        "Edit(src/**)",
        "edits of src are looked at",
        "it is shared",
    )
    assert question.origin == origin
    assert question.preview == replace(preview, tool="edit", id="a1/call_1")
    assert question.choices[0].label == "exactly these arguments"
    assert proposed in question.choices
    assert question.deadline is None
    await session.aclose()


@pytest.mark.spec("GATE-9")
async def test_a_question_that_nobody_answers_in_time_is_a_no() -> None:
    space = Workspace()
    model = ScriptedModel(turn(call("write", path="a.py")), turn(say("then not")))
    session = Session(
        model, space.toolbox(), host=virtual_host(), limits=SessionLimits(calls=ExecutorSettings(patience=300.0))
    )
    events = [event async for event in session.send(Prompt("go"), until="idle")]
    assert space.done == []
    (answered,) = told(events, QuestionAnswered)
    assert (answered.confirmation.outcome, answered.confirmation.by) == ("no", "deadline")
    assert "300 s" in results(session)[0]
    check_history(session.messages)
    await session.aclose()


@pytest.mark.spec("GATE-9")
async def test_an_answer_in_time_stops_the_clock() -> None:
    space = Workspace()
    model = ScriptedModel(turn(call("write", path="a.py")), turn(say("done")))
    session = space.session(model, settings=ExecutorSettings(patience=300.0))
    await session.send(Prompt("go"))
    (question,) = session.questions
    assert question.deadline == question.asked_at + 300.0
    await session.send(Answer(question.yes()), until="idle")
    assert space.done == ["write a.py"]
    await session.aclose()


@pytest.mark.parametrize("patience", [0, -1.0, "soon", float("nan")])
def test_patience_is_a_number_of_seconds(patience: Any) -> None:
    with pytest.raises(Exception, match="patience"):
        ExecutorSettings(patience=patience).checked()


def refusing(case: Case) -> Deny | None:
    return Deny("rule", "never") if case.name == "write" else None


def denied(times: int) -> list[Any]:
    return [turn(call("write", path=f"{n}.py")) for n in range(times)]


@pytest.mark.spec("GATE-10")
async def test_three_denials_in_a_row_pause_the_agent() -> None:
    gate = DecisionGate([Check("rule", refusing), *standard_checks()])
    session = Workspace().session(ScriptedModel(*denied(3), turn(say("I stop."))), gate=gate)
    events = await session.send(Prompt("go"))
    (paused,) = told(events, Paused)
    assert "3 calls in a row" in paused.reason
    assert session.status == "paused"
    # when a person lets it go on
    await session.send(Continue())
    # then it goes on where it was
    assert session.messages[-1].text == "I stop."
    assert session.status == "idle"
    check_history(session.messages)
    await session.aclose()


@pytest.mark.spec("GATE-10")
async def test_what_a_person_says_to_a_paused_agent_is_the_next_thing_it_hears() -> None:
    gate = DecisionGate([Check("rule", refusing), *standard_checks()])
    session = Workspace().session(ScriptedModel(*denied(3), turn(say("I read instead."))), gate=gate)
    await session.send(Prompt("go"))
    await session.send(Prompt("Read it instead."))
    assert [message.text for message in session.messages[-2:]] == ["Read it instead.", "I read instead."]
    await session.aclose()


@pytest.mark.spec("GATE-10")
async def test_a_success_in_between_starts_the_row_anew_and_the_session_counts_on() -> None:
    gate = DecisionGate([Check("rule", refusing), *standard_checks()])
    both = [turn(call("write", path=f"{n}.py"), call("read", path=f"{n}.py")) for n in range(5)]
    limits = LoopLimits(denials=5)
    session = Workspace().session(ScriptedModel(*both, turn(say("enough"))), gate=gate, limits=limits)
    events = await session.send(Prompt("go"))
    (paused,) = told(events, Paused)
    assert "5 calls in this session" in paused.reason
    await session.aclose()


@pytest.mark.spec("GATE-6")
async def test_other_arguments_are_read_again_and_seen_by_the_model() -> None:
    space = Workspace()
    session = space.session(ScriptedModel(turn(call("write", path="a.py")), turn(say("done"))))
    await session.send(Prompt("go"))
    (question,) = session.questions
    events = await session.send(Answer(question.yes({"path": "b.py"}, by="Ann", door="web")), until="idle")
    assert space.done == ["write b.py"]
    assert "Ann changed the arguments" in results(session)[0]
    decided = told(events, CallDecided)[-1].decision
    assert (decided.by, decided.origin) == ("Ann", Origin(door="web"))
    await session.aclose()


@pytest.mark.spec("GATE-3b", "GATE-6")
async def test_an_answer_to_other_arguments_leaves_the_question_open() -> None:
    space = Workspace()
    session = space.session(ScriptedModel(turn(call("write", path="a.py")), turn(say("done"))))
    await session.send(Prompt("go"))
    (question,) = session.questions
    events = await session.send(Answer(type(question.yes())(question.call_id, "yes", "0" * 64)))
    assert told(events, InputRefused)
    assert session.questions == (question,)
    assert space.done == []
    await session.aclose()


@pytest.mark.spec("GATE-7")
async def test_one_always_releases_every_question_it_matches() -> None:
    space = Workspace()
    calls = [call("write", path=f"src/{name}.py") for name in "abc"] + [call("write", path="docs/d.md")]
    session = space.session(ScriptedModel(turn(*calls), turn(say("done"))))
    await session.send(Prompt("go"))
    first, *_rest = session.questions
    always = first.always(Choice("src", Pattern("glob", "src/**", "path")))
    events = await session.send(Answer(always))
    assert [question.arguments["path"] for question in session.questions] == ["docs/d.md"]
    assert space.done == ["write src/a.py", "write src/b.py", "write src/c.py"]
    assert told(events, StatusChanged)[-1].status == "waiting_confirmation"
    await session.aclose()
