"""The end of a session, read from the end: what it costs depends on what is shown, not on the log."""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from callgate.transcript.codec import BadLine, read_line
from callgate.transcript.index import Index, read_index
from callgate.transcript.loader import load
from callgate.transcript.reader import Damage, Reader
from callgate.transcript.summary import Summary, Tally
from callgate.words.events import Durable, MessageAdded
from callgate.words.messages import Message
from callgate.words.noun import noun

_CHUNK = 1 << 16


@noun
class Recent:
    """The last live messages and all that belongs to them. Of damage only what lies there is known."""

    events: tuple[Durable, ...]
    about: Summary
    damages: tuple[Damage, ...]


class _Stale(Exception):
    """The index does not fit, or what stands behind it reaches back."""


def recent_messages(fd: int, log: Path, count: int) -> list[Message]:
    """The last live messages, oldest first."""
    events = recent(fd, log, count).events
    return [event.message for event in events if isinstance(event, MessageAdded)]


def recent(fd: int, log: Path, count: int, counts: Callable[[Message], bool] = lambda message: True) -> Recent:
    """The end of the live history from the last ``count`` messages on; ``counts`` says which are counted."""
    index = read_index(log)
    try:
        if index is None:
            raise _Stale
        return _from_index(fd, index, count, counts)
    except (_Stale, BadLine):
        loaded = load(fd, log)
        return Recent(_last(reversed(loaded.events), count, counts), loaded.about, tuple(loaded.damages))


def _from_index(fd: int, index: Index, count: int, counts: Callable[[Message], bool]) -> Recent:
    size = os.fstat(fd).st_size
    ending = f'{index.sum}"}}\n'.encode()
    fits = len(ending) <= index.upto <= size and os.pread(fd, len(ending), index.upto - len(ending)) == ending
    if not fits:
        raise _Stale
    reader = Reader(fd)
    tally, behind = Tally(index.about), list[Durable]()
    for raw in reader.lines([(index.upto, size)]):
        entry = read_line(raw.data, raw.sum)
        if entry.line.kind not in ("message", "fact", "closing"):
            raise _Stale
        if entry.event is not None:
            behind.append(entry.event)
            tally.fold(entry.event)
    events = _last(chain(reversed(behind), _known(fd, index)), count, counts)
    return Recent(events, tally.summary(), tuple(reader.damages))


def _known(fd: int, index: Index) -> Iterator[Durable]:
    """The live events of the index, last first."""
    leaf = index.leaf
    for start, end in reversed(index.live):
        for data in _backward(fd, start, end):
            event = read_line(data).event
            if isinstance(event, MessageAdded):
                if leaf not in (None, event.message.id):
                    raise _Stale
                leaf = None
            if event is not None:
                yield event


def _backward(fd: int, start: int, end: int) -> Iterator[bytes]:
    """The lines between two offsets, last first."""
    under_way: list[bytes] = []  # of one line, its end first
    at = end
    while at > start:
        size = min(_CHUNK, at - start)
        at -= size
        first, *lines = os.pread(fd, size, at).split(b"\n")
        while lines:
            line = b"".join((lines.pop(), *reversed(under_way)))
            under_way = []
            if line:
                yield line
        under_way.append(first)
    line = b"".join(reversed(under_way))
    if line:
        yield line


def _last(events: Iterable[Durable], count: int, counts: Callable[[Message], bool]) -> tuple[Durable, ...]:
    """From events in reverse order those of the end. The facts of a message stand before it, so all up to the message
    before are taken."""
    found: list[Durable] = []
    left = count
    for event in events:
        if isinstance(event, MessageAdded):
            if left <= 0:
                break
            left -= counts(event.message)
        found.append(event)
    return tuple(reversed(found))
