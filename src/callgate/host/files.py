"""A ChangeSet onto real files: all of it or nothing.

    place     every path to a regular file, or to nothing, inside the workspace; symlinks are refused
    compare   every file with what the preview found
    stage     new contents and backups, synced, beside their targets
    commit    one rename a file; a failure puts back what was done so far

Each step opens the file's folder anew, beneath the workspace and over no link: a folder that is swapped for a link
meanwhile makes the step fail. What is not covered yet is a crash in the middle of a commit.
"""

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from callgate.host.beneath import Folder
from callgate.host.paths import Resolver
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

Parts = tuple[str, ...]


def apply_changes(changes: ChangeSet, root: Path) -> None:
    """Make the files what the change set says. Raises ToolFailure, and has then changed nothing. Blocks."""
    resolver = Resolver(root)
    places = [(change, *_place(change.path, resolver)) for change in changes.files]
    _refuse_twice(places, resolver)
    try:
        with Folder.held(resolver.root) as top:
            _apply([_Replacement(change, top, folder, name) for change, folder, name in places], top, changes.label)
    except OSError as error:
        raise ToolFailure(f"The workspace {resolver.root} cannot be opened: {error.strerror}") from error


def _apply(work: "list[_Replacement]", top: Folder, label: str) -> None:
    differences = [f"{each.change.path}: {found}" for each in work if (found := each.difference()) is not None]
    if differences:
        raise ToolFailure("Nothing was changed, because files are not as the preview found them: " + _few(differences))
    folders: list[Parts] = []
    done: list[_Replacement] = []
    current = None
    try:
        for current in work:
            current.stage(folders)
        for current in work:
            current.commit()
            done.append(current)
    except BaseException as error:
        where = current.change.path if current is not None else label
        left = [each.change.path for each in reversed(done) if not each.undo()]
        _discard(work, top, folders)
        if not isinstance(error, OSError):
            raise
        after = f"; could not put back {_few(left)}" if left else "; nothing was changed"
        raise ToolFailure(f"Could not write {where}: {error.strerror or error}{after}") from error
    _discard(work, top, [])
    _sync_folders(top, {each.folder for each in work})


def write_new(
    path: Path | str,
    data: bytes,
    mode: int,
    *,
    dir_fd: int | None = None,
    dress: Callable[[int], None] | None = None,
) -> None:
    """Write a file that must not exist yet, down to the disk. A failure leaves no file. ``dress`` gets its descriptor
    before it is closed."""
    descriptor = os.open(path, _NEW_FILE, mode, dir_fd=dir_fd)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if dress is not None:
                dress(file.fileno())
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(path, dir_fd=dir_fd)
        raise


