"""Background tasks of a session: it is told of their end, may move commands there, and ends them when it closes."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from callgate import Session
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin import builtin_tools
from callgate.transcript.store import Store
from callgate.words.events import CallProgressed, CallSettled, InputRefused, MessageAdded, Noted
from callgate.words.inputs import Compact, Interrupt, MoveToBackground, Rewind
from tests.sessions import grouped_session, with_event

TOOLS = ("Bash", "TaskOutput", "TaskStop")
GATE = "mkfifo never; exec 8<>never; "


def talk(root: Path, *turns: Any, **options: Any) -> Session:
    return grouped_session(ScriptedModel(*turns), builtin_tools(*TOOLS), root=root, mode="bypass", **options)


def said(events: list[Any]) -> list[str]:
    return [event.result.text for event in events if isinstance(event, CallSettled)]


@pytest.mark.spec("BLT-6")
def test_the_end_of_a_task_is_noted_at_once_and_told_with_the_next_request(tmp_path: Path) -> None:
    async def main() -> None:
        begin = call("Bash", command=GATE + "read _ <&8; exit 3", run_in_background=True)
        turns = (turn(begin), turn(say("started")), turn(say("I see")))
        async with talk(tmp_path, *turns) as session:
            noted = asyncio.Event()
            session.listen(with_event(lambda event: noted.set() if isinstance(event, Noted) else None))
            events = [event async for event in session.send("go")]
            assert said(events)[0].startswith("Started in the background as bg-1")
            assert session.controls.background == {"command": 1}
            with (tmp_path / "never").open("w") as fifo:
                fifo.write("go\n")
            await noted.wait()
            assert session.status == "idle"  # it is not woken
            assert session.controls.background == {}
            events = [event async for event in session.send("and now?")]
            told = [
                event for event in events if isinstance(event, MessageAdded) and (event.about or "").startswith("bg-1@")
            ]
            assert "Background task bg-1 failed (exit code 3): command" in str(told[0].message)
            assert len(told) == 1

    asyncio.run(main())


@pytest.mark.spec("BLT-6")
def test_running_tasks_are_named_once_after_a_compaction(tmp_path: Path) -> None:
    async def main() -> None:
        begin = call("Bash", command=GATE + "read _ <&8", run_in_background=True)
        model = ScriptedModel(turn(begin), otherwise=turn(say("ok")))
        async with grouped_session(
            model, builtin_tools(*TOOLS), root=tmp_path, mode="bypass", summarize=lambda messages, focus: "Summed up."
        ) as session:
            await session.run("go")
            await session.run("on")
            await session.send(Compact())
            await session.run("and now?")
            await session.run("and then?")
            text = "These background tasks are still running; TaskOutput reads their output:\n- bg-1: command"
            assert sum(text in message.text for message in model.requests[-1].messages) == 1

    asyncio.run(main())


@pytest.mark.spec("BLT-5")
def test_a_person_moves_a_running_command_to_the_background(tmp_path: Path) -> None:
    async def main() -> None:
        first = call("Bash", command=GATE + "echo so far; read _ <&8; echo more")
        async with talk(tmp_path, turn(first), turn(call("TaskStop", id="bg-1")), turn(say("bye"))) as session:
            refused = [event async for event in session.send(MoveToBackground())]
            assert [type(event) for event in refused] == [InputRefused]
            events: list[Any] = []
            async for event in session.send("go"):
                events.append(event)
                if isinstance(event, CallProgressed):
                    session.post(MoveToBackground(event.call_id))
            assert "was moved to the background as bg-1" in said(events)[0]
            assert said(events)[1].startswith("Stopped: bg-1")

    asyncio.run(main())


@pytest.mark.spec("BASH-1")
def test_the_working_folder_is_there_again_after_a_restart(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    store = Store(work, tmp_path / "kept")

    async def main() -> None:
        journal = await store.create()
        async with talk(work, turn(call("Bash", command="cd sub")), turn(say("moved")), journal=journal) as session:
            assert session.controls.folder is None
            await session.run("go")
        journal = await store.open(session.id)
        async with talk(work, turn(call("Bash", command="pwd")), turn(say("seen")), journal=journal) as session:
            events = [event async for event in session.send("where?")]
            assert said(events) == [session.controls.folder] == [str(work / "sub")]

    asyncio.run(main())


def test_two_calls_of_one_message_start_in_the_folder_before_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    async def main() -> None:
        both = turn(call("Bash", command="cd sub && touch a"), call("Bash", command="touch b"))
        async with talk(tmp_path, both, turn(say("bye"))) as session:
            events = [event async for event in session.send("go")]
        assert (
            said(events)[1]
            == f"Not run: another call changed the working folder to {tmp_path}/sub. Send the call again."
        )
        assert not (tmp_path / "b").exists()

    asyncio.run(main())


@pytest.mark.spec("BLT-6")
def test_the_tasks_of_a_session_end_when_it_closes(tmp_path: Path) -> None:
    async def main() -> None:
        begin = call("Bash", command="exec sleep 1000", run_in_background=True)
        async with talk(tmp_path, turn(begin), turn(say("bye"))) as session:
            await session.run("go")
            (task,) = session.controls.host.tasks.all()  # pyright: ignore
            assert task.status == "running"
        assert task.status == "killed"

    asyncio.run(main())


@pytest.mark.spec("BASH-4")
def test_commands_that_only_read_overlap(tmp_path: Path) -> None:
    """Neither can end before both have written: one after the other they would never end."""

    async def main() -> None:
        os.mkfifo(tmp_path / "gate")
        held = os.open(tmp_path / "gate", os.O_RDWR)  # until it is closed, both wait
        both = turn(call("Bash", command="echo 1; cat gate"), call("Bash", command="echo 2; cat gate"))
        heard = set[str]()
        async with talk(tmp_path, both, turn(say("bye"))) as session:
            async for event in session.send("go"):
                if isinstance(event, CallProgressed):
                    heard.add(event.call_id)
                    if len(heard) == 2:
                        os.close(held)

    asyncio.run(main())


@pytest.mark.spec("BASH-2")
def test_an_interrupt_ends_the_command_with_all_it_started(tmp_path: Path) -> None:
    async def main() -> list[str]:
        script = "setsid sleep 1000 & echo $! $$; wait"
        numbers: list[str] = []
        async with talk(tmp_path, turn(call("Bash", command=script))) as session:
            events: list[Any] = []
            async for event in session.send("go"):
                events.append(event)
                if isinstance(event, CallProgressed):
                    numbers = event.text.split()
                    session.post(Interrupt())
        (settled,) = [event for event in events if isinstance(event, CallSettled)]
        assert settled.result.code == "cancelled_by_user"
        return numbers

    numbers = asyncio.run(main())
    assert len(numbers) == 2
    assert not any(os.path.exists(f"/proc/{number}") for number in numbers)


@pytest.mark.spec("BASH-1")
def test_a_rewind_takes_the_working_folder_back(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    async def main() -> None:
        turns = (turn(call("Bash", command="cd sub")), turn(say("moved")), turn(call("Bash", command="pwd")))
        async with talk(tmp_path, *turns, turn(say("seen"))) as session:
            events = [event async for event in session.send("move")]
            first = next(event.message.id for event in events if isinstance(event, MessageAdded))
            await session.send(Rewind(first))
            events = [event async for event in session.send("where?")]
            assert said(events) == [str(tmp_path)]

    asyncio.run(main())
