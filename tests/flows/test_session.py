"""Whole sessions on a scripted model: inputs in, events out, a valid history at the end."""

from collections.abc import Sequence

import pytest

from callgate import Answer, Continue, Interrupt, Prompt, QuestionAsked, Steer
from callgate.conversation.record import MemoryJournal
from callgate.testing import (
    GatedModel,
    Latch,
    ScriptedModel,
    call,
    cut_off,
    fail,
    limit,
    open_call,
    pause,
    run_virtual,
    say,
    settle,
    think,
    turn,
)
from callgate.words.decisions import Confirmation
from callgate.words.errors import ModelError, StateError
from callgate.words.events import (
    CallSettled,
    CallStarted,
    InputRefused,
    MessageAdded,
    RunEnded,
    StatusChanged,
    TextStreamed,
    TurnEnded,
)
from callgate.words.inputs import Close, Compact, Rewind, SetMode, SetModel
from callgate.words.limits import LoopLimits
from callgate.words.messages import ResultPart, Text, Thinking
from callgate.words.model import PartEnded
from callgate.words.traits import Traits
from tests.flows.kit import Workspace, answering, check_history, run
from tests.sessions import with_event


def ended(events: Sequence[object]) -> RunEnded:
    return next(event for event in reversed(events) if isinstance(event, RunEnded))


@pytest.mark.spec("TRN-1")
def test_a_turn_follows_another_until_no_call_is_asked_for() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(
            turn(say("Looking."), call("read", path="a"), call("read", path="b")),
            turn(call("write", path="a")),
            turn(say("Done.")),
        )
        async with space.session(model) as session:
            events = await run(session)
            assert session.status == "idle"
            assert [event.reason for event in events if isinstance(event, TurnEnded)] == ["calls", "calls", "answered"]
            assert ended(events).reason == "done"
            assert space.done == ["read a", "read b", "write a"]
            assert [message.role for message in session.messages] == [
                "user", "assistant", "tool", "assistant", "tool", "assistant",
            ]  # fmt: skip
            check_history(session.messages)
            assert len(model.requests[0].messages) == 1
            assert len(model.requests[2].messages) == 5

    run_virtual(main())


@pytest.mark.spec("TRN-1")
def test_results_of_calls_that_finish_during_the_stream_are_released_during_the_stream() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(turn(call("read", path="a"), pause(1), say("still talking"), pause(1)), turn(say("ok")))
        async with space.session(model) as session:
            events = await run(session)
            released = next(at for at, event in enumerate(events) if isinstance(event, CallSettled) and not event.held)
            spoke = next(at for at, event in enumerate(events) if isinstance(event, TextStreamed))
            assert released < spoke

    run_virtual(main())


@pytest.mark.spec("TRN-1", "EXE-5")
def test_a_read_runs_before_the_next_model_event_and_a_write_only_after_the_last() -> None:
    async def main() -> None:
        space = Workspace()
        gated = GatedModel(ScriptedModel(turn(call("read", path="a"), call("write", path="b")), turn(say("ok"))))
        async with space.session(gated) as session:
            session.post(SetMode("bypass"))
            reply = session.send(Prompt("go"))
            await gated.release_until(PartEnded)
            await settle()
            assert space.done == ["read a"]
            await gated.release_until(PartEnded)
            await settle()
            assert space.done == ["read a"]
            gated.open()
            await reply
            assert space.done == ["read a", "write b"]

    run_virtual(main())


def test_the_loop_in_the_reader_may_answer_a_question_and_go_on_reading() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel(turn(call("write", path="a")), turn(say("ok")))) as session:
            await run(session)
            assert space.done == ["write a"]

    run_virtual(main())


def test_a_reply_ends_when_only_a_person_can_go_on_and_an_answer_takes_it_up() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel(turn(call("write", path="a")), turn(say("ok")))) as session:
            await session.send(Prompt("go"))
            assert session.status == "waiting_confirmation"
            (question,) = session.questions
            await session.send(Answer(Confirmation(question.call_id, "yes", question.arguments_hash)))
            assert session.status == "idle"
            assert space.done == ["write a"]
            assert session.questions == ()

    run_virtual(main())


