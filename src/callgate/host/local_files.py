"""The files of the local machine, and the output files of commands. Each path is resolved, and then opened one
component at a time without following links."""

import os
import stat
from asyncio import get_running_loop
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from callgate.host.beneath import OpenFolder, open_at_once
from callgate.host.paths import Resolver, kind_of
from callgate.host.ports import FileStatus, FolderEntry, too_large
from callgate.words.errors import ToolFailure
from callgate.words.resolved_path import PathKind, ResolvedPath

_CHUNK = 1 << 20
_NEW = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
_LONGEST_LINE = 1 << 16
MOST_BYTES = 5_000_000_000
"""The maximum size of one output, so that an endless one does not fill the disk."""


class LocalFiles:
    """The Files of the local machine; see ``host.ports.Files``."""

    on_disk = True

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def status(self, path: str) -> FileStatus:
        place = self._resolved(path)
        try:
            with self._folder(place) as (folder, name):
                found = folder.status(name) if name else os.stat(folder.path)
        except (FileNotFoundError, NotADirectoryError):
            return FileStatus(place.resolved, "missing")
        except OSError as error:
            raise _failure(path, error) from error
        return FileStatus(place.resolved, _kind(found.st_mode), found.st_size)

    def read(self, path: str, most: int) -> bytes:
        try:
            descriptor = self._opened(path)
            try:
                return _content(descriptor, path, most)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _failure(path, error) from error

    def _opened(self, path: str) -> int:
        _check_thread()
        plain = self._resolver.plain(path)
        descriptor = None if plain is None else open_at_once(self._resolver.root, plain)
        if descriptor is not None:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return descriptor
            os.close(descriptor)
        place = self._resolved(path)
        if place.kind == "folder":
            raise ToolFailure(f"{path} is a folder, not a file.")
        with self._folder(place) as (folder, name):
            return folder.opened(name)

    def entries(self, path: str) -> list[FolderEntry]:
        place = self._resolved(path)
        if place.kind == "file":
            raise ToolFailure(f"{path} is a file, not a folder.")
        try:
            with self._folder(place, whole=True) as (folder, _):
                found = [FolderEntry(name, _kind(status.st_mode), status.st_size) for name, status in folder.listed()]
        except OSError as error:
            raise _failure(path, error) from error
        return sorted(found, key=lambda entry: entry.name)

    def _resolved(self, path: str) -> ResolvedPath:
        _check_thread()
        place = self._resolver.resolve_path(path)
        if place.fault is not None:
            raise ToolFailure(f"{path!r} is not a valid path: {place.fault}")
        if not place.inside and len(place.hops) > 1:
            text = f"{path} leaves the workspace through a symbolic link, to {place.resolved}"
            raise ToolFailure(f"{text}: use the path of the target, so that it can be checked.")
        return place

    @contextmanager
    def _folder(self, place: ResolvedPath, *, whole: bool = False) -> Generator[tuple[OpenFolder, str]]:
        """Open the parent folder of a path and return it with the last name of the path. If ``whole``, open the path
        itself and return an empty name."""
        root = self._resolver.root if place.inside else os.path.splitdrive(place.resolved)[0] + "/"
        parts = [part for part in place.resolved[len(root) :].split("/") if part]
        name = "" if whole or not parts else parts.pop()
        with OpenFolder.held(root) as top, top.below(parts) as folder:
            yield folder, name


def _content(descriptor: int, path: str, most: int) -> bytes:
    size = os.fstat(descriptor).st_size
    if size > most:
        raise too_large(path, size, most)
    first = os.read(descriptor, size + 1)
    if 0 < len(first) <= size:
        return first  # a regular file returns fewer bytes only at its end
    # The file has grown, or reports no size, as files of /proc do.
    pieces = [first]
    room = most + 1 - len(first)
    while pieces[-1] and room > 0:
        pieces.append(os.read(descriptor, min(room, _CHUNK)))
        room -= len(pieces[-1])
    if room <= 0:
        raise too_large(path, most + 1, most)
    return b"".join(pieces)


def _kind(mode: int) -> PathKind:
    return "other" if stat.S_ISLNK(mode) else kind_of(mode)


def _failure(path: str, error: OSError) -> ToolFailure:
    if isinstance(error, FileNotFoundError):
        return ToolFailure(f"{path} does not exist.")
    return ToolFailure(f"{path} cannot be read: {error.strerror or error}.")


def _check_thread() -> None:
    """Raise RuntimeError if called in the event loop's thread, because disk access would block the loop."""
    try:
        get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("files are read in a worker thread, not on the thread of the event loop")


class LocalOutput:
    """An OutputFile on disk.

    clean  a callback that removes secrets; it gets complete lines, so that no secret is split, and an incomplete line
           is buffered
    """

    def __init__(self, path: Path, clean: Callable[[bytes], bytes] | None, *, exists: bool = False) -> None:
        self.path = str(path)
        self.fault = ""
        self._clean = clean
        self._held = b""
        self._lock = Lock()
        self._descriptor = os.open(path, _NEW if exists else _NEW | os.O_EXCL, 0o600)

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self._descriptor)

    @property
    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def append(self, data: bytes) -> None:
        with self._lock:
            if self._clean is not None:
                data = self._held + data
                whole = data.rfind(b"\n") + 1 or (len(data) if len(data) > _LONGEST_LINE else 0)
                data, self._held = data[:whole], data[whole:]
            self._write(data)

    def read(self, at: int, most: int) -> bytes:
        return os.pread(self._descriptor, most, at)

    def finish(self) -> None:
        with self._lock:
            held, self._held = self._held, b""
            self._write(held)

    def _write(self, data: bytes) -> None:
        if not data or self.fault:
            return
        data = data if self._clean is None else self._clean(data)
        try:
            if self.size + len(data) > MOST_BYTES:
                raise OSError(f"the limit of {MOST_BYTES:,} bytes is reached")
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self.fault = str(error)
