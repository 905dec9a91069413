"""Model events in, calls out the moment their arguments close."""

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from callgate.conversation.feature_set import Equipment
from callgate.conversation.intake import Intake, Refused
from callgate.conversation.ledger import Ledger
from callgate.conversation.message_reader import checked_event, is_foreign
from callgate.conversation.record import MemoryJournal, Record
from callgate.conversation.turn import Turn
from callgate.testing import (
    GatedModel,
    Latch,
    PlainToolbox,
    Recorder,
    ScriptedModel,
    cut_off,
    fail,
    limit,
    open_call,
    say,
    settle,
    turn,
)
from callgate.testing import call as scripted
from callgate.words.calls import Result, ToolCall
from callgate.words.errors import ModelError
from callgate.words.events import CallArrived, CallSettled, Event, MessageAdded
from callgate.words.messages import CallPart, Message, ResultPart, Text, Thinking, Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    ModelNoted,
    OpaqueData,
    PartEnded,
    PartStarted,
    TextDelta,
    ThinkingDelta,
)
from tests.core.kit import FREE, allow_all, file_writer, saying, virtual_host

ARGUMENTS = '{"path": "src/é.py", "text": "{\\"not\\": [closed"}'


class Came(NamedTuple):
    """A call that came out of the intake, and its result if it was refused."""

    call: ToolCall
    refused: Result | None = None


def fed(intake: Intake, *events: ModelEvent) -> list[Came]:
    came: list[Came] = []
    for event in events:
        seen = intake.feed(event)
        if isinstance(seen, ToolCall):
            came.append(Came(seen))
        elif isinstance(seen, Refused):
            came.append(Came(seen.call, seen.result))
    return came


def a_call(index: int, call_id: str, name: str = "Read", text: str = "{}") -> list[ModelEvent]:
    return [PartStarted(index, "tool_call", call_id, name), ArgumentsDelta(index, text), PartEnded(index)]


# ---- when a call is complete ------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-5")
def test_a_call_is_complete_when_its_part_ends_and_not_when_its_braces_match() -> None:
    intake = Intake("m1", Ledger())
    assert fed(intake, PartStarted(0, "tool_call", "c1", "Read"), ArgumentsDelta(0, '{"a": 1}')) == []
    assert fed(intake, ArgumentsDelta(0, " ")) == []
    (arrival,) = fed(intake, PartEnded(0))
    assert arrival.refused is None
    assert (arrival.call.id, arrival.call.name, arrival.call.raw_arguments) == ("c1", "Read", '{"a": 1} ')
    assert (arrival.call.index, arrival.call.message_id) == (0, "m1")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_however_the_arguments_are_cut_into_pieces_the_call_is_the_same(size: int) -> None:
    pieces = [ArgumentsDelta(0, ARGUMENTS[at : at + size]) for at in range(0, len(ARGUMENTS), size)]
    (arrival,) = fed(Intake("m1", Ledger()), PartStarted(0, "tool_call", "c1", "Read"), *pieces, PartEnded(0))
    assert json.loads(arrival.call.raw_arguments or "") == json.loads(ARGUMENTS)


def test_parts_may_be_interleaved_and_calls_are_numbered_as_they_close() -> None:
    intake = Intake("m1", Ledger())
    arrivals = fed(
        intake,
        PartStarted(0, "tool_call", "first", "A"),
        PartStarted(1, "tool_call", "second", "B"),
        ArgumentsDelta(0, '{"x"'),
        ArgumentsDelta(1, "{}"),
        PartEnded(1),
        ArgumentsDelta(0, ": 1}"),
        PartEnded(0),
    )
    assert [(each.call.id, each.call.index) for each in arrivals] == [("second", 0), ("first", 1)]


@pytest.mark.spec("CALL-4")
def test_arguments_past_the_limit_are_refused_without_being_kept() -> None:
    intake = Intake("m1", Ledger(), max_argument_chars=100)
    pieces = [ArgumentsDelta(0, "x" * 60) for _ in range(1000)]
    (arrival,) = fed(intake, PartStarted(0, "tool_call", "c1", "Read"), *pieces, PartEnded(0))
    assert arrival.refused is not None
    assert arrival.refused.code == "limit"
    assert len(arrival.call.raw_arguments or "") <= 100


# ---- ids --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-8")
def test_a_call_without_an_id_gets_one() -> None:
    one, two = fed(Intake("m1", Ledger()), *a_call(0, ""), *a_call(1, ""))
    assert one.call.id
    assert one.call.id != two.call.id


@pytest.mark.spec("EXE-8")
def test_an_id_that_comes_twice_in_a_message_is_refused_the_second_time() -> None:
    one, two = fed(Intake("m1", Ledger()), *a_call(0, "c1"), *a_call(1, "c1"))
    assert (one.call.id, one.refused) == ("c1", None)
    assert two.call.id != "c1"
    assert two.refused is not None
    assert "twice" in two.refused.text


