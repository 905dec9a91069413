"""The worker process: reads a request, then batches of files, and writes the results of each batch.

The engine holds the GIL while it works, so threads would gain nothing, and one large file would block the event loop. A
process can also be killed at any time, and a crash ends nothing else.

A message is a pickle.
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
    """Work until the input ends."""
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
