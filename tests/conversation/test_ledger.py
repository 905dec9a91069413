"""State is the fold of events; the record writes them in one order."""

import asyncio
import json
from typing import Any, cast

import pytest

from callgate import Session
from callgate.assembly import DecisionGate
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.formats.jsonable import from_json, to_json
from callgate.testing import ScriptedModel, say, turn
from callgate.testing import call as scripted
from callgate.words.calls import Result, Status
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Confirmation, Question
from callgate.words.errors import StateError
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallProgressed,
    CallSettled,
    CallStarted,
    ContextUpdated,
    Durable,
    Event,
    MessageAdded,
    ModeSet,
    Noted,
    PolicyAdded,
    QuestionAnswered,
    QuestionAsked,
    TurnEnded,
    TurnStarted,
)
from callgate.words.inputs import Answer, Continue, Prompt
from callgate.words.messages import CallPart, Message, ResultPart, Text, Usage
from callgate.words.turns import Rewound
from tests.core.kit import SlowJournal, answer, bash, saying, virtual_host

OK = Result((Text("done"),))
QUESTION = Question(
    call_id="a", tool="Do", arguments={}, arguments_hash="hash", by="default", reason="why", asked_at=2.0
)

ARRIVED = CallArrived(at=1.0, call_id="a", name="Do", arguments={"x": 1}, index=0, message_id="m1")
DECIDED = CallDecided(2.0, "a", Allow("test"), "hash")
ASK = CallDecided(2.0, "a", Ask("test"), "hash")
ASKED = QuestionAsked(3.0, QUESTION)
ANSWERED = QuestionAnswered(4.0, Confirmation("a", "yes", "hash"))
STARTED = CallStarted(5.0, "a")
SETTLED = CallSettled(6.0, "a", OK, 1000.0)


def status_after(*events: Event) -> Status:
    ledger = Ledger()
    for event in events:
        ledger.fold(event)
    return ledger.call("a").status


# ---- where a call is --------------------------------------------------------------------------------------------


@pytest.mark.spec("CALL-1")
@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((ARRIVED,), Status.VALIDATING),
        ((ARRIVED, DECIDED), Status.SCHEDULED),
        ((ARRIVED, ASK, ASKED), Status.AWAITING_APPROVAL),
        ((ARRIVED, ASK, ASKED, ANSWERED, DECIDED), Status.SCHEDULED),
        ((ARRIVED, DECIDED, STARTED), Status.EXECUTING),
        ((ARRIVED, DECIDED, STARTED, SETTLED), Status.SUCCESS),
        ((ARRIVED, CallSettled(2.0, "a", Result.failed("unknown_tool", "?"))), Status.ERROR),
        ((ARRIVED, DECIDED, CallSettled(3.0, "a", Result.failed("cancelled_by_user", "!"))), Status.CANCELLED),
    ],
)
def test_the_status_of_a_call_follows_from_its_events(events: tuple[Event, ...], status: Status) -> None:
    assert status_after(*events) is status


@pytest.mark.spec("CALL-1")
@pytest.mark.parametrize(
    "events",
    [
        (ARRIVED, STARTED),
        (ARRIVED, SETTLED),
        (ARRIVED, DECIDED, SETTLED),
        (ARRIVED, DECIDED, STARTED, ASKED),
        (ARRIVED, DECIDED, STARTED, SETTLED, STARTED),
    ],
)
def test_any_other_move_is_a_state_error(events: tuple[Event, ...]) -> None:
    with pytest.raises(StateError, match="a"):
        status_after(*events)


@pytest.mark.spec("CALL-3")
def test_a_call_settles_once_and_keeps_that_result() -> None:
    ledger = Ledger([ARRIVED, DECIDED, STARTED, SETTLED])
    with pytest.raises(StateError):
        ledger.fold(CallSettled(7.0, "a", Result.failed("tool_error", "second")))
    assert ledger.call("a").result == OK


