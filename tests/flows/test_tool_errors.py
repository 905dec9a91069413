"""Unexpected exceptions of tools are in the log of the program and in the result, and a tool that blocks the event loop
is reported by its name."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from threading import Event
from threading import enumerate as enumerate_threads
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


SEEN = _Seen()


def _block() -> str:
    """Block until the report arrives."""
    return "reported" if SEEN.event.wait(30) else "never reported"


@tool(effects="none", timeout=0.05)
async def at_once() -> str:
    """Block in the first step."""
    return _block()


@tool(effects="none", timeout=0.05)
async def after_a_step() -> str:
    """Block in the second step."""
    await asyncio.sleep(0)
    return _block()


@tool(effects="none", timeout=0.05)
async def twice() -> str:
    """Block in two steps."""
    first = _block()
    await asyncio.sleep(0)
    return first


@tool(effects="none", timeout=0.05)
async def generator(run: Run) -> AsyncIterator[str]:
    """Block between two progress texts."""
    yield "begun\n"
    yield _block()


@tool(effects="mutating", timeout=0.05)
async def with_effects() -> str:
    """Block in a call with effects."""
    return _block()


@tool(effects="none", timeout=0.05)
async def in_a_context() -> str:
    """Block within a context manager."""
    async with asyncio.Lock():
        return _block()


@tool(effects="none", timeout=0.05)
async def then_fails() -> str:
    """Block, and fail."""
    raise ToolFailure(_block())


@tool(effects="none", timeout=0.05)
async def in_a_task() -> str:
    """Block in a task of the tool."""

    async def inner() -> str:
        return _block()

    return (await asyncio.gather(inner()))[0]


@tool(effects="none", timeout=0.05)
async def in_a_group() -> str:
    """Block in a task group."""

    async def inner() -> str:
        return _block()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(inner())
    return task.result()


@tool(effects="none", timeout=0.05)
async def in_a_callback() -> str:
    """Block in a callback of the event loop."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lambda: done.set_result(_block()))
    return await done


BLOCKING: list[tuple[Tool, str]] = [
    (at_once, "at_once blocks the event loop, so its timeout of 0.05 s"),
    (after_a_step, "after_a_step blocks the event loop, so its timeout"),
    (twice, "twice blocks the event loop, so its timeout"),
    (generator, "generator blocks the event loop, so its timeout"),
    (with_effects, "with_effects blocks the event loop, so its timeout"),
    (in_a_context, "in_a_context blocks the event loop, so its timeout"),
    (then_fails, "then_fails blocks the event loop, so its timeout"),
    (in_a_task, "in_a_task.<locals>.inner blocks the event loop, so the timeout of in_a_task"),
    (in_a_group, "in_a_group.<locals>.inner blocks the event loop, so the timeout of in_a_group"),
    (in_a_callback, "a callback blocks the event loop, so the timeout of in_a_callback"),
]


@pytest.mark.spec("TOOL-10")
async def test_a_tool_that_blocks_the_event_loop_past_its_timeout_is_reported_by_name() -> None:
    """The report is in the log of the program, in an event for the user, and in the result for the model."""

    @tool(effects="none", timeout=0.05)
    async def innocent() -> str:
        """Wait without blocking."""
        return "quick"

    log = logging.getLogger("callgate.tools")
    wrong: list[str] = []
    for used, report in BLOCKING:
        SEEN.event.clear()
        log.addHandler(SEEN)
        try:
            model = ScriptedModel(turn(call("innocent"), call(used.spec.name)), turn(say("done")))
            async with Session(model, [used, innocent], mode="bypass") as session:
                notes: list[Noted] = []
                session.listen(
                    lambda path, number, event, notes=notes: notes.append(event) if isinstance(event, Noted) else None
                )
                found = await session.run("go")
        finally:
            log.removeHandler(SEEN)
        results = [each.text for each in found.calls]
        if report not in SEEN.text or [each.call_id for each in notes] != ["call_2"] or report not in notes[0].text:
            wrong.append(f"{used.spec.name}: {SEEN.text!r}, {notes}")
        if "blocks" in results[0] or report not in results[1]:
            wrong.append(f"{used.spec.name}: {results}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.spec("TOOL-10")
async def test_the_calls_of_a_message_share_one_thread_that_watches_the_event_loop() -> None:
    threads: set[int] = set()

    @tool(effects="none", timeout=60)
    async def looks(number: int) -> str:
        """Note the watching threads."""
        threads.update(each.ident or 0 for each in enumerate_threads() if each.name == "callgate-loop-watch")
        return "seen"

    calls = [call("looks", number=number) for number in range(20)]
    async with Session(ScriptedModel(turn(*calls), turn(say("done"))), [looks]) as session:
        assert len((await session.run("go")).calls) == 20
    assert len(threads) == 1


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
