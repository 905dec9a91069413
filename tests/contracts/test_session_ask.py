"""The contract of ``session.ask``: on record before it is seen, answered once, given once, also after a crash."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate import Answer, Prompt, QuestionAsked, Session
from callgate.conversation.ports import Journal
from callgate.conversation.record import MemoryJournal
from callgate.testing import MemoryHost, ScriptedModel, call, say, settle, turn
from callgate.transcript.masking import Masker
from callgate.transcript.question_answers import answer_question, questions_in
from callgate.transcript.store import Store
from callgate.words.decisions import AskedField, FieldAnswer, Question
from callgate.words.errors import StateError, UsageError
from callgate.words.events import Durable, Event, InputRefused, QuestionAnswered
from callgate.words.inputs import Interrupt, Rewind
from callgate.words.limits import ExecutorSettings
from tests.core.kit import virtual_host
from tests.flows.kit import Workspace
from tests.sessions import grouped_session, with_event
from tests.virtual import passes

CITY = (AskedField("city", "Which city?"),)
ULM = (FieldAnswer(text="Ulm"),)

Answering = Callable[[Question], object]


def session_on(journal: Journal | None = None, *turns: object, answer: Answering | None = None) -> Session:
    """A session whose listener answers each question."""
    model = ScriptedModel(*(turns or (turn(say("Done.")),)))  # type: ignore[arg-type]
    session = Workspace().session(model, journal=journal)

    def listen(_path: object, _number: int, event: Event) -> None:
        if isinstance(event, QuestionAsked) and answer is not None:
            session.post(Answer(answer(event.question)))  # type: ignore[arg-type]

    session.listen(listen)
    return session


def of(events: list[Durable] | list[Event], kind: type) -> list[object]:
    return [event for event in events if isinstance(event, kind)]


async def test_a_question_is_asked_at_every_interface_and_its_answers_are_returned() -> None:
    journal = MemoryJournal()
    async with session_on(journal, answer=lambda each: each.answered(*ULM, door="left")) as session:
        second: list[Event] = []
        session.listen(with_event(second.append))
        assert await session.ask(CITY, by="tests", text="Where to?") == ULM
        (asked,) = of(second, QuestionAsked)
        assert isinstance(asked, QuestionAsked)
        assert (asked.question.by, asked.question.reason, asked.question.asks) == ("tests", "Where to?", CITY)
        assert session.questions == ()
    assert len(of(journal.events, QuestionAnswered)) == 1


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (lambda each: each.no(), None),
        (lambda each: each.yes(), ()),
    ],
)
async def test_without_fields_it_is_a_yes_or_a_no(answer: Answering, found: object) -> None:
    async with session_on(answer=answer) as session:
        assert await session.ask(by="tests", text="Go on?") == found


async def test_the_first_answer_counts_and_one_that_does_not_fit_is_refused() -> None:
    refused: list[Event] = []
    async with session_on() as session:
        session.listen(with_event(lambda event: refused.append(event) if isinstance(event, InputRefused) else None))
        asking = asyncio.ensure_future(session.ask(CITY, by="tests"))
        await settle()
        (question,) = session.questions
        session.post(Answer(question.yes()))  # the field is required
        session.post(Answer(question.answered(*ULM)))
        session.post(Answer(question.no()))
        assert await asking == ULM
        await settle()
    assert len(refused) == 2


async def test_a_question_beside_a_turn_leaves_the_turn_alone() -> None:
    space = Workspace()
    model = ScriptedModel(turn(call("read", path="a.py")), turn(say("Done.")))
    session = space.session(model, journal=(journal := MemoryJournal()))
    async with session:
        asking = asyncio.ensure_future(session.ask(by="tests"))
        await settle()
        await session.send(Prompt("go"))
        assert space.done == ["read a.py"]
        (question,) = session.questions
        session.post(Answer(question.yes()))
        assert await asking == ()
    assert len(of(journal.events, QuestionAsked)) == 1


async def test_an_asker_that_gives_up_withdraws_its_question() -> None:
    journal = MemoryJournal()
    async with session_on(journal) as session:
        asking = asyncio.ensure_future(session.ask(by="tests", id="once"))
        await settle()
        asking.cancel()
        await asyncio.wait((asking,))
        assert session.questions == ()
        session.post(Interrupt())
    (answered,) = of(journal.events, QuestionAnswered)
    assert isinstance(answered, QuestionAnswered)
    assert answered.confirmation.outcome == "no"


async def test_a_move_to_an_earlier_message_answers_no() -> None:
    async with session_on() as session:
        await session.send(Prompt("go"))
        asking = asyncio.ensure_future(session.ask(by="tests"))
        await settle()
        await session.send(Rewind("u1"))
        assert await asking is None


async def test_a_deadline_and_a_mode_that_never_asks_answer_no() -> None:
    host = virtual_host()
    session = grouped_session(ScriptedModel(), host=host, settings=ExecutorSettings(patience=5.0))
    async with session:
        asking = asyncio.ensure_future(session.ask(by="tests"))
        await passes(6.0)
        assert await asking is None
    async with Session(ScriptedModel(), host=MemoryHost(), mode="dont_ask") as silent:
        assert await silent.ask(by="tests") is None


async def test_misuse_is_an_error() -> None:
    session = session_on()
    with pytest.raises(UsageError):
        await session.ask(by="tests", id="7")
    asking = asyncio.ensure_future(session.ask(by="tests", id="a"))
    await settle()
    with pytest.raises(StateError):
        await session.ask(by="tests", id="a")
    await session.aclose()
    with pytest.raises(StateError):
        await asking
    with pytest.raises(StateError):
        await session.ask(by="tests")


async def test_an_answer_is_given_once_whichever_write_was_the_last_before_a_crash() -> None:
    journal = MemoryJournal()
    async with session_on(journal, answer=lambda each: each.answered(*ULM)) as session:
        await session.send(Prompt("go"))
        assert await session.ask(CITY, by="tests", id="trip") == ULM
    end = len(journal.events)
    for written in range(end + 1):
        later = MemoryJournal(journal.events[:written])
        asked_again: list[Event] = []
        async with session_on(later, answer=lambda each: each.answered(FieldAnswer(text="Bonn"))) as session:
            session.listen(with_event(asked_again.append))
            first = await session.ask(CITY, by="tests", id="trip")
            is_answered = any(isinstance(event, QuestionAnswered) for event in journal.events[:written])
            is_taken = written == end
            assert first == (ULM if is_answered and not is_taken else (FieldAnswer(text="Bonn"),)), written
            assert bool(of(asked_again, QuestionAsked)) is not (is_answered and not is_taken), written


async def test_a_question_of_an_asker_that_cannot_return_is_withdrawn_after_a_crash() -> None:
    journal = MemoryJournal()
    session = session_on(journal)
    asking = asyncio.ensure_future(session.ask(by="tests"))
    await settle()
    crashed = MemoryJournal(journal.events)
    await session.aclose()
    await asyncio.wait((asking,))
    assert isinstance(asking.exception(), StateError)
    async with session_on(crashed) as resumed:
        await resumed.send(Prompt("go"))
        assert resumed.questions == ()


def test_on_disk_another_program_answers_a_question_that_waits_for_its_asker(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data", masker=Masker({}))

    async def left_open() -> None:
        session = session_on(await store.create())
        await session.send(Prompt("go"))
        seen = asyncio.Event()
        session.listen(with_event(lambda event: seen.set() if isinstance(event, QuestionAsked) else None))
        asking = asyncio.ensure_future(session.ask(CITY, by="tests", id="trip"))
        await seen.wait()
        await session.aclose()
        with pytest.raises(StateError):
            await asking

    asyncio.run(left_open())
    (asked,) = questions_in(store.find()).open
    answer_question(store.find(), Masker({}), asked.question.answered(*ULM))

    async def asks_again() -> object:
        async with session_on(await store.open()) as session:
            return await session.ask(CITY, by="tests", id="trip")

    assert asyncio.run(asks_again()) == ULM