@pytest.mark.spec("CALL-3")
def test_a_call_that_has_not_settled_has_no_result() -> None:
    assert Ledger([ARRIVED, DECIDED, STARTED]).call("a").result is None


def test_the_snapshot_of_a_call_tells_its_times() -> None:
    done = Ledger([ARRIVED, DECIDED, STARTED, SETTLED]).call("a")
    assert (done.started_at, done.ended_at, done.duration_ms) == (5.0, 6.0, 1000.0)
    assert (done.index, done.message_id, done.decision) == (0, "m1", Allow("test"))


@pytest.mark.spec("EXE-22")
def test_changed_arguments_are_on_record_with_who_changed_them_and_what_they_were() -> None:
    ledger = Ledger([ARRIVED, CallDecided(2.0, "a", Allow("Ada", arguments={"x": 2}), "hash")])
    changed = ledger.call("a")
    assert changed.arguments == {"x": 2}
    assert changed.edited is not None
    assert (changed.edited.by, changed.edited.before) == ("Ada", {"x": 1})


@pytest.mark.spec("EXE-25")
def test_live_output_grows_with_progress() -> None:
    ledger = Ledger([ARRIVED, DECIDED, STARTED])
    ledger.fold(CallProgressed(5.5, "a", "one "))
    ledger.fold(CallProgressed(5.6, "a", "two"))
    assert ledger.call("a").live_output == "one two"


def test_settled_calls_are_let_go_when_their_turn_ends() -> None:
    ledger = Ledger([TurnStarted(0.0, 1, "m1"), ARRIVED, DECIDED, STARTED, SETTLED, TurnEnded(7.0, 1, "calls")])
    assert ledger.calls == {}
    assert set(ledger.message_of) == {"a"}


# ---- the rest of the state --------------------------------------------------------------------------------------


def test_context_policies_and_mode_are_folded() -> None:
    policy = ApprovalPolicy("allow", "Do")
    events: list[Durable] = [ContextUpdated(1.0, "a", {"x": 1}), PolicyAdded(1.0, policy), ModeSet(1.0, "plan")]
    ledger = Ledger(events, context={"x": 0, "y": 2})
    assert ledger.context == {"x": 1, "y": 2}
    assert ledger.policies == [policy]
    assert ledger.mode == "plan"


def test_the_history_of_a_request_does_not_grow_with_what_comes_later() -> None:
    ledger = Ledger([MessageAdded(1.0, Message("u1", "user", (Text("hi"),)))])
    history = ledger.history()
    ledger.fold(MessageAdded(2.0, Message("a1", "assistant", (Text("hello"),))))
    assert [message.id for message in history] == ["u1"]
    assert [message.id for message in ledger.history()] == ["u1", "a1"]


def test_after_a_rewind_the_live_events_end_just_before_the_message_and_older_requests_are_left_alone() -> None:
    said = [MessageAdded(float(n), Message(f"u{n}", "user", (Text(str(n)),))) for n in range(3)]
    before = Ledger(said)
    request = before.history()
    journal = MemoryJournal([*said, Rewound(9.0, "u1", before.counted)])
    ledger = Ledger(journal.read())
    assert [message.id for message in ledger.messages] == ["u0"]
    assert (ledger.added, len(request)) == (3, 3)


def test_usage_adds_up() -> None:
    ledger = Ledger()
    for n in range(2):
        message = Message(f"a{n}", "assistant", (), usage=Usage(input=10, output=1))
        ledger.fold(MessageAdded(1.0, message))
    assert (ledger.usage.input, ledger.usage.output) == (20, 2)


# ---- the record -------------------------------------------------------------------------------------------------


def test_an_event_is_in_the_journal_and_the_ledger_before_doors_hear_of_it() -> None:
    journal, ledger = MemoryJournal(), Ledger()
    seen: list[tuple[int, bool]] = []
    record = Record(journal, ledger, [lambda event: seen.append((len(journal.events), "a" in ledger.calls))])
    record.write(ARRIVED)
    assert seen == [(1, True)]


