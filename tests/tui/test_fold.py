"""The fold of events into blocks, without a terminal."""

import asyncio
from dataclasses import replace
from typing import get_args

from hypothesis import given

from callgate import Prompt, Session, Toolbox, tool
from callgate.testing import ScriptedModel, call, say, think, turn
from callgate.tui.blocks import Block, CallBlock, EndBlock, NoticeBlock, PromptBlock, TextBlock, ThinkingBlock
from callgate.tui.fold import ConversationFold
from callgate.tui.fold_state import MOST_LIVE
from callgate.tui.render import Painter
from callgate.tui.render.spans import width_of
from callgate.tui.theme import Theme
from callgate.words import events as e
from callgate.words.calls import Result, Status
from callgate.words.decisions import ApprovalPolicy, Pattern, Question
from callgate.words.events import Durable, Event
from callgate.words.inputs import Answer
from callgate.words.messages import CallPart, Message, Text
from tests.profiles import fewer
from tests.sessions import with_event
from tests.tui.event_streams import streams
from tests.tui.fakes import plain_face


@tool(effects="mutating")
def note(what: str) -> str:
    """Notes something."""
    return f"noted {what}"


def _events(*inputs: str) -> list[Event]:
    """The events of a session in which the model says something, calls a tool, and a person says yes."""
    model = ScriptedModel(
        turn(
            think("Hm."), say("One.\n\n1. a\n1. b\n"), call("note", what="x"), say("Between."), call("note", what="y")
        ),
        otherwise=turn(say("Done.")),
    )

    async def main() -> list[Event]:
        heard: list[Event] = []
        async with Session(model, Toolbox(note)) as session:
            session.listen(with_event(heard.append))
            for each in inputs:
                await session.send(Prompt(each))
                while session.questions:
                    await session.send(Answer(session.questions[0].yes()))
        return heard

    return asyncio.run(main())


def test_a_run_becomes_blocks_in_the_order_of_the_conversation() -> None:
    fold = ConversationFold()
    fold.apply_all(_events("go"))
    kinds = [type(each) for each in fold.blocks]
    expected = [PromptBlock, ThinkingBlock, TextBlock, CallBlock, TextBlock, CallBlock, TextBlock, EndBlock]
    assert kinds == expected
    called = [each for each in fold.blocks if isinstance(each, CallBlock)]
    assert {(each.status, each.answered, each.of) for each in called} == {(Status.SUCCESS, "yes", 2)}
    assert fold.status == "closed"
    assert not fold.questions


def test_blocks_that_are_taken_as_they_finish_are_the_same_as_those_at_the_end() -> None:
    events = _events("go", "again")
    whole, stepwise = ConversationFold(), ConversationFold()
    whole.apply_all(events)
    taken: list[Block] = []
    for event in events:
        stepwise.apply(event)
        taken += stepwise.take_finished()
    assert not stepwise.live
    assert _lines(taken) == _lines(whole.blocks)


def test_a_record_is_shown_as_the_conversation_was() -> None:
    live, record = ConversationFold(), ConversationFold()
    events = _events("go", "again")
    live.apply_all(events)
    record.apply_all(event for event in events if isinstance(event, get_args(Durable)))
    assert _lines(_without_times(record.blocks)) == _lines(_without_times(live.blocks))


def test_calls_of_one_message_are_counted_and_stand_together() -> None:
    fold = ConversationFold()
    fold.apply(e.TextStreamed(0, "m", "Look:"))
    for index in range(3):
        fold.apply(e.CallArrived(0, f"c{index}", "Read", {}, index, "m"))
    fold.apply(e.CallStarted(1, "c1", index=1, of=2))
    calls = [each for each in fold.blocks if isinstance(each, CallBlock)]
    assert [(each.of, each.joined) for each in calls] == [(3, False), (3, True), (3, True)]
    message = Message("m2", "assistant", (Text("a"), CallPart("d0", "Read", {}), Text("b"), CallPart("d1", "Read", {})))
    fold.apply(e.CallArrived(2, "d0", "Read", {}, 0, "m2"))
    fold.apply(e.CallArrived(2, "d1", "Read", {}, 1, "m2"))
    fold.apply(e.MessageAdded(3, message))
    newest = fold.blocks[-4:]
    assert [each.text if isinstance(each, TextBlock) else "call" for each in newest] == ["a", "call", "b", "call"]
    assert not any(each.joined for each in newest if isinstance(each, CallBlock))


