"""A stream of events goes on where an earlier one ended: numbers that stay the same over readers and restarts."""

from pathlib import Path

from callgate import Event, Session, Store
from callgate.session.reply import EventStream
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.event_table import EVENTS
from callgate.words.events import MessageAdded, RunEnded, SessionEvent
from callgate.words.inputs import Rewind
from tests.flows.kit import Workspace

DURABLE = tuple(cls for cls, row in EVENTS.items() if row.on != "nothing")


def model() -> ScriptedModel:
    return ScriptedModel(turn(say("Looking."), call("read", path="a")), turn(say("Done.")))


async def numbered(stream: EventStream[SessionEvent], *, until: type[Event] = RunEnded) -> list[tuple[int, Event]]:
    """The events with the position of the stream at each."""
    found: list[tuple[int, Event]] = []
    async for each in stream:
        assert each.path == ()
        assert each.number == (stream.position if isinstance(each.event, DURABLE) else 0)
        found.append((stream.position, each.event))
        if isinstance(each.event, until):
            break
    return found


def durable(events: list[tuple[int, Event]]) -> list[tuple[int, Event]]:
    return [each for each in events if isinstance(each[1], DURABLE)]


async def test_durable_events_are_numbered_one_after_the_other_and_others_like_the_one_before() -> None:
    async with Session(model(), Workspace().toolbox()) as session:
        stream = session.events()
        session.post("go")
        found = await numbered(stream)
    numbers = [number for number, _ in durable(found)]
    assert numbers == list(range(1, len(numbers) + 1))
    last = 0
    for number, event in found:
        assert number == (last + 1 if isinstance(event, DURABLE) else last)
        last = number


async def test_a_door_that_comes_back_gets_what_it_missed_once_and_goes_on() -> None:
    async with Session(model(), Workspace().toolbox()) as session:
        whole = session.events()
        session.post("go")
        first = await numbered(session.events(), until=MessageAdded)
        position = first[-1][0]
        await session.run("more")
        again = await numbered(session.events(after=position))
        everything = await numbered(whole)
        assert durable(first) + durable(again) == durable(everything)
        assert all(isinstance(event, DURABLE) for _, event in again)


async def test_the_numbers_are_those_of_the_record_after_a_restart_and_a_rewind(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data")
    async with Session(model(), Workspace().toolbox(), journal=await store.create()) as session:
        stream = session.events()
        session.post("go")
        before = await numbered(stream)
        position, session_id = before[3][0], session.id
        await session.send(Rewind("a2"))
    async with Session(model(), Workspace().toolbox(), journal=await store.open(session_id)) as session:
        stream = session.events(after=position)
        session.post("again")
        after = [*await numbered(stream), *await numbered(stream)]
        wanted = [each for each in durable(before) if each[0] > position]
        assert wanted
        assert durable(after)[: len(wanted)] == wanted
        assert [number for number, _ in durable(after)] == list(range(position + 1, after[-1][0] + 1))


async def test_a_door_that_missed_nothing_gets_only_what_is_new() -> None:
    async with Session(model(), Workspace().toolbox()) as session:
        await session.run("go")
        stream = session.events(after=session.position)
        session.post("more")
        assert [type(event) for _, event in durable(await numbered(stream, until=MessageAdded))] == [MessageAdded]
