"""Conformance checks of the optional parts of a host: Files and Processes."""

import asyncio
from collections.abc import Callable
from functools import partial

from callgate.core.ports import Host
from callgate.host.ports import Command, Files, Process, Processes, files_of
from callgate.testing.checks import promise
from callgate.testing.checks.port_checks import NONSENSE
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

_TOP = "callgate-check"


async def check_files(make: Callable[[], Host]) -> None:
    """Check that the files of a host meet the requirements of Files. The check writes files below ``callgate-check``
    in the workspace and removes them."""
    host = make()
    contents = {f"{_TOP}/b.txt": b"two\r\n\0", f"{_TOP}/a é.txt": b"", f"{_TOP}/deep/er/c": b"x" * 300_000}
    await host.apply(ChangeSet("create", tuple(FileChange(path, None, data) for path, data in contents.items())))
    try:
        await asyncio.to_thread(_check_files, host, files_of(host), contents)
    finally:
        await host.apply(ChangeSet("delete", tuple(FileChange(path, data, None) for path, data in contents.items())))
    gone = await asyncio.to_thread(files_of(host).status, f"{_TOP}/b.txt")
    promise(gone.kind == "missing", "a file that was removed is missing")


def _check_files(host: Host, files: Files, contents: dict[str, bytes]) -> None:
    for path, data in contents.items():
        for spelled in (path, f"./{_TOP}/../{path}", host.normal(path)):
            found = files.status(spelled)
            promise(found.kind == "file" and found.size == len(data), f"status({spelled!r}) says kind and size")
            promise(found.path == host.resolve_path(path).resolved, "status contains the resolved path")
            promise(files.read(spelled, 1_000_000) == data, f"read({spelled!r}) gives every byte")
        promise(files.read(path, len(data)) == data, "a file of exactly the largest size is read")
    promise(files.status(_TOP).kind == "folder", "a folder is a folder")
    promise(files.status(".").kind == "folder", "the workspace is a folder")
    promise(files.status(f"{_TOP}/none").kind == "missing", "a path that does not exist is missing")
    promise(files.status(f"{_TOP}/b.txt/none").kind == "missing", "nothing is below a file")
    listed = [(entry.name, entry.kind, entry.size) for entry in files.entries(_TOP) if entry.kind == "file"]
    promise(listed == [("a é.txt", "file", 0), ("b.txt", "file", 6)], f"entries() are sorted by name, not {listed}")
    folders = [entry.name for entry in files.entries(_TOP) if entry.kind == "folder"]
    promise(folders == ["deep"], f"a folder is listed once, not its insides: {folders}")
    promise(_TOP in [entry.name for entry in files.entries(".")], "the workspace is listed")
    _file_refused(lambda: files.read(f"{_TOP}/deep/er/c", 299_999), "to read more than the limit")
    _file_refused(lambda: files.read(_TOP, 10), "to read a folder")
    _file_refused(lambda: files.read(f"{_TOP}/none", 10), "to read a missing file")
    _file_refused(lambda: files.entries(f"{_TOP}/none"), "to list a missing folder")
    _file_refused(lambda: files.entries(f"{_TOP}/b.txt"), "to list a file")
    for path in NONSENSE:
        _may_refuse(partial(files.status, path), path)
        _may_refuse(partial(files.entries, path), path)
        _may_refuse(partial(files.read, path, 10), path)


def _file_refused(work: Callable[[], object], what: str) -> None:
    try:
        work()
    except ToolFailure as error:
        promise(str(error), f"a refusal says why ({what})")
        return
    raise AssertionError(f"broken promise: it is a ToolFailure {what}")


def _may_refuse(work: Callable[[], object], path: str) -> None:
    try:
        work()
    except ToolFailure:
        return
    except Exception as error:
        raise AssertionError(f"broken promise: {path[:20]!r} may be refused, but not by {error!r}") from error


@noun
class ProcessSamples:
    """Commands for the check of Processes.

    speaks    writes ``out`` to standard output and ``err`` to standard error, and exits with 3
    echoes    copies its input to its output
    waits     writes ``ready`` and exits on SIGTERM
    stubborn  writes ``ready`` and exits only on SIGKILL
    missing   cannot be started
    """

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
        promise(str(error), "a program that cannot be started raises an OSError with a reason")
    else:
        raise AssertionError("broken promise: start() raises OSError for a program that cannot be started")


async def _check_output(processes: Processes, samples: ProcessSamples) -> None:
    out, err = bytearray(), bytearray()
    process = await processes.start(samples.speaks, out.extend, err.extend)
    promise(process.pid > 0, "a process has a process id")
    promise(await process.ended() == 3, "ended() returns the exit code of the program")
    promise((bytes(out), bytes(err)) == (b"out", b"err"), f"the two outputs are separate, not {out!r} and {err!r}")
    await process.gone()
    promise(not process.running and process.returncode == 3, "a process that has ended is not running")
    promise(await process.ended() == 3, "ended() can be called again")
    for order in (process.terminate, process.kill):
        order()  # no effect after the process ended
    both = bytearray()
    await (await processes.start(samples.speaks, both.extend)).gone()
    promise(
        sorted(both) == sorted(b"outerr"), f"without a separate sink, the second output is part of the first: {both!r}"
    )
    echo = bytearray()
    process = await processes.start(samples.echoes, echo.extend)
    promise(await process.ended() == 0 and bytes(echo) == samples.echoes.stdin, "a program reads its input to the end")


async def _check_ends(processes: Processes, samples: ProcessSamples) -> None:
    for command, last in ((samples.waits, "terminate"), (samples.stubborn, "kill")):
        process = await _ready(processes, command)
        promise(process.running and process.returncode is None, "a waiting process is running")
        waiting = asyncio.ensure_future(process.ended())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))
        promise(waiting.cancelled() and process.running, "cancelling the wait does not end the program")
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
