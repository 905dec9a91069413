"""Loads a log: the live events, and the state that is needed to append events to the log."""

import gc
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from callgate.conversation.chain import Chain, Line
from callgate.transcript.codec import START, BadLine, LogEntry, read_head, read_line
from callgate.transcript.lock import opened_log
from callgate.transcript.reader import Damage, LogReader, Raw
from callgate.transcript.session_summary import Summary, Tally, prompt_of
from callgate.transcript.side_files import Index, read_index
from callgate.words.errors import JournalError
from callgate.words.events import Durable, LinesQuarantined, MessageAdded, TurnStarted
from callgate.words.messages import Message

_SUM_AND_END = len('0123456789abcdef0123456789abcdef"}\n')


class LoadedLog:
    """A loaded log. ``end`` is the offset after the last intact line; ``ended`` is True if that line has its line
    ending."""

    def __init__(self, fd: int, session: str) -> None:
        self.session = session
        self.size = os.fstat(fd).st_size
        self.chain = Chain()
        self.events: list[Durable] = []
        self.tally = Tally()
        self.n = 0
        self.sum = START
        self.end = 0
        self.ended = True
        self.indexed = False
        self.complete = True
        """True if the chain has all messages, not only the live ones."""
        self.unknown = 0
        """The number of live lines of an unknown type or version."""
        self.damages: list[Damage] = []

    @property
    def new_damages(self) -> list[Damage]:
        """The damages of the file that are not recorded in the log yet."""
        known = {each for event in self.events if isinstance(event, LinesQuarantined) for each in event.ranges}
        return [each for each in self.damages if (each.offset, each.length) not in known]

    @property
    def about(self) -> Summary:
        return self.tally.summary()


def read_log(log: Path) -> LoadedLog:
    """Load a log without locking or changing the file."""
    with opened_log(log) as fd:
        return load(fd, log)


def load(fd: int, log: Path) -> LoadedLog:
    """Read the live events of an open log. Damaged lines are listed in ``damages``. Raise JournalError if the file
    cannot be read."""
    index = read_index(log)
    collecting = gc.isenabled()
    gc.disable()  # creates up to hundreds of thousands of objects, which the collector would scan repeatedly
    try:
        loaded = None if index is None else _from_index(fd, log.stem, index)
        loaded = loaded or whole(fd, log.stem)
        loaded.ended = loaded.end == 0 or os.pread(fd, 1, loaded.end - 1) == b"\n"
    except OSError as error:
        raise JournalError(f"{log} cannot be read: {error.strerror or error}") from error
    finally:
        if collecting:
            gc.enable()
    _add_open_turn(loaded)
    return loaded


def summarize(fd: int, log: Path) -> Summary:
    """Return the summary of an open log. If possible, only the index and the lines after the indexed lines are read."""
    index = read_index(log)
    if index is not None and index.upto <= os.fstat(fd).st_size and _fits(fd, index):
        tail = LoadedLog(fd, log.stem)
        tail.tally, tail.sum = Tally(index.about), index.sum
        if _parsed(tail, LogReader(fd).lines([(index.upto, tail.size)]), live=False):
            tail.tally.fold_all(tail.events)
            return tail.about
    loaded = load(fd, log)
    if loaded.damages and not loaded.n:
        raise JournalError("the log has no valid line")
    return loaded.about


def read_live(fd: int, ranges: Iterable[tuple[int, int]]) -> list[Durable]:
    """Return the events of the log lines in these byte ranges."""
    events: list[Durable] = []
    for raw in LogReader(fd).lines(ranges):
        with suppress(BadLine):
            event = read_line(raw.data, raw.sum).event
            if event is not None:
                events.append(event)
    return events


def read_message(fd: int, where: tuple[int, int] | None) -> Message | None:
    """Return the message in this byte range, or None if the range has no message."""
    found = () if where is None else read_live(fd, [where])
    return next((event.message for event in found if isinstance(event, MessageAdded)), None)


