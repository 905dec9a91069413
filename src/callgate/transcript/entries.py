"""Everything that ever happened in a session, dead branches included."""

import os
from collections.abc import Iterator

from callgate.transcript.codec import BadLine, LogEntry, read_line
from callgate.transcript.reader import Damage, LogReader


def all_entries(fd: int, damages: list[Damage] | None = None) -> Iterator[LogEntry]:
    """Every intact line in the order of the file, a line that repeats the one before left out. What cannot be read is
    added to ``damages``."""
    reader = LogReader(fd)
    before = ""
    for raw in reader.lines([(0, os.fstat(fd).st_size)]):
        try:
            entry = read_line(raw.data, raw.sum)
        except BadLine as why:
            reader.damages.append(Damage(raw.start, len(raw.data), str(why)))
            continue
        if entry.sum != before:
            before = entry.sum
            yield entry
    if damages is not None:
        damages += reader.damages