def test_what_passes_is_told_and_never_stored() -> None:
    journal, heard = MemoryJournal(), list[Event]()
    record = Record(journal, Ledger([ARRIVED, DECIDED, STARTED]), [heard.append])
    record.publish(CallProgressed(5.5, "a", "half"))
    assert journal.events == []
    assert len(heard) == 1


def test_whoever_stops_listening_hears_nothing_more() -> None:
    heard: list[Event] = []
    record = Record(MemoryJournal(), Ledger())
    stop = record.on_event(heard.append)
    record.write(Noted(1.0, "one"))
    stop()
    record.write(Noted(2.0, "two"))
    assert [cast(Noted, event).text for event in heard] == ["one"]


async def test_what_must_be_durable_first_is_heard_only_then() -> None:
    journal, heard = SlowJournal(), list[Event]()
    record = Record(journal, Ledger(), [heard.append])
    waiting = record.write_first(ARRIVED)
    assert waiting is not None
    writing = asyncio.ensure_future(waiting)
    await asyncio.sleep(0)
    assert (len(journal.events), heard) == (1, [])
    journal.synced.set()
    await writing
    assert heard == [ARRIVED]


# ---- a whole session --------------------------------------------------------------------------------------------


async def recorded_session() -> tuple[Session, MemoryJournal]:
    """Two turns with a question that is answered with an always, edited arguments and a context update."""
    model = ScriptedModel(
        turn(say("Let me see."), scripted("Look"), scripted("Bash", command="make log"), scripted("Nope", type="Text")),
        turn(say("Done.")),
    )
    journal = MemoryJournal()
    tools = [saying("Look", Result((Text("seen"),), context_update={"looked": [1]})), bash()]
    session = Session(model, tools, gate=DecisionGate(), host=virtual_host(), journal=journal)
    await session.send(Prompt("Hello"))
    (question,) = session.questions
    await session.send(Answer(answer(question, "yes_always", arguments={"command": "git diff"}, by="Ada")))
    return session, journal


@pytest.mark.spec("RUN-7")
async def test_everything_in_a_session_survives_json() -> None:
    session, journal = await recorded_session()
    stored = json.dumps([to_json(event) for event in journal.events], allow_nan=False)
    back = [from_json(cast(Any, Durable), each) for each in json.loads(stored)]
    assert back == journal.events
    again = Ledger(back)
    assert tuple(again.messages) == session.messages
    assert (again.context, again.usage) == (session.context, session.usage)
    await session.aclose()


@pytest.mark.spec("RUN-7")
async def test_a_session_goes_on_from_a_question_that_went_through_json() -> None:
    model = ScriptedModel(turn(scripted("Bash", command="make ls")))
    journal = MemoryJournal()
    session = Session(model, [bash()], host=virtual_host(), journal=journal)
    await session.send(Prompt("Hello"))
    stored = json.dumps([to_json(event) for event in journal.events], allow_nan=False)
    await session.aclose()
    # when another process reads that record
    kept = MemoryJournal(from_json(cast(Any, Durable), each) for each in json.loads(stored))
    later = Session(ScriptedModel(turn(say("Done."))), [bash()], host=virtual_host(), journal=kept)
    assert later.status == "paused"
    await later.send(Continue())
    await later.send(Answer(answer(later.questions[0], "yes")))
    # then the call runs and its result is in the history
    results = [part for message in later.messages for part in message.parts if isinstance(part, ResultPart)]
    assert [part.content for part in results] == [(Text("ran make ls"),)]
    await later.aclose()


@pytest.mark.spec("CALL-3", "EXE-8")
async def test_every_call_of_the_history_is_followed_by_exactly_one_result() -> None:
    session, _journal = await recorded_session()
    parts = [part for message in session.messages for part in message.parts]
    asked = [part.id for part in parts if isinstance(part, CallPart)]
    answered = [part.call_id for part in parts if isinstance(part, ResultPart)]
    assert asked == answered
    assert len(asked) == 3
    await session.aclose()
