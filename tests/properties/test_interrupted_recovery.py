"""A run with every kind of recovery in it, interrupted, left and cut at each of its events."""

from typing import Any

import pytest

from callgate import Continue, Interrupt, ModelSetup, Prompt, Session, SessionLimits, Steer
from callgate.conversation.feature import Feature, FeaturePart
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Model
from callgate.conversation.record import MemoryJournal
from callgate.testing import PlainTool, PlainToolbox, ScriptedModel, call, fail, limit, pause, run_virtual, say, turn
from callgate.testing.script import Scene, cut_off, raw_call
from callgate.words.errors import ModelError
from callgate.words.events import CallStarted, Event, RunEnded
from callgate.words.limits import LoopLimits
from callgate.words.messages import CallPart
from callgate.words.model import Abilities, RequestLimits
from callgate.words.traits import Traits, reads, writes
from callgate.words.turns import Compacted
from tests.core.kit import allow_all, virtual_host
from tests.history import faults
from tests.sessions import with_event
from tests.virtual import passes

BUSY = fail(ModelError("busy", kind="overloaded", retryable=True))
TOO_LONG = fail(ModelError("too long", kind="too_long"))


def script() -> list[Scene]:
    """Retries before and after calls, a fallback, a compaction, a higher limit, going on, and steering."""
    return [
        turn(BUSY),
        turn(say("So"), cut_off()),
        turn(
            say("I read"), raw_call("read", {"path": "a"}, id="r1"), pause(1.0), raw_call("write", {"path": "b"}), BUSY
        ),
        turn(raw_call("read", {"path": "c"}, id="r1"), call("write", path="d"), limit()),
        turn(TOO_LONG),
        turn(say("More"), limit()),
        turn(BUSY),
        turn(BUSY),
        turn(call("write", path="e"), BUSY),
    ]


class Shortening(FeaturePart):
    """Puts a summary in place of all but the last messages."""

    def __init__(self) -> None:
        self.session: Session | None = None

    async def too_long(self, model: Model) -> bool:
        await passes(1.0)
        assert self.session is not None
        record = self.session._record  # pyright: ignore[reportPrivateUsage]
        ledger = record.ledger
        counted, running = ledger.counted, ledger.running
        record.write(Compacted(0.0, "short", trigger="reactive", running=running, counted=counted))
        return True


class Stage:
    def __init__(self, journal: MemoryJournal, *scenes: Scene) -> None:
        self.done: list[str] = []
        self.events: list[Event] = []
        self.journal = journal
        compaction, able = Shortening(), Abilities(output_tokens=9_000)
        calm = turn(say("Fine."))
        other = ScriptedModel(turn(call("read", path="f")), name="other", abilities=able, otherwise=calm)
        self.session = Session(
            ModelSetup(
                ScriptedModel(*scenes, abilities=able, otherwise=calm),
                fallback=other,
                request_limits=RequestLimits(max_output_tokens=100),
            ),
            PlainToolbox(
                PlainTool("read", self._tool, traits=lambda a: Traits("none", reads(a["path"]))),
                PlainTool("write", self._tool, traits=lambda a: Traits("mutating", writes(a["path"]))),
            ),
            host=virtual_host(),
            gate=allow_all(),
            journal=journal,
            features=[Feature("compaction", lambda opened: compaction)],
            limits=SessionLimits(run=LoopLimits()),
        )
        compaction.session = self.session
        self.session.listen(with_event(self.events.append))

    async def _tool(self, arguments: Any, run: Any) -> str:
        self.done.append(f"{arguments['path']}")
        await passes(0.5)
        return "done"

    def check(self) -> None:
        assert faults(self.session._record.ledger.history()) == []  # pyright: ignore[reportPrivateUsage]
        ids = [part.id for message in self.session.messages for part in message.parts if isinstance(part, CallPart)]
        assert len(ids) == len(set(ids))
        started: set[str] = set()
        for event in self.journal.events:
            if isinstance(event, Compacted):
                started = set()  # ids before a boundary may come again
            elif isinstance(event, CallStarted):
                assert event.call_id not in started or event.attempt > 1
                started.add(event.call_id)


async def whole() -> list[Event]:
    stage = Stage(MemoryJournal(), *script())
    async with stage.session as session:
        await session.send(Prompt("go"))
    stage.check()
    assert stage.done == ["a", "c", "f"]  # truncated and broken messages change nothing
    return stage.events


@pytest.mark.spec("TRN-3", "TRN-4")
def test_the_script_has_every_kind_of_recovery_in_it() -> None:
    events = run_virtual(whole())
    causes = {getattr(event, "because", None) for event in events} - {None}
    assert causes == {"prompt", "retried", "compacted", "output_limit", "results"}
    assert {event.reason for event in events if isinstance(event, RunEnded)} == {"done"}


@pytest.mark.spec("TRN-4")
@pytest.mark.parametrize("steers", [False, True], ids=["plain", "steered"])
def test_an_interrupt_at_any_event_leaves_a_legal_history_that_goes_on(steers: bool) -> None:
    async def main(at: int) -> None:
        stage = Stage(MemoryJournal(), *script())
        async with stage.session as session:
            seen = 0
            async for _ in session.send(Prompt("go")):
                seen += 1
                if seen == at:
                    if steers:
                        session.post(Steer("wait"))
                    session.post(Interrupt())
            stage.check()
            ends = [event.reason for event in stage.events if isinstance(event, RunEnded)]
            assert ends in (["interrupted"], ["done"], ["done", "interrupted"]), at  # steered after the end: a new run
            await session.send(Prompt("again"))
            stage.check()

    for at in range(1, len(run_virtual(whole())) + 1):
        run_virtual(main(at))


@pytest.mark.spec("TRN-4")
def test_a_session_closed_at_any_event_is_taken_up_with_a_legal_history() -> None:
    async def main(at: int) -> None:
        journal = MemoryJournal(session="kept")
        stage = Stage(journal, *script())
        async with stage.session as session:
            seen = 0
            async for _ in session.send(Prompt("go")):
                seen += 1
                if seen == at:
                    await session.aclose()
        second = Stage(MemoryJournal(journal.events, session="kept"), *script()[5:])
        async with second.session as session:
            if session.status == "paused":
                await session.send(Continue())
            second.check()
            assert session.status == "idle", at

    for at in range(1, len(run_virtual(whole())) + 1, 2):
        run_virtual(main(at))


@pytest.mark.spec("TRN-4")
def test_every_prefix_of_such_a_record_is_taken_up_with_a_legal_history() -> None:
    async def record() -> list[Any]:
        stage = Stage(MemoryJournal(session="kept"), *script())
        async with stage.session as session:
            await session.send(Prompt("go"))
        return stage.journal.events

    async def main(events: list[Any]) -> None:
        ledger = Ledger(events)
        assert faults(ledger.history()) == []
        second = Stage(MemoryJournal(events, session="kept"), turn(TOO_LONG), turn(BUSY))
        async with second.session as session:
            await session.send(Continue() if session.status == "paused" else Prompt("again"))
            second.check()

    events = run_virtual(record())
    for at in range(1, len(events) + 1):
        run_virtual(main(events[:at]))
