"""Shared by the two processes of the ninth act: the folder, the tools, and the model's lines in each process."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path

from callgate import ExecutorSettings, Run, Status, Store, tool, writes
from callgate.cli.demo.script import Stage
from callgate.cli.demo.tools import make_tools
from callgate.testing import ScriptedModel, call, say, turn

PROMPT = "Put the shop online."

DEPLOYED = "deployed.txt"
"""A line for each time that somebody deployed."""
UPLOADS = "uploads"
"""A file for each key, in it a line for each attempt."""
READY = "ready"
"""What the first process says when its scene is set and everything it has told is on disk."""

BEFORE = (Status.SUCCESS, Status.SUCCESS, Status.EXECUTING, Status.EXECUTING, Status.AWAITING_APPROVAL)
"""Where the calls are when the process is killed, in the order of the message."""

# Two calls hang at once until the kill, whatever the environment allows the rest of the demo.
SETTINGS = ExecutorSettings()

Middle = Callable[[], Awaitable[None]]
"""What goes on in a call after the world has changed and before it has its result."""


def kept() -> Store:
    """The sessions of the current folder, kept inside it."""
    return Store(Path.cwd(), "data")


def first_model(speed: float) -> ScriptedModel:
    return ScriptedModel(
        turn(
            say("I look at the checks, mend the README,", over=0.2 / speed),
            call("read", path="checks.py"),
            call("edit", path="README.md", old="EUR", new="euros"),
            say("deploy, upload the prices, and open the shop.", over=0.2 / speed),
            call("deploy", target="shop"),
            call("upload", path="prices.py"),
            call("edit", path="settings.toml", old="open = false", new="open = true"),
        )
    )


def second_model(speed: float) -> ScriptedModel:
    """Is asked once everything is known that can be known."""
    said = "Nobody knows whether the shop was deployed, so I would look before I do it again. The rest is done."
    return ScriptedModel(turn(say(said, over=0.3 / speed)))


def tools_of_life(stage: Stage, middle: Middle):
    """``read`` and ``edit`` as in the other acts, ``deploy`` and ``upload``."""
    read, edit, _ = make_tools(stage, list[Process]())

    @tool(locks=writes(DEPLOYED))
    async def deploy(target: str) -> str:
        """Put something online. Every time it is called."""
        await asyncio.to_thread(_add_line, Path(DEPLOYED), target)
        await middle()
        return f"{target} is online"

    @tool(effects="idempotent", locks=lambda a: writes(f"{UPLOADS}/{a.path}"))
    async def upload(path: str, run: Run) -> str:
        """Upload a file. Once per key, however often it is called."""
        kept_as = Path(UPLOADS, run.idempotency_key.replace("/", "+"))
        await asyncio.to_thread(_add_line, kept_as, f"attempt {run.attempt}")
        await middle()
        return f"{path} is there"

    return read, edit, deploy, upload


def _add_line(path: Path, line: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
