"""Promises of Processes."""

import asyncio
from collections.abc import Callable

from callgate.host.ports import Command, Process, Processes
from callgate.testing.checks.promise import promise
from callgate.words.noun import noun


@noun
class ProcessSamples:
    """Commands that a check of Processes starts. ``speaks`` writes ``out`` to its output, ``err`` to the other one and
    ends with 3; ``echoes`` writes what it reads; ``waits`` writes ``ready`` and ends when it is told to; ``stubborn``
    does so only when it is killed; ``missing`` cannot be started."""

    speaks: Command
    echoes: Command
    waits: Command
    stubborn: Command
    missing: Command


async def check_processes(make: Callable[[], Processes], samples: ProcessSamples) -> None:
    processes = make()
    await _check_output(processes, samples)
    await _check_ends(processes, samples)
    try:
        await processes.start(samples.missing, bytearray().extend)
    except OSError as error:
        promise(str(error), "a program that cannot be started is an OSError that says why")
    else:
        raise AssertionError("broken promise: start() raises OSError for a program that cannot be started")


async def _check_output(processes: Processes, samples: ProcessSamples) -> None:
    out, err = bytearray(), bytearray()
    process = await processes.start(samples.speaks, out.extend, err.extend)
    promise(process.pid > 0, "a process has a number")
    promise(await process.ended() == 3, "ended() gives the code of the program")
    promise((bytes(out), bytes(err)) == (b"out", b"err"), f"the two outputs come apart, not as {out!r} and {err!r}")
    await process.gone()
    promise(not process.running and process.returncode == 3, "a process that is gone does not run")
    promise(await process.ended() == 3, "ended() may be asked again")
    for order in (process.terminate, process.kill):
        order()  # of a process that is gone changes nothing
    both = bytearray()
    await (await processes.start(samples.speaks, both.extend)).gone()
    promise(sorted(both) == sorted(b"outerr"), f"without a sink of its own the second output joins the first: {both!r}")
    echo = bytearray()
    process = await processes.start(samples.echoes, echo.extend)
    promise(await process.ended() == 0 and bytes(echo) == samples.echoes.stdin, "a program reads its input to the end")


async def _check_ends(processes: Processes, samples: ProcessSamples) -> None:
    for command, last in ((samples.waits, "terminate"), (samples.stubborn, "kill")):
        process = await _ready(processes, command)
        promise(process.running and process.returncode is None, "a process that waits runs")
        waiting = asyncio.ensure_future(process.ended())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))
        promise(waiting.cancelled() and process.running, "to stop waiting does not end the program")
        process.terminate()
        if last == "kill":
            process.kill()
        await process.gone()
        code = process.returncode
        promise(code is not None and code != 0, f"a program that {last} ended has the code of that, not {code}")


async def _ready(processes: Processes, command: Command) -> Process:
    loop, heard = asyncio.get_running_loop(), asyncio.Event()
    process = await processes.start(command, lambda _: loop.call_soon_threadsafe(heard.set) and None)
    await heard.wait()
    return process
