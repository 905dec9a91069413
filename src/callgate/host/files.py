"""Files and folders, down to the disk."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def write_new(
    path: Path | str,
    data: bytes | Iterable[bytes],
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
            file.writelines((data,) if isinstance(data, bytes) else data)
            file.flush()
            if dress is not None:
                dress(file.fileno())
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(path, dir_fd=dir_fd)
        raise


def add_to(path: Path | str, data: bytes) -> None:
    """Write at the end of a file that exists, down to the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def make_folders(folder: Path, made: list[Path], mode: int = 0o777) -> None:
    """Make it and what is missing above it, and note in ``made`` what was not there."""
    missing: list[Path] = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(mode, exist_ok=True)  # somebody else may be making it too
        made.append(each)


def sync_folder(folder: Path | str, *, dir_fd: int | None = None) -> None:
    """So that a new name in it survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), dir_fd=dir_fd)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
