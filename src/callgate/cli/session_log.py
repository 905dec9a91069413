"""The command ``callgate log``: the events of a session as lines of text."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from json import dumps
from pathlib import Path

from callgate.admin.sessions import Archive, utc
from callgate.cli.terminal import Line, Safe, Span, clip, paragraph
from callgate.cli.text_output import columns, out, put, say
from callgate.formats.display import counted
from callgate.transcript.codec import BadLine, read_line
from callgate.transcript.lock import open_log, unreadable
from callgate.transcript.reader import LogReader
from callgate.words import events as e
from callgate.words.calls import Result, Status
from callgate.words.decisions import Allow, Deny
from callgate.words.endings import ENDINGS
from callgate.words.messages import Text

_LOOK = 0.25
"""Seconds between two reads of the log."""
_MARGIN = 10
_ARGUMENTS = 400
_RESULT_LINES = 5
_WIDE = 400


def log(which: str | None, follow: bool, pause: Callable[[float], None] = time.sleep) -> int:
    """Print every message, call, decision, answer and result with its time, including rewound events. The log is
    only read, so that a running session can be watched.

    Ctrl-C exits with 0
    """
    found = Archive().find(which)
    follower, stream = LogFollower(found), out()
    view = LogView(min(columns(), _WIDE))
    try:
        put([(Span(f"session {found.stem}", "bold"), Span("  times are UTC", "dim"))])
        while True:
            for event in follower.read():
                put(view.lines(event))
            stream.flush()
            if not follow:
                break
            pause(_LOOK)
    except KeyboardInterrupt:
        stream.write("\n" if stream.isatty() else "")
    finally:
        follower.close()
    if follower.damaged:
        say(f"{counted(follower.damaged, 'line')} cannot be read: callgate session verify {found.stem}")
    return 0


class LogFollower:
    """Reads a log from its start, without a lock. Each ``read`` returns the events of new complete lines, rewound
    branches included. ``damaged`` counts lines that cannot be read."""

    def __init__(self, log: Path) -> None:
        try:
            self._fd = open_log(log, os.O_RDONLY)
        except OSError as error:
            raise unreadable(log, error) from None
        self._at = 0
        self._before = ""
        self.damaged = 0

    def read(self) -> Sequence[e.Durable]:
        end = self._whole()
        reader = LogReader(self._fd)
        found: list[e.Durable] = []
        for raw in reader.lines([(self._at, end)]):
            try:
                entry = read_line(raw.data, raw.sum)
            except BadLine:
                self.damaged += 1
                continue
            if entry.sum != self._before and entry.event is not None:
                found.append(entry.event)
            self._before = entry.sum
        self.damaged += len(reader.damages)
        self._at = end
        return found

    def close(self) -> None:
        os.close(self._fd)

    def _whole(self) -> int:
        """Return the offset after the last complete line."""
        size = os.fstat(self._fd).st_size
        if size < self._at:  # cut back after a failed write
            self._at = size
        return self._at + os.pread(self._fd, size - self._at, self._at).rfind(b"\n") + 1


class LogView:
    """Formats events as lines."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._names: dict[str, str] = {}

    def lines(self, event: e.Durable) -> Iterator[Line]:
        """Return the lines of one event, or no lines for an event that is not shown."""
        match event:
            case e.MessageAdded():
                yield from self._message(event)
            case e.CallArrived():
                self._names[event.call_id] = event.name
                written = dumps(event.arguments, ensure_ascii=False, default=repr)[:_ARGUMENTS]
                yield from self._say(event.at, event.name, written, "bold")
            case e.CallDecided():
                yield from self._decided(event)
            case e.QuestionAsked():
                asked = f"asks: {event.question.reason or 'may it run?'}"
                yield from self._say(event.at, event.question.tool, asked, "yellow")
            case e.QuestionAnswered():
                answer = event.confirmation
                note = f": {answer.note}" if answer.note else ""
                yield from self._call(event.at, answer.call_id, f"{answer.by} says {answer.outcome}{note}", "yellow")
            case e.CallSettled():
                yield from self._settled(event.at, event.call_id, event.result, event.duration_ms)
            case _:
                said = _about(event)
                if said is not None:
                    yield from self._say(event.at, *said)

    def _message(self, event: e.MessageAdded) -> Iterator[Line]:
        at, message = event.at, event.message
        if message.role == "tool":
            return  # each result was shown when its call settled
        if event.about is not None:
            yield from self._say(at, "reminder to the model", message.text, "dim")
            return
        text = "\n".join(part.text for part in message.parts if isinstance(part, Text))
        if text.strip():
            yield from self._say(at, message.role, text, "cyan" if message.role == "user" else "green")

    def _decided(self, event: e.CallDecided) -> Iterator[Line]:
        decision = event.decision
        if isinstance(decision, Allow | Deny):
            verb, style = ("allowed", "dim") if isinstance(decision, Allow) else ("denied", "red")
            why = f": {decision.reason}" if decision.reason else ""
            yield from self._call(event.at, event.call_id, f"{verb} by {decision.by}{why}", style)

    def _settled(self, at: float, call: str, result: Result, duration: float | None) -> Iterator[Line]:
        took = "" if duration is None else f" in {duration / 1000:.1f} s"
        style = "green" if result.status is Status.SUCCESS else "red"
        yield from self._call(at, call, f"{result.code.replace('_', ' ')}{took}", style)
        lines = result.text.removesuffix("\n").split("\n") if result.text else []
        for line in lines[:_RESULT_LINES]:
            yield Span(Safe(" " * (_MARGIN + 2))), Span(clip(line.expandtabs(4), self._room - _MARGIN - 2), "dim")
        if len(lines) > _RESULT_LINES:
            more = counted(len(lines) - _RESULT_LINES, "more line")
            yield Span(Safe(" " * (_MARGIN + 2))), Span(f"({more})", "dim")

    def _call(self, at: float, call: str, text: str, style: str) -> Iterator[Line]:
        return self._say(at, self._names.get(call, call), text, style)

    def _say(self, at: float, who: str, text: str, style: str = "") -> Iterator[Line]:
        first, *rest = text.removesuffix("\n").split("\n")
        begin = paragraph(f"{who}: {first.expandtabs(4)}", self._room, style, indent=_MARGIN)
        yield Span(Safe(f"{utc(at)[11:19]:<{_MARGIN}}"), "dim"), *begin[0][1:]
        yield from begin[1:]
        for line in rest:
            yield from paragraph(line.expandtabs(4), self._room, style, indent=_MARGIN)


def _about(event: e.Durable) -> tuple[str, str, str] | None:
    """Return subject, text and style of an event that is shown on one line, or None for an event that is not shown."""
    match event:
        case e.RunEnded():
            why = event.detail or ENDINGS[event.reason].sentence
            return "run", why, "dim" if event.reason == "done" else "yellow"
        case e.RequestRetried():
            return "request", f"{event.detail or event.kind}; again in {event.delay:.3g} s", "yellow"
        case e.Compacted():
            return "history", f"compacted: {event.tokens_before:,} tokens became {event.tokens_after:,}", "cyan"
        case e.Rewound() | e.Branched():
            return "history", f"goes on from {event.message_id}", "cyan"
        case e.ModeSet():
            return "mode", event.mode, "cyan"
        case e.ModelSet():
            return "model", event.model, "cyan"
        case e.ActionStaged():
            return "staged", event.action.label, "yellow"
        case e.ActionResolved():
            return "staged", f"{event.label}: {event.ended}", "yellow"
        case e.Paused():
            return "paused", event.reason, "yellow"
        case e.Noted():
            return "note", event.text, "dim" if event.level == "info" else "yellow"
        case _:
            return None
