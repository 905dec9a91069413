"""Answers that other programs give to open questions."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Continue, Prompt, QuestionAsked, Session, SessionLimits
from callgate.core.ports import Run
from callgate.session.conversation import nesting_of
from callgate.testing import PlainTool, ScriptedModel, call, settle, turn
from callgate.transcript.answer_files import AnswerRefused
from callgate.transcript.masking import Masker
from callgate.transcript.store import Store
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.events import Event, Noted, QuestionAnswered
from callgate.words.inputs import Close
from callgate.words.limits import ExecutorSettings
from callgate.words.traits import Traits, shared, writes
from tests.core.kit import virtual_host
from tests.flows.gated import DONE, WRITES, KeptJournal, of
from tests.flows.kit import Workspace
from tests.sessions import with_event
from tests.virtual import passes


@pytest.mark.spec("GATE-5")
async def test_an_answer_that_comes_while_the_session_is_being_closed_is_not_thrown_away() -> None:
    """A call takes its time to stop; meanwhile another program answers the open question."""
    journal = KeptJournal()

    async def slow(_arguments: Any, _run: Run) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await passes(2.0)
        return "late"

    look = PlainTool("look", slow, traits=Traits("none", shared))
    session = Session(
        ScriptedModel(turn(call("write", path="a.py"), call("look")), DONE),
        Workspace().toolbox(look),
        host=virtual_host(),
        journal=journal,
    )
    asked = asyncio.Event()
    session.listen(with_event(lambda event: asked.set() if isinstance(event, QuestionAsked) else None))
    session.post(Prompt("go"))
    await asked.wait()
    (question,) = session.questions
    closing = asyncio.ensure_future(session.aclose())
    await settle()
    journal.left.append(question.yes(by="Ann"))
    await closing
    taken = [event.confirmation.by for event in of(journal.events, QuestionAnswered)]
    assert taken == ["Ann"] or [each.by for each in journal.left] == ["Ann"], "it is on record, or still there"


@pytest.mark.spec("GATE-5")
async def test_an_answer_to_a_question_that_is_about_to_be_asked_again_is_not_thrown_away() -> None:
    """On record it is open; the session that was resumed has not come to it yet, but waits for another answer."""
    free = Traits("mutating", shared)
    before = KeptJournal()
    calls = turn(call("do", n=1), call("show", n=2))

    def changes(delay: float) -> PlainTool:
        async def preview(_arguments: Any, _run: Run) -> ChangeSet:
            await asyncio.sleep(delay)
            return ChangeSet("show", (FileChange("s.py", None, b"x"),))

        return PlainTool("show", traits=Traits("mutating", writes("s.py")), preview=preview)

    do = PlainTool("do", traits=free)
    session = Session(ScriptedModel(calls, DONE), [do, changes(0.0)], host=virtual_host(), journal=before)
    await session.send(Prompt("go"))
    _first, second = session.questions
    await session.aclose()
    journal = KeptJournal(before.events)
    resumed = Session(ScriptedModel(DONE), [do, changes(5.0)], host=virtual_host(), journal=journal)
    resumed.post(Continue())
    await settle()
    journal.left.append(second.yes(by="Ann"))
    await passes(20.0)
    answered = [event.confirmation.by for event in of(journal.events, QuestionAnswered)]
    left = [each.by for each in journal.left]
    await resumed.aclose()
    assert answered == ["Ann"] or left == ["Ann"]


@pytest.mark.spec("GATE-9")
def test_an_answer_after_the_deadline_is_refused_also_when_nobody_has_the_session_open(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data", masker=Masker({}))

    async def begin() -> Any:
        session = Session(
            ScriptedModel(WRITES, DONE),
            Workspace().toolbox(),
            journal=await store.create(),
            limits=SessionLimits(calls=ExecutorSettings(patience=0.001)),
            host=tmp_path,
        )
        question: list[Any] = []

        def hear(event: Event) -> None:
            if isinstance(event, QuestionAsked):
                question.append(event.question)
                session.post(Close())

        session.listen(with_event(hear))
        await session.send(Prompt("go"), until="idle")
        await session.aclose()
        return question[0]

    question = asyncio.run(begin())
    assert question.deadline is not None
    late = replace(question.yes(), at=question.deadline + 60)
    with pytest.raises(AnswerRefused):
        store.answer("latest", late)


@pytest.mark.spec("GATE-5")
def test_a_person_is_told_of_a_file_that_should_be_an_answer_and_is_none(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data", masker=Masker({}))
    told: list[Event] = []

    async def main() -> None:
        model, journal = ScriptedModel(WRITES, DONE), await store.create()
        async with Session(model, Workspace().toolbox(), journal=journal, host=tmp_path) as session:
            session.listen(with_event(told.append))
            await session.send(Prompt("go"))
            waiting = journal.barrier()
            if waiting is not None:
                await waiting
            folder = journal.path.with_suffix("") / "answers"
            folder.mkdir(parents=True, mode=0o700)
            (folder / f"{'0' * 32}.json").write_text("{}")
            for _ in range(2):
                mailbox: Any = nesting_of(session).mailbox
                mailbox._look()
                await asyncio.wait((mailbox._task,))

    asyncio.run(asyncio.wait_for(main(), 20))
    assert [event for event in of(told, Noted) if "is not a valid answer" in event.text]