def test_an_answer_with_a_wrong_hash_is_refused_and_the_question_stays() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel(turn(call("write", path="a")), turn(say("ok")))) as session:
            await session.send(Prompt("go"))
            (question,) = session.questions
            events = await session.send(Answer(Confirmation(question.call_id, "yes", "not the hash")))
            assert any(isinstance(event, InputRefused) for event in events)
            assert session.questions == (question,)
            assert space.done == []

    run_virtual(main())


@pytest.mark.spec("EXE-14")
def test_no_and_stop_ends_the_turn_with_a_result_for_every_call() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(turn(call("write", path="a"), call("write", path="b")), turn(say("never asked for")))
        async with space.session(model) as session:
            await session.send(Prompt("go"))
            question = session.questions[0]
            answer = Confirmation(question.call_id, "no", question.arguments_hash, stop=True, note="not today")
            events = await session.send(Answer(answer))
            assert ended(events).reason == "stopped"
            codes = [event.result.code for event in events if isinstance(event, CallSettled)]
            assert sorted(codes) == ["cancelled_by_user", "denied"]
            check_history(session.messages)
            assert len(model.requests) == 1

    run_virtual(main())


@pytest.mark.spec("TRN-4", "EXE-16")
@pytest.mark.parametrize("moment", range(12))
def test_an_interrupt_after_any_event_leaves_a_valid_history(moment: int) -> None:
    async def main() -> None:
        space = Workspace()
        latch = Latch()
        script = ScriptedModel(
            turn(think("hm"), say("Looking."), call("read", path="a"), call("Latch"), call("write", path="b")),
            turn(say("after the interrupt")),
        )
        async with space.session(script, latch) as session:
            events = []
            reply = session.send(Prompt("go"))
            async for event in reply:
                events.append(event)
                if len(events) == moment + 1:
                    session.post(Interrupt())
            assert session.status == "idle"
            assert ended(events).reason == "interrupted"
            check_history(session.messages)
            assert "write b" not in space.done
            space.done.clear()
            latch.open()
            after = await run(session, "again")
            assert ended(after).reason == "done"
            check_history(session.messages)

    run_virtual(main())


@pytest.mark.spec("TRN-4", "EXE-16")
def test_steering_waits_for_calls_that_block_and_is_delivered_before_the_next_request() -> None:
    async def main() -> None:
        space = Workspace()
        latch = Latch()
        model = ScriptedModel(turn(call("Latch")), turn(say("I see.")))
        async with space.session(model, latch) as session:
            reply = session.send(Prompt("go"))
            await latch.entered()
            session.post(Steer("use tabs"))
            assert latch.cancelled == []
            latch.open()
            await reply
            assert [message.text for message in model.requests[1].messages if message.role == "user"] == [
                "go",
                "use tabs",
            ]

    run_virtual(main())


@pytest.mark.spec("EXE-16")
def test_steering_cancels_calls_that_give_way() -> None:
    async def main() -> None:
        space = Workspace()
        latch = Latch(traits=Traits("none", interrupt="cancel"))
        model = ScriptedModel(turn(call("Latch")), turn(say("I see.")))
        async with space.session(model, latch) as session:
            reply = session.send(Prompt("go"))
            await latch.entered()
            session.post(Steer("never mind"))
            events = await reply
            (settled,) = [event for event in events if isinstance(event, CallSettled)]
            assert settled.result.code == "cancelled_by_user"
            assert session.messages[-2].text == "never mind"

    run_virtual(main())


def test_steering_after_the_last_call_still_gets_an_answer() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(turn(say("One.")), turn(say("Two.")))
        async with space.session(model) as session:
            async for event in session.send(Prompt("go")):
                if isinstance(event, TextStreamed) and event.text == "One.":
                    session.post(Steer("and?"))
            assert [message.text for message in session.messages] == ["go", "One.", "and?", "Two."]

    run_virtual(main())