@pytest.mark.spec("EXE-8")
def test_an_id_of_an_earlier_message_is_made_unique() -> None:
    ledger = Ledger([CallArrived(at=1.0, call_id="c1", name="Read", arguments={}, index=0)])
    (arrival,) = fed(Intake("m2", ledger), *a_call(0, "c1"))
    assert arrival.refused is None
    assert arrival.call.id != "c1"


# ---- the message ------------------------------------------------------------------------------------------------


def test_text_and_thinking_pass_through_and_are_kept_in_order() -> None:
    intake = Intake("m1", Ledger())
    assert isinstance(intake.feed(MessageStarted("x", "model-1", Usage(input=5))), type(None))
    intake.feed(PartStarted(0, "thinking"))
    intake.feed(ThinkingDelta(0, "hm"))
    intake.feed(ThinkingDelta(0, signature="sig"))
    intake.feed(PartEnded(0))
    intake.feed(PartStarted(1, "text"))
    assert intake.feed(TextDelta(1, "Hel")) == TextDelta(1, "Hel")
    intake.feed(TextDelta(1, "lo"))
    intake.feed(PartEnded(1))
    intake.feed(MessageEnded("end", Usage(output=2)))
    parts = (Thinking("hm", "sig"), Text("Hello"))
    assert intake.message() == Message("m1", "assistant", parts, "model-1", Usage(input=5, output=2))
    assert intake.finish() == ("end", [])


@pytest.mark.parametrize(
    "events",
    [
        [TextDelta(0, "x")],
        [PartStarted(0, "text"), ArgumentsDelta(0, "{}")],
        [PartStarted(0, "text"), PartStarted(0, "text")],
        [PartStarted(0, "text"), PartEnded(0), TextDelta(0, "x")],
        [MessageEnded("end"), PartStarted(0, "text")],
    ],
)
def test_a_stream_out_of_order_is_the_models_error(events: list[ModelEvent]) -> None:
    intake = Intake("m1", Ledger())
    with pytest.raises(ModelError) as caught:
        fed(intake, *events)
    assert caught.value.kind == "protocol"


ODD: Any = (None, 5, b"x", ["x"])
MALFORMED: list[list[Any]] = [
    *([PartStarted(0, "text"), TextDelta(0, odd)] for odd in ODD),
    *([PartStarted(0, "thinking"), ThinkingDelta(0, odd)] for odd in ODD),
    *([PartStarted(0, "thinking"), ThinkingDelta(0, "x", odd)] for odd in ODD if odd),
    *([PartStarted(0, "tool_call", "c1", "Read"), ArgumentsDelta(0, odd)] for odd in ODD),
    *([PartStarted(0, "tool_call", odd, "Read")] for odd in ODD),
    *([PartStarted(0, "tool_call", "c1", odd)] for odd in ODD),
    *([PartStarted(0, odd)] for odd in ODD),
    *([MessageStarted("m", odd)] for odd in ODD),
    *([MessageStarted("m", "model", odd)] for odd in ODD),
    *([MessageEnded("end", odd)] for odd in (*ODD, Usage(input=-1))),
    *([PartStarted(0, "opaque"), OpaqueData(0, odd, {})] for odd in ODD),
    [PartStarted(0, "opaque"), OpaqueData(0, "p", {"a": float("nan")})],
]


def test_an_event_with_a_field_of_another_type_is_the_models_error() -> None:
    wrong: list[str] = []
    for events in MALFORMED:
        try:
            fed(Intake("m1", Ledger()), *map(checked_event, events))
        except ModelError as error:
            if error.kind == "protocol":
                continue
        wrong.append(repr(events))
    assert not wrong, "\n".join(wrong)


def test_valid_events_pass_and_opaque_data_is_copied() -> None:
    data = {"a": [1]}
    events = [
        *(MessageStarted("m", "model", Usage(input=1)), PartStarted(0, "text"), TextDelta(0, "x"), PartEnded(0)),
        *(PartStarted(1, "thinking"), ThinkingDelta(1, "x", "sig"), ArgumentsDelta(2, "{}"), OpaqueData(3, "p", data)),
        *(OpaqueData(3, "p", b"x"), ModelNoted("note"), MessageEnded("end", Usage(output=1), "why")),
    ]
    found = list(map(checked_event, events))
    assert found == events
    assert isinstance(found[7], OpaqueData)
    assert found[7].data is not data


def test_a_model_of_another_package_is_foreign() -> None:
    class Other(ScriptedModel):
        pass

    assert is_foreign(Other())
    assert not is_foreign(ScriptedModel())


