"""Promises of the files of a host."""

import asyncio
from collections.abc import Callable
from functools import partial

from callgate.core.ports import Host
from callgate.host.ports import Files, files_of
from callgate.testing.checks.promise import promise
from callgate.testing.checks.world import NONSENSE
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

_TOP = "callgate-check"


async def check_files(make: Callable[[], Host]) -> None:
    """The host must be writable below ``callgate-check`` in its workspace; what is written there is removed."""
    host = make()
    contents = {f"{_TOP}/b.txt": b"two\r\n\0", f"{_TOP}/a é.txt": b"", f"{_TOP}/deep/er/c": b"x" * 300_000}
    await host.apply(ChangeSet("create", tuple(FileChange(path, None, data) for path, data in contents.items())))
    try:
        await asyncio.to_thread(_check, host, files_of(host), contents)
    finally:
        await host.apply(ChangeSet("delete", tuple(FileChange(path, data, None) for path, data in contents.items())))
    gone = await asyncio.to_thread(files_of(host).status, f"{_TOP}/b.txt")
    promise(gone.kind == "missing", "a file that was removed is missing")


def _check(host: Host, files: Files, contents: dict[str, bytes]) -> None:
    for path, data in contents.items():
        for spelled in (path, f"./{_TOP}/../{path}", host.normal(path)):
            found = files.status(spelled)
            promise(found.kind == "file" and found.size == len(data), f"status({spelled!r}) says kind and size")
            promise(found.path == host.place(path).resolved, "status says where the path leads")
            promise(files.read(spelled, 1_000_000) == data, f"read({spelled!r}) gives every byte")
        promise(files.read(path, len(data)) == data, "a file of just as many bytes is read")
    promise(files.status(_TOP).kind == "folder", "a folder is a folder")
    promise(files.status(".").kind == "folder", "the workspace is a folder")
    promise(files.status(f"{_TOP}/none").kind == "missing", "what is not there is missing")
    promise(files.status(f"{_TOP}/b.txt/none").kind == "missing", "nothing is below a file")
    listed = [(entry.name, entry.kind, entry.size) for entry in files.entries(_TOP) if entry.kind == "file"]
    promise(listed == [("a é.txt", "file", 0), ("b.txt", "file", 6)], f"entries() are sorted by name, not {listed}")
    folders = [entry.name for entry in files.entries(_TOP) if entry.kind == "folder"]
    promise(folders == ["deep"], f"a folder is listed once, not its insides: {folders}")
    promise(_TOP in [entry.name for entry in files.entries(".")], "the workspace is listed")
    _refused(lambda: files.read(f"{_TOP}/deep/er/c", 299_999), "to read more than asked for")
    _refused(lambda: files.read(_TOP, 10), "to read a folder")
    _refused(lambda: files.read(f"{_TOP}/none", 10), "to read what is not there")
    _refused(lambda: files.entries(f"{_TOP}/none"), "to list what is not there")
    _refused(lambda: files.entries(f"{_TOP}/b.txt"), "to list a file")
    for path in NONSENSE:
        _may_refuse(partial(files.status, path), path)
        _may_refuse(partial(files.entries, path), path)
        _may_refuse(partial(files.read, path, 10), path)


def _refused(work: Callable[[], object], what: str) -> None:
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
