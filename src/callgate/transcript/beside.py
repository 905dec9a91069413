"""Small files beside a log. Only their owner may read them, and only regular files are touched: a link of
that name is not followed, and a pipe does not block."""

import os
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotAFile(OSError):
    """Something else than a regular file has the name."""


def open_beside(path: Path, flags: int) -> int:
    """A descriptor of a regular file, made for its owner alone if it has to be. OSError otherwise."""
    fd = os.open(path, flags | _SAFELY, 0o600)
    if S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise NotAFile(f"{path} is not a regular file")


def read_beside(path: Path) -> bytes:
    with open(open_beside(path, os.O_RDONLY), "rb") as file:
        return file.read()


def replace_beside(path: Path, text: str) -> None:
    """Replace the file as a whole. Where it cannot be written, nothing is lost: these are caches."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(open_beside(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", errors="replace") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError:
        drop_beside(draft)


def drop_beside(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
