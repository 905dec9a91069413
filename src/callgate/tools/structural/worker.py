"""The worker process: reads a request and then batches of files, and writes the results of each batch.

The engine holds the GIL while it works, so threads would not be faster, and one large file would block the event loop.
A process can also be killed at any time, and a crash affects no other process. Each message is a pickle.
"""

import gc
import pickle
import sys
from collections.abc import Sequence
from typing import IO, Any

from callgate.tools.structural.examination import ScanRequest, examine
from callgate.tools.structural.source_walk import SourceFile

START = "import sys; sys.path[:] = sys.argv[1:]; from callgate.tools.structural.worker import serve; serve()"
"""The program for the interpreter; its arguments are the module search path."""


def serve() -> None:
    """Process batches of files until the input ends."""
    gc.disable()  # there are no reference cycles to collect
    taken, given = sys.stdin.buffer, sys.stdout.buffer
    asked: ScanRequest | None = receive(taken)
    while asked is not None:
        batch: Sequence[SourceFile] | None = receive(taken)
        if batch is None:
            return
        send(given, [examine(asked, file) for file in batch])


def send(stream: IO[bytes], value: object) -> None:
    pickle.dump(value, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Return the next message, or None if the other process has ended, even in the middle of a message."""
    try:
        return pickle.load(stream)
    except (EOFError, pickle.UnpicklingError):
        return None
