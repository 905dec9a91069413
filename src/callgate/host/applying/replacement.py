"""Applies the change of one file: comparison with the preview, staging, replacement, and restoring if another file
fails."""

import os
import stat
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Any

from callgate.host.applying.planned_files import Parts, PlannedFile
from callgate.host.applying.swap import Swap, hash_of, link_target, make_folders_in, pieces
from callgate.host.beneath import OpenFolder
from callgate.host.files import write_new
from callgate.words.changes import Content, Stored, digest, size_of

_CHUNK = 1 << 20
_SHOWN = 60


_identity = attrgetter("st_ino", "st_size", "st_mtime_ns", "st_mode", "st_uid", "st_gid")
"""The fields of a status that change when a file is modified or replaced."""


class FileReplacement:
    """The replacement of one planned file.

    like  the file whose owner, mode and attributes a new file gets
    """

    def __init__(self, plan: PlannedFile, top: OpenFolder, token: str) -> None:
        self.plan = plan
        self.swap = Swap(
            top=top,
            folder=plan.folder,
            name=plan.name,
            staged=f".callgate-{token}.new",
            backup=f".callgate-{token}.old",
            before=digest(plan.before),
            after=digest(plan.after),
        )
        self.like: FileReplacement = self
        self._found: os.stat_result | None = None
        self._attributes: dict[str, bytes] = {}

    @property
    def mode(self) -> int | None:
        """The permission bits of the old file; None if the file did not exist."""
        return None if self._found is None or self.plan.link_before else stat.S_IMODE(self._found.st_mode)

    @property
    def owner(self) -> tuple[int, int] | None:
        """The ids of the user and the group of the old file; None if the file did not exist."""
        return None if self._found is None else (self._found.st_uid, self._found.st_gid)

    @property
    def note(self) -> str:
        """A note about other hard links of the old file, which keep the old content; empty if there are none."""
        others = 0 if self._found is None or self.plan.after is None else self._found.st_nlink - 1
        return f"{self.plan.path} had {others + 1} hard links: the other names keep the old content" if others else ""

    @property
    def is_nothing(self) -> bool:
        return self.plan.before is None and self.plan.after is None

    @property
    def creates(self) -> bool:
        return self.plan.before is None and self.plan.after is not None

    # ---- compare --------------------------------------------------------------------------------------------------

    def difference(self) -> str | None:
        """Return how the file on disk differs from the preview; None if they are equal."""
        try:
            with self.swap.opened() as folder:
                return self._difference(folder)
        except FileNotFoundError:
            return None if self.plan.before is None else "does not exist"
        except OSError as error:
            return error.strerror or str(error)

    def _difference(self, folder: OpenFolder) -> str | None:
        plan, status = self.plan, folder.status(self.plan.name)
        if stat.S_ISLNK(status.st_mode) and not plan.link_before:
            return "is a symbolic link: use the path of its target"
        if not stat.S_ISLNK(status.st_mode) and not stat.S_ISREG(status.st_mode):
            return "is not a regular file"
        if plan.before is None:
            return "exists already"
        if plan.link_before:
            if not stat.S_ISLNK(status.st_mode):
                return "is not a symbolic link"
            self._found = status
            return None if link_target(folder, plan.name) == plan.before else "is a link to another target"
        with open(folder.opened(plan.name), "rb") as file:
            self._found = found = os.fstat(file.fileno())
            self._attributes = attributes_of(file.fileno())
            if plan.mode_before is not None and stat.S_IMODE(found.st_mode) != plan.mode_before:
                return f"has the mode {stat.S_IMODE(found.st_mode):o}, not {plan.mode_before:o}"
            if isinstance(plan.before, Stored):
                same = found.st_size == plan.before.size and hash_of(file) == plan.before.sha256
                return None if same else f"has different content, {found.st_size} bytes"
            now = file.read(len(plan.before) + _CHUNK)
        return None if now == plan.before else _first_difference(plan.before, now, found.st_size)

    # ---- stage ----------------------------------------------------------------------------------------------------

    def stage(self, made: list[Parts]) -> None:
        """Write the new content and the backup into the folder of the file. Created folders are appended to
        ``made``."""
        plan = self.plan
        if plan.after is not None:
            make_folders_in(self.swap.top, plan.folder, made)
        elif plan.before is None:
            return
        with self.swap.opened() as folder:
            if plan.after is not None:
                self._write(folder, self.swap.staged, plan.after, self.like, link=plan.link_after)
            if plan.before is not None:
                self._back_up(folder, plan.before)

    def _write(self, folder: OpenFolder, name: str, content: Content, like: "FileReplacement", *, link: bool) -> None:
        if link:
            assert isinstance(content, bytes)
            os.symlink(content, os.fsencode(folder.of(name)), dir_fd=folder.descriptor)
        else:
            data = pieces(content) if isinstance(content, Stored) else content
            mode = self.plan.mode if name == self.swap.staged else None
            dressed = partial(_take_over, like._found, like._attributes, mode, self.plan.owner)
            write_new(folder.of(name), data, 0o666, dir_fd=folder.descriptor, prepare=dressed)

    def _back_up(self, folder: OpenFolder, before: Content) -> None:
        """Create the backup of the old file, as a hard link if possible, because a link needs no space."""
        name, backup, at = folder.of(self.plan.name), folder.of(self.swap.backup), folder.descriptor
        try:
            os.link(name, backup, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except (OSError, NotImplementedError):
            self._write(folder, self.swap.backup, before, self, link=self.plan.link_before)

    # ---- commit and undo ------------------------------------------------------------------------------------------

    def commit(self) -> None:
        if self.is_nothing:
            return
        with self.swap.opened() as folder:
            if self._found is not None and _identity(folder.status(self.plan.name)) != _identity(self._found):
                raise OSError("another program has just changed it")
            self.swap.commit(folder)

    def undo(self) -> bool:
        try:
            self.swap.undo()
        except OSError:
            return False
        return True

    def journal_entry(self) -> dict[str, Any]:
        """Return the journal data of the file for recovery, including the mode that an undo restores."""
        names = {key: getattr(self.swap, key) for key in ("folder", "name", "staged", "backup", "before", "after")}
        return {**names, "path": self.plan.path, "mode": self.mode}


def _take_over(
    found: os.stat_result | None,
    attributes: dict[str, bytes],
    mode: int | None,
    owner: tuple[int, int] | None,
    descriptor: int,
) -> None:
    if os.name == "nt":
        return
    if owner is not None:
        with suppress(PermissionError):  # only root can give files away
            os.fchown(descriptor, *owner)
    if found is not None and not stat.S_ISLNK(found.st_mode):
        status = os.fstat(descriptor)
        if (status.st_uid, status.st_gid) != (found.st_uid, found.st_gid):
            with suppress(PermissionError):
                os.fchown(descriptor, found.st_uid, found.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
        for name, value in attributes.items():
            with suppress(OSError):  # some attributes need more permissions
                os.setxattr(descriptor, name, value)
    if mode is not None:
        os.fchmod(descriptor, mode)


def attributes_of(descriptor: int) -> dict[str, bytes]:
    """Return the extended attributes of an open file, including access control lists; empty if the system does not
    support them."""
    found: dict[str, bytes] = {}
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(descriptor):
                with suppress(OSError):
                    found[name] = os.getxattr(descriptor, name)
    return found


def _first_difference(before: bytes, now: bytes, size: int) -> str:
    if b"\0" in before or b"\0" in now:
        return f"has different content, {size} bytes instead of {size_of(before)}"
    was, has = before.splitlines(), now.splitlines()
    at = next(
        (n for n, (one, other) in enumerate(zip(was, has, strict=False)) if one != other), min(len(was), len(has))
    )
    if at == len(was) == len(has):
        return "has different line endings"
    return f"has different content: line {at + 1} is now {_shown(has, at)}, was {_shown(was, at)}"


def _shown(lines: list[bytes], at: int) -> str:
    if at >= len(lines):
        return "not there"
    text = lines[at].decode(errors="replace")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
