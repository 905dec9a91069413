"""The tree of messages in a log, and its live lines: the lines on the current branch after the last boundary. See
docs/decisions/0008.

The module does no I/O. A line has a kind, ids and a range of bytes, or a range of indices for a log in memory.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from callgate.words.event_table import EVENTS, LineKind
from callgate.words.events import CallArrived, Durable, MessageAdded, TurnStarted

_LONGEST_NUMBER = 12
_NAMED = {cls: attrgetter(row.by) for cls, row in EVENTS.items() if row.by}


class Line(NamedTuple):
    """The fields of a log line that define its place in the tree.

    id      the id of the message in the line, or None
    parent  the message before this message, or the message that an event belongs to
    target  the message that a move or a boundary points to
    """

    kind: LineKind
    id: str | None
    parent: str | None
    target: str | None = None


class _Segment:
    """Consecutive lines of one kind. ``leaf`` is the leaf of the tree at the time when the lines were written."""

    __slots__ = ("end", "leaf", "line", "start")

    def __init__(self, line: Line, leaf: str | None, start: int, end: int) -> None:
        self.line = line
        self.leaf = leaf
        self.start = start
        self.end = end


class Chain:
    """The tree of messages in a log.

    Consecutive events of one message are stored as one segment, so the tree is much smaller than the log.
    """

    def __init__(self) -> None:
        self.leaf: str | None = None
        self._parents: dict[str, str | None] = {}
        self._segments: list[_Segment] = []
        self._turn: str | None = None
        self._calls: dict[str, str | None] = {}
        self._heirs: dict[str, str] = {}  # lost message → the first message after it

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._parents

    def place(self, event: Durable) -> Line:
        """Return the tree fields for the line of the next event of the log."""
        row = EVENTS[type(event)]
        own = event.message.id if isinstance(event, MessageAdded) else None
        return Line(row.line, own, self._parent(event), getattr(event, row.target) if row.target else None)

    def add(self, line: Line, start: int, end: int) -> bool:
        """Add the next line of the log. Return False if the line has a message with an existing id."""
        kind, leaf = line.kind, self.leaf
        if kind == "fact":
            last = self._segments[-1] if self._segments else None
            if last is not None and last.end == start and last.leaf == leaf and last.line == line:
                last.end = end
                return True
        elif kind == "rewound":
            self.leaf = self._parents.get(line.target or "", leaf)
        elif kind == "branched":
            self.leaf = line.target if line.target in self._parents else leaf
        else:
            lost = line.parent if line.parent is not None and line.parent not in self._parents else None
            if lost is not None:
                line = line._replace(parent=leaf)  # its parent is lost
            if kind == "message":
                assert line.id is not None
                if line.id in self._parents:
                    return False
                if lost is not None:
                    self._heirs.setdefault(lost, line.id)
                self._parents[line.id] = line.parent
                self.leaf = line.id
        self._segments.append(_Segment(line, leaf, start, end))
        return True

    def where(self, message_id: str) -> tuple[int, int] | None:
        """Return the range of bytes of a message, or None for an unknown message."""
        found = (each for each in self._segments if each.line.kind == "message" and each.line.id == message_id)
        return next(((each.start, each.end) for each in found), None)

    @property
    def counted(self) -> tuple[int, int]:
        """The number of messages and the number of turns. If the message ids contain higher numbers, these are
        returned."""
        messages = turns = len(self._parents)
        for message_id in self._parents:
            if message_id[1:].isdecimal() and len(message_id) < _LONGEST_NUMBER:
                if message_id[0] == "u":
                    messages = max(messages, int(message_id[1:]))
                else:
                    turns = max(turns, int(message_id[1:]))
        return messages, turns

    def take_open(self, other: "Chain") -> None:
        self._turn, self._calls = other._turn, other._calls

    def live(self) -> list[tuple[int, int]]:
        """Return the ranges of the live lines in the order of the log. Adjacent ranges are joined."""
        line = self._line_to_leaf()
        after = self._next_starts(line)
        boundary = next((each for each in reversed(self._segments) if self._is_boundary_of(each, after)), None)
        on = set(line)
        if boundary is not None:
            on -= self._before(boundary, line)
        ranges: list[tuple[int, int]] = []
        for each in self._segments:
            if each is boundary or self._is_live(each, on, after, boundary):
                if ranges and ranges[-1][1] == each.start:
                    ranges[-1] = (ranges[-1][0], each.end)
                else:
                    ranges.append((each.start, each.end))
        return ranges

    def _parent(self, event: Durable) -> str | None:
        """Return the message that the event belongs to; None if the event belongs to the session. Events of unknown
        calls belong to the leaf."""
        on, name = EVENTS[type(event)].on, _NAMED.get(type(event))
        found: str | tuple[str, ...] = () if name is None else name(event) or ()
        named = found if isinstance(found, str) else found[-1] if found else None
        if isinstance(event, TurnStarted):
            self._turn = event.message_id
            self._calls.clear()
        elif isinstance(event, CallArrived):
            self._calls[event.call_id] = named
        match on:
            case "message":
                return named
            case "call":
                return self._calls.get(named or "", self.leaf)
            case "turn":
                turn, self._turn = self._turn, None
                return turn or self.leaf
            case "leaf":
                return self.leaf
            case _:
                return None

    def _line_to_leaf(self) -> list[str]:
        """Return the ids of the messages from the leaf back to the first message. Every parent comes before its
        children in the log, so there are no cycles."""
        found: list[str] = []
        at = self.leaf
        while at is not None:
            found.append(at)
            at = self._parents.get(at)
        return found

    def _next_starts(self, line: list[str]) -> dict[str | None, int]:
        """Return the offset of the next message's line by message id. The key None has the offset of the first
        message."""
        begins = {each.line.id: each.start for each in self._segments if each.line.kind == "message"}
        before: list[str | None] = [*line[1:], None]
        return {each: begins[then] for each, then in zip(before, line, strict=False)}

    def _is_boundary_of(self, segment: _Segment, after: dict[str | None, int]) -> bool:
        parent = segment.line.parent
        known = parent is None or parent in after or parent == self.leaf
        return segment.line.kind == "boundary" and known and segment.start < after.get(parent, segment.end)

    def _before(self, boundary: _Segment, line: list[str]) -> set[str]:
        """Return the ids of the messages before the boundary.

        If the line of the first kept message is lost, the message after it is used instead. If the line of that
        message is lost too, all messages of the branch up to the boundary are returned.
        """
        kept = boundary.line.target
        if kept is not None and kept not in line:
            kept = self._heirs.get(kept)
        first = kept if kept in line else boundary.line.parent
        if first is None:
            return set()
        at = line.index(first)
        return set(line[at + 1 :] if kept in line else line[at:])

    def _is_live(
        self, segment: _Segment, on: set[str], after: dict[str | None, int], boundary: _Segment | None
    ) -> bool:
        line = segment.line
        if line.kind == "message":
            return line.id in on
        if line.kind == "boundary":
            return False  # an earlier boundary, or one of another branch
        if line.kind == "closing":
            leaf = line.parent
        elif line.parent is None:  # belongs to the session
            return True
        elif line.parent in self._parents:
            return line.parent in on
        else:
            leaf = segment.leaf  # its message was never recorded
        kept = leaf is None or leaf in on
        if boundary is not None and leaf == boundary.line.parent:  # hidden with its message, unless it is newer
            kept = kept or segment.start > boundary.start
        return kept and segment.start < after.get(leaf, segment.end)


def live_events(events: Iterable[Durable]) -> list[Durable]:
    listed = list(events)
    chain = Chain()
    for n, event in enumerate(listed):
        chain.add(chain.place(event), n, n + 1)
    return [event for start, end in chain.live() for event in listed[start:end]]
