"""The temporary names of a file during its replacement, and the file operations on these names."""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from typing import BinaryIO

from callgate.host.applying.planned_files import Parts
from callgate.host.beneath import OpenFolder
from callgate.host.files import sync_folder
from callgate.words.changes import Stored
from callgate.words.noun import noun

_CHUNK = 1 << 20


@noun
class Swap:
    """The names of one file during its replacement, all in the same folder.

    staged  the temporary name of the new content
    backup  the temporary name of the old content
    before  the hash of the old content; None if the file is created
    after   the hash of the new content; None if the file is removed

    Every operation opens the folder again, without following links.
    """

    top: OpenFolder
    folder: Parts
    name: str
    staged: str
    backup: str
    before: str | None
    after: str | None

    def opened(self) -> AbstractContextManager[OpenFolder]:
        return self.top.below(self.folder)

    def commit(self, folder: OpenFolder) -> None:
        """Replace, create or remove the file on disk."""
        if self.after is None:
            os.unlink(folder.of(self.name), dir_fd=folder.descriptor)
        elif self.before is None:
            self._create(folder)
        else:
            _rename(folder, self.staged, self.name)

    def undo(self) -> None:
        """Restore the old file, or remove the file if it was created."""
        with self.opened() as folder:
            if self.before is not None:
                _rename(folder, self.backup, self.name)
            elif self.after is not None:
                os.unlink(folder.of(self.name), dir_fd=folder.descriptor)

    def _create(self, folder: OpenFolder) -> None:
        """Create the file as a hard link to the staged content: unlike a rename, a hard link never replaces a file
        that another program has created. Rename the staged file if the system has no hard links."""
        staged, name, at = folder.of(self.staged), folder.of(self.name), folder.descriptor
        try:
            os.link(staged, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            with suppress(FileNotFoundError):
                folder.status(self.name)
                raise
            _rename(folder, self.staged, self.name)

    def remove_temporary(self) -> bool:
        """Remove the staged content and the backup. Return False if one of these files could not be removed."""
        gone = True
        try:
            with self.opened() as folder:
                for name in (self.staged, self.backup):
                    try:
                        os.unlink(folder.of(name), dir_fd=folder.descriptor)
                    except OSError:  # a read-only file system reports that even for a missing file
                        gone = gone and _is_missing(folder, name)
        except FileNotFoundError:  # the folder was removed
            return True
        except OSError:
            return False
        return gone


def _is_missing(folder: OpenFolder, name: str) -> bool:
    try:
        folder.status(name)
    except OSError as error:
        return error.errno == errno.ENOENT
    return False


def make_folders_in(top: OpenFolder, parts: Parts, made: list[Parts]) -> None:
    """Create a folder below ``top`` with its missing parents, and append the created folders to ``made``."""
    with suppress(FileNotFoundError), top.below(parts):
        return
    for depth, name in enumerate(parts):
        with top.below(parts[:depth]) as above:
            try:
                os.mkdir(above.of(name), dir_fd=above.descriptor)
            except FileExistsError:  # another program may create it at the same time
                continue
        made.append(parts[: depth + 1])


def remove_folders(top: OpenFolder, folders: Iterable[Parts]) -> bool:
    """Remove the given folders that are empty, the deepest first. Return False if an empty folder could not be
    removed."""
    gone = True
    for parts in sorted(folders, key=len, reverse=True):
        try:
            with top.below(parts[:-1]) as above:
                os.rmdir(above.of(parts[-1]), dir_fd=above.descriptor)
        except FileNotFoundError:
            continue
        except OSError as error:
            kept = error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ELOOP)
            gone = gone and (
                kept or (error.errno == errno.EROFS and not os.path.lexists(os.path.join(top.path, *parts)))
            )
    return gone


def sync_folders(top: OpenFolder, folders: Iterable[Parts]) -> None:
    """Sync the folders. Missing and unreadable folders are skipped. If a sync fails, raise OSError after the other
    folders were synced."""
    failure: OSError | None = None
    for parts in set(folders):
        try:
            with top.below(parts) as folder:
                sync_folder(folder.of("."), dir_fd=folder.descriptor)
        except (FileNotFoundError, PermissionError):
            continue
        except OSError as error:
            failure = error
    if failure is not None:
        raise failure


def _rename(folder: OpenFolder, source: str, target: str) -> None:
    at = folder.descriptor
    os.replace(folder.of(source), folder.of(target), src_dir_fd=at, dst_dir_fd=at)


def link_target(folder: OpenFolder, name: str) -> bytes:
    return os.fsencode(os.readlink(folder.of(name), dir_fd=folder.descriptor))


def pieces(stored: Stored) -> Iterator[bytes]:
    """Yield the stored content in pieces. Raise OSError after the last piece if the hash is wrong."""
    seen = sha256()
    with open(stored.path, "rb") as file:
        while piece := file.read(_CHUNK):
            seen.update(piece)
            yield piece
    if seen.hexdigest() != stored.sha256:
        raise OSError(errno.EIO, f"{stored.path} is damaged, or has changed since it was read")


def hash_of(file: BinaryIO) -> str:
    seen = sha256()
    while piece := file.read(_CHUNK):
        seen.update(piece)
    return seen.hexdigest()