def test_going_back_names_the_message() -> None:
    fold = ConversationFold()
    fold.apply(e.MessageAdded(0, Message("m1", "user", (Text("Do the thing\nplease"),))))
    fold.apply(e.Rewound(1, "m1"))
    fold.apply(e.Branched(1, "m0"))
    notices = [each.text for each in fold.blocks if isinstance(each, NoticeBlock)]
    assert notices == [
        "The conversation continues from before the message “Do the thing”.",
        "The conversation continues from right after message m0.",
    ]


def test_a_retry_takes_back_what_has_not_left_the_screen() -> None:
    fold = ConversationFold()
    fold.apply(e.TextStreamed(0, "m", "One.\n\nTwo.\n"))
    fold.take_finished()
    fold.apply(e.RequestRetried(1, "m", 1, 2.0, "overloaded"))
    notice = fold.live[-1]
    assert isinstance(notice, NoticeBlock)
    assert notice.text == "overloaded: retrying in 2 s (attempt 1); the answer above is incomplete"


def test_a_text_that_is_printed_in_part_stays_whole_in_the_conversation() -> None:
    fold = ConversationFold()
    fold.apply(e.TextStreamed(0, "m", "One.\n\nTwo.\n\nThr"))
    taken = fold.take_finished()
    fold.show([NoticeBlock("a note")])
    fold.apply(e.TextStreamed(1, "m", "ee.\n"))
    assert [each.text for each in fold.blocks if isinstance(each, TextBlock)] == ["One.\n\nTwo.\n\nThree.\n"]
    note, rest = fold.live
    assert isinstance(rest, TextBlock)
    assert rest.begun
    taken += fold.take_finished()
    assert note in taken
    fold.apply(e.RequestRetried(2, "m", 1, 0.0, "overloaded"))
    assert [each.text for each in fold.blocks if isinstance(each, TextBlock)] == ["One.\n\nTwo.\n\n"]
    assert _lines(taken) == ["", "One.", "· a note", "", "Two."]
    assert " ".join(_lines(fold.live)).startswith("! overloaded: retrying (attempt 1); the answer above")


def test_calls_of_nested_sessions_are_kept_apart_by_their_path() -> None:
    fold = ConversationFold()
    fold.apply(e.CallArrived(0, "c", "Read", {}, 0, "m"))
    fold.apply(e.CallArrived(0, "c", "Grep", {}, 0, "m"), ("scout",))
    fold.apply(e.RunEnded(1, "done"), ("scout",))
    fold.apply(e.TextStreamed(1, "m", "It is here."), ("scout",))
    fold.apply(e.CallSettled(1, "c", Result()), ("scout",))
    own, nested = (each for each in fold.blocks if isinstance(each, CallBlock))
    assert (own.status, nested.status) == (Status.VALIDATING, Status.SUCCESS)
    assert "✓ scout: Grep  done" in _lines(fold.blocks)
    question = Question("c", "Read", {}, "", by="default", reason="", asked_at=0.0)
    fold.apply(e.QuestionAsked(2, replace(question, path=("scout",))), ("scout",))
    fold.apply(e.QuestionAsked(2, question))
    assert [*fold.questions] == [((), "c"), (("scout",), "c")]
    fold.apply(e.QuestionAnswered(3, question.no()))
    assert [*fold.questions] == [(("scout",), "c")]


