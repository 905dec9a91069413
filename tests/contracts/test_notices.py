"""The contract of notices: durable, delivered at most once also after a crash, and able to wake a session."""

from collections.abc import Sequence

import pytest

from callgate import Session
from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.conversation.record import MemoryJournal
from callgate.features import NoticesPart
from callgate.testing import MemoryHost, ScriptedModel, call, say, turn
from callgate.tools.tool import tool
from callgate.words.events import Durable, Forked, MessageAdded, RunEnded, TurnStarted
from callgate.words.inputs import Compact, Continue, Rewind, SetMode
from callgate.words.turns import NoticeAdded, NoticeDelivered

ANY = turn(say("ok"))
PLAIN, URGENT = "The build has ended.", "The agent has ended."


class Ender(FeaturePart):
    """A feature that adds notices, as a background task does."""

    def __init__(self, opened: OpenSession) -> None:
        self.notices = opened.needed("notices", NoticesPart)


ENDER = Feature("ender", Ender, needs=frozenset({"notices"}))


def session_on(journal: MemoryJournal, model: ScriptedModel | None = None, **options: object) -> Session:
    return Session(
        model or ScriptedModel(otherwise=ANY),
        host=MemoryHost(),
        journal=journal,
        features=[ENDER],
        **options,  # type: ignore[arg-type]
    )


def notices_of(session: Session) -> NoticesPart:
    part = session.part("ender")
    assert isinstance(part, Ender)
    return part.notices


def given(events: Sequence[Durable], text: str) -> int:
    """Return how many messages for the model have this text."""
    return sum(text in event.message.text for event in events if isinstance(event, MessageAdded))


async def test_a_notice_is_delivered_once_whichever_write_was_the_last_before_a_crash() -> None:
    journal = MemoryJournal(session="s")
    model = ScriptedModel(turn(call("look")), otherwise=ANY)

    @tool(effects="none")
    def look() -> str:
        """Add a notice in the middle of a run."""
        notices_of(session).add("agent", URGENT, id="a-1", wake=True)
        return "seen"

    async with Session(model, [look], host=MemoryHost(), journal=journal, features=[ENDER]) as session:
        notices_of(session).add("task", PLAIN)
        await session.run("one")
        await session.run("two")
    assert given(journal.events, PLAIN) == given(journal.events, URGENT) == 1
    for written in range(len(journal.events) + 1):
        later = MemoryJournal(journal.events[:written], session="s")
        model = ScriptedModel(otherwise=ANY)
        async with Session(model, [look], host=MemoryHost(), journal=later, features=[ENDER]) as session:
            await session.send(Continue(), until="idle")
            await session.run("three")
            await session.run("four")
            assert notices_of(session).pending == ()
        added = {event.text for event in later.events if isinstance(event, NoticeAdded)}
        for text in added:
            assert given(later.events, text) == 1, (written, text)
            assert sum(text in message.text for message in model.requests[-1].messages) == 1, (written, text)
        delivered = [event.id for event in later.events if isinstance(event, NoticeDelivered)]
        assert len(delivered) == len({*delivered}) == len(added), written


async def test_the_wake_flag_starts_one_turn_in_an_idle_session_and_no_other_notice_does() -> None:
    journal, model = MemoryJournal(), ScriptedModel(otherwise=ANY)
    async with session_on(journal, model) as session:
        await session.run("one")
        notices_of(session).add("task", PLAIN)
        assert session.status == "idle"
        notices_of(session).add("agent", URGENT, id="a-1", wake=True)
        async for found in session.events():
            if isinstance(found.event, RunEnded):
                break
        notices_of(session).add("agent", URGENT, id="a-1", wake=True)  # a second notice about the same subject
        assert session.status == "idle"
    assert [event.because for event in journal.events if isinstance(event, TurnStarted)] == ["prompt", "notice"]
    assert len(model.requests) == 2
    assert given(journal.events, PLAIN) == given(journal.events, URGENT) == 1


async def test_a_notice_that_was_not_delivered_is_neither_lost_by_a_rewind_nor_by_a_compaction() -> None:
    journal = MemoryJournal(session="s")
    async with session_on(journal) as session:
        await session.run("one")
        await session.run("two")
        notices_of(session).add("task", PLAIN)
        await session.send(Rewind(session.messages[1].id))
        await session.send(Compact())
        await session.run("three")
    assert given(journal.events, PLAIN) == 1


async def test_a_forked_session_does_not_get_the_notices_of_the_first_one() -> None:
    journal = MemoryJournal(session="s")
    async with session_on(journal) as session:
        notices_of(session).add("task", PLAIN)
    later = MemoryJournal([*journal.events, Forked(1.0, "s")], session="t")
    async with session_on(later) as session:
        await session.run("one")
    assert given(later.events, PLAIN) == 0


@pytest.mark.parametrize("fact", ["a server", "the mode"])
async def test_a_fact_is_on_record_and_reaches_the_model_after_a_crash(fact: str) -> None:
    journal = MemoryJournal(session="s")
    async with session_on(journal) as session:
        await session.run("one")
        if fact == "a server":
            session.controls.inform("The server db is connected.")
        else:
            await session.send(SetMode("plan"))
        copied = MemoryJournal(journal.events, session="s")
    text = "The server db is connected." if fact == "a server" else "It is now plan"
    model = ScriptedModel(otherwise=ANY)
    async with session_on(copied, model) as session:
        await session.run("two")
        await session.run("three")
    assert given(copied.events, text) == 1
