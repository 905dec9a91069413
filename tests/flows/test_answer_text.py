"""The answer of a run: the text since the last tool call, with the parts of messages that were cut off joined."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callgate import Continue, Session, SessionLimits, Store, tool
from callgate.conversation.feature import Feature, FeaturePart
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Model
from callgate.conversation.view import AnswerText
from callgate.testing import ScriptedModel, call, cut_off, limit, say, think, turn
from callgate.testing.script import Scene, stop
from callgate.words.events import Durable, MessageAdded, RunEnded, TurnEnded, TurnStarted
from callgate.words.limits import LoopLimits, Retries
from callgate.words.messages import CallPart, Message, Part, Text, Thinking
from callgate.words.turns import Compacted

LINES = "- one\n- two\n"
LONG = "The quick brown fox jumps over the lazy dog and "


@tool(effects="none")
def look() -> str:
    """Look."""
    return "nothing"


RUNS: list[tuple[str, Sequence[Scene], str]] = [
    ("two parts", [turn(say("part one "), limit()), turn(say("part two"))], "part one part two"),
    (
        "three parts",
        [turn(say("a "), limit()), turn(say("b "), limit()), turn(say("c"))],
        "a b c",
    ),
    ("within a word", [turn(say("contin"), limit()), turn(say("uation"))], "continuation"),
    ("within a line break", [turn(say("one\n"), limit()), turn(say("\ntwo"))], "one\n\ntwo"),
    ("JSON", [turn(say('{"a": "b'), limit()), turn(say('c"}'))], '{"a": "bc"}'),
    ("a code block", [turn(say("```py\nx = 1\n"), limit()), turn(say("y = 2\n```"))], "```py\nx = 1\ny = 2\n```"),
    ("thinking first", [turn(think("hm"), say("part one "), limit()), turn(think("so"), say("two"))], "part one two"),
    ("only thinking, then text", [turn(think("hm"), limit()), turn(say("All."))], "All."),
    ("an empty part", [turn(say("part one "), limit()), turn(limit()), turn(say("two"))], "part one two"),
    ("text before a call", [turn(say("Looking."), call("look")), turn(say("Nothing."))], "Nothing."),
    (
        "parts after a call",
        [turn(say("Looking."), call("look")), turn(say("No"), limit()), turn(say("thing."))],
        "Nothing.",
    ),
    (
        "a call in the continuation",
        [turn(say("I am go"), limit()), turn(say("ing to look."), call("look")), turn(say("Nothing."))],
        "Nothing.",
    ),
    ("nothing after a call", [turn(say("Saved."), call("look")), turn()], "Saved."),
    (
        "nothing after a call that a continuation makes",
        [turn(say("Sa"), limit()), turn(say("ved."), call("look")), turn()],
        "Saved.",
    ),
    ("repeated words", [turn(say(f"So: {LONG}"), limit()), turn(say(f"{LONG}runs."))], f"So: {LONG}runs."),
    ("begun again", [turn(say("part one "), limit()), turn(say("part one part two"))], "part one part two"),
    ("a paused message", [turn(say("part one "), stop("paused")), turn(say("part two"))], "part one part two"),
    ("repeated lines", [turn(say(LINES * 3), limit()), turn(say(LINES * 2))], LINES * 5),
    ("a repeated word", [turn(say("very "), limit()), turn(say("very good"))], "very very good"),
]


@pytest.mark.spec("TRN-15")
async def test_the_answer_of_a_run_has_every_part_of_it() -> None:
    wrong: list[str] = []
    for name, scenes, wanted in RUNS:
        async with Session(ScriptedModel(*scenes), [look]) as session:
            result = await session.run("go")
            if (result.text, result.output, result.reason, session.answer) != (wanted, wanted, "done", wanted):
                wrong.append(f"{name}: {result.text!r} {result.reason}, not {wanted!r}")
    assert not wrong, "\n".join(wrong)


ENDED: list[tuple[str, Sequence[Scene], dict[str, Any], str, str]] = [
    ("at the output limit", [turn(say(f"{n} "), limit()) for n in range(6)], {}, "output_limit", "0 1 2 3 "),
    ("refused", [turn(say("I would "), stop("refusal"))], {}, "refusal", "I would "),
    ("context full", [turn(say("So "), stop("context_full"))], {}, "context_full", "So "),
    ("cut off", [turn(say("So "), cut_off())], {"retries": Retries(most=0)}, "cut_off", "So "),
    ("turns", [turn(say("Looking."), call("look"))] * 3, {"max_turns": 1}, "limit", "Looking."),
    ("turns in an answer", [turn(say("a "), limit())] * 3, {"max_turns": 2}, "limit", "a a "),
]


@pytest.mark.spec("TRN-15")
async def test_a_run_that_ends_at_a_limit_gives_the_text_so_far_and_the_reason() -> None:
    wrong: list[str] = []
    for name, scenes, limits, reason, text in ENDED:
        async with Session(ScriptedModel(*scenes), [look], limits=_limits(**limits)) as session:
            result = await session.run("go")
        if not result.text.startswith(text) or result.reason != reason or result.ok:
            wrong.append(f"{name}: {result}")
        if result.output is not None or not result.error:
            wrong.append(f"{name}: {result.output!r} {result.error!r}")
    assert not wrong, "\n".join(wrong)


def _limits(**given: Any) -> SessionLimits:
    return SessionLimits(run=LoopLimits(**given))


@pytest.mark.spec("TRN-15")
async def test_a_typed_answer_may_be_cut_off_and_continued() -> None:
    model: Model = ScriptedModel(turn(say('{"city": "Os'), limit()), turn(say('lo", "degrees": 3}')))
    async with Session(model) as session:
        result = await session.run("go", output=dict[str, Any])
    assert result.output == {"city": "Oslo", "degrees": 3}


@pytest.mark.spec("TRN-15")
async def test_an_answer_that_a_later_program_continues_is_joined(tmp_path: Path) -> None:
    store = Store(tmp_path / "work", tmp_path / "data")
    first = ScriptedModel(*[turn(say(f"{n} "), limit()) for n in range(4)])
    async with Session(first, journal=await store.create()) as session:
        assert (await session.run("count")).reason == "output_limit"
        id = session.id
    async with Session(ScriptedModel(turn(say("end."))), journal=await store.open(id)) as session:
        result = await session.run(Continue())
    assert (result.text, result.reason) == ("0 1 2 3 end.", "done")


async def test_the_answer_of_the_next_run_has_nothing_of_the_run_before() -> None:
    model = ScriptedModel(turn(say("one "), limit()), turn(say("two")), turn(say("three")), turn())
    async with Session(model, limits=_limits(max_turns=2)) as session:
        assert (await session.run("a")).text == "one two"
        assert (await session.run("b")).text == "three"
        assert (await session.run("c")).text == ""


def _message(*parts: Part) -> Message:
    return Message("a1", "assistant", parts)


JOINED: list[tuple[list[tuple[tuple[Part, ...], bool]], str]] = [
    ([((Text("a"),), True), ((Text("b"),), True)], "a\n\nb"),
    ([((Text("a\n"),), True), ((Text("\nb"),), True)], "a\n\nb"),
    ([((Text("a "),), False), ((Text("b"),), True), ((Text("c"),), True)], "a b\n\nc"),
    ([((Text("a"), CallPart("1", "x", {}), Text("b")), True)], "b"),
    ([((Text("a"), CallPart("1", "x", {})), True)], "a"),
    ([((Thinking("t"), Text("a")), False), ((Thinking("t"),), False), ((Text("b"),), True)], "ab"),
    ([], ""),
]


def test_complete_messages_are_separated_and_parts_are_not() -> None:
    wrong: list[str] = []
    for messages, wanted in JOINED:
        answer = AnswerText()
        for parts, is_whole in messages:
            answer.add(_message(*parts), is_whole=is_whole)
        if answer.text != wanted:
            wrong.append(f"{messages}: {answer.text!r}, not {wanted!r}")
    assert not wrong, "\n".join(wrong)


class _Holds(FeaturePart):
    """Delays the end of the run once."""

    def __init__(self) -> None:
        self._asked = 0

    async def ending(self, *, again: bool) -> str | None:
        self._asked += 1
        return "check it" if self._asked == 1 else None


def _holding(*scenes: Scene) -> Session:
    return Session(ScriptedModel(*scenes), features=[Feature("holds", lambda opened: _Holds())])


@pytest.mark.spec("TRN-15")
async def test_messages_before_and_after_a_hook_are_one_answer() -> None:
    async with _holding(turn(say("The report.")), turn(say("Chec"), limit()), turn(say("ked."))) as session:
        assert (await session.run("go")).text == "The report.\n\nChecked."
        assert session.controls.last_answer == "Checked."


@pytest.mark.spec("TRN-15")
async def test_a_typed_answer_may_be_the_last_message_after_a_hook() -> None:
    for scenes in (
        [turn(say('{"a": 1}')), turn(say('{"a": 2}'))],
        [turn(say("Working.")), turn(say('{"a": '), limit()), turn(say("2}"))],
    ):
        async with _holding(*scenes) as session:
            result = await session.run("go", output=dict[str, int])
        assert (result.output, len(result.messages)) == ({"a": 2}, len(scenes) + 1)


@pytest.mark.spec("TRN-15")
def test_an_answer_is_continued_after_a_compaction_also_in_a_later_program() -> None:
    begun: list[Durable] = [
        MessageAdded(0.0, Message("u1", "user", (Text("go"),))),
        TurnStarted(0.0, 1, "a1"),
        MessageAdded(0.0, Message("a1", "assistant", (Text("part one "),)), "max_tokens"),
        TurnEnded(0.0, 1, "truncated"),
    ]
    rest: list[Durable] = [
        TurnStarted(0.0, 2, "a2", because="output_limit"),
        MessageAdded(0.0, Message("a2", "assistant", (Text("part two"),)), "end"),
        TurnEnded(0.0, 2, "answered"),
        RunEnded(0.0, "done"),
    ]
    ledger = Ledger(begun)
    compacted = Compacted(0.0, "summary", running=True, counted=ledger.counted, answer=ledger.answer.begun)
    without = Compacted(0.0, "summary", running=True, counted=ledger.counted)
    for events in ([*begun, compacted, *rest], [compacted, *rest], [*begun, without, *rest]):
        assert Ledger(events).answer.text == "part one part two"