def _place(path: str, resolver: Resolver) -> tuple[Parts, str]:
    """The folder, beneath the root and with its symlinks followed, and the name, which is never followed."""
    above, name = os.path.split(path)
    if name in ("", os.curdir, os.pardir):
        raise ToolFailure(f"{path!r} does not name a file")
    fault = resolver.walk(path).fault
    if fault is not None:
        raise ToolFailure(f"{path!r} is not a usable path: {fault}")
    folder = resolver.walk(above or ".").resolved
    if not resolver.holds(folder):
        raise ToolFailure(f"{path} is outside the workspace {resolver.root}")
    return tuple(part for part in folder[len(resolver.root) :].split("/") if part), name


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

    def __init__(self, change: FileChange, top: Folder, folder: Parts, name: str) -> None:
        self.change = change
        self.folder = folder
        self._top = top
        self._name = name
        token = os.urandom(8).hex()
        self._staged = f".callgate-{token}.new"
        self._backup = f".callgate-{token}.old"
        self._found: _Found | None = None

    def _open_folder(self) -> AbstractContextManager[Folder]:
        return self._top.below(self.folder)

    def difference(self) -> str | None:
        """How the file differs from the preview's; None when it does not."""
        try:
            with self._open_folder() as folder:
                return self._difference(folder)
        except FileNotFoundError:
            return None if self.change.before is None else "is not there"
        except OSError as error:
            return error.strerror or str(error)

    def _difference(self, folder: Folder) -> str | None:
        status = folder.status(self._name)
        if stat.S_ISLNK(status.st_mode):
            return "is a symbolic link"
        if not stat.S_ISREG(status.st_mode):
            return "is not a regular file"
        before = self.change.before
        if before is None:
            return "exists already"
        if status.st_size != len(before):
            return f"has {status.st_size} bytes, not {len(before)}"
        with open(folder.opened(self._name), "rb") as file:
            self._found = _Found.of(os.fstat(file.fileno()))
            return None if file.read() == before else "has other content"

    def stage(self, made: list[Parts]) -> None:
        """Prepare everything that takes time or can fail for want of space; notes the folders it made."""
        if self.change.after is not None:
            _make_folders(self._top, self.folder, made)
        elif self.change.before is None:
            return
        with self._open_folder() as folder:
            if self.change.after is not None:
                self._write(folder, self._staged, self.change.after, 0o666)
            if self.change.before is None:
                return
            name, backup, at = folder.of(self._name), folder.of(self._backup), folder.descriptor
            try:
                os.link(name, backup, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
            except (OSError, NotImplementedError):  # a file system without hard links
                self._write(folder, self._backup, self.change.before, 0o600)

    def _write(self, folder: Folder, name: str, data: bytes, mode: int) -> None:
        write_new(folder.of(name), data, mode, dir_fd=folder.descriptor, dress=self._dress)

    def commit(self) -> None:
        if self.change.before is None and self.change.after is None:
            return
        with self._open_folder() as folder:
            if self.change.before is None:
                self._create(folder)
                return
            if self._found is None or _Found.of(folder.status(self._name)) != self._found:
                raise OSError("it was changed by somebody else just now")
            if self.change.after is None:
                os.unlink(folder.of(self._name), dir_fd=folder.descriptor)
            else:
                _rename(folder, self._staged, self._name)

    def _create(self, folder: Folder) -> None:
        staged, name, at = folder.of(self._staged), folder.of(self._name), folder.descriptor
        try:
            # Unlike a rename it never replaces a file that appeared meanwhile.
            os.link(staged, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            with suppress(FileNotFoundError):
                folder.status(self._name)
                raise
            _rename(folder, self._staged, self._name)

    def undo(self) -> bool:
        try:
            with self._open_folder() as folder:
                if self.change.before is not None:
                    _rename(folder, self._backup, self._name)
                elif self.change.after is not None:
                    os.unlink(folder.of(self._name), dir_fd=folder.descriptor)
        except OSError:
            return False
        return True

    def discard(self) -> None:
        with suppress(OSError), self._open_folder() as folder:
            for name in (self._staged, self._backup):
                with suppress(OSError):
                    os.unlink(folder.of(name), dir_fd=folder.descriptor)

    def _dress(self, descriptor: int) -> None:
        """Give a copy the owner, as far as we may, and the mode of the file it stands for."""
        if self._found is None or os.name == "nt":
            return
        status = os.fstat(descriptor)
        if (status.st_uid, status.st_gid) != self._found.owner:
            with suppress(PermissionError):
                os.fchown(descriptor, *self._found.owner)
        os.fchmod(descriptor, stat.S_IMODE(self._found.mode))


def _rename(folder: Folder, source: str, target: str) -> None:
    at = folder.descriptor
    os.replace(folder.of(source), folder.of(target), src_dir_fd=at, dst_dir_fd=at)


def _refuse_twice(places: Iterable[tuple[FileChange, Parts, str]], resolver: Resolver) -> None:
    seen: set[str] = set()
    for change, folder, name in places:
        place = resolver.folded("/".join((*folder, name)))
        if place in seen:
            raise ToolFailure(f"{change.path} is changed twice in one change set")
        seen.add(place)


def _make_folders(top: Folder, parts: Parts, made: list[Parts]) -> None:
    """Make the folder and what is missing above it, and note in ``made`` what was not there."""
    with suppress(FileNotFoundError), top.below(parts):
        return
    for depth, name in enumerate(parts):
        with top.below(parts[:depth]) as above:
            try:
                os.mkdir(above.of(name), dir_fd=above.descriptor)
            except FileExistsError:  # somebody else may be making it too
                continue
        made.append(parts[: depth + 1])


def make_folders(folder: Path, made: list[Path], mode: int = 0o777) -> None:
    """Make it and what is missing above it, and note in ``made`` what was not there."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode, exist_ok=True)  # somebody else may be making it too
        made.append(each)


def _discard(work: Iterable[_Replacement], top: Folder, folders: list[Parts]) -> None:
    """Remove what only the applying needed. What cannot be removed is litter, not a failure."""
    for each in work:
        each.discard()
    for parts in reversed(folders):
        with suppress(OSError), top.below(parts[:-1]) as above:
            os.rmdir(above.of(parts[-1]), dir_fd=above.descriptor)


def _sync_folders(top: Folder, folders: Iterable[Parts]) -> None:
    """Make the renames survive a power cut, where folders can be synced."""
    for parts in folders:
        with suppress(OSError), top.below(parts) as folder:
            sync_folder(folder.of("."), dir_fd=folder.descriptor)


def sync_folder(folder: Path | str, *, dir_fd: int | None = None) -> None:
    """So that a new name in it survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), dir_fd=dir_fd)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _few(items: list[str]) -> str:
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return "; ".join(items[:5]) + more
