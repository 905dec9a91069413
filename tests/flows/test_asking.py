"""AskUserQuestion in whole sessions: the answer is data on the call, on record, through restarts."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Continue, Prompt, Result, Run, Session, Store, tool
from callgate.conversation.ports import Journal
from callgate.conversation.record import MemoryJournal
from callgate.testing import MemoryHost, ScriptedModel, call, say, turn
from callgate.tools.builtin.ask_user_question import ask_user_question
from callgate.words.decisions import Allow, AskedField, AskedOption, FieldAnswer, Question
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    InputRefused,
    QuestionAnswered,
)
from tests.sessions import grouped_session, with_event

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "warm", "preview": "`#f00`"},
        {"label": "Blue", "description": "cold"},
    ],
}
PARTS = {
    "question": "Which parts?",
    "header": "Parts",
    "options": [{"label": name, "description": ""} for name in ("API", "UI", "Docs")],
    "multiSelect": True,
}
RED, TWO = FieldAnswer(("Red",)), FieldAnswer(("API", "Docs"), "and the tests")
TOLD = "Which colour?\nChosen: Red\n\nWhich parts?\nChosen: API; Docs\nAnswer in own words: and the tests"


def session(journal: Journal, *more: Any, **options: Any) -> Session:
    model = ScriptedModel(*more, turn(say("Done.")))
    return grouped_session(model, [ask_user_question()], host=MemoryHost(), journal=journal, **options)


ASKS = turn(call("AskUserQuestion", questions=[COLOUR, PARTS]))


async def asked(journal: MemoryJournal, **options: Any) -> tuple[Session, Question]:
    opened = session(journal, ASKS, **options)
    await opened.send(Prompt("go"))
    (question,) = opened.questions
    return opened, question


def result_of(events: list[Durable]) -> Result:
    (settled,) = [event for event in events if isinstance(event, CallSettled)]
    return settled.result


@pytest.mark.spec("BLT-10")
async def test_the_question_carries_its_fields_and_the_answer_is_data_on_the_call() -> None:
    journal = MemoryJournal()
    opened, question = await asked(journal)
    red = AskedOption("Red", "warm", "`#f00`")
    parts = tuple(AskedOption(name) for name in ("API", "UI", "Docs"))
    assert question.asks == (
        AskedField("Colour", "Which colour?", (red, AskedOption("Blue", "cold"))),
        AskedField("Parts", "Which parts?", parts, several=True),
    )
    assert question.choices == ()  # it is asked every time
    await opened.send(Answer(question.answered(RED, TWO)), until="idle")
    await opened.aclose()
    assert result_of(journal.events).text == TOLD
    (arrived,) = [event for event in journal.events if isinstance(event, CallArrived)]
    allowed = [event.decision for event in journal.events if isinstance(event, CallDecided)][-1]
    assert isinstance(allowed, Allow)
    assert (allowed.arguments, allowed.answers) == (None, (RED, TWO))
    assert arrived.arguments["questions"][0]["header"] == "Colour"


@pytest.mark.spec("BLT-10")
@pytest.mark.parametrize("mode", ["default", "plan", "accept_edits", "bypass"])
async def test_without_a_person_it_stays_an_open_question_in_every_mode_that_asks(mode: Any) -> None:
    opened = session(MemoryJournal(), ASKS, mode=mode)
    ran = await opened.run("go")
    assert len(ran.questions) == 1
    assert opened.status == "waiting_confirmation"
    await opened.aclose()


async def test_a_mode_that_asks_nobody_denies_it() -> None:
    journal = MemoryJournal()
    opened = session(journal, ASKS, mode="dont_ask")
    await opened.run("go")
    assert result_of(journal.events).code == "denied"
    await opened.aclose()


@pytest.mark.spec("BLT-10")
@pytest.mark.parametrize("last", [None, QuestionAnswered, CallDecided, CallStarted])
async def test_the_answer_survives_a_restart_wherever_the_program_ended(last: type[Durable] | None) -> None:
    journal = MemoryJournal()
    opened, question = await asked(journal)
    await opened.send(Answer(question.answered(RED, TWO)), until="idle")
    await opened.aclose()
    ends = [at for at, event in enumerate(journal.events) if isinstance(event, last or QuestionAnswered)]
    cut = ends[-1] + (last is not None)  # right after it, or just before there was an answer
    kept = MemoryJournal(journal.events[:cut])
    resumed = session(kept)
    await resumed.send(Continue())
    if last is None:
        (again,) = resumed.questions
        assert again.asks == question.asks
        await resumed.send(Answer(again.answered(RED, TWO)), until="idle")
    assert not resumed.questions
    assert resumed.status == "idle"
    await resumed.aclose()
    assert result_of(kept.events).text == TOLD


@pytest.mark.spec("BLT-10")
def test_an_answer_of_another_program_reaches_the_call_when_the_session_is_resumed(tmp_path: Path) -> None:
    store = Store(tmp_path / "root", tmp_path / "data")

    async def main() -> None:
        first = session(await store.create(), ASKS)
        await first.send(Prompt("go"))
        (question,) = first.questions
        await first.aclose()
        taken = store.answer(store.find(), question.answered(RED, TWO, by="Ada", door="web"))
        assert (taken.how, taken.confirmation.answers) == ("recorded", (RED, TWO))
        again = session(await store.open())
        await again.send(Continue())
        assert not again.questions
        assert TOLD in str(again.messages[2].parts[0].content[0].text)  # pyright: ignore
        await again.aclose()

    asyncio.run(main())


REFUSED: list[tuple[tuple[FieldAnswer, ...], str]] = [
    ((), "there are 2 questions and 0 answers"),
    ((RED,), "there are 2 questions and 1 answers"),
    ((RED, TWO, TWO), "there are 2 questions and 3 answers"),
    ((FieldAnswer(("Green",)), TWO), "Colour: unknown option 'Green'; the options are 'Red', 'Blue'"),
    ((FieldAnswer(("Red", "Blue")), TWO), "Colour: only one option can be chosen"),
    ((RED, FieldAnswer(("UI", "UI"))), "Parts: the same option is chosen twice"),
    ((RED, FieldAnswer(text=" ")), "Parts: choose an option or write an answer"),
    ((RED, FieldAnswer(text="x" * 20_001)), "Parts: a free-text answer can have at most 20,000 characters"),
]


@pytest.mark.spec("BLT-10")
async def test_answers_that_do_not_fit_are_refused_and_the_question_stays_open() -> None:
    opened, question = await asked(MemoryJournal())
    heard: list[str] = []
    opened.listen(with_event(lambda event: heard.append(event.reason) if isinstance(event, InputRefused) else None))
    for answers, _ in REFUSED:
        opened.post(Answer(question.answered(*answers)))
    opened.post(Answer(question.yes({"questions": [COLOUR]})))
    opened.controls.deliver()
    wanted = [reason for _, reason in REFUSED] + [
        f"the arguments of call {question.call_id} cannot be changed, because"
    ]
    wrong = [pair for pair in zip(heard, wanted, strict=True) if not pair[0].startswith(pair[1])]
    assert wrong == []
    assert opened.questions == (question,)
    await opened.send(Answer(question.answered(FieldAnswer(text="teal"), RED_NOT_NEEDED)), until="idle")
    assert opened.status == "idle"
    await opened.aclose()


RED_NOT_NEEDED = FieldAnswer(("UI",))


async def test_answers_for_a_call_that_asks_none_are_refused() -> None:
    @tool(requires_interaction=True)
    def deploy() -> str:
        return "done"

    opened = Session(ScriptedModel(turn(call("deploy")), turn(say("Done."))), [deploy], host=MemoryHost())
    await opened.send(Prompt("go"))
    heard: list[str] = []
    opened.listen(with_event(lambda event: heard.append(event.reason) if isinstance(event, InputRefused) else None))
    opened.post(Answer(opened.questions[0].answered(RED)))
    opened.controls.deliver()
    assert heard == ["this question accepts only yes or no, not answers to fields"]
    await opened.aclose()


async def test_a_tool_of_ones_own_asks_too_and_an_optional_field_may_be_left_out() -> None:
    sizes = AskedField("Size", "How large?", (AskedOption("small"), AskedOption("large")), required=False)

    @tool(requires_interaction=True, asks=[sizes])
    def pack(run: Run) -> str:
        return str([answer.chosen for answer in run.answers])

    for answers, told in (((), "[]"), ((FieldAnswer(("large",)),), "[('large',)]"), ((FieldAnswer(),), "[()]")):
        opened = Session(ScriptedModel(turn(call("pack")), turn(say("Done."))), [pack], host=MemoryHost())
        await opened.send(Prompt("go"))
        await opened.send(Answer(opened.questions[0].answered(*answers)), until="idle")
        assert [part.content[0].text for part in opened.messages[2].parts] == [told]  # pyright: ignore
        await opened.aclose()


async def test_a_no_is_told_with_its_note() -> None:
    journal = MemoryJournal()
    opened, question = await asked(journal)
    await opened.send(Answer(question.no("decide yourself")), until="idle")
    assert "decide yourself" in result_of(journal.events).text
    await opened.aclose()


def test_questions_that_are_none_are_rejected_with_one_line_for_each_fault() -> None:
    made = ask_user_question()
    same = {**COLOUR, "options": [{"label": "Red", "description": ""}] * 2}
    rows: list[tuple[Any, str]] = [
        ([], "questions"),
        ([COLOUR] * 5, "questions"),
        ([same], "same label"),
        ([{**COLOUR, "options": COLOUR["options"][:1]}], "options"),  # type: ignore[index]
        ([{**COLOUR, "header": "x" * 25}], "header"),
        ([{**COLOUR, "question": " "}], "question"),
    ]
    wrong = [said for given, said in rows if said not in str(getattr(made.read({"questions": given}), "errors", ""))]
    assert wrong == []
