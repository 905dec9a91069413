"""The live lines of a log: the tree of messages, and the facts that hang on it. See docs/decisions/0008.

No I/O: a line is known by its type, its ids and the bytes it covers (or its index, for a log in memory).
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from callgate.words.event_table import EVENTS, LineKind
from callgate.words.events import CallArrived, Durable, MessageAdded, TurnStarted

_LONGEST_NUMBER = 12
_NAMED = {cls: attrgetter(row.by) for cls, row in EVENTS.items() if row.by}


class Line(NamedTuple):
    """The fields of a line that the tree needs. ``id`` is a message's own; ``parent`` the message before it, or the one
    a fact hangs on; ``target`` what a move or a boundary points to."""

    kind: LineKind
    id: str | None
    parent: str | None
    target: str | None = None


class _Segment:
    """Neighbouring lines of one kind. ``leaf`` is that of the time they were written."""

    __slots__ = ("end", "leaf", "line", "start")

    def __init__(self, line: Line, leaf: str | None, start: int, end: int) -> None:
        self.line = line
        self.leaf = leaf
        self.start = start
        self.end = end


class Chain:
    """Grows with the log. Neighbouring facts of one message are one segment, so it stays small beside the log."""

    def __init__(self) -> None:
        self.leaf: str | None = None
        self._parents: dict[str, str | None] = {}
        self._segments: list[_Segment] = []
        self._turn: str | None = None
        self._calls: dict[str, str | None] = {}
        self._heirs: dict[str, str] = {}  # a message that is lost → the first that followed it

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._parents

    def place(self, event: Durable) -> Line:
        """The tree fields for the line of this event, the next of the log."""
        row = EVENTS[type(event)]
        own = event.message.id if isinstance(event, MessageAdded) else None
        return Line(row.line, own, self._parent(event), getattr(event, row.target) if row.target else None)

    def add(self, line: Line, start: int, end: int) -> bool:
        """Take a line that is on the log, in the order of the log. False: a message with this id is there already."""
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
                line = line._replace(parent=leaf)  # the history goes on from what is there
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
        """The bytes of a message's line."""
        found = (each for each in self._segments if each.line.kind == "message" and each.line.id == message_id)
        return next(((each.start, each.end) for each in found), None)

    @property
    def counted(self) -> tuple[int, int]:
        """As many messages and turns as there are, or as their ids count, whichever is more."""
        messages = turns = len(self._parents)
        for message_id in self._parents:
            if message_id[1:].isdecimal() and len(message_id) < _LONGEST_NUMBER:
                if message_id[0] == "u":
                    messages = max(messages, int(message_id[1:]))
                else:
                    turns = max(turns, int(message_id[1:]))
        return messages, turns

    def take_open(self, other: "Chain") -> None:
        """Go on with the turn that is open on another chain of the same log."""
        self._turn, self._calls = other._turn, other._calls

    def live(self) -> list[tuple[int, int]]:
        """The live parts of the log, in its order, neighbours joined."""
        line = self._world_line()
        after = self._what_follows(line)
        boundary = next((each for each in reversed(self._segments) if self._leads_on(each, after)), None)
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
        """The message that the event belongs to; None for the session. A call that is not known belongs to the leaf."""
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

    def _world_line(self) -> list[str]:
        """From the leaf back. A parent stands earlier in the log, so there are no circles."""
        found: list[str] = []
        at = self.leaf
        while at is not None:
            found.append(at)
            at = self._parents.get(at)
        return found

    def _what_follows(self, line: list[str]) -> dict[str | None, int]:
        """For each message of the line, and for its beginning, where the line of the next message begins."""
        begins = {each.line.id: each.start for each in self._segments if each.line.kind == "message"}
        before: list[str | None] = [*line[1:], None]
        return {each: begins[then] for each, then in zip(before, line, strict=False)}

    def _leads_on(self, segment: _Segment, after: dict[str | None, int]) -> bool:
        """A boundary that the world line goes on from."""
        parent = segment.line.parent
        known = parent is None or parent in after or parent == self.leaf
        return segment.line.kind == "boundary" and known and segment.start < after.get(parent, segment.end)

    def _before(self, boundary: _Segment, line: list[str]) -> set[str]:
        """The messages that the boundary cuts off. Where the first kept one is lost, the tail begins with the message
        that followed it; where that is lost too, nothing is kept: better too little than too long."""
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
            return False  # an earlier one, or one of another branch
        if line.kind == "closing":
            leaf = line.parent
        elif line.parent is None:  # it hangs on the session
            return True
        elif line.parent in self._parents:
            return line.parent in on
        else:
            leaf = segment.leaf  # its message never came
        kept = leaf is None or leaf in on
        if boundary is not None and leaf == boundary.line.parent:  # cut off with its message, unless it came later
            kept = kept or segment.start > boundary.start
        return kept and segment.start < after.get(leaf, segment.end)


def live_events(events: Iterable[Durable]) -> list[Durable]:
    """Those that a fold should see."""
    listed = list(events)
    chain = Chain()
    for n, event in enumerate(listed):
        chain.add(chain.place(event), n, n + 1)
    return [event for start, end in chain.live() for event in listed[start:end]]
