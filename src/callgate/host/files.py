"""A ChangeSet onto real files: all of it or nothing.

    place     every path to a regular file, or to nothing, inside the workspace; symlinks are refused
    compare   every file with what the preview found
    stage     new contents and backups, synced, beside their targets
    commit    one rename a file; a failure puts back what was done so far

What is not covered yet is a crash in the middle of a commit.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_OLD_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def apply_changes(changes: ChangeSet, root: Path) -> None:
    """Make the files what the change set says. Raises ToolFailure, and has then changed nothing. Blocks."""
    work = [_Replacement(change, _place(change.path, root)) for change in changes.files]
    _refuse_twice(work)
    differences = [f"{each.change.path}: {found}" for each in work if (found := each.difference()) is not None]
    if differences:
        raise ToolFailure("Nothing was changed, because files are not as the preview found them: " + _few(differences))
    folders: list[Path] = []
    done: list[_Replacement] = []
    current = None
    try:
        for current in work:
            current.stage(folders)
        for current in work:
            current.commit()
            done.append(current)
    except BaseException as error:
        where = current.change.path if current is not None else changes.label
        left = [each.change.path for each in reversed(done) if not each.undo()]
        _discard(work, folders)
        if not isinstance(error, OSError):
            raise
        after = f"; could not put back {_few(left)}" if left else "; nothing was changed"
        raise ToolFailure(f"Could not write {where}: {error.strerror or error}{after}") from error
    _discard(work, [])
    _sync_folders({each.target.parent for each in work})


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a file that must not exist yet, down to the disk. A failure leaves no file."""
    descriptor = os.open(path, _NEW_FILE, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def _place(path: str, root: Path) -> Path:
    """Where the path leads once the folders' symlinks are followed; its last part is never followed."""
    try:
        top = os.path.realpath(root)
        folder, name = os.path.split(os.path.join(top, path))
        if name in ("", os.curdir, os.pardir):
            raise ToolFailure(f"{path!r} does not name a file")
        if "\0" in name:
            raise ValueError("embedded null byte")
        os.fsencode(name)
        target = os.path.join(os.path.realpath(folder), name)
        inside = os.path.commonpath((top, target)) == top
    except (OSError, ValueError) as error:
        raise ToolFailure(f"{path!r} is not a usable path: {error}") from error
    if not inside:
        raise ToolFailure(f"{path} is outside the workspace {top}")
    return Path(target)


@dataclass(frozen=True, slots=True)
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


class _Replacement:
    """One file on its way. ``staged`` holds its new content, ``backup`` its old one; both are beside it."""

    def __init__(self, change: FileChange, target: Path) -> None:
        self.change = change
        self.target = target
        token = os.urandom(8).hex()
        self.staged = target.with_name(f".callgate-{token}.new")
        self.backup = target.with_name(f".callgate-{token}.old")
        self._found: _Found | None = None

    def difference(self) -> str | None:
        """How the file differs from the preview's; None when it does not."""
        try:
            status = os.lstat(self.target)
            if stat.S_ISLNK(status.st_mode):
                return "is a symbolic link"
            if not stat.S_ISREG(status.st_mode):
                return "is not a regular file"
            before = self.change.before
            if before is None:
                return "exists already"
            if status.st_size != len(before):
                return f"has {status.st_size} bytes, not {len(before)}"
            return None if self._read() == before else "has other content"
        except FileNotFoundError:
            return None if self.change.before is None else "is not there"
        except OSError as error:
            return error.strerror or str(error)

    def _read(self) -> bytes:
        with open(os.open(self.target, _OLD_FILE), "rb") as file:
            self._found = _Found.of(os.fstat(file.fileno()))
            return file.read()

    def stage(self, folders: list[Path]) -> None:
        """Prepare everything that takes time or can fail for want of space; notes the folders it made."""
        if self.change.after is not None:
            make_folders(self.target.parent, folders)
            write_new(self.staged, self.change.after, 0o666)
            self._dress(self.staged)
        if self.change.before is not None:
            try:
                os.link(self.target, self.backup, follow_symlinks=False)
            except (OSError, NotImplementedError):  # a file system without hard links
                write_new(self.backup, self.change.before, 0o600)
                self._dress(self.backup)

    def commit(self) -> None:
        if self.change.before is None:
            self._create()
            return
        if self._found is None or _Found.of(os.lstat(self.target)) != self._found:
            raise OSError("it was changed by somebody else just now")
        if self.change.after is None:
            os.unlink(self.target)
        else:
            os.replace(self.staged, self.target)

    def _create(self) -> None:
        if self.change.after is None:
            return
        try:
            os.link(self.staged, self.target)  # unlike a rename it never replaces a file that appeared meanwhile
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            if os.path.lexists(self.target):
                raise
            os.rename(self.staged, self.target)

    def undo(self) -> bool:
        try:
            if self.change.before is not None:
                os.replace(self.backup, self.target)
            elif self.change.after is not None:
                os.unlink(self.target)
        except OSError:
            return False
        return True

    def _dress(self, path: Path) -> None:
        """Give a copy the owner, as far as we may, and the mode of the file it stands for."""
        if self._found is None or os.name == "nt":
            return
        status = os.stat(path)
        if (status.st_uid, status.st_gid) != self._found.owner:
            with suppress(PermissionError):
                os.chown(path, *self._found.owner)
        os.chmod(path, stat.S_IMODE(self._found.mode))


def _refuse_twice(work: Iterable[_Replacement]) -> None:
    seen: set[Path] = set()
    for each in work:
        if each.target in seen:
            raise ToolFailure(f"{each.change.path} is changed twice in one change set")
        seen.add(each.target)


def make_folders(folder: Path, made: list[Path], mode: int = 0o777) -> None:
    """Make it and what is missing above it, and note in ``made`` what was not there."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode, exist_ok=True)  # somebody else may be making it too
        made.append(each)


def _discard(work: Iterable[_Replacement], folders: list[Path]) -> None:
    """Remove what only the applying needed. What cannot be removed is litter, not a failure."""
    for each in work:
        for path in (each.staged, each.backup):
            with suppress(OSError):
                path.unlink()
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


def _sync_folders(folders: Iterable[Path]) -> None:
    """Make the renames survive a power cut, where folders can be synced."""
    for folder in folders:
        with suppress(OSError):
            sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """So that a new name in it survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _few(items: list[str]) -> str:
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return "; ".join(items[:5]) + more
