"""Conformance checks of Clock, Host, Files and Processes."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from callgate.core.ports import Clock, Host
from callgate.host.ports import Command, Files, Process, Processes, files_of
from callgate.testing.checks.promise import promise, quietly
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

C = TypeVar("C", bound=Clock)

NONSENSE = ("", ".", "..", "../" * 50, "~", " ", "\0", "a\0b", "\ud800", "//", "a" * 10_000, "a/" * 10_000, "\n")
"""Paths that models really write."""


async def check_clock(make: Callable[[], C], advance: Callable[[C, float], Awaitable[None]] | None = None) -> None:
    """Check that a clock meets the requirements of Clock. ``advance`` moves a manual clock; without it the check
    sleeps."""
    clock = make()

    async def passing(seconds: float) -> None:
        await (asyncio.sleep(seconds) if advance is None else advance(clock, seconds))

    promise(clock.now() > 0, "now() is in seconds since the epoch")
    before = clock.monotonic()
    fired: list[str] = []
    home: list[int] = []
    clock.call_later(0.02, lambda: fired.append("second"))
    clock.call_later(0.01, lambda: fired.append("first"))
    clock.call_later(0.01, lambda: home.append(threading.get_ident()))
    never = clock.call_later(0.01, lambda: fired.append("cancelled"))
    clock.call_later(3600, lambda: fired.append("too early"))
    clock.call_later(0, lambda: fired.append("zero"))
    promise(not fired, "call_later() never calls the function directly, even without delay")
    never.cancel()
    never.cancel()
    await passing(0.05)
    promise("zero" in fired, "a timer without delay fires as soon as time passes")
    promise("cancelled" not in fired, "a cancelled timer does not fire")
    promise("too early" not in fired, "a timer does not fire before its time")
    promise(fired == ["zero", "first", "second"], f"timers fire in the order of their times, not {fired}")
    promise(home == [threading.get_ident()], "timers fire once, on the event loop's thread")
    promise(clock.monotonic() - before >= 0.04, "monotonic() increases as time passes")
    never.cancel()


async def check_host(make: Callable[[], Host]) -> None:
    """Check that a host meets the requirements of Host. The check writes files below ``callgate-check`` in the
    workspace and removes them."""
    host = make()
    promise(host.clock is host.clock, "clock is one object")
    promise(host.locks is host.locks, "locks is one object, shared by every executor on the host")
    _check_normal(host)
    _check_place(host)
    await _check_keep(host)
    await _check_apply(host)


def _check_normal(host: Host) -> None:
    for path in NONSENSE:
        once = quietly(partial(host.normal, path), f"normal({path[:20]!r}) must not raise")
        promise(once == host.normal(path), f"normal({path[:20]!r}) is the same each time")
    root = host.normal(".")
    promise("/" in root and (root.startswith("/") or ":" in root), f"normal() is absolute and uses /, not {root!r}")
    promise(host.normal("a/b") == root.rstrip("/") + "/a/b", "relative paths start at the workspace")
    for spelling in ("./a/b", "a//b", "a/./b", "a/b/", "a/c/../b", host.normal("a/b")):
        promise(host.normal(spelling) == host.normal("a/b"), f"{spelling!r} has the normal form of its path")


def _check_place(host: Host) -> None:
    for path in NONSENSE:
        try:
            place = host.resolve_path(path)
        except Exception as error:
            raise AssertionError(f"broken promise: place({path[:20]!r}) must not raise {error!r}") from error
        promise(place == host.resolve_path(path), f"place({path[:20]!r}) is the same each time")
        promise(place.spelled == path, "a resolved path keeps the given path")
        promise(place.hops[-1:] == (place.resolved,), "the last hop is the resolved path")
    root = host.resolve_path(".")
    promise(root.inside and root.fault is None and root.kind == "folder", "the workspace is a folder inside itself")
    below = root.resolved.rstrip("/") + "/"
    inner = host.resolve_path("callgate-check/a/../none")
    promise(inner.hops[0] == below + "callgate-check/none", "the first hop is the path as given")
    promise(inner.inside and inner.kind == "missing", "a path that does not exist yet is inside the workspace")
    promise(host.resolve_path(inner.hops[0]).inside, "an absolute path inside the workspace is inside")
    promise(not host.resolve_path("../callgate-escape").inside, "a path beside the workspace is not inside")
    promise(
        not host.resolve_path(root.resolved + "-escape").inside, "a name that only starts like the workspace is outside"
    )
    for path in ("", "\0", "a\0b", "\ud800", "a\u202eb"):
        promise(host.resolve_path(path).fault, f"{path!r} must not be usable")


async def _check_keep(host: Host) -> None:
    paths = [await host.keep(name, b"data") for name in ("out.txt", "out.txt", "../../etc/x", "", "\0", "é" * 500)]
    promise(len(set(paths)) == len(paths), "keep() never overwrites: every artifact has its own path")


async def _check_apply(host: Host) -> None:
    one, two = "callgate-check/one.txt", "callgate-check/deep/two.txt"
    await host.apply(ChangeSet("create", (FileChange(one, None, b"1"), FileChange(two, None, b"2"))))
    promise(host.resolve_path(one).kind == "file", "a file that was made is a file")
    promise(host.resolve_path("callgate-check/deep").kind == "folder", "and its parent is a folder")
    stale = (FileChange(one, b"1", b"new"), FileChange(two, b"other", b"new"))
    await _refused(host, stale, "a file that changed since the preview")
    await _refused(host, (FileChange(one, None, b"new"),), "creating a file that exists")
    await _refused(host, (FileChange("callgate-check/none", b"", b"new"),), "replacing a file that does not exist")
    await _refused(host, (FileChange("../callgate-escape", None, b"x"),), "a file outside the workspace")
    await _refused(host, (FileChange(one, b"1", b"2"), FileChange("./" + one, b"1", b"3")), "changing a file twice")
    try:
        await host.apply(ChangeSet("replace", (FileChange(one, b"1", b""), FileChange(two, b"2", b"\r\n\0"))))
    except ToolFailure as error:
        raise AssertionError(f"broken promise: a refused change set changes nothing, but then: {error}") from error
    await host.apply(ChangeSet("delete", (FileChange(one, b"", None), FileChange(two, b"\r\n\0", None))))


async def _refused(host: Host, files: tuple[FileChange, ...], what: str) -> None:
    try:
        await host.apply(ChangeSet("refused", files))
    except ToolFailure as error:
        promise(str(error), f"a refusal says why ({what})")
        return
    raise AssertionError(f"broken promise: apply() refuses {what} with a ToolFailure")


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
