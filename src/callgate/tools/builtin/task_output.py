"""The tools TaskOutput and TaskStop: return the output of background tasks, list the tasks, stop a task."""

from functools import partial
from typing import Annotated, Any

from pydantic import Field

from callgate.core.ports import Run
from callgate.host.tasks import BackgroundTask, tasks_of
from callgate.host.threads import in_thread, threads_of
from callgate.tools.builtin import builtin_tool
from callgate.tools.commands.command_output import MOST_CHARACTERS, readable
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.messages import Text
from callgate.words.traits import shared

MOST_SECONDS = 600.0
_MOST_LINES = 2_000
_MOST_BYTES = MOST_CHARACTERS - 1_000  # room for the lines around the output


def task_output() -> FunctionTool[Any]:

    async def task_output(
        run: Run,
        id: str | None = None,
        wait: Annotated[float, Field(ge=0)] = 0,
        since: Annotated[int, Field(ge=0)] | None = None,
        tail: Annotated[int, Field(ge=1, le=_MOST_LINES)] | None = None,
    ) -> Result:
        """Read.

        Args:
            id: of the task; without one all tasks are listed
            wait: seconds to wait for its end, at most 600
            since: the cursor from which to read
            tail: how many of the last lines to read
        """
        tasks = tasks_of(run.host)
        if id is None:
            listed = "\n".join(map(line_of, tasks.all())) or "There are no background tasks."
            return Result((Text(listed),))
        task = tasks.get(id)
        if wait:
            await task.wait(run.host.clock, min(wait, MOST_SECONDS))
        text, cursor = await in_thread(partial(_read, task, since, tail), threads=threads_of(run.host))
        if task.status != "running":
            tasks.mark_reported(task)
        status = f"[{line_of(task)}; cursor {cursor} of {task.output.size}]"
        details = {"task": task.id, "status": task.status, "cursor": cursor}
        return Result((Text(f"{text.rstrip()}\n{status}" if text else status),), details=details)

    return builtin_tool(
        task_output,
        aliases=["BashOutput"],
        title="Read a background task",
        icon="read",
        label=lambda a: a.id,
        effects="none",
        locks=shared,
        timeout=lambda a: min(a.wait, MOST_SECONDS) + 30,
        max_timeout=MOST_SECONDS + 30,
        interrupt="cancel",
        repeats=True,
    )


def line_of(task: BackgroundTask) -> str:
    earlier = ", from an earlier start of Callgate" if task.earlier else ""
    ending = f", {task.detail}" if task.detail else ""
    first = task.record.label.split("\n", 1)[0][:80]
    return f"{task.id}: {task.record.kind} {first!r} {task.status}{ending}{earlier}"


def _read(task: BackgroundTask, since: int | None, tail: int | None) -> tuple[str, int]:
    """Return the output from the cursor on, and the cursor for the next call. If no cursor is given, return the last
    part of the output."""
    end = task.output.size
    start = max(end - _MOST_BYTES, 0) if since is None else min(since, end)
    data = task.output.read(start, min(end - start, _MOST_BYTES))
    cursor = start + len(data)
    if data and cursor < end:  # leave an incomplete character for the next call
        whole = data.decode(errors="ignore").encode()
        if len(data) - len(whole) < 4 and data.startswith(whole):
            data, cursor = whole, start + len(whole)
    text = readable(data)
    if since is None and start and tail is None:
        text = f"… {start:,} bytes omitted: read them with since=0, or in {task.record.output} …\n{text}"
    if tail is not None:
        text = "\n".join(text.rstrip("\n").split("\n")[-tail:])
    return text, cursor


def task_stop() -> FunctionTool[Any]:

    async def task_stop(id: str, run: Run) -> str:
        """Stop.

        Args:
            id: of the task
        """
        tasks = tasks_of(run.host)
        task = tasks.get(id)
        if task.status != "running":
            return f"The task had already ended: {line_of(task)}"
        await task.stop(run.host.clock)
        tasks.mark_reported(task)
        return f"Stopped: {line_of(task)}"

    return builtin_tool(
        task_stop,
        aliases=["KillShell", "KillBash"],
        title="Stop a background task",
        icon="run",
        label="id",
        effects="idempotent",
        locks=shared,
        timeout=60,
        needs_no_question=True,
    )