def whole(fd: int, session: str) -> LoadedLog:
    """Load a log without its index: read the head of every line and parse the live lines."""
    loaded = LoadedLog(fd, session)
    reader = LogReader(fd)
    first: Raw | None = None
    for raw in reader.lines([(0, loaded.size)]):
        try:
            head = read_head(raw.data, raw.sum)
        except BadLine as why:
            reader.damages.append(Damage(raw.start, len(raw.data), str(why)))
            continue
        if raw.sum == loaded.sum or not loaded.chain.add(head.line, raw.start, raw.end):
            reader.damages.append(Damage(raw.start, len(raw.data), "the same line again"))
            continue
        loaded.n, loaded.sum, loaded.end = max(loaded.n, head.n), raw.sum, raw.end
        if first is None and head.line.kind == "message":
            first = raw
    loaded.damages = reader.damages
    if first is not None:  # the first prompt is shown even if it is not live any more
        begun = read_message(fd, (first.start, first.end))
        loaded.tally = Tally(Summary(first_prompt="" if begun is None else prompt_of(begun)))
    for raw in LogReader(fd).lines(loaded.chain.live()):
        try:
            _keep(loaded, read_line(raw.data, raw.sum))
        except BadLine as why:  # only its head is valid
            loaded.damages.append(Damage(raw.start, len(raw.data), str(why)))
    loaded.tally.fold_all(loaded.events)
    return loaded


def _from_index(fd: int, session: str, index: Index) -> LoadedLog | None:
    """Load the byte ranges listed in the index and the lines after the indexed lines. Return None if the index does
    not match the file, or if a later line refers to a line that the index omits."""
    loaded = LoadedLog(fd, session)
    if index.upto > loaded.size or not _fits(fd, index):
        return None
    loaded.indexed = True
    loaded.complete = index.live == ((0, index.upto),)
    reader = LogReader(fd)
    if not _parsed(loaded, reader.lines(index.live), live=True):
        return None
    if reader.damages or loaded.chain.leaf != index.leaf:
        return None
    loaded.n, loaded.sum, loaded.end, loaded.tally = index.n, index.sum, index.upto, Tally(index.about)
    known = len(loaded.events)
    if not _parsed(loaded, reader.lines([(index.upto, loaded.size)]), live=False):
        return None
    loaded.tally.fold_all(loaded.events[known:])
    loaded.damages = reader.damages
    return loaded


def _parsed(loaded: LoadedLog, lines: Iterable[Raw], *, live: bool) -> bool:
    """Add the lines to the loaded log. Return False if the lines do not form a chain.

    live  the lines are known to be live: rewinds were applied, and a message whose parent is missing follows the
          message before it (``Chain.add``)
    """
    try:
        for raw in lines:
            entry = read_line(raw.data, raw.sum)
            line = entry.line
            if live:
                if line.kind in ("rewound", "branched"):
                    line = Line("fact", None, None)
            elif line.kind not in ("message", "fact", "closing"):
                return False
            if raw.sum == loaded.sum or not loaded.chain.add(line, raw.start, raw.end):
                return False
            _keep(loaded, entry)
            loaded.n, loaded.sum, loaded.end = max(loaded.n, entry.n), raw.sum, raw.end
    except BadLine:
        return False
    return True


def _keep(loaded: LoadedLog, entry: LogEntry) -> None:
    if entry.event is None:
        loaded.unknown += 1
    else:
        loaded.events.append(entry.event)


def _add_open_turn(loaded: LoadedLog) -> None:
    """Add the unfinished turn to the chain of messages, so that later events about the calls of the turn belong to the
    message of the turn."""
    starts = (at for at in reversed(range(len(loaded.events))) if isinstance(loaded.events[at], TurnStarted))
    for event in loaded.events[next(starts, 0) :]:
        loaded.chain.place(event)


def _fits(fd: int, index: Index) -> bool:
    if index.upto < _SUM_AND_END:
        return False
    last = os.pread(fd, _SUM_AND_END, index.upto - _SUM_AND_END)
    return last == f'{index.sum}"}}\n'.encode()
