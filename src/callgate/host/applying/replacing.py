"""One file on its way from what it was to what it shall be."""

import os
import stat
from contextlib import suppress
from typing import Any

from callgate.host.applying.spot import Spot, hash_of, leads_to, make_folders_in, pieces
from callgate.host.applying.steps import Parts, Step
from callgate.host.beneath import Folder
from callgate.host.files import write_new
from callgate.words.changes import Content, Stored, digest, size_of
from callgate.words.noun import noun

_CHUNK = 1 << 20
_SHOWN = 60


@noun
class _Found:
    """A file as it was when it was compared: enough to notice that it changed since."""

    inode: int
    size: int
    modified: int
    mode: int
    owner: tuple[int, int]

    @classmethod
    def of(cls, status: os.stat_result) -> "_Found":
        return cls(status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode, (status.st_uid, status.st_gid))


class Replacement:
    """One file of an apply."""

    def __init__(self, step: Step, top: Folder, token: str) -> None:
        self.step = step
        self.spot = Spot(top, step.folder, step.name, f".callgate-{token}.new", f".callgate-{token}.old")
        self._found: _Found | None = None
        self._like: Replacement | None = None

    def take_after(self, other: "Replacement") -> None:
        """Its owner and mode are those of the other one."""
        self._like = other

    @property
    def mode(self) -> int | None:
        """The permission bits that were found; None where there was no file."""
        return None if self._found is None or self.step.link_before else stat.S_IMODE(self._found.mode)

    @property
    def is_nothing(self) -> bool:
        return self.step.before is None and self.step.after is None

    # ---- comparing ------------------------------------------------------------------------------------------------

    def difference(self) -> str | None:
        """How the file differs from the preview's; None when it does not."""
        try:
            with self.spot.opened() as folder:
                return self._difference(folder)
        except FileNotFoundError:
            return None if self.step.before is None else "is not there"
        except OSError as error:
            return error.strerror or str(error)

    def _difference(self, folder: Folder) -> str | None:
        step, status = self.step, folder.status(self.step.name)
        if stat.S_ISLNK(status.st_mode) and not step.link_before:
            return "is a symbolic link: name the file that it leads to"
        if not stat.S_ISLNK(status.st_mode) and not stat.S_ISREG(status.st_mode):
            return "is not a regular file"
        if step.before is None:
            return "exists already"
        if step.link_before:
            if not stat.S_ISLNK(status.st_mode):
                return "is no symbolic link"
            self._found = _Found.of(status)
            return None if leads_to(folder, step.name) == step.before else "leads elsewhere"
        with open(folder.opened(step.name), "rb") as file:
            self._found = found = _Found.of(os.fstat(file.fileno()))
            if step.mode_before is not None and stat.S_IMODE(found.mode) != step.mode_before:
                return f"has the mode {stat.S_IMODE(found.mode):o}, not {step.mode_before:o}"
            if isinstance(step.before, Stored):
                same = found.size == step.before.size and hash_of(file) == step.before.sha256
                return None if same else f"has other content, {found.size} bytes"
            now = file.read(len(step.before) + _CHUNK)
        return None if now == step.before else _told(step.before, now, found.size)

    # ---- preparing ------------------------------------------------------------------------------------------------

    def stage(self, made: list[Parts]) -> None:
        """Prepare everything that takes time or can fail for want of space; notes the folders it made."""
        step = self.step
        if step.after is not None:
            make_folders_in(self.spot.top, step.folder, made)
        elif step.before is None:
            return
        with self.spot.opened() as folder:
            if step.after is not None:
                self._write(folder, self.spot.staged, step.after, link=step.link_after)
            if step.before is not None:
                self._back_up(folder, step.before)

    def _write(self, folder: Folder, name: str, content: Content, *, link: bool) -> None:
        if link:
            assert isinstance(content, bytes)
            os.symlink(content, os.fsencode(folder.of(name)), dir_fd=folder.descriptor)
        else:
            data = pieces(content) if isinstance(content, Stored) else content
            write_new(folder.of(name), data, 0o666, dir_fd=folder.descriptor, dress=self._dress)

    def _back_up(self, folder: Folder, before: Content) -> None:
        name, backup, at = folder.of(self.step.name), folder.of(self.spot.backup), folder.descriptor
        try:
            os.link(name, backup, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except (OSError, NotImplementedError):  # a file system without hard links
            self._write(folder, self.spot.backup, before, link=self.step.link_before)

    def _dress(self, descriptor: int) -> None:
        """Give a copy the owner, as far as we may, and the mode of the file it stands for."""
        found = self._found if self._like is None else self._like._found
        if os.name == "nt":
            return
        if found is not None and not stat.S_ISLNK(found.mode):
            status = os.fstat(descriptor)
            if (status.st_uid, status.st_gid) != found.owner:
                with suppress(PermissionError):
                    os.fchown(descriptor, *found.owner)
            os.fchmod(descriptor, stat.S_IMODE(found.mode))
        if self.step.mode is not None:
            os.fchmod(descriptor, self.step.mode)

    # ---- doing and undoing ----------------------------------------------------------------------------------------

    def commit(self) -> None:
        if self.is_nothing:
            return
        with self.spot.opened() as folder:
            if self.step.before is not None and _Found.of(folder.status(self.step.name)) != self._found:
                raise OSError("it was changed by somebody else just now")
            if self.step.before is None:
                self.spot.create(folder)
            elif self.step.after is None:
                self.spot.remove(folder)
            else:
                self.spot.replace(folder)

    def undo(self) -> bool:
        try:
            with self.spot.opened() as folder:
                if self.step.before is not None:
                    self.spot.put_back(folder)
                elif self.step.after is not None:
                    self.spot.remove(folder)
        except OSError:
            return False
        return True

    # ---- after a crash --------------------------------------------------------------------------------------------

    def noted(self) -> dict[str, Any]:
        """What the journal has to know to finish or undo it."""
        step = self.step
        return {
            "folder": list(step.folder),
            "name": step.name,
            "staged": self.spot.staged,
            "backup": self.spot.backup,
            "before": digest(step.before),
            "after": digest(step.after),
        }


def _told(before: bytes, now: bytes, size: int) -> str:
    """Where two contents differ first, in words."""
    if b"\0" in before or b"\0" in now:
        return f"has other content, {size} bytes instead of {size_of(before)}"
    was, has = before.splitlines(), now.splitlines()
    at = next(
        (n for n, (one, other) in enumerate(zip(was, has, strict=False)) if one != other), min(len(was), len(has))
    )
    if at == len(was) == len(has):
        return "has other line ends"
    return f"has other content: line {at + 1} is now {_shown(has, at)}, was {_shown(was, at)}"


def _shown(lines: list[bytes], at: int) -> str:
    if at >= len(lines):
        return "not there"
    text = lines[at].decode(errors="replace")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
