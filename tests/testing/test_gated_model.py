"""A model whose events a test lets through one at a time."""

import asyncio

import pytest

from callgate.testing import GatedModel, ScriptedModel, call, cut_off, fail, run_virtual, say, settle, turn
from callgate.words.errors import ModelError
from callgate.words.model import (
    MessageEnded,
    MessageStarted,
    ModelEvent,
    PartEnded,
    PartStarted,
    Request,
    TextDelta,
)

ASK = Request("", ())
HELLO = [MessageStarted("m"), PartStarted(0, "text"), TextDelta(0, "hi"), PartEnded(0), MessageEnded("end")]


async def read(gated: GatedModel, seen: list[ModelEvent], messages: int = 1) -> None:
    for _ in range(messages):
        async for event in gated.stream(ASK):
            await asyncio.sleep(0)
            seen.append(event)


def test_nothing_passes_unreleased_and_release_waits_until_it_was_processed() -> None:
    async def main() -> None:
        gated, seen = GatedModel(HELLO), list[ModelEvent]()
        task = asyncio.create_task(read(gated, seen))
        await settle()
        assert seen == []
        await gated.release()
        assert seen == HELLO[:1]
        await gated.release(2)
        assert seen == HELLO[:3]
        await settle()
        assert seen == HELLO[:3]
        await gated.release_all()
        assert seen == gated.passed == HELLO
        await task

    run_virtual(main())


def test_a_release_may_come_before_the_request() -> None:
    async def main() -> None:
        gated, seen = GatedModel(HELLO), list[ModelEvent]()
        release = asyncio.create_task(gated.release(2))
        await settle()
        task = asyncio.create_task(read(gated, seen))
        await release
        assert seen == HELLO[:2]
        gated.open()
        await task

    run_virtual(main())


def test_releases_go_on_across_messages() -> None:
    async def main() -> None:
        gated, seen = GatedModel(ScriptedModel(turn(call("A")), turn(say("x")))), list[ModelEvent]()
        task = asyncio.create_task(read(gated, seen, messages=2))
        await gated.release_until(PartEnded)
        assert len(seen) == 4
        await gated.release_until(TextDelta)
        assert len(gated.streams) == 2
        assert seen[-1] == TextDelta(0, "x")
        await gated.release_all()
        await task

    run_virtual(main())


def test_a_reader_that_leaves_ends_the_wait() -> None:
    async def main() -> None:
        gated = GatedModel(HELLO)
        stream = gated.stream(ASK)

        async def leave_after_first() -> None:
            await anext(stream)
            await stream.aclose()

        task = asyncio.create_task(leave_after_first())
        await gated.release()
        await task
        assert stream.over
        assert await anext(stream, None) is None

    run_virtual(main())


def test_a_cancelled_reader_ends_the_wait() -> None:
    async def main() -> None:
        gated, seen = GatedModel(HELLO), list[ModelEvent]()
        task = asyncio.create_task(read(gated, seen))
        await gated.release()
        task.cancel()
        await asyncio.wait({task})
        assert gated.streams[0].over

    run_virtual(main())


def test_a_reader_may_walk_away_after_the_end_marker() -> None:
    async def main() -> None:
        gated = GatedModel(HELLO)
        stream = gated.stream(ASK)

        async def until_the_end_marker() -> None:
            while not isinstance(await anext(stream), MessageEnded):
                pass

        task = asyncio.create_task(until_the_end_marker())
        await gated.release(5)
        await task

    run_virtual(main())


def test_a_broken_end_takes_a_release_too() -> None:
    async def main() -> None:
        gated = GatedModel(ScriptedModel(turn(say("x"), cut_off()), turn(fail("broken"))))
        tasks = asyncio.create_task(read(gated, [])), asyncio.create_task(read(gated, []))
        first, second = tasks
        await settle()
        one, two = gated.streams
        for _ in range(3):
            assert await one.release()
        await settle()
        assert not first.done()
        assert not await one.release()
        await first
        assert await two.release()
        assert not await two.release()
        with pytest.raises(ModelError, match="broken"):
            await second

    run_virtual(main())
