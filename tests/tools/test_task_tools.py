"""TaskOutput and TaskStop: one list, a cursor, a way to wait, a way to stop."""

import asyncio
from typing import Any

import pytest

from callgate.core.ports import Tool
from callgate.host.tasks import BackgroundTask
from callgate.testing import MemoryHost, settle
from callgate.tools.builtin.task_output import task_output, task_stop
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.errors import ToolFailure
from tests.tools.fake_run import FakeRun


class Desk:
    def __init__(self) -> None:
        self.host = MemoryHost()
        self.run = FakeRun(host=self.host)
        self.stopped: list[str] = []
        self.ending: Any = ("failed", "signal 15")

    def task(self, label: str = "make", output: bytes = b"", kind: Any = "command") -> BackgroundTask:
        tasks = self.host.tasks
        task_id = tasks.next_id()
        file = self.host.new_output(task_id)
        file.append(output)

        async def stop() -> None:
            self.stopped.append(task_id)
            tasks.settle(task, *self.ending)

        task = tasks.add(task_id, kind, label, ("session",), file, stop)
        return task

    async def call(self, tool: Tool, **arguments: Any) -> Result:
        read = tool.read(arguments)
        assert isinstance(read, Accepted), read
        return await tool.run(read.arguments, self.run)

    async def output(self, **arguments: Any) -> str:
        return (await self.call(task_output(), **arguments)).text


@pytest.mark.spec("BLT-6")
def test_tasks_of_every_kind_are_in_one_list_with_ids_of_one_form() -> None:
    async def main() -> None:
        desk = Desk()
        assert await desk.output() == "There are no background tasks."
        for kind in ("command", "agent", "workflow", "watch"):
            desk.task("first line\nsecond", kind=kind)
        desk.host.tasks.settle(desk.host.tasks.get("bg-2"), "failed", "it said no")
        assert (await desk.output()).splitlines() == [
            "bg-1: command 'first line' running",
            "bg-2: agent 'first line' failed, it said no",
            "bg-3: workflow 'first line' running",
            "bg-4: watch 'first line' running",
        ]
        with pytest.raises(ToolFailure, match=r"no background task 'bg-9'\. Background tasks: bg-1, bg-2"):
            await desk.output(id="bg-9")

    asyncio.run(main())


@pytest.mark.spec("BLT-6")
def test_output_is_read_from_a_cursor_or_from_its_tail() -> None:
    async def main() -> None:
        desk = Desk()
        task = desk.task(output=b"one\ntwo\nthree\n")
        first = await desk.call(task_output(), id="bg-1")
        assert first.text == "one\ntwo\nthree\n[bg-1: command 'make' running; cursor 14 of 14]"
        task.output.append("vier\nf\u00fcnf\n".encode())
        later = await desk.call(task_output(), id="bg-1", since=first.details["cursor"])
        assert later.text.startswith("vier\nfünf\n[")
        assert (await desk.output(id="bg-1", since=1_000)).startswith("[bg-1: ")
        assert (await desk.output(id="bg-1", tail=1)).startswith("fünf\n[")

    asyncio.run(main())


def test_much_output_is_read_in_pieces_without_a_cut_character() -> None:
    async def main() -> None:
        desk = Desk()
        whole = "é" * 50_000
        desk.task(output=b"x" + whole.encode())
        text, cursor = "", 0
        while cursor < 100_001:
            result = await desk.call(task_output(), id="bg-1", since=cursor)
            assert result.details["cursor"] > cursor
            cursor = result.details["cursor"]
            text += result.text.rpartition("\n")[0]
        assert text == "x" + whole
        assert "since=0" in await desk.output(id="bg-1")

    asyncio.run(main())


@pytest.mark.spec("BLT-6")
def test_waiting_ends_with_the_task_and_no_later_than_asked() -> None:
    async def main() -> None:
        desk = Desk()
        task = desk.task()
        clock: Any = desk.host.clock
        waiting = asyncio.ensure_future(desk.output(id="bg-1", wait=3_600))
        await settle()
        clock.advance(599)
        await settle()
        assert not waiting.done()
        clock.advance(1)  # no wait is longer than 600 s
        assert "running" in await waiting
        waiting = asyncio.ensure_future(desk.output(id="bg-1", wait=5))
        await settle()
        desk.host.tasks.settle(task, "completed", "exit code 0")
        assert "completed, exit code 0" in await waiting
        assert clock.next_timer is None
        assert all(task.is_reported for task in desk.host.tasks.all())  # it has read of its end

    asyncio.run(main())


@pytest.mark.spec("BLT-6")
def test_a_task_that_is_stopped_is_killed_and_one_that_has_ended_stays_as_it_is() -> None:
    async def main() -> None:
        desk = Desk()
        desk.task()
        assert (await desk.call(task_stop(), id="bg-1")).text == "Stopped: bg-1: command 'make' killed, signal 15"
        assert (await desk.call(task_stop(), id="bg-1")).text.startswith("The task had already ended: bg-1")
        assert desk.stopped == ["bg-1"]
        desk.task()
        desk.ending = ("completed", "exit code 0")  # it handles the signal
        assert (
            await desk.call(task_stop(), id="bg-2")
        ).text == "Stopped: bg-2: command 'make' killed, stopped by the user or the model"

    asyncio.run(main())


def test_reading_is_free_and_may_be_repeated_and_stopping_needs_no_question() -> None:
    reading, stopping = task_output().traits({}), task_stop().traits({"id": "bg-1"})
    assert (reading.effects, reading.locks.scope, reading.repeats) == ("none", "shared", True)
    assert reading.interrupt == "cancel"  # a person's word ends the wait
    assert (stopping.effects, stopping.locks.scope, stopping.needs_no_question) == ("idempotent", "shared", True)
    assert isinstance(task_output().read({"wait": -1}), Rejected)


def test_a_host_without_tasks_says_so() -> None:
    with pytest.raises(ToolFailure, match="no background tasks"):
        asyncio.run(task_output().run({}, FakeRun()))
