"""The worker process: reads a request and then batches of files, and writes the result of each file.

The engine does not let go of Python's lock while it works, so threads would gain nothing, and one large file would
stop the event loop. A separate process can also be ended at any moment, and ends nothing else when it crashes.

A frame is its length in eight bytes and a pickle of it.
"""

import gc
import pickle
import struct
import sys
from collections.abc import Sequence
from typing import IO, Any

from callgate.tools.structural.examination import ScanRequest, examine
from callgate.tools.structural.source_walk import SourceFile

_LENGTH = struct.Struct(">Q")

START = "import sys; sys.path[:] = sys.argv[1:]; from callgate.tools.structural.worker import serve; serve()"
"""The program for the interpreter; its arguments are the module search path."""


def serve() -> None:
    """Work until there is nothing more to read."""
    gc.disable()  # nothing here is in a circle, so looking for circles is time lost
    taken, given = sys.stdin.buffer, sys.stdout.buffer
    asked: ScanRequest | None = receive(taken)
    while asked is not None:
        batch: Sequence[SourceFile] | None = receive(taken)
        if batch is None:
            return
        send(given, [examine(asked, file) for file in batch])


def send(stream: IO[bytes], value: object) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """None when the other side has ended, in the middle of a frame or before it."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return pickle.loads(data) if len(data) == length else None