@pytest.mark.spec("TRN-4")
def test_a_prompt_sent_while_the_agent_works_waits_for_the_end() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(turn(call("read", path="a")), turn(say("First.")), turn(say("Second.")))
        async with space.session(model) as session:
            reply = session.send(Prompt("one"))
            session.post(Prompt("two"))
            await reply
            texts = [message.text for message in session.messages if message.role != "tool"]
            assert texts == ["one", "", "First.", "two", "Second."]

    run_virtual(main())


@pytest.mark.spec("EXE-6")
@pytest.mark.parametrize("ending", [cut_off(), limit(), fail(ModelError("connection lost"))])
def test_nothing_with_effects_runs_from_a_message_that_was_cut_off(ending: object) -> None:
    async def main() -> None:
        space = Workspace()
        first = turn(call("read", path="a"), call("write", path="a"), open_call("write", '{"path": "b'), ending)  # type: ignore[arg-type]
        async with space.session(ScriptedModel(first, turn(say("Again.")))) as session:
            session.post(SetMode("bypass"))
            events = await run(session)
            assert space.done in ([], ["read a"])
            codes = {event.call_id: event.result.code for event in events if isinstance(event, CallSettled)}
            assert codes["call_2"] == codes["call_3"] == "not_run_truncated"
            check_history(session.messages)

    run_virtual(main())


def test_a_model_that_fails_ends_the_run_with_its_error_and_a_valid_history() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(
            ScriptedModel(turn(call("read", path="a"), fail(ModelError("overloaded"))))
        ) as session:
            events = await run(session)
            assert ended(events).reason == "model_error"
            assert ended(events).detail == "overloaded"
            check_history(session.messages)
            assert session.status == "idle"

    run_virtual(main())


def test_a_model_that_keeps_being_cut_off_is_not_asked_for_ever() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(otherwise=turn(call("write", path="a"), cut_off()))
        async with space.session(model) as session:
            events = await run(session)
            assert ended(events).reason == "cut_off"
            assert len(model.requests) == 4

    run_virtual(main())


def test_the_limit_of_turns_counts_every_request() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(
            lambda request: turn(call("read", path=str(len(request.messages)))),
            lambda request: turn(call("read", path=str(len(request.messages)))),
            turn(say("never")),
        )
        async with space.session(model, limits=LoopLimits(max_turns=2)) as session:
            events = await run(session)
            assert ended(events).reason == "limit"
            assert len(model.requests) == 2

    run_virtual(main())


def test_thinking_and_text_stay_in_the_message_with_their_signature() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel(turn(think("hm", signature="s"), say("Yes.")))) as session:
            await run(session)
            assert session.messages[-1].parts == (Thinking("hm", "s"), Text("Yes."))

    run_virtual(main())


def test_inputs_that_cannot_be_taken_are_answered_with_the_reason() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel()) as session:
            for sent, words in (
                (Continue(), "unfinished"),
                (Interrupt(), "is running"),
                (SetModel("gpt"), "scripted"),
                (Rewind("nope"), "nope"),
                (Compact(), "summar"),
                (Answer(Confirmation("x", "yes", "h")), "question"),
            ):
                (event,) = [each for each in await session.send(sent) if isinstance(each, InputRefused)]
                assert (event.input, words in event.reason) == (type(sent).__name__, True)

    run_virtual(main())


def test_set_model_uses_the_other_model_from_the_next_request_on() -> None:
    async def main() -> None:
        space = Workspace()
        first, second = ScriptedModel(turn(say("A"))), ScriptedModel(turn(say("B")), name="other")
        async with space.session(first, models=[second]) as session:
            await run(session, "one")
            session.post(SetModel("other"))
            await run(session, "two")
            assert [message.text for message in session.messages] == ["one", "A", "two", "B"]

    run_virtual(main())


def test_rewind_goes_on_from_before_the_message() -> None:
    async def main() -> None:
        space = Workspace()
        model = ScriptedModel(turn(say("A")), turn(say("B")))
        async with space.session(model) as session:
            await run(session, "one")
            await session.send(Rewind(session.messages[0].id))
            await run(session, "two")
            assert [message.text for message in session.messages] == ["two", "B"]
            assert len(model.requests[0].messages) == 1

    run_virtual(main())


