"""Any history may be compacted at any point: it stays legal, and so does every prefix of its record."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Session
from callgate.compaction.summaries import grouped, material
from callgate.conversation.chain import live_events
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal
from callgate.testing import MemoryHost, ScriptedModel, say, turn
from callgate.testing.script import ScriptedTurn, cut_off, fail
from callgate.words.events import Durable, MessageAdded, MetadataSet, Noted, RunEnded
from callgate.words.inputs import Branch, Compact
from callgate.words.messages import CallPart, Image, Message, Opaque, Part, ResultPart, Text, Thinking, Usage
from callgate.words.model import Abilities, Request
from callgate.words.turns import Compacted, Counted, ResultReplaced, Snipped
from tests.flows.compacting import port
from tests.history import faults
from tests.profiles import fewer
from tests.virtual import run_virtual

SIZES = (0, 3, 200, 2_500, 9_000)
sizes = st.sampled_from(SIZES)
own = st.sampled_from((Thinking("hm " * 30, "signed"), Opaque("openai", {"id": "rs_1"}), Opaque("gemini", b"state")))
usages = st.none() | st.builds(Usage, input=st.integers(0, 12_000), output=st.integers(0, 500), estimated=st.booleans())


@dataclass(frozen=True)
class Deed:
    """One thing on record. ``spot`` picks a message by its number, modulo how many there are."""

    what: str  # user | assistant | snip | replace | boundary
    size: int = 3
    results: tuple[int, ...] = ()
    provider: tuple[Part, ...] = ()
    usage: Usage | None = None
    spot: int = 0
    image: bool = False


deeds = st.one_of(
    st.builds(Deed, st.just("user"), sizes, image=st.booleans()),
    *[
        st.builds(
            Deed,
            st.just("assistant"),
            sizes,
            st.lists(sizes, max_size=3).map(tuple),
            st.lists(own, max_size=2).map(tuple),
            usages,
        )
    ]
    * 3,
    st.builds(Deed, st.sampled_from(("snip", "replace", "boundary")), spot=st.integers(0, 30)),
)


def recorded(played: Sequence[Deed], *, waits: bool) -> list[Durable]:
    """The record of a session that did this; at the end a prompt waits for its answer, or not."""
    events: list[Durable] = []
    said: list[Message] = []

    def add(message: Message) -> None:
        said.append(message)
        events.append(MessageAdded(1.0, message, "end" if message.role == "assistant" else None))

    add(Message("u1", "user", (Text("begin"),)))
    for n, deed in enumerate(played, 2):
        at = said[deed.spot % len(said)]
        match deed.what:
            case "user":
                image = (Image("image/png", b"png"),) if deed.image else ()
                add(Message(f"u{n}", "user", (Text("w" * deed.size + "!"), *image)))
            case "assistant":
                calls = [CallPart(f"c{n}.{k}", "Look", {"size": size}) for k, size in enumerate(deed.results)]
                add(Message(f"a{n}", "assistant", (*deed.provider, Text("t" * deed.size), *calls), "m", deed.usage))
                if calls:
                    results = (
                        ResultPart(call.id, "Look", (Text("r" * size),))
                        for call, size in zip(calls, deed.results, strict=True)
                    )
                    add(Message(f"r{n}", "tool", tuple(results)))
            case "snip":
                events.append(Snipped(1.0, (at.id,)))
            case "replace":
                events += [ResultReplaced(1.0, at.id, part.call_id, (Text("short"),)) for part in results_of(at)[:1]]
            case _:
                kept = None if at.role == "tool" else at.id
                seen = {message.id for message in Ledger(live_events(events)).messages}
                if kept is None or kept in seen:
                    events.append(Compacted(1.0, f"boundary {n}", kept, counted=Counted(n, n), running=True))
    if waits:
        add(Message(f"u{len(played) + 5}", "user", (Text("and now?"),)))
    else:
        events.append(RunEnded(1.0, "done"))
    return events


def results_of(message: Message) -> list[ResultPart]:
    return [part for part in message.parts if isinstance(part, ResultPart)]


def check(events: Sequence[Durable]) -> Ledger:
    ledger = Ledger(live_events(events))
    assert faults(list(ledger.history())) == []
    return ledger


SUMMARIES: dict[str, ScriptedTurn] = {
    "good": turn(say("1. **Goal.** Go on.")),
    "long": turn(say("s" * 800_000)),
    "cut": turn(say("1."), cut_off()),
    "down": turn(fail("down")),
}


@pytest.mark.spec("CMP-1", "TRS-8")
@given(
    st.lists(deeds, max_size=14),
    st.booleans(),
    st.sampled_from(("automatic", "reactive", "manual")),
    st.sampled_from((*SUMMARIES, "good", "good")),
    st.integers(0, 6),
    st.sampled_from((None, 8_000, 16_000)),
)
@fewer(60)
def test_a_compacted_history_is_legal_and_so_is_every_prefix_of_its_record(
    played: list[Deed], waits: bool, trigger: str, summary: str, keep: int, window: int | None
) -> None:
    before = recorded(played, waits=waits)
    was = check(before)
    history = list(was.history())
    journal = MemoryJournal(before)

    async def main() -> None:
        model = ScriptedModel(otherwise=SUMMARIES[summary], abilities=Abilities(context_tokens=window))
        async with Session(model, host=MemoryHost(), journal=journal) as session:
            if trigger == "manual":
                await session.send(Compact(keep=keep))
            elif trigger == "automatic":
                await port(session).make_room(model)
            else:
                await port(session).too_long(model)
        for request in model.requests:
            assert len(request.messages) == 1
            assert request.tools == ()

    run_virtual(main())
    written = journal.events[len(before) :]
    assert {type(event) for event in written} <= {Compacted, ResultReplaced, Noted, MetadataSet}
    boundaries = [event for event in written if isinstance(event, Compacted)]
    assert len(boundaries) <= 1
    for at in range(len(before), len(journal.events) + 1):
        check(journal.events[:at])
    now = check(journal.events)
    if summary != "good" and trigger != "manual":
        assert not boundaries
    if not boundaries and not any(isinstance(event, ResultReplaced) for event in written):
        assert list(now.history()) == history
        return
    # A kept tail holds whole pairs, and what a person said last and was not answered.
    tail = [message.id for message in now.messages]
    assert tail == [message.id for message in was.messages][len(was.messages) - len(tail) :]
    made = {call.id for message in now.messages for call in message.calls}
    assert {part.call_id for message in now.messages for part in results_of(message)} <= made
    assert now.running == was.running
    if trigger != "manual" and was.messages[-1].role == "user":
        assert now.messages[-1] == was.messages[-1]
    if boundaries:
        assert boundaries[0].covered == len(was.messages) - len(tail)


@pytest.mark.spec("CMP-1")
@given(st.lists(deeds, min_size=1, max_size=10), st.integers(0, 20), st.integers(0, 4))
@fewer(40)
def test_a_way_back_before_the_boundary_is_the_history_as_it_was(played: list[Deed], spot: int, keep: int) -> None:
    before = recorded(played, waits=False)
    journal = MemoryJournal(before)
    seen = [message for message in Ledger(live_events(before)).messages if not message.calls]
    to = seen[spot % len(seen)].id if seen else ""

    def histories() -> list[Message]:
        return list(Ledger(live_events(journal.events)).history())

    async def main() -> None:
        plain = MemoryJournal(before)
        async with Session(ScriptedModel(), host=MemoryHost(), journal=plain) as session:
            await session.send(Branch(to))
        model = ScriptedModel(SUMMARIES["good"])
        async with Session(model, host=MemoryHost(), journal=journal) as session:
            await session.send(Compact(keep=keep))
            await session.send(Branch(to))
        compacted = any(isinstance(event, Compacted) for event in journal.events[len(before) :])
        leaf = seen and to == Ledger(live_events(before)).messages[-1].id
        if compacted and leaf:  # right behind the boundary
            assert histories()[0].text.endswith("Go on.")
        else:
            assert histories() == list(Ledger(live_events(plain.events)).history())
        assert faults(histories()) == []

    run_virtual(main())


@pytest.mark.spec("CMP-1")
@given(st.lists(deeds, max_size=12), st.none() | st.integers(50, 30_000))
def test_the_material_of_a_summary_fits_and_never_parts_a_call_from_its_result(
    played: list[Deed], room: int | None
) -> None:
    messages = list(check(recorded(played, waits=True)).history())
    text, left_out = material(messages, room)
    assert [message for group in grouped(messages) for message in group] == messages
    if room is None:
        assert left_out == 0
        assert all(call.id in text for message in messages for call in message.calls)
    else:
        assert len(text) <= room + 250, "but for the notes on what is left out"
    assert 0 <= left_out < len(messages)


def test_the_request_for_a_summary_shows_no_thought_and_nothing_of_a_provider() -> None:
    asked: list[Request] = []

    def hear(request: Request) -> ScriptedTurn:
        asked.append(request)
        return SUMMARIES["good"]

    played = [Deed("assistant", provider=(Thinking("secret thought", "sig"), Opaque("openai", {"id": "rs_secret"})))]

    async def main() -> None:
        journal = MemoryJournal(recorded(played, waits=False))
        async with Session(ScriptedModel(hear), host=MemoryHost(), journal=journal) as session:
            await session.send(Compact())

    run_virtual(main())
    assert "secret" not in asked[0].messages[0].text
