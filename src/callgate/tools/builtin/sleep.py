"""The tool Sleep: waits for a time measured by the clock of the host. A message of the user cancels the wait."""

from typing import Annotated, Any

from pydantic import Field

from callgate.core.ports import Run, wait_seconds
from callgate.tools.builtin import builtin_tool
from callgate.tools.tool import FunctionTool
from callgate.words.traits import shared

LONGEST = 3_600.0


def sleep() -> FunctionTool[Any]:

    async def sleep(seconds: Annotated[float, Field(gt=0, le=LONGEST)], run: Run) -> str:
        """Wait.

        Args:
            seconds: how long, at most an hour
        """
        await wait_seconds(run.host.clock, seconds)
        return f"Waited {seconds:g} s."

    return builtin_tool(
        sleep,
        title="Wait",
        icon="think",
        label=lambda a: f"{a.seconds:g} s",
        effects="none",
        locks=shared,
        interrupt="cancel",
        repeats=True,
        always_loaded=False,
        search_hint="wait, pause, delay",
    )
