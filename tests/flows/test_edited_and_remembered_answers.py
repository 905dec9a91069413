"""Answers that edit the arguments, or are remembered."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Nesting, Prompt, Session
from callgate.assembly import DecisionGate
from callgate.conversation.feature import Feature, FeaturePart
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Case, Check, Run
from callgate.testing import PlainTool, ScriptedModel, call, settle, turn
from callgate.transcript.masking import Masker
from callgate.transcript.store import Store
from callgate.words.decisions import Ask, Deny
from callgate.words.events import CallDecided, CallSettled, Event, InputRefused, Noted, PolicyAdded
from callgate.words.inputs import Interrupt, SetMode
from callgate.words.modes import Mode
from callgate.words.traits import Traits, shared
from tests.core.kit import virtual_host
from tests.flows.gated import DONE, SRC, WRITES, Hook, KeptJournal, hooked, of, session_of, stuck
from tests.flows.kit import Workspace
from tests.sessions import with_event


@pytest.mark.spec("GATE-6")
@pytest.mark.parametrize("odd", [float("nan"), {1, 2}, b"x"], ids=["nan", "a set", "bytes"])
async def test_changed_arguments_that_are_not_json_are_refused_and_the_question_stays_open(odd: Any) -> None:
    space = Workspace()
    session = space.session(ScriptedModel(WRITES, DONE))
    await session.send(Prompt("go"))
    (question,) = session.questions
    try:
        events = await asyncio.wait_for(session.send(Answer(question.yes({"path": odd}))), 100)
    except (TypeError, ValueError, TimeoutError):
        events = []
    still = session.questions
    session.post(Interrupt())
    closing = asyncio.ensure_future(session.aclose())
    done, _ = await asyncio.wait((closing,), timeout=1000)
    assert done
    assert of(events, InputRefused)
    assert still == (question,)


@pytest.mark.spec("GATE-6")
async def test_an_always_with_other_arguments_does_not_remember_those_the_person_took_out() -> None:
    space = Workspace()
    session = space.session(ScriptedModel(WRITES, WRITES, DONE))
    await session.send(Prompt("go"))
    (question,) = session.questions
    await session.send(Answer(replace(question.always(), arguments={"path": "b.py"})))
    assert space.done == ["write b.py"]
    assert [each.arguments for each in session.questions] == [{"path": "a.py"}], "what the model wrote is asked about"
    await session.aclose()


@pytest.mark.spec("GATE-3b", "EXE-22")
async def test_arguments_changed_to_none_at_all_are_those_on_record() -> None:
    ran: list[dict[str, Any]] = []

    def body(arguments: Any, _run: Run) -> str:
        ran.append(dict(arguments))
        return "done"

    def guard(case: Case) -> Ask:
        return Ask("guard", "look at it", unconditional=True)

    tool = PlainTool("do", body, traits=Traits("mutating", shared))
    gate = DecisionGate([Check("guard", guard, again=True)])
    journal = MemoryJournal()
    session = Session(
        ScriptedModel(turn(call("do", path="a")), DONE), [tool], host=virtual_host(), gate=gate, journal=journal
    )
    await session.send(Prompt("go"))
    await session.send(Answer(session.questions[0].yes({})))
    (again,) = session.questions
    assert again.arguments == {}
    events = await session.send(Answer(again.yes()), until="idle")
    assert ran == [{}]
    (settled,) = of(events, CallSettled)
    assert "changed the arguments" in settled.result.text
    decided = [each.decision for each in of(journal.events, CallDecided)]
    assert {} in [each.arguments for each in decided if not isinstance(each, Deny)][1:]
    await session.aclose()


@pytest.mark.spec("GATE-3b")
@pytest.mark.parametrize("mode", ["plan", "dont_ask"])
async def test_an_always_does_not_release_what_the_mode_now_forbids(mode: Mode) -> None:
    space = Workspace()
    session = space.session(ScriptedModel(turn(call("write", path="src/a.py"), call("write", path="src/b.py")), DONE))
    await session.send(Prompt("go"))
    first, _second = session.questions
    await session.send(SetMode(mode))
    await session.send(Answer(first.always(SRC)))
    session.post(Interrupt())
    await session.aclose()
    if mode == "plan":
        assert "write src/b.py" not in space.done


@pytest.mark.spec("EXE-24")
async def test_a_hook_does_not_allow_in_a_persons_place_what_the_mode_now_forbids(tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks: dict[str, Hook] = {"PermissionRequest": stuck(begun, let_go, {"decision": "approve"})}
    space = Workspace()
    session = session_of(space, hooked(tmp_path, *hooks), hooks, WRITES, DONE)
    session.post(Prompt("go"))
    await begun.wait()
    session.post(SetMode("plan"))
    let_go.set()
    await session.send(Prompt("and then?"))
    await session.aclose()
    assert space.done == []


# ---- nested sessions ----------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-7", "GATE-8")
def test_an_always_in_a_kept_session_inside_another_releases_the_questions_it_matches(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data", masker=Masker({}))
    space = Workspace()

    async def main() -> None:
        parent = Session(ScriptedModel(DONE), [], host=tmp_path)
        calls = turn(call("write", path="src/a.py"), call("write", path="src/b.py"))
        journal = await store.create()
        model = ScriptedModel(calls, DONE)
        child = Session(
            model, space.toolbox(), host=tmp_path, journal=journal, nesting=Nesting(parent=parent, label="x")
        )
        await child.send(Prompt("go"))
        assert len(child.questions) == 2
        await child.send(Answer(child.questions[0].always(SRC)), until="idle")
        await child.aclose()
        await parent.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))
    assert sorted(space.done) == ["write src/a.py", "write src/b.py"]


async def test_an_always_is_not_written_into_a_session_around_it_that_is_closing() -> None:
    above, may_close = KeptJournal(), asyncio.Event()

    class Waiting(FeaturePart):
        async def close(self, *, discard: bool) -> None:
            await may_close.wait()

    waiting = Feature("waiting", lambda opened: Waiting(), needs=frozenset({"nesting"}))
    parent = Session(ScriptedModel(DONE), [], host=virtual_host(), journal=above, features=[waiting])
    told: list[Event] = []
    space = Workspace()
    child = Session(
        ScriptedModel(turn(call("write", path="src/a.py"), call("write", path="src/b.py")), DONE),
        space.toolbox(),
        host=virtual_host(),
        nesting=Nesting(parent=parent, label="x"),
    )
    child.listen(with_event(told.append, child.path))
    await child.send(Prompt("go"))
    closing = asyncio.ensure_future(parent.aclose())
    await settle()
    await child.send(Answer(child.questions[0].always(SRC)))
    may_close.set()
    await closing
    assert child.status == "closed"
    assert of(told, Noted) == of(above.events, PolicyAdded) == []
