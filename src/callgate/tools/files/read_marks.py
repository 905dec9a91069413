"""Records which lines of which files a session has read, with the hash of each file at that time.

A mark is part of the recorded context, so it survives a restart and is undone by a rewind. Context updates take effect
after all earlier calls of a message. The marks of the current message are therefore also stored here, so that a second
edit uses the mark of the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from callgate.core.ports import Host, Run
from callgate.words.changes import digest
from callgate.words.errors import ToolFailure
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

Span = tuple[int, int]
"""The first and the last line of a range, numbered from 1."""

_PREFIX = "read:"
_WRITTEN = late_pattern(r"(?P<hash>[0-9a-f]{64}) of (?P<total>\d+), known (?P<known>[\d -]*), shown (?P<shown>[\d -]*)")
_MESSAGES = 16
"""The most messages whose marks are kept in addition to the context; nested sessions may run concurrently."""


@noun
class ReadMark:
    """The lines of a file that a session has read.

    known  the lines, or notebook cells, that the session has read or written
    shown  the lines that Read has shown in their current state; the next Read of them returns a short note
    """

    hash: str
    total: int
    known: tuple[Span, ...] = ()
    shown: tuple[Span, ...] = ()

    @property
    def complete(self) -> bool:
        return self.total == 0 or self.known == ((1, self.total),)

    @property
    def missing(self) -> int:
        """The first line that the session has neither read nor written."""
        return 1 if not self.known or self.known[0][0] > 1 else self.known[0][1] + 1

    def __str__(self) -> str:
        known, shown = (" ".join(f"{first}-{last}" for first, last in spans) for spans in (self.known, self.shown))
        return f"{self.hash} of {self.total}, known {known}, shown {shown}"


def joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the same lines as sorted spans that neither overlap nor touch."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        elif first <= last:
            found.append((first, last))
    return tuple(found)


def holds(spans: Sequence[Span], wanted: Span) -> bool:
    return any(first <= wanted[0] and wanted[1] <= last for first, last in spans)


def parse_mark(written: object) -> ReadMark | None:
    found = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if found is None:
        return None
    known, shown = (tuple(map(_span, found[name].split())) for name in ("known", "shown"))
    return ReadMark(found["hash"], int(found["total"]), known, shown)


def mark_in(context: Mapping[str, Any], path: str) -> ReadMark | None:
    """Return the mark of a file in the context of a session, or None. ``path`` must be normalized by the host."""
    return parse_mark(context.get(_PREFIX + path))


def with_nothing_shown(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context after a compaction, with no lines marked as shown. Read then shows them again, because earlier
    results are no longer sent to the model."""
    marks = {key: parse_mark(value) for key, value in context.items() if key.startswith(_PREFIX)}
    return {**context, **{key: str(replace(mark, shown=())) for key, mark in marks.items() if mark is not None}}


def _span(written: str) -> Span:
    first, _, last = written.partition("-")
    return int(first), int(last)


class ReadMarks:
    """The marks of all sessions on one host. A call accesses only the marks of its own session."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._latest: dict[tuple[str, ...], dict[str, ReadMark]] = {}

    def of(self, run: Run, path: str) -> ReadMark | None:
        """Return the mark of a file, or None. ``path`` must be normalized by the host."""
        with self._lock:
            found = self._latest.get(run.lineage[:-1], {}).get(path)
        return found or mark_in(run.context, path)

    def note(self, run: Run, path: str, mark: ReadMark) -> Mapping[str, str]:
        """Store the mark for later calls of the same message, and return the context update for the result."""
        with self._lock:
            self._latest.setdefault(run.lineage[:-1], {})[path] = mark
            while len(self._latest) > _MESSAGES:
                del self._latest[next(iter(self._latest))]
        return {_PREFIX + path: str(mark)}

    def written(self, run: Run, path: str, data: bytes) -> Mapping[str, str]:
        """Store the mark of a file that a call wrote completely: all lines are known, no lines are shown. Return the
        context update."""
        total = data.count(b"\n") + 1  # at least the lines that Read would show
        return self.note(run, path, ReadMark(digest(data) or "", total, ((1, total),) if total else ()))

    def require(self, run: Run, path: str, data: bytes) -> None:
        """Raise ToolFailure unless the session has read the whole file and the file is unchanged."""
        mark = self.of(run, run.host.normal(path))
        if mark is None:
            raise ToolFailure(f"{path} exists and has not been read: Read all of it first, then try again.")
        if mark.hash != digest(data):
            raise ToolFailure(f"{path} has changed since it was read: Read it again, then try again.")
        if not mark.complete:
            rest = f"but not from number {mark.missing} of {mark.total} on"
            raise ToolFailure(f"{path} was read in part, {rest}: Read on with offset={mark.missing}, then try again.")


_OF_HOSTS: WeakKeyDictionary[Host, ReadMarks] = WeakKeyDictionary()
_GUARD = Lock()


def marks_of(host: Host) -> ReadMarks:
    """Return the marks of a host. All tools on the host share one object, because tools are made separately."""
    with _GUARD:
        return _OF_HOSTS.setdefault(host, ReadMarks())


def marks_after(run: Run) -> Mapping[str, str] | None:
    """Return the context update after an applied change. Files that were known before the change are known in their new
    state."""
    update: dict[str, str] = {}
    marks = marks_of(run.host)
    for change in () if run.changes is None else run.changes.files:
        if isinstance(change.after, bytes) and isinstance(change.before, bytes | None):
            mark = marks.of(run, run.host.normal(change.source or change.path))
            if change.before is None or (mark is not None and mark.complete and mark.hash == digest(change.before)):
                update |= marks.written(run, run.host.normal(change.path), change.after)
    return update or None
