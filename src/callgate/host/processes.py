"""Runs programs with their child processes. Output is delivered as it arrives, and the whole process tree can be ended.

One thread serves one program, so that starting, feeding, reading and waiting never block the event loop. The program is
started, reaped and ended by its guard process: see ``host/guard.py``.
"""

import os
from asyncio import CancelledError, current_task
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.core.ports import Clock, Timer
from callgate.host.ports import Command, Process, Sink
from callgate.host.threads import in_thread
from callgate.words.errors import UsageError
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.host.program_run import LocalProcess

_END, _KILL = 1, 2


@noun
class Finished:
    """The result of a program. ``returncode`` is negative for a signal. ``cut``: an output was longer than the limit,
    and its beginning was kept."""

    returncode: int
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    cut: bool = False


async def run_process(
    argv: Sequence[str],
    *,
    cwd: str | Path,
    env: Mapping[str, str],
    clock: Clock,
    stdin: bytes = b"",
    timeout: float | None = None,
    limit: int = 1_000_000,
    grace: float = 2.0,
    linger: float = 1.0,
) -> Finished:
    """Run a program in its own session and wait for its end. OSError if it cannot be started.

    After ``timeout``, or if the caller is cancelled, the process tree gets a SIGTERM and is killed ``grace`` seconds
    later. Nothing of it is left when this function returns or raises, except after a second cancel. If processes left
    after a normal exit keep the output open, it is read for ``linger`` more seconds. ``limit`` is the maximum size of
    each output in bytes.
    """
    _check_system()
    from callgate.host.program_run import ProgramRun  # rarely needed at start

    out, err = _Kept(limit), _Kept(limit)
    command = Command(tuple(argv), str(cwd), env, stdin)
    running = ProgramRun(command, out.take, err.take, linger=linger, releases=True)
    timers: list[Timer] = []
    expired = False
    task = current_task()
    cancels = task.cancelling() if task else 0

    def end() -> None:
        running.order(_END)
        timers.append(clock.call_later(grace, partial(running.order, _KILL)))

    def expire() -> None:
        nonlocal expired
        expired = True
        end()

    if timeout is not None:
        timers.append(clock.call_later(timeout, expire))
    try:
        returncode = await in_thread(running.run, on_cancel=end)
    finally:
        running.order(_KILL)  # it runs only if a second cancel ended the wait
        for timer in timers:
            timer.cancel()
    if task and task.cancelling() > cancels:
        raise CancelledError
    return Finished(returncode, bytes(out.kept), bytes(err.kept), expired and running.was_ended, out.cut or err.cut)


class LocalProcesses:
    """The Processes of the local machine."""

    async def start(self, command: Command, out: Sink, err: Sink | None = None) -> "LocalProcess":
        _check_system()
        from callgate.host.program_run import LocalProcess  # rarely needed at start

        process = LocalProcess(command, out, err)
        try:
            await process.started()
        except CancelledError:
            process.kill()
            with suppress(OSError):
                await process.gone()
            raise
        return process


class _Kept:
    """Collects one output of a program up to the limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.kept = bytearray()
        self.cut = False

    def take(self, data: bytes) -> None:
        room = self._limit - len(self.kept)
        self.kept += data[:room]
        self.cut = self.cut or len(data) > room


def _check_system() -> None:
    if not hasattr(os, "killpg"):
        raise UsageError("programs can be run on Linux and macOS, not on this system")


async def end_process(process: Process, clock: Clock, grace: float = 2.0) -> None:
    """End the process tree: SIGTERM, SIGKILL after ``grace`` seconds. Return when nothing is left. A cancel kills it at
    once and does not wait."""
    process.terminate()
    timer = clock.call_later(grace, process.kill)
    try:
        await process.gone()
    except CancelledError:
        process.kill()
        raise
    finally:
        timer.cancel()
