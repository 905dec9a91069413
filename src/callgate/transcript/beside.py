"""Small files beside a log, readable by their owner alone."""

import os
from contextlib import suppress
from pathlib import Path

from callgate.host.files import open_regular


def open_beside(path: Path, flags: int) -> int:
    """Open or create a regular file and return its descriptor. Links are not followed; NotRegular for other kinds."""
    return open_regular(path, flags, follow=False)


def read_beside(path: Path) -> bytes:
    with open(open_beside(path, os.O_RDONLY), "rb") as file:
        return file.read()


def replace_beside(path: Path, text: str) -> None:
    """Replace the whole file. Errors are ignored, because these files are caches."""
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
