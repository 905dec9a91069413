"""Unexpected exceptions of tools are in the log of the program and in the result, and a tool that blocks the event loop
is reported by its name."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from threading import Event
from typing import Any

import pytest

from callgate import Session, ToolFailure, tool
from callgate.core.ports import Run, Tool
from callgate.session.run import RunResult
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.changes import ChangeSet
from callgate.words.events import Noted

SECRET = "AKIA" + "IOSFODNN7EXAMPLX"


async def ran(used: Tool) -> RunResult[str]:
    async with Session(ScriptedModel(turn(call(used.spec.name)), turn(say("done"))), [used], mode="bypass") as session:
        return await session.run("go")


def _raises(kind: Callable[[str], BaseException]) -> Any:
    raise kind(f"no access with {SECRET}")


@tool(effects="none")
def in_thread() -> str:
    """Fail in a thread."""
    return _raises(ValueError)


@tool(effects="none")
async def on_loop() -> str:
    """Fail on the event loop."""
    return _raises(KeyError)


@tool(effects="none")
def generates() -> Iterator[str]:
    """Fail after some output."""
    yield "some"
    _raises(RuntimeError)


@tool(effects="none")
async def generates_on_loop() -> AsyncIterator[str]:
    """Fail after some output."""
    yield "some"
    _raises(OSError)


@tool(effects="none")
def chained() -> str:
    """Fail because of another failure."""
    try:
        return _raises(ValueError)
    except ValueError as error:
        raise TypeError("wrong") from error


@tool(effects="none")
def exits() -> str:
    """End the program."""
    return _raises(SystemExit)


@tool(effects="none")
def group() -> str:
    """Fail with several exceptions."""
    return _raises(lambda text: ExceptionGroup(text, [ValueError("one")]))


def _preview(path: str) -> ChangeSet:
    return _raises(ValueError)


@tool(preview=_preview, effects="idempotent")
def previews(path: str = "a") -> str:
    """Fail in the preview."""
    return "never"


FAILING: list[tuple[Tool, str]] = [
    (in_thread, "ValueError"),
    (on_loop, "KeyError"),
    (generates, "RuntimeError"),
    (generates_on_loop, "OSError"),
    (chained, "TypeError"),
    (exits, "SystemExit"),
    (group, "ExceptionGroup"),
    (previews, "ValueError"),
]


@pytest.mark.spec("TOOL-5")
async def test_an_unexpected_exception_is_logged_with_its_traceback_and_without_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong: list[str] = []
    for used, kind in FAILING:
        caplog.clear()
        result = await ran(used)
        name = used.spec.name
        of_tool = [record for record in caplog.records if record.name == "callgate.tools"]
        text = "\n".join(logging.Formatter().format(record) for record in of_tool)
        if not (of_tool and name in text and kind in text and "Traceback" in text):
            wrong.append(f"{name}: {text!r}")
        if SECRET in text:
            wrong.append(f"{name}: the secret is in the log")
        (settled,) = result.calls
        details = settled.result.details if settled.result is not None else {}
        if settled.code != "tool_error" or kind not in str(details.get("traceback")):
            wrong.append(f"{name}: {settled.result}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.spec("TOOL-5")
async def test_a_failure_that_a_tool_intends_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    @tool(effects="none")
    def refuses() -> str:
        """Refuse."""
        raise ToolFailure("not today")

    result = await ran(refuses)
    assert [each.text for each in result.calls] == ["not today"]
    assert [record for record in caplog.records if record.name.startswith("callgate")] == []


def test_nothing_is_printed_unless_the_program_configures_logging(capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        "from callgate import run_sync, tool\nfrom callgate.testing import ScriptedModel, call, say, turn\n"
        "@tool(effects='none')\ndef bad() -> str:\n    'Fail.'\n    raise ValueError('x')\n"
        "print(run_sync(ScriptedModel(turn(call('bad')), turn(say('done'))), 'go', [bad]).text)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (found.stdout, found.stderr) == ("done\n", "")


class _Seen(logging.Handler):
    """Sets an event when a record arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.event = Event()
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()
        self.event.set()


@pytest.mark.spec("TOOL-10")
async def test_a_tool_that_blocks_the_event_loop_past_its_timeout_is_reported_by_name() -> None:
    seen = _Seen()

    @tool(effects="none", timeout=0.05)
    async def innocent() -> str:
        """Wait without blocking."""
        return "quick"

    @tool(effects="none", timeout=0.05)
    async def blocks() -> str:
        """Block the event loop until the report arrives."""
        return "reported" if seen.event.wait(30) else "never reported"

    log = logging.getLogger("callgate.tools")
    log.addHandler(seen)
    try:
        model = ScriptedModel(turn(call("innocent"), call("blocks")), turn(say("done")))
        async with Session(model, [blocks, innocent]) as session:
            notes: list[Noted] = []
            session.listen(lambda path, number, event: notes.append(event) if isinstance(event, Noted) else None)
            await session.run("go")
    finally:
        log.removeHandler(seen)
    assert "blocks blocks the event loop" in seen.text
    assert [(note.call_id, "0.05 s" in note.text) for note in notes] == [("call_2", True)]


@pytest.mark.spec("TOOL-10")
async def test_tools_that_wait_or_run_in_a_thread_are_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    over = Event()

    @tool(effects="none", timeout=0.05)
    async def waits() -> str:
        """Wait too long."""
        await asyncio.Event().wait()
        return ""

    @tool(effects="none", timeout=0.05)
    def threaded(run: Run) -> str:
        """Block a thread."""
        over.wait(30)
        return ""

    for used in (waits, threaded):
        result = await ran(used)
        assert [each.code for each in result.calls] == ["timed_out"]
    over.set()
    current = asyncio.current_task()
    await asyncio.wait({task for task in asyncio.all_tasks() if task is not current})  # the thread ends in real time
    texts = [record.getMessage() for record in caplog.records if record.name.startswith("callgate")]
    assert [text for text in texts if "waits" in text or "threaded" in text] == []
