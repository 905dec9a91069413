"""Requests that follow by themselves: each has a named cause, and each kind comes to an end."""

import asyncio
from typing import Any

import pytest

from callgate import Interrupt, Prompt, Session
from callgate.conversation.feature import Feature, FeaturePart
from callgate.conversation.ports import Model
from callgate.conversation.reminders import CONTINUE_TEXT
from callgate.testing import ScriptedModel, call, fail, limit, run_virtual, say, settle, turn
from callgate.testing.script import stop
from callgate.words.errors import ModelError
from callgate.words.events import Event, MessageAdded, RunEnded, TurnEnded, TurnStarted
from callgate.words.limits import LoopLimits
from callgate.words.model import Abilities, RequestLimits
from callgate.words.turns import Compacted
from tests.core.kit import virtual_host
from tests.flows.kit import Workspace, run
from tests.history import faults
from tests.sessions import grouped_session

TOO_LONG = fail(ModelError("200,001 tokens", kind="too_long"))


def causes(events: list[Event]) -> list[str]:
    return [event.because for event in events if isinstance(event, TurnStarted)]


def end(events: list[Event]) -> RunEnded:
    (ended,) = [event for event in events if isinstance(event, RunEnded)]
    return ended


class Summarizer(FeaturePart):
    """A compaction that puts a summary in place of everything, as often as it is told to."""

    def __init__(self, *, works: bool = True, refuses: str | None = None, takes: float = 0.0) -> None:
        self.session: Session | None = None
        self.called: list[str] = []
        self._works = works
        self._refuses = refuses
        self._takes = takes

    async def make_room(self, model: Model) -> str | None:
        self.called.append(f"before {model.name}")
        return self._refuses

    async def too_long(self, model: Model) -> bool:
        self.called.append("too long")
        await asyncio.sleep(self._takes)
        if self._works and self.session is not None:
            record = self.session._record  # pyright: ignore[reportPrivateUsage]
            counted, running = record.ledger.counted, record.ledger.running
            record.write(Compacted(0.0, "short", trigger="reactive", running=running, counted=counted))
        return self._works


def _features(compaction: Summarizer | None) -> list[Feature]:
    return [] if compaction is None else [Feature("compaction", lambda opened: compaction)]


def opened(model: Model, compaction: Summarizer | None = None, **options: Any) -> Session:
    session = grouped_session(
        model, Workspace().toolbox(), host=virtual_host(), features=_features(compaction), **options
    )
    if compaction is not None:
        compaction.session = session
    return session


# ---- a request that is too long -------------------------------------------------------------------------------------


@pytest.mark.spec("TRN-3")
@pytest.mark.parametrize("scene", [turn(TOO_LONG), turn(say("So"), stop("context_full"))], ids=["refused", "full"])
def test_a_request_that_is_too_long_is_sent_again_after_the_history_was_made_shorter(scene: Any) -> None:
    async def main() -> None:
        model, compaction = ScriptedModel(scene, turn(say("Fine."))), Summarizer()
        async with opened(model, compaction) as session:
            events = await run(session)
            assert causes(events) == ["prompt", "compacted"]
            assert end(events).reason == "done"
            assert [message.text for message in model.requests[-1].messages] == ["short"]
            assert compaction.called == ["before scripted", "too long", "before scripted"]
            assert not any(isinstance(event, TurnEnded) and event.reason == "model_error" for event in events)

    run_virtual(main())


@pytest.mark.spec("TRN-3")
@pytest.mark.parametrize("works", [True, False])
def test_a_compaction_that_never_gets_smaller_ends_the_run_with_the_reason(works: bool) -> None:
    async def main() -> None:
        model, compaction = ScriptedModel(otherwise=turn(TOO_LONG)), Summarizer(works=works)
        async with opened(model, compaction) as session:
            ended = end(await run(session))
            assert ended.reason == "context_full"
            assert "200,001 tokens" in ended.sentence
            assert compaction.called.count("too long") == 1
            assert len(model.requests) == 1 + works

    run_virtual(main())


@pytest.mark.spec("TRN-3")
def test_a_request_that_must_not_be_sent_ends_the_run() -> None:
    async def main() -> None:
        model = ScriptedModel()
        async with opened(model, Summarizer(refuses="198,000 of 200,000 tokens")) as session:
            assert end(await run(session)).detail == "198,000 of 200,000 tokens"
            assert model.requests == []

    run_virtual(main())


@pytest.mark.spec("TRN-4")
def test_an_interrupt_while_the_history_is_made_shorter_ends_the_run() -> None:
    async def main() -> None:
        async with opened(ScriptedModel(turn(TOO_LONG)), Summarizer(takes=100.0)) as session:
            reply = session.send(Prompt("go"))
            await settle()
            session.post(Interrupt())
            events = await reply
            assert end(events).reason == "interrupted"
            assert not any(isinstance(event, Compacted) for event in events)

    run_virtual(main())


# ---- the limit of the output ----------------------------------------------------------------------------------------


@pytest.mark.spec("TRN-1", "TRN-3")
def test_a_message_that_reached_its_limit_is_continued_with_a_higher_one_first() -> None:
    async def main() -> None:
        able, asked = Abilities(output_tokens=64_000), RequestLimits(max_output_tokens=8_000)
        model = ScriptedModel(turn(say("One"), limit()), turn(say("two"), limit()), turn(say("three")), abilities=able)
        async with opened(model, request_limits=asked) as session:
            events = await run(session)
            assert causes(events) == ["prompt", "output_limit", "output_limit"]
            assert [each.limits.max_output_tokens for each in model.requests] == [8_000, 64_000, 64_000]
            assert [each.messages[-1].text for each in model.requests[1:]] == [CONTINUE_TEXT, CONTINUE_TEXT]
            assert faults(session.messages) == []
            marked = [
                event.about
                for event in events
                if isinstance(event, MessageAdded) and event.message.text == CONTINUE_TEXT
            ]
            assert marked == ["output_limit"] * 2

    run_virtual(main())


@pytest.mark.spec("TRN-3")
@pytest.mark.parametrize(
    ("able", "requests"), [(64_000, 5), (8_000, 4), (None, 4)], ids=["can be raised", "cannot", "not known"]
)
def test_a_model_that_always_reaches_its_limit_is_asked_to_go_on_three_times(able: int | None, requests: int) -> None:
    async def main() -> None:
        model = ScriptedModel(otherwise=turn(say("More"), limit()), abilities=Abilities(output_tokens=able))
        async with opened(model, request_limits=RequestLimits(max_output_tokens=8_000)) as session:
            assert end(await run(session)).reason == "output_limit"
            assert len(model.requests) == requests

    run_virtual(main())


@pytest.mark.spec("TRN-2")
def test_every_kind_of_continuation_counts_as_a_turn() -> None:
    async def main() -> None:
        model = ScriptedModel(otherwise=turn(say("More"), limit()))
        async with opened(model, limits=LoopLimits(max_turns=2)) as session:
            ended = end(await run(session))
            assert (ended.reason, ended.kind) == ("limit", "turns")
            assert len(model.requests) == 2

    run_virtual(main())


@pytest.mark.spec("TRN-1")
def test_a_call_with_arguments_that_were_cut_off_is_not_run_and_the_model_goes_on() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(call("write", path="a"), limit()), turn(say("Done.")))
        async with opened(model) as session:
            events = await run(session)
            assert causes(events) == ["prompt", "output_limit"]
            assert model.requests[1].messages[-1].role == "tool"
            assert faults(session.messages) == []

    run_virtual(main())
