"""Progress: bounded for each call, from any thread, and never in a tool's way."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from callgate import Prompt, Session
from callgate.core.ports import Run
from callgate.host.threads import in_thread
from callgate.testing import PlainTool, ScriptedModel, say, settle, turn
from callgate.testing import call as scripted
from callgate.words.events import CallProgressed
from tests.core.kit import FREE, Desk, call, virtual_host

BOUND = 11_000  # the limit and a note that something was left out


def telling(*said: tuple[str, float | None, float | None]) -> PlainTool:
    async def tell(_arguments: Mapping[str, Any], run: Run) -> str:
        for text, current, total in said:
            run.progress(text, current=current, total=total)
        return "told"

    return PlainTool("Tell", tell, traits=FREE)


async def unread(desk: Desk) -> list[CallProgressed]:
    """The progress that is there when the reader comes at last."""
    desk.add(call("a", "Tell"))
    desk.executor.close()
    await settle()
    return [item for item in desk.executor.completed() if isinstance(item, CallProgressed)]


@pytest.mark.spec("EXE-25")
async def test_text_that_nobody_fetched_is_joined() -> None:
    (progress,) = await unread(Desk(telling(("one ", None, None), ("two", None, None))))
    assert progress.text == "one two"


@pytest.mark.spec("EXE-25")
async def test_of_gauges_the_newest_wins() -> None:
    (progress,) = await unread(Desk(telling(("", 1, 10), ("", 2, 10), ("text only", None, None))))
    assert (progress.current, progress.total, progress.text) == (2, 10, "text only")


@pytest.mark.spec("EXE-25")
async def test_the_joined_text_is_bounded_however_much_is_said() -> None:
    (progress,) = await unread(Desk(telling(*[("x" * 500, None, None)] * 1000)))
    assert len(progress.text) < BOUND


@pytest.mark.spec("EXE-25")
async def test_a_single_huge_text_is_bounded_too() -> None:
    (progress,) = await unread(Desk(telling(("x" * 500_000, None, None))))
    assert len(progress.text) < BOUND


@pytest.mark.spec("EXE-25")
async def test_the_end_of_a_text_that_nobody_fetched_is_kept() -> None:
    (progress,) = await unread(Desk(telling(("x" * 500_000, None, None), ("the end", None, None))))
    assert progress.text.startswith("… output truncated\n")
    assert progress.text.endswith("x" * 100 + "the end")


@pytest.mark.spec("EXE-25")
async def test_the_end_of_an_output_is_kept_if_the_loop_is_busy() -> None:
    async def tell(_arguments: Mapping[str, Any], run: Run) -> str:
        def work() -> None:
            for number in range(20_000):
                run.progress(f"{number}\n")
            run.progress("the end")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()  # the loop is blocked meanwhile
        await settle()
        return "told"

    desk = Desk(PlainTool("Tell", tell, traits=FREE))
    await unread(desk)
    assert desk.now("a").live_output.endswith("19999\nthe end")


@pytest.mark.spec("EXE-25")
async def test_the_live_output_of_a_call_is_bounded_and_keeps_the_newest() -> None:
    desk = Desk(telling(("x" * 500_000, None, None), ("the end", None, None)))
    await unread(desk)
    assert len(desk.now("a").live_output) < BOUND
    assert desk.now("a").live_output.endswith("the end")


@pytest.mark.spec("EXE-25")
async def test_a_tool_never_waits_for_a_reader() -> None:
    desk = Desk(telling(*[("x", 1.0, 2.0)] * 10_000))
    desk.add(call("a", "Tell"))
    desk.executor.close()
    await settle()
    # nobody has read anything, and the tool is through
    assert desk.now("a").settled
    await desk.rest()


@pytest.mark.spec("EXE-25")
async def test_progress_from_a_thread_arrives_on_the_loop() -> None:
    threads: list[int] = []

    async def tell(_arguments: Mapping[str, Any], run: Run) -> str:
        def work() -> None:
            threads.append(threading.get_ident())
            for n in range(1000):
                run.progress("x" * 100, current=n, total=1000)

        await in_thread(work)
        return "told"

    heard: list[int] = []

    desk = Desk(PlainTool("Tell", tell, traits=FREE))
    desk.record.on_event(lambda event: heard.append(threading.get_ident()))
    await desk.finish(call("a", "Tell"))
    assert threads != [threading.get_ident()]
    assert set(heard) == {threading.get_ident()}
    progress = desk.told(CallProgressed)
    assert progress
    assert progress[-1].current == 999
    assert sum(len(event.text) for event in progress) <= 100_000


@pytest.mark.spec("EXE-25")
async def test_progress_after_the_result_is_not_heard() -> None:
    kept: list[Run] = []

    async def keep(_arguments: Mapping[str, Any], run: Run) -> str:
        kept.append(run)
        return "done"

    desk = Desk(PlainTool("Keep", keep, traits=FREE))
    await desk.finish(call("a", "Keep"))
    kept[0].progress("anybody there?")
    assert desk.executor.completed() == []
    assert desk.told(CallProgressed) == []


class Unsayable:
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.spec("EXE-25")
async def test_progress_that_cannot_be_said_harms_nobody() -> None:
    def report(_arguments: Any, run: Run) -> str:
        run.progress(Unsayable())  # pyright: ignore[reportArgumentType]
        return "done"

    desk = Desk(PlainTool("Report", report, traits=FREE))
    assert (await desk.finish(call("a", "Report")))["a"].text == "done"


@pytest.mark.spec("EXE-25")
async def test_progress_of_many_calls_in_turns_is_merged_for_a_reader_that_does_not_come() -> None:
    async def report(_arguments: Any, run: Run) -> str:
        for n in range(300):
            run.progress("x" * 100, current=float(n), total=300.0)
            await asyncio.sleep(0)
        return "done"

    model = ScriptedModel(turn(scripted("Report"), scripted("Report")), turn(say("Fine.")))
    async with Session(model, [PlainTool("Report", report, traits=FREE)], host=virtual_host()) as session:
        reply = session.send(Prompt("Go"))
        await anext(reply)
        await settle()
        events = [event async for event in reply]
    progress = [event for event in events if isinstance(event, CallProgressed)]
    assert len(progress) < 10
    assert {event.current for event in progress[-2:]} == {299.0}
