"""The tool TaskStop: stops a background task of any kind."""

from typing import Any

from callgate.core.ports import Run
from callgate.host.tasks import tasks_of
from callgate.tools.builtin import builtin_tool
from callgate.tools.builtin.task_output import line_of
from callgate.tools.tool import FunctionTool
from callgate.words.traits import shared


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
