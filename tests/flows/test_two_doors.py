"""One question and several doors: of the session's own program, and of programs that only know its log."""

import asyncio
from pathlib import Path

import pytest

from callgate import Answer, Continue, Prompt, QuestionAsked, Session
from callgate.testing import ScriptedModel, call, say, turn
from callgate.transcript.answer_files import AnswerRefused
from callgate.transcript.masking import Masker
from callgate.transcript.store import Store
from callgate.words.decisions import Confirmation, Question
from callgate.words.events import Event, InputRefused, QuestionAnswered
from tests.flows.kit import Workspace
from tests.sessions import with_event
from tests.transcript.asking import on_record

pytestmark = pytest.mark.spec("GATE-5")


class House:
    """A store, and a session in it that asks whether it may write."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder, folder / "data", masker=Masker({}))
        self.space = Workspace()
        self.told: list[Event] = []

    async def begin(self) -> Session:
        model = ScriptedModel(turn(call("write", path="a.py"), call("write", path="b.py")), turn(say("Done.")))
        session = self.space.session(model, journal=await self.store.create())
        session.listen(with_event(self.told.append))
        await session.send(Prompt("Write both."))
        return session

    async def resume(self) -> Session:
        session = self.space.session(ScriptedModel(turn(say("Done."))), journal=await self.store.open())
        session.listen(with_event(self.told.append))
        return session

    def heard(self, kind: type[Event]) -> int:
        return sum(isinstance(event, kind) for event in self.told)

    @property
    def log(self) -> Path:
        return self.store.find()


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_of_two_doors_that_answer_at_once_the_first_wins(house: House) -> None:
    async def main() -> None:
        session = await house.begin()
        first, second = session.questions
        session.post(Answer(first.yes(door="left")))
        session.post(Answer(first.no(door="right")))
        await session.send(Answer(second.no("leave it")), until="idle")
        refused = [event for event in house.told if isinstance(event, InputRefused)]
        assert len(refused) == 1
        assert [(each.call_id, each.door) for each in on_record(house.log)] == [
            (first.call_id, "left"),
            (second.call_id, ""),
        ]
        assert house.space.done == ["write a.py"]
        await session.aclose()

    asyncio.run(main())


def test_what_was_answered_while_nobody_ran_it_is_acted_on_and_not_asked_again(house: House) -> None:
    async def left() -> tuple[Question, ...]:
        session = await house.begin()
        questions = session.questions
        await session.aclose()
        return questions

    first, second = asyncio.run(left())
    assert house.store.questions() == (first, second)
    assert house.store.answer("latest", first.yes(by="Ann")).how == "recorded"
    assert house.store.answer("latest", second.no("not that one", by="Bob")).how == "recorded"
    with pytest.raises(AnswerRefused, match="yes, by Ann"):
        house.store.answer("latest", first.no())
    house.told.clear()

    async def resumed() -> None:
        async with await house.resume() as session:
            await session.send(Continue(), until="idle")
            assert session.messages[-1].text == "Done."

    asyncio.run(resumed())
    assert house.space.done == ["write a.py"]
    assert house.heard(QuestionAsked) == 0
    assert [each.by for each in on_record(house.log)] == ["Ann", "Bob"]


def test_a_question_that_nobody_answered_is_asked_again_and_takes_one_answer(house: House) -> None:
    async def left() -> Confirmation:
        session = await house.begin()
        answer = session.questions[0].yes(by="Ann")
        await session.aclose()
        return answer

    answer = asyncio.run(left())

    async def resumed() -> None:
        async with await house.resume() as session:
            await session.send(Continue())
            assert len(session.questions) == 2
            assert house.store.answer("latest", answer).how == "left"
            session.post(Answer(session.questions[1].no()))
            await session.send(Answer(session.questions[0].no(by="Bob")), until="idle")

    house.told.clear()
    asyncio.run(resumed())
    assert house.heard(QuestionAsked) == 2
    assert house.heard(QuestionAnswered) == 2
    assert "Ann" not in [each.by for each in on_record(house.log)]
    assert list((house.log.with_suffix("") / "answers").iterdir()) == []