def test_a_call_that_never_ends_does_not_keep_everything_on_the_screen() -> None:
    fold = ConversationFold()
    fold.apply(e.CallArrived(0, "c", "Bash", {}, 0, "m"))
    for number in range(2 * MOST_LIVE):
        fold.apply(e.Noted(1, f"note {number}"))
        fold.take_finished()
    assert len(fold.live) <= MOST_LIVE
    fold.apply(e.CallSettled(2, "c", Result()))


def test_a_call_that_ran_when_the_program_ended_is_cut_short_until_it_runs_again_or_settles() -> None:
    def line(fold: ConversationFold) -> str:
        return _lines(fold.blocks)[-1]

    fold = ConversationFold()
    fold.apply_all([e.CallArrived(0, "c", "Bash", {}, 0, "m"), e.CallStarted(1, "c")])
    assert line(fold) == "● Bash  runs · 0.0 s"
    fold.cut_calls()
    assert line(fold) == "⊘ Bash  cut short"
    assert fold.running == []
    fold.apply(e.CallStarted(2, "c"))
    assert line(fold) == "● Bash  runs · 0.0 s"
    fold.cut_calls()
    fold.apply(e.CallSettled(3, "c", Result.failed("outcome_unknown", "?")))
    assert "✗ Bash  failed · outcome unknown" in _lines(fold.blocks)


@fewer(40)
@given(streams)
def test_any_events_in_any_order_give_blocks_that_can_be_painted(events: list[Event]) -> None:
    fold = ConversationFold()
    painters = [
        Painter(theme, width, lambda name, _arguments: plain_face(name))
        for theme in (Theme(), Theme("light"), Theme("mono", colours=False, unicode=False))
        for width in (20, 60)
    ]
    for event in events:
        fold.apply(event)
        blocks = [*fold.live, *fold.take_finished()]
        for painter in painters if event is events[-1] else painters[-1:]:
            for line in (line for block in blocks for line in painter.lines(block, 50.0)):
                assert painter.theme.colours or (line.isascii() and line.isprintable())
                assert painter.theme.colours or width_of(line) <= painter.width, repr(line)
    fold.apply(e.RunEnded(1, "done"))
    assert all(each.done for each in fold.take_finished())
    assert not fold.live


def _lines(blocks: list[Block]) -> list[str]:
    painter = Painter(Theme("mono", colours=False), 60, lambda name, _arguments: plain_face(name))
    return [line for block in blocks for line in painter.lines(block)]


def _without_times(blocks: list[Block]) -> list[Block]:
    """The blocks as they would be without clocks; the end of the session closes what a record does not tell."""
    return [replace(each, began=0.0, ended=0.0) if isinstance(each, ThinkingBlock) else each for each in blocks]


def _folded(*events: Event) -> ConversationFold:
    fold = ConversationFold()
    fold.apply_all([e.CallArrived(0.0, "c1", "note", {"what": "x"}, 0, "m1"), *events])
    return fold


def test_the_text_that_a_model_reads_instead_of_no_output_is_not_shown() -> None:
    for name in ("note", "Note"):
        result = Result((Text(f"({name} completed with no output)"),), details={"exit_code": 0})
        fold = _folded(e.CallSettled(1.0, "c1", result))
        painter = Painter(Theme("mono", colours=False), 80, lambda name, _: plain_face(name))
        lines = [*filter(None, painter.lines(fold.blocks[-1]))]
        assert ("no output" in lines[0]) == (name == "note")
        assert len(lines) == (1 if name == "note" else 2)


def test_exact_arguments_are_remembered_without_their_checksum() -> None:
    for pattern, wanted in (
        (Pattern("exact", "4214407999"), "Remembered for this session: allow Bash(exactly this call)."),
        (Pattern("prefix", "make", "command"), "Remembered for this session: allow Bash(make:*)."),
        (None, "Remembered for this session: allow Bash."),
    ):
        fold = _folded(e.PolicyAdded(1.0, ApprovalPolicy("allow", "Bash", pattern)))
        assert [each.text for each in fold.blocks if isinstance(each, NoticeBlock)] == [wanted]
