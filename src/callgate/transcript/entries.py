"""Everything that ever happened in a session, dead branches included; and whether any of it is gone."""

import os
from collections.abc import Iterator

from callgate.transcript.codec import BadLine, Entry, read_head, read_line
from callgate.transcript.reader import Damage, Reader

_MANY = 10_000  # numbers that are missing at once: no line that stands elsewhere makes up for that


def all_entries(fd: int, damages: list[Damage] | None = None) -> Iterator[Entry]:
    """Every intact line in the order of the file, a line that repeats the one before left out. What cannot be read is
    added to ``damages``."""
    reader = Reader(fd)
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


def lines_are_missing(fd: int) -> bool:
    """True if numbers are left out between the intact lines. Damaged lines are taken to have the numbers left out
    around them, and a line in another place is not missing. The end of a log may be missing without a trace."""
    reader = Reader(fd)
    missing: set[int] = set()
    last = damages = bad = 0
    for raw in reader.lines([(0, os.fstat(fd).st_size)]):
        try:
            n = read_head(raw.data, raw.sum).n
        except BadLine:
            bad += 1
            continue
        damaged, damages = len(reader.damages) + bad > damages, len(reader.damages) + bad
        missing.discard(n)
        if n > last + 1 and not damaged:
            if n - last > _MANY:
                return True
            missing.update(range(last + 1, n))
        last = max(last, n)
    return bool(missing)
