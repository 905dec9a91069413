"""Runs programs with their child processes, delivers output as it arrives, and ends whole process trees.

One thread serves one program: it starts the program, writes its input, reads its output and waits for its end, so
that the event loop never blocks. The guard process of the program reaps and ends its processes: see
``host/guard.py``.
"""

import os
from asyncio import CancelledError, current_task
from collections.abc import Callable, Mapping, Sequence
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
    """The result of a program.

    returncode  the exit code; negative for a signal
    cut         True if an output was longer than the limit; its beginning is kept
    """

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
    place: Callable[[Command], Command] | None = None,
) -> Finished:
    """Run a program in a POSIX session of its own and wait for its end. Raise OSError if it cannot be started.

    After ``timeout``, or if the caller is cancelled, the process tree receives SIGTERM and is killed ``grace`` seconds
    later. No process is left when this function returns or raises, except after a second cancel.

    limit   the maximum size of each output in bytes
    linger  the number of seconds after a normal exit in which output of child processes is still read
    place   a callback that returns the command to run instead, for example inside a sandbox; called in a thread
    """
    _check_system()
    from callgate.host.program_run import ProgramRun  # rarely needed at start

    out, err = _Kept(limit), _Kept(limit)
    command = Command(tuple(argv), str(cwd), env, stdin)
    if place is not None:
        command = await in_thread(partial(place, command))
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
    """End a process tree with SIGTERM, and with SIGKILL after ``grace`` seconds. Return when no process is left. A
    cancel kills the process tree immediately, without waiting for its end."""
    process.terminate()
    timer = clock.call_later(grace, process.kill)
    try:
        await process.gone()
    except CancelledError:
        process.kill()
        raise
    finally:
        timer.cancel()
