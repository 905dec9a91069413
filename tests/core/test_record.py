"""The one writer: doors hear events in the order of the record, and some of them only once they are durable."""

import asyncio
from collections.abc import Awaitable

import pytest

from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.words.calls import Result
from callgate.words.decisions import Allow
from callgate.words.errors import JournalError
from callgate.words.events import CallArrived, CallDecided, CallSettled, CallStarted, Event, ModeSet, Noted


class Disk(MemoryJournal):
    """A barrier waits until the test says that everything appended is on disk, or cannot be."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[asyncio.Future[None]] = []

    def barrier(self) -> Awaitable[None] | None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(future)
        return future

    async def sync(self, failure: Exception | None = None) -> None:
        waiting, self.waiting = self.waiting, []
        for future in waiting:
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


class Heard:
    def __init__(self) -> None:
        self.disk = Disk()
        self.record = Record(self.disk, Ledger())
        self.events: list[Event] = []
        self.record.on_event(self.events.append)

    @property
    def names(self) -> list[str]:
        self.record.deliver()
        return [type(event).__name__ for event in self.events]

    async def start(self, *, effects: bool) -> None:
        arguments_hash = "0" * 64
        self.record.write(
            CallArrived(at=1.0, call_id="c1", name="Save", arguments={}, index=0, arguments_hash=arguments_hash)
        )
        self.record.write(CallDecided(1.0, "c1", Allow("rule", "a rule"), arguments_hash))
        started = CallStarted(2.0, "c1")
        if effects:
            waiting = self.record.write_first(started)
            await self.disk.sync()
            assert waiting is not None
            await waiting
        else:
            self.record.write(started)
        self.record.deliver()
        self.events.clear()


SETTLED = CallSettled(3.0, "c1", Result())


@pytest.mark.spec("TRS-3")
async def test_doors_hear_that_a_call_with_effects_settled_once_that_is_durable() -> None:
    heard = Heard()
    await heard.start(effects=True)
    heard.record.write(SETTLED)
    assert heard.names == []
    await heard.disk.sync()
    assert heard.names == ["CallSettled"]


async def test_doors_hear_that_a_call_without_effects_settled_at_once() -> None:
    heard = Heard()
    await heard.start(effects=False)
    heard.record.write(SETTLED)
    assert heard.names == ["CallSettled"]
    assert not heard.disk.waiting, "and no write to the disk is asked for"


async def test_events_are_heard_in_the_order_of_the_record() -> None:
    heard = Heard()
    await heard.start(effects=True)
    heard.record.write(SETTLED)
    heard.record.write(ModeSet(4.0, "plan"))
    assert heard.names == []
    await heard.disk.sync()
    assert heard.names == ["CallSettled", "ModeSet"]


@pytest.mark.spec("TRS-4")
async def test_what_could_not_be_made_durable_is_told_once_it_is() -> None:
    heard = Heard()
    await heard.start(effects=True)
    heard.record.write(SETTLED)
    heard.record.write(ModeSet(4.0, "plan"))
    await heard.disk.sync(JournalError("the disk is full"))
    assert heard.names == ["Noted", "ModeSet"]
    (noted,) = (event for event in heard.events if isinstance(event, Noted))
    assert "the disk is full" in noted.text
    heard.events.clear()
    waiting = heard.record.write_first(ModeSet(5.0, "default"))
    await heard.disk.sync()
    assert waiting is not None
    await waiting
    assert heard.names == ["CallSettled", "ModeSet"]


async def test_a_writer_that_gives_up_waiting_takes_nothing_from_doors() -> None:
    heard = Heard()
    waiting = heard.record.write_first(ModeSet(1.0, "plan"))
    assert waiting is not None
    task = asyncio.ensure_future(waiting)
    task.cancel()
    await asyncio.sleep(0)
    await heard.disk.sync()
    assert heard.names == ["ModeSet"]
