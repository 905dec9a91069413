"""A model that reads its lines from a script."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.testing import (
    ManualClock,
    ScriptedModel,
    ScriptedTurn,
    call,
    check_events,
    cut_off,
    fail,
    limit,
    open_call,
    pause,
    raw_call,
    run_virtual,
    say,
    send,
    settle,
    stop,
    think,
    turn,
)
from callgate.words.errors import ModelError, UsageError
from callgate.words.messages import Message, Text, Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    PartEnded,
    PartStarted,
    Request,
    TextDelta,
    ThinkingDelta,
)

ASK = Request("", ())


async def collect(model: ScriptedModel, request: Request = ASK) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


def events_of(*turns: ScriptedTurn, chunk: int | None = None) -> list[ModelEvent]:
    async def main() -> list[ModelEvent]:
        model = ScriptedModel(*turns, chunk=chunk)
        return [event for _ in turns for event in await collect(model)]

    return run_virtual(main())


def test_a_turn_reads_as_it_streams() -> None:
    got = events_of(turn(think("Hm", signature="s"), say("Reading it."), call("Read", path="a.py"), say("Done")))
    assert got == [
        MessageStarted("msg_1", "scripted"),
        PartStarted(0, "thinking"),
        ThinkingDelta(0, "Hm"),
        ThinkingDelta(0, signature="s"),
        PartEnded(0),
        PartStarted(1, "text"),
        TextDelta(1, "Reading"),
        TextDelta(1, " it."),
        PartEnded(1),
        PartStarted(2, "tool_call", "call_1", "Read"),
        ArgumentsDelta(2, '{"path": "a.py"}'),
        PartEnded(2),
        PartStarted(3, "text"),
        TextDelta(3, "Done"),
        PartEnded(3),
        MessageEnded("tool_calls"),
    ]


def test_the_end_follows_from_the_steps_unless_it_is_said() -> None:
    ends = [
        (turn(), MessageEnded("end")),
        (turn(say("x")), MessageEnded("end")),
        (turn(call("A")), MessageEnded("tool_calls")),
        (turn(say("x"), stop("refusal", Usage(output=3))), MessageEnded("refusal", Usage(output=3))),
        (turn(say("x"), limit()), MessageEnded("max_tokens")),
        (turn(open_call("A", '{"a'), limit()), MessageEnded("max_tokens")),
        (turn(open_call("A", '{"a'), cut_off()), ArgumentsDelta(0, '{"a')),
        (turn(say("x"), cut_off()), TextDelta(0, "x")),
        (turn(say("x"), send(PartEnded(0))), MessageEnded("end")),
    ]
    for script, last in ends:
        assert events_of(script)[-1] == last


def test_neighbouring_texts_are_one_part() -> None:
    got = events_of(turn(say("a"), pause(1), say("b"), think("c")))
    assert [event.kind for event in got if isinstance(event, PartStarted)] == ["text", "thinking"]


def test_ids_are_unique_over_the_script() -> None:
    got = events_of(turn(call("A"), raw_call("B", "{", id="mine")), turn(call("C"), open_call("D", ""), limit()))
    assert [event.id for event in got if isinstance(event, PartStarted)] == ["call_1", "mine", "call_2", "call_3"]
    assert [event.id for event in got if isinstance(event, MessageStarted)] == ["msg_1", "msg_2"]


@given(st.text(min_size=1), st.dictionaries(st.text(), st.integers()), st.none() | st.integers(1, 40))
def test_any_chunking_carries_the_same_text(text: str, arguments: dict[str, int], chunk: int | None) -> None:
    got = events_of(turn(say(text), think(text), raw_call("A", arguments)), chunk=chunk)
    check_events(got)
    assert "".join(event.text for event in got if isinstance(event, TextDelta)) == text
    assert "".join(event.text for event in got if isinstance(event, ThinkingDelta)) == text
    assert json.loads("".join(event.text for event in got if isinstance(event, ArgumentsDelta))) == arguments
    longest = max(len(event.text) for event in got if isinstance(event, TextDelta | ArgumentsDelta))
    assert chunk is None or longest <= chunk


def test_pauses_take_time_on_the_loop_by_default() -> None:
    async def main() -> list[tuple[float, str]]:
        model = ScriptedModel(turn(say("a"), pause(5), say("b c d", over=3), call("A")))
        loop, seen = asyncio.get_running_loop(), list[tuple[float, str]]()
        async for event in model.stream(ASK):
            if isinstance(event, TextDelta | PartEnded):
                seen.append((loop.time(), getattr(event, "text", "end")))
        return seen

    assert run_virtual(main()) == [(0, "a"), (5, "b"), (6, " c"), (7, " d"), (8, "end"), (8, "end")]


def test_pauses_take_time_on_the_given_clock() -> None:
    async def main() -> None:
        clock = ManualClock()
        model = ScriptedModel(turn(say("a"), pause(5), say("b"), pause(0)), clock=clock)
        task = asyncio.create_task(collect(model))
        await clock.advance_and_settle(4)
        assert not task.done()
        await clock.advance_and_settle(1)
        assert task.done()

    asyncio.run(main())


def test_a_stream_closed_in_a_pause_leaves_no_timer() -> None:
    async def main() -> None:
        clock = ManualClock()
        task = asyncio.create_task(collect(ScriptedModel(turn(pause(5)), clock=clock)))
        await settle()
        assert clock.next_timer == 5
        task.cancel()
        await settle()
        assert clock.next_timer is None

    asyncio.run(main())


def test_a_failing_turn_raises_after_what_came_before() -> None:
    async def main() -> None:
        model = ScriptedModel(
            turn(say("x"), fail(ModelError("busy", kind="overloaded", retryable=True))), turn(fail("no"))
        )
        stream = model.stream(ASK)
        assert [await anext(stream) for _ in range(3)][-1] == TextDelta(0, "x")
        with pytest.raises(ModelError, match="busy") as caught:
            await anext(stream)
        assert caught.value.retryable
        with pytest.raises(ModelError, match="no"):
            await collect(model)

    asyncio.run(main())


def test_a_function_of_the_request_may_stand_for_a_turn() -> None:
    def echo(request: Request) -> ScriptedTurn:
        return turn(say(request.messages[-1].text), call("Echo"))

    async def main() -> None:
        model = ScriptedModel(turn(call("A")), echo, turn(call("B")), otherwise=echo)
        hello = Request("", [Message("m", "user", (Text("hello"),))])
        got = [await collect(model, hello) for _ in range(5)][-1]
        assert TextDelta(0, "hello") in got
        assert MessageStarted("msg_5", "scripted") in got
        assert any(isinstance(event, PartStarted) and event.id == "call_5" for event in got)

    asyncio.run(main())


def test_running_out_of_turns_says_so() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(say("x")))
        await collect(model)
        with pytest.raises(ModelError, match="the script has 1 turn"):
            await collect(model)
        assert len(model.requests) == 2

    asyncio.run(main())


def test_requests_are_kept_as_they_were_asked() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(), turn())
        messages = [Message("m1", "user", (Text("one"),))]
        await collect(model, Request("", messages))
        messages.append(Message("m2", "user", (Text("two"),)))
        await collect(model, Request("", messages))
        assert [len(request.messages) for request in model.requests] == [1, 2]

    asyncio.run(main())


def test_a_script_that_makes_no_sense_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="continues after its end"):
        turn(stop("end"), say("more"))
    with pytest.raises(UsageError, match="open_call needs"):
        turn(open_call("A", "{"))
