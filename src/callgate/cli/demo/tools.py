"""The tools of the demo: real functions on real files and processes."""

import asyncio
import os
import shlex
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from callgate import CallgateError, ChangeSet, FileChange, Run, ToolFailure, reads, tool
from callgate.cli.demo.board import TraitsOf
from callgate.cli.demo.script import Stage
from callgate.words.traits import Traits


def make_tools(stage: Stage, processes: list[Process]):
    """``read``, ``edit`` and ``run``. Every process that was started is put into the list."""

    @tool(effects="none", reads="path")
    async def read(path: str) -> str:
        """Read a text file."""
        await stage.read(path)
        return await asyncio.to_thread(Path(path).read_text, "utf-8")

    def proposed(path: str, old: str, new: str) -> ChangeSet:
        before = Path(path).read_bytes()
        if old.encode() not in before:
            raise ToolFailure(f"{path} does not contain {old!r}")
        after = before.replace(old.encode(), new.encode(), 1)
        return ChangeSet(f"edit {path}", (FileChange(path, before, after),))

    @tool(writes="path", preview=proposed)
    async def edit(path: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text in a file."""
        await stage.spend(0.5)  # the change shown was applied already; a formatter could work here

    # A command may do anything, so its effects are unknown; these two only read the folder.
    @tool(command="command", cascade=True, locks=reads(), timeout=10)
    async def run(command: str, run: Run) -> str:
        """Run a command."""
        words = [sys.executable if word == "python" else word for word in shlex.split(command)]
        process = await asyncio.create_subprocess_exec(
            *words, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True
        )
        processes.append(process)
        try:
            said = await _output(process, run)
            code = await process.wait()
            await stage.spend(0.5)
        finally:
            await _ended(process)
        if code:
            raise ToolFailure(f"exit {code}: {said}")
        return said

    return read, edit, run


class WithTraits(Protocol):
    def traits(self, arguments: Mapping[str, Any]) -> Traits: ...


def traits_in(tools: Mapping[str, WithTraits]) -> TraitsOf:
    """The traits of a call for the board, as far as its arguments can be read."""

    def traits_of(name: str, arguments: Mapping[str, Any]) -> Traits | None:
        with suppress(CallgateError):
            return tools[name].traits(arguments) if name in tools else None
        return None

    return traits_of


async def _output(process: Process, run: Run) -> str:
    said: list[str] = []
    assert process.stdout is not None
    async for line in process.stdout:
        said.append(line.decode(errors="replace"))
        run.progress(said[-1])
    return "".join(said).strip()


async def _ended(process: Process) -> None:
    """Nothing of the process goes on after this: its whole group is told to stop, and then made to."""
    if process.returncode is not None:
        return
    for wanted in ("SIGTERM", "SIGKILL"):
        with suppress(ProcessLookupError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, getattr(signal, wanted))
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 1)
            return
