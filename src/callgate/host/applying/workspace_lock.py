"""Locks a workspace, so that two processes cannot apply changes at the same time to the workspace, its parent folders
or folders inside it.

The lock also works between programs and hosts that use different journals.
"""

import os
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from callgate.host.files import lock_file
from callgate.words.errors import ToolFailure

MOST_SECONDS = 60.0
"""The timeout for the lock. An apply takes milliseconds."""
_PAUSE = 0.002


@contextmanager
def lock_workspace(root: str) -> Generator[None]:
    """Hold an exclusive lock on the workspace and shared locks on its parent folders. Blocks. Raise ToolFailure after a
    timeout.

    Folders are locked from the top down, so that nested workspaces exclude each other without deadlocks. Folders of
    other users and file systems without locks are skipped.
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
    except OSError:  # not readable, or the system cannot open folders
        return None
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        return None
    return descriptor


def _lock(descriptor: int, folder: Path, *, shared: bool) -> None:
    until = time.monotonic() + MOST_SECONDS
    with suppress(OSError):  # the file system has no locks
        while not lock_file(descriptor, shared=shared, waits=False):
            if time.monotonic() >= until:
                raise ToolFailure(f"Nothing was changed: another program has locked the folder {folder}")
            time.sleep(_PAUSE)
