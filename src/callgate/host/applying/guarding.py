"""Who applies is alone: in its workspace, in those around it and in those inside it, whatever program or host it is."""

import os
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from callgate.words.errors import ToolFailure

PATIENCE = 60.0
"""Seconds to wait for others. An apply takes a moment; somebody who holds a folder for longer does something else."""
_PAUSE = 0.002


@contextmanager
def alone_in(root: str) -> Generator[None]:
    """Folders are locked from the top down, the workspace for us alone, those above it together with others. So two
    meet wherever the one workspace is, or is around, the other; and nobody can wait in a circle. Blocks.

    Folders of other people are left out, and so are file systems without such locks.
    """
    with ExitStack() as held:
        for folder in (*reversed(Path(root).parents), Path(root)):
            descriptor = _opened(folder)
            if descriptor is not None:
                held.callback(os.close, descriptor)
                _lock(descriptor, folder, shared=str(folder) != root)
        yield


def _opened(folder: Path) -> int | None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:  # not for us to read, or a system that opens no folders
        return None
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        return None
    return descriptor


def _lock(descriptor: int, folder: Path, *, shared: bool) -> None:
    import fcntl  # there is none where folders cannot be opened

    how = fcntl.LOCK_NB | (fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, how)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise ToolFailure(f"Nothing was changed: another program has locked the folder {folder}") from None
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return