# ---- cut off (EXE-6) --------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-6")
def test_a_call_whose_arguments_never_closed_settles_not_run_truncated() -> None:
    intake = Intake("m1", Ledger())
    fed(intake, PartStarted(0, "tool_call", "c1", "Edit"), ArgumentsDelta(0, '{"path": "a'))
    stop, (arrival,) = intake.finish()
    assert stop == "cut_off"
    assert arrival.result.code == "not_run_truncated"


@pytest.mark.spec("EXE-6")
def test_a_message_without_its_end_marker_is_cut_off() -> None:
    intake = Intake("m1", Ledger())
    fed(intake, *a_call(0, "c1"))
    assert intake.finish() == ("cut_off", [])


@pytest.mark.spec("EXE-6")
def test_a_message_that_ends_well_around_an_open_call_is_cut_off_all_the_same() -> None:
    intake = Intake("m1", Ledger())
    fed(intake, PartStarted(0, "tool_call", "c1", "Edit"), MessageEnded("tool_calls"))
    assert intake.finish()[0] == "cut_off"


def a_turn(model: Any, *tools: Any) -> tuple[Turn, list[Event]]:
    events: list[Event] = []
    record = Record(MemoryJournal(), Ledger(), [events.append])
    record.write(MessageAdded(0.0, Message("u1", "user", (Text("hi"),))))
    return Turn(
        Equipment(model=model, toolbox=PlainToolbox(*tools), gate=allow_all(), host=virtual_host(), record=record)
    ), events


def settled(events: list[Event]) -> dict[str, str]:
    return {event.call_id: event.result.code for event in events if isinstance(event, CallSettled)}


@pytest.mark.spec("EXE-6")
@pytest.mark.parametrize("end", [limit(), cut_off(), fail(ModelError("connection lost"))])
async def test_nothing_with_effects_runs_in_a_turn_that_breaks_off(end: Any) -> None:
    recorder = Recorder()
    steps = (scripted("Edit", path="a.py"), scripted("Look"), open_call("Edit", '{"path": "b'), end)
    running, events = a_turn(
        ScriptedModel(turn(*steps)), recorder.watch(file_writer()), recorder.watch(saying("Look", "seen"))
    )
    await running.run()
    assert recorder.started == ["call_2"]
    assert settled(events) == {"call_1": "not_run_truncated", "call_2": "ok", "call_3": "not_run_truncated"}
    message = next(event.message for event in reversed(events) if isinstance(event, MessageAdded))
    assert [part.call_id for part in message.parts if isinstance(part, ResultPart)] == ["call_1", "call_2", "call_3"]


# ---- early start on a gated stream (EXE-5) ----------------------------------------------------------------------


@pytest.mark.spec("EXE-5")
async def test_a_reader_starts_when_its_part_ends_and_a_writer_when_the_message_does() -> None:
    latch, recorder = Latch("Look", FREE), Recorder()
    script = ScriptedModel(turn(scripted("Look"), scripted("Edit", path="a.py"), say("and so on")))
    model = GatedModel(script)
    running, events = a_turn(model, recorder.watch(latch), recorder.watch(file_writer()))
    task = asyncio.ensure_future(running.run())
    # given the arguments of the first call, not closed yet
    await model.release_until(ArgumentsDelta)
    await settle()
    assert recorder.started == []
    # when its part ends it starts
    await model.release_until(PartEnded)
    await settle()
    assert recorder.started == ["call_1"]
    # the second has effects, so its end is not enough
    await model.release_until(PartEnded)
    await settle()
    assert recorder.started == ["call_1"]
    # only the end of the message is
    await model.release_all()
    await settle()
    assert recorder.started == ["call_1", "call_2"]
    latch.open()
    await task
    assert settled(events) == {"call_1": "ok", "call_2": "ok"}


@pytest.mark.spec("EXE-7")
async def test_results_settle_while_the_model_still_speaks() -> None:
    model = GatedModel(ScriptedModel(turn(scripted("Look"), say("a long story"))))
    running, events = a_turn(model, saying("Look", "seen"))
    task = asyncio.ensure_future(running.run())
    await model.release_until(PartEnded)
    await settle()
    assert settled(events) == {"call_1": "ok"}
    model.open()
    await task


async def test_the_message_on_record_has_the_calls_as_the_model_wrote_them() -> None:
    running, events = a_turn(ScriptedModel(turn(say("Hi."), scripted("Look", x=1))), saying("Look", "seen"))
    await running.run()
    message = next(e.message for e in events if isinstance(e, MessageAdded) and e.message.role == "assistant")
    assert message.parts == (Text("Hi."), CallPart("call_1", "Look", {"x": 1}))
