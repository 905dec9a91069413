"""A name in a folder, what is beside it while it changes, and contents on their way."""

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from typing import BinaryIO

from callgate.host.applying.steps import Parts
from callgate.host.beneath import Folder
from callgate.words.changes import Stored

_CHUNK = 1 << 20


class Spot:
    """A name in a folder, and beside it one that holds what it shall be and one that holds what it was."""

    def __init__(self, top: Folder, folder: Parts, name: str, staged: str, backup: str) -> None:
        self.top = top
        self.folder = folder
        self.name = name
        self.staged = staged
        self.backup = backup

    def opened(self) -> AbstractContextManager[Folder]:
        return self.top.below(self.folder)

    def create(self, folder: Folder) -> None:
        staged, name, at = folder.of(self.staged), folder.of(self.name), folder.descriptor
        try:
            # Unlike a rename it never replaces a file that appeared meanwhile.
            os.link(staged, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            with suppress(FileNotFoundError):
                folder.status(self.name)
                raise
            _rename(folder, self.staged, self.name)

    def replace(self, folder: Folder) -> None:
        _rename(folder, self.staged, self.name)

    def put_back(self, folder: Folder) -> None:
        _rename(folder, self.backup, self.name)

    def remove(self, folder: Folder) -> None:
        os.unlink(folder.of(self.name), dir_fd=folder.descriptor)

    def discard(self) -> bool:
        """Whether nothing is beside it any more."""
        gone = True
        try:
            with self.opened() as folder:
                for name in (self.staged, self.backup):
                    try:
                        os.unlink(folder.of(name), dir_fd=folder.descriptor)
                    except FileNotFoundError:
                        continue
                    except OSError:
                        gone = False
        except FileNotFoundError:  # nor is the folder
            return True
        except OSError:
            return False
        return gone


def make_folders_in(top: Folder, parts: Parts, made: list[Parts]) -> None:
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


def _rename(folder: Folder, source: str, target: str) -> None:
    at = folder.descriptor
    os.replace(folder.of(source), folder.of(target), src_dir_fd=at, dst_dir_fd=at)


def leads_to(folder: Folder, name: str) -> bytes:
    return os.fsencode(os.readlink(folder.of(name), dir_fd=folder.descriptor))


def pieces(stored: Stored) -> Iterator[bytes]:
    """The content, checked on the way; OSError if it is not what it was."""
    seen = sha256()
    with open(stored.path, "rb") as file:
        while piece := file.read(_CHUNK):
            seen.update(piece)
            yield piece
    if seen.hexdigest() != stored.sha256:
        raise OSError(errno.EIO, f"what was kept of it in {stored.path} is damaged")


def hash_of(file: BinaryIO) -> str:
    seen = sha256()
    while piece := file.read(_CHUNK):
        seen.update(piece)
    return seen.hexdigest()
