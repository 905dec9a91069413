"""Opens files beneath a folder part by part, so that nothing can be swapped between looking and opening.

Each folder is opened from the one before it and the system follows no link: what is opened was beneath the root when it
was opened.
"""

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from callgate.host.paths import MOST_LINKS

Links = Literal["follow", "refuse"]

HOLDS_FOLDERS = {os.open, os.stat, os.mkdir, os.rmdir, os.unlink, os.link, os.rename} <= os.supports_dir_fd
"""True if system calls take names relative to an open folder; not on Windows."""

_CLOSED = getattr(os, "O_CLOEXEC", 0)
_FOLDER_ONLY = getattr(os, "O_DIRECTORY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
# To pass through a folder one need not be allowed to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER_ONLY | _CLOSED


def open_beneath(root: int | str | Path, path: str, flags: int, mode: int = 0o600, *, links: Links = "follow") -> int:
    """Open a regular file beneath ``root``, which is a folder or its descriptor; with O_DIRECTORY, a folder.

    ``path`` is relative, with ``/`` between its parts. Links are followed while they stay beneath (absolute ones only
    if ``root`` is a path, and they start with it), or refused. Never waits for a pipe. OSError says why not.
    """
    if isinstance(root, int):
        return _opened(root, "", path, flags, mode, links)
    top = os.open(root, _PASS)
    try:
        return _opened(top, os.path.realpath(root), path, flags, mode, links)
    finally:
        os.close(top)


class OpenFolder:
    """A folder held open: names are used in it without walking the way there again.

    ``of(name)`` with ``descriptor`` is how system calls take a name. Where they take no descriptors the folder is only
    its path.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    @contextmanager
    def held(cls, path: str) -> Generator["OpenFolder"]:
        """The folder at a path that is trusted."""
        if not HOLDS_FOLDERS:
            yield cls(path, None)
            return
        descriptor = os.open(path, _PASS)
        try:
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def below(self, parts: Sequence[str]) -> Generator["OpenFolder"]:
        """A folder beneath this one, over no link at all; OSError if there is none. The parts are names."""
        path = os.path.join(self.path, *parts)
        if self.descriptor is None:
            os.stat(path)
            yield OpenFolder(path, None)
            return
        descriptor = open_beneath(self.descriptor, "/".join(parts) or ".", _PASS, links="refuse")
        try:
            yield OpenFolder(path, descriptor)
        finally:
            os.close(descriptor)

    def of(self, name: str) -> str:
        return os.path.join(self.path, name) if self.descriptor is None else name

    def status(self, name: str) -> os.stat_result:
        return os.stat(self.of(name), dir_fd=self.descriptor, follow_symlinks=False)

    def opened(self, name: str) -> int:
        """A regular file in it, for reading; a link is refused."""
        if self.descriptor is None:
            return os.open(self.of(name), os.O_RDONLY | _NO_LINK | _NO_WAIT | getattr(os, "O_BINARY", 0))
        return open_beneath(self.descriptor, name, os.O_RDONLY, links="refuse")


def _opened(top: int, real: str, path: str, flags: int, mode: int, links: Links) -> int:
    _refuse_unusable(path)
    waits = not flags & _FOLDER_ONLY  # opening a folder never blocks, and O_PATH goes with few other flags
    try:
        with _Steps(top, real, links) as steps:
            descriptor = steps.open(path, flags | _CLOSED | (_NO_WAIT if waits else 0), mode)
    except OSError as error:
        raise OSError(error.errno, _why(error, links), path) from error
    if waits:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "is not a regular file", path)
        os.set_blocking(descriptor, not flags & os.O_NONBLOCK)
    return descriptor


def _refuse_unusable(path: str) -> None:
    """A NUL would end the name early on its way to the kernel."""
    try:
        usable = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise OSError(errno.EINVAL, "is not a usable path", path)


def _why(error: OSError, links: Links) -> str:
    if error.errno == errno.EXDEV:
        return "leads out of the folder"
    if error.errno == errno.ELOOP:
        return "leads over a symbolic link" if links == "refuse" else "leads over too many links"
    return error.strerror or str(error)


class _Steps:
    """Walks part by part on open folders: ``held`` are those from the root to here, ``todo`` the parts ahead, the next
    one last."""

    def __init__(self, top: int, real: str, links: Links) -> None:
        self._held = [top]
        self._real = real
        self._links = links
        self._followed = 0
        self._todo: list[str] = []

    def __enter__(self) -> "_Steps":
        return self

    def __exit__(self, *_: object) -> None:
        self._back_to_root()

    def open(self, path: str, flags: int, mode: int) -> int:
        self._take_on(path)
        while self._todo:
            part = self._todo.pop()
            if part == "..":
                self._back()
            elif self._todo:
                self._held.extend(self._tried(part, _PASS, mode))
            elif part != ".":
                for descriptor in self._tried(part, flags, mode):
                    return descriptor
        return os.open(".", flags, mode, dir_fd=self._held[-1])

    def _take_on(self, path: str) -> None:
        """Put the parts of a path, or of a link's target, before what is ahead."""
        if path.startswith("/"):
            root = self._real.rstrip("/") + "/"
            if not self._real or not (path + "/").startswith(root):
                raise OSError(errno.EXDEV, "is elsewhere")
            path = path[len(root) :]
            self._back_to_root()
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if path.endswith(("/", "/.")) and not self._todo:
            parts.append(".")  # only a folder can stand before a slash
        self._todo.extend(reversed(parts))

    def _tried(self, part: str, flags: int, mode: int) -> tuple[int, ...]:
        """The opened part; nothing if it is a link, whose target is then put before the parts ahead."""
        try:
            return (os.open(part, flags | _NO_LINK, mode, dir_fd=self._held[-1]),)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):  # what systems say of a link
                raise
            try:
                target = os.readlink(part, dir_fd=self._held[-1])
            except OSError:
                raise error from None
        self._followed += 1
        if self._links == "refuse" or self._followed > MOST_LINKS:
            raise OSError(errno.ELOOP, "is a link")
        self._take_on(target)
        return ()

    def _back(self) -> None:
        if len(self._held) == 1:
            raise OSError(errno.EXDEV, "is elsewhere")
        os.close(self._held.pop())

    def _back_to_root(self) -> None:
        while len(self._held) > 1:
            os.close(self._held.pop())