def test_closing_interrupts_what_runs_and_refuses_what_comes_later() -> None:
    async def main() -> None:
        space = Workspace()
        latch = Latch()
        session = space.session(ScriptedModel(turn(call("Latch"))), latch)
        reply = session.send(Prompt("go"))
        await latch.entered()
        events = await session.send(Close())
        assert isinstance(events[-1], StatusChanged)
        assert session.status == "closed"
        assert latch.cancelled == ["call_1"]
        await reply
        check_history(session.messages)
        with pytest.raises(StateError):
            session.post(Prompt("too late"))

    run_virtual(main())


def test_a_failing_journal_stops_the_session_and_the_reader_is_told() -> None:
    class Full(MemoryJournal):
        def append(self, event: object) -> None:
            if isinstance(event, TurnEnded):
                raise OSError("No space left on device")

    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel(turn(say("A"))), journal=Full()) as session:
            with pytest.raises(OSError, match="No space left"):
                await session.send(Prompt("go"))
            assert session.status == "paused"

    run_virtual(main())


@pytest.mark.spec("CALL-3", "EXE-8")
def test_every_prefix_of_the_events_continues_to_exactly_one_result_per_call() -> None:
    async def record() -> list[object]:
        space = Workspace()
        journal = MemoryJournal()
        script = ScriptedModel(
            turn(call("read", path="a"), call("write", path="b"), call("nope"), call("write", path="b")),
            turn(say("Done.")),
        )
        async with space.session(script, journal=journal) as session:
            await run(session)
        return list(journal.events)

    async def resume(prefix: list[object]) -> None:
        space = Workspace()
        journal = MemoryJournal(prefix)  # type: ignore[arg-type]
        script = ScriptedModel(otherwise=turn(say("Done.")))
        async with space.session(script, journal=journal) as session:
            if session.status == "paused":
                async for event in session.send(Continue()):
                    answering(session, event)
            assert session.status == "idle"
            check_history(session.messages)
            started = [event.call_id for event in prefix if isinstance(event, CallStarted)]
            settled = [event.call_id for event in prefix if isinstance(event, CallSettled)]
            if "call_2" in started:
                assert "write b" not in space.done[:1] or "call_4" not in started
            for call_id in set(started) & {"call_2", "call_4"} - set(settled):
                results = [p for m in session.messages for p in m.parts if isinstance(p, ResultPart)]
                (result,) = [part for part in results if part.call_id == call_id]
                assert "Outcome unknown" in result.content[0].text  # type: ignore[union-attr]

    events = run_virtual(record())
    assert sum(isinstance(event, MessageAdded) for event in events) == 4
    for length in range(len(events) + 1):
        run_virtual(resume(events[:length]))


def test_a_question_that_was_open_is_asked_again_after_a_restart_and_consumed_once() -> None:
    async def main() -> None:
        space = Workspace()
        journal = MemoryJournal()
        first = space.session(ScriptedModel(turn(call("write", path="a"))), journal=journal)
        await first.send(Prompt("go"))
        assert first.status == "waiting_confirmation"
        again = MemoryJournal(journal.events)
        await first.aclose()
        assert space.done == []
        async with space.session(ScriptedModel(turn(say("Done."))), journal=again) as session:
            assert session.status == "paused"
            events = []
            async for event in session.send(Continue()):
                events.append(event)
                answering(session, event)
            assert sum(isinstance(event, QuestionAsked) for event in events) == 1
            assert space.done == ["write a"]

    run_virtual(main())


def test_events_are_the_same_for_every_listener_and_a_reply_nobody_reads_is_let_go() -> None:
    async def main() -> None:
        space = Workspace()
        heard: list[object] = []
        async with space.session(ScriptedModel(turn(say("A")), turn(say("B")))) as session:
            stop = session.listen(with_event(heard.append))
            events = await session.send(Prompt("one"))
            assert heard == events
            stop()
            session.send(Prompt("two"))  # nobody keeps the reply
            await session.send(Steer("three"))
            assert heard == events

    run_virtual(main())
