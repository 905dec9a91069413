"""The walk-throughs of ARCHITECTURE.md name the files in the order in which a trace enters them."""

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Continue, Session, Store, tool
from callgate.assembly.agent import agent_session
from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.features import NoticesPart
from callgate.testing import ScriptedModel, call, say, turn
from tests.house.tree import ROOT, SRC
from tests.mcp.client_kit import raw
from tests.mcp.test_client_session import config_in, flags
from tests.terminal.driver import TerminalDriver
from tests.walks.file_trace import FileTrace

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
_STEP = re.compile(r"^\d+\. .*(?:\n(?!\d+\. |\n).*)*", re.MULTILINE)
_FILE = re.compile(r"`([\w/]+/\w+\.py)`")


def steps(walk: str) -> list[str]:
    """Return the file of each step: the first path in it."""
    section = re.split(r"^#+ ", PAGE.partition(f"### {walk}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return [found[1] for step in _STEP.findall(section) if (found := _FILE.search(step))]


def named(walk: str) -> set[str]:
    section = re.split(r"^#+ ", PAGE.partition(f"### {walk}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return set(_FILE.findall(section))


@tool(effects="mutating")
def note(text: str) -> str:
    """Take a note."""
    return f"noted {text}"


def one_call(folder: Path) -> list[str]:
    """From the first byte of the model's answer to the next request."""
    trace = FileTrace()

    def ask(_request: Any) -> Any:
        trace.start()
        return turn(call("note", text="a"))

    def answered(_request: Any) -> Any:
        trace.stop()
        return turn(say("done"))

    async def main() -> None:
        journal = await Store(folder, folder / "data").create()
        async with Session(ScriptedModel(ask, answered), [note], journal=journal, mode="bypass") as session:
            await session.run("go")

    asyncio.run(main())
    return trace.files


def one_mcp_call(folder: Path) -> list[str]:
    trace = FileTrace()

    def ask(_request: Any) -> Any:
        trace.start()
        return turn(call("ExecuteExtraTool", tool_name="mcp__srv__add", params={"a": 1, "b": 2}))

    def answered(_request: Any) -> Any:
        trace.stop()
        return turn(say("done"))

    async def main() -> None:
        config = config_in(folder, allow=["mcp__srv"])
        async with await agent_session(config, ScriptedModel(ask, answered), mcp=flags(raw())) as session:
            assert session.controls.servers is not None
            await session.controls.servers.settled()
            await session.run("go")

    asyncio.run(main())
    return trace.files


def one_resume(folder: Path) -> list[str]:
    """The log is that of a session that was killed while a tool ran: a copy of the file at that moment."""
    trace = FileTrace()
    store, copied = Store(folder, folder / "data"), list[Path]()

    @tool(effects="mutating")
    def slow(text: str) -> str:
        """Take long."""
        log = store.find()
        copied.append(log.with_name("killed.jsonl"))
        shutil.copy(log, copied[0])
        return "done"

    def answered(_request: Any) -> Any:
        trace.stop()
        return turn(say("It is not known."))

    async def main() -> None:
        first = ScriptedModel(turn(call("slow", text="a")), turn(say("done")))
        async with Session(first, [slow], journal=await store.create(), mode="bypass") as session:
            await session.run("go")
        trace.start()
        journal = await store.open(copied[0])
        async with Session(ScriptedModel(answered), [slow], journal=journal, mode="bypass") as session:
            await session.send(Continue())

    asyncio.run(main())
    return trace.files


def one_notice(folder: Path) -> list[str]:
    """A notice with the wake flag arrives in an idle session and starts a turn."""
    trace = FileTrace()
    opened = list[OpenSession]()

    def part(session: OpenSession) -> FeaturePart:
        opened.append(session)
        return FeaturePart()

    def woken(_request: Any) -> Any:
        trace.stop()
        return turn(say("seen"))

    async def main() -> None:
        journal = await Store(folder, folder / "data").create()
        feature = Feature("ender", part, needs=frozenset({"notices"}))
        async with Session(ScriptedModel(turn(say("hi")), woken), journal=journal, features=[feature]) as session:
            await session.run("go")
            trace.start()
            opened[0].needed("notices", NoticesPart).add("agent", "The agent has ended.", id="a-1", wake=True)
            async for found in session.events():
                if type(found.event).__name__ == "RunEnded":
                    break

    asyncio.run(main())
    return trace.files


def one_keystroke(folder: Path) -> list[str]:
    """Enter is pressed with a prompt on the input line; the trace ends when the answer is on the screen."""
    written = folder / "walk"
    env = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "CALLGATE_DATA_DIR": str(folder / "data"),
        "WALK_FILE": str(written),
    }
    work = folder / "work"
    work.mkdir()
    command = [sys.executable, "-m", "tests.walks.traced_terminal", "talks"]
    with TerminalDriver(command, cwd=work, env=env) as terminal:
        terminal.wait_for("❯ ")
        terminal.type("hello")
        terminal.wait_for("hello")
        terminal.signal(signal.SIGUSR1)
        terminal.wait_for(lambda _: written.with_suffix(".armed").exists())
        terminal.press("enter")
        terminal.wait_for("All done here.")
        terminal.signal(signal.SIGUSR2)
        terminal.wait_for(lambda _: written.exists())
        terminal.press("ctrl-d")
        terminal.wait_for_exit()
    return written.read_text().split("\n")


WALKS: dict[str, Callable[[Path], list[str]]] = {
    "One call": one_call,
    "One keystroke": one_keystroke,
    "One MCP call": one_mcp_call,
    "One resume": one_resume,
    "One notice": one_notice,
}


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_names_files_in_the_order_of_a_trace(walk: str, tmp_path: Path) -> None:
    wanted, entered = steps(walk), WALKS[walk](tmp_path)
    assert len(wanted) > 4, f"ARCHITECTURE.md has no walk-through {walk!r} with files"
    missing = [file for file in wanted if file not in entered]
    assert not missing, f"the trace enters none of {missing}; it enters {entered}"
    assert wanted == sorted(wanted, key=entered.index)


def test_the_walk_of_a_call_names_every_file_of_the_engine_once(tmp_path: Path) -> None:
    found = steps("One call")
    assert len(found) == len({*found})
    entered = {file for file in one_call(tmp_path) if file.startswith("core/")}
    assert not entered - named("One call")


def test_every_file_that_the_page_names_exists() -> None:
    assert not [
        file
        for file in _FILE.findall(PAGE)
        if file.partition("/")[0] not in ("tests", "scripts", "docs", "examples")
        if not (SRC / "callgate" / file).exists()
    ]
