"""Parses streams of server-sent events, and the base class of the parsers of all API families.

``ServerEventReader`` follows the HTML standard: lines end with LF, CR or CRLF, and an event ends with an empty line. An
incomplete event at the end of the stream is dropped. Ids and retry times are ignored, because no provider uses them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, cast

from callgate.providers.family import Json, ServerEvent, StreamOutput, read_object
from callgate.providers.fault_table import fault_of
from callgate.providers.server_faults import stream_fault
from callgate.words.errors import ModelError
from callgate.words.messages import Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    OpaqueData,
    PartEnded,
    PartKind,
    PartStarted,
    Request,
    StopReason,
    TextDelta,
    ThinkingDelta,
)
from callgate.words.window import missing_usage

MOST_EVENT_BYTES = 32 * 1024 * 1024
"""The maximum size of an event. The complete answer of the largest model is less than a tenth of this."""


class EventTooLarge(Exception):
    """Raised if an event is larger than the limit."""


class ServerEventReader:
    """An incremental parser for server-sent events. ``feed`` gets the next bytes and returns the events that they
    complete."""

    def __init__(self, most_bytes: int = MOST_EVENT_BYTES) -> None:
        self._most = most_bytes
        self._line: list[bytes] = []  # pieces of the incomplete line
        self._event = ""
        self._data: list[str] = []
        self._size = 0  # of the pieces and the data
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        if not chunk:
            return []
        if self._after_cr and chunk[0] == 10:
            chunk = chunk[1:]  # the second half of a CRLF
            self._after_cr = False
            if not chunk:
                return []
        self._after_cr = chunk[-1] == 13
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        rest = lines.pop()
        events: list[ServerEvent] = []
        if lines:
            if self._line:
                lines[0] = b"".join((*self._line, lines[0]))
                self._line = []
            if self._first:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
                self._first = False
            for line in lines:
                if not line:
                    if self._data:
                        events.append(ServerEvent(self._event, "\n".join(self._data)))
                        self._data = []
                    self._event = ""
                    self._size = 0
                else:
                    self._field(line)
        if rest:
            self._line.append(rest)
            self._size += len(rest)
            if self._size > self._most:
                raise EventTooLarge
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._size += len(line)
            if self._size > self._most:
                raise EventTooLarge
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")


class EventParser:
    """Converts the server-sent events of one answer to model events. Parts are numbered in the order in which they
    start. Empty deltas are left out.

    family    the name of the API, in the names of models and in opaque data
    provider  the name of the server, for errors
    """

    def __init__(self, family: str, provider: str) -> None:
        self._family = family
        self._provider = provider
        self._out: list[ModelEvent | ModelError] = []
        self._parts = 0
        self._open: tuple[PartKind, int] | None = None  # the open text or thinking part
        self._started = False
        self._over = False

    def feed(self, event: ServerEvent) -> StreamOutput:
        if self._over or not event.data:
            return ()
        if event.data == "[DONE]":
            return self.end()
        self._out = []
        try:
            self._read(read_object(event.data), event.event)
        except Exception as error:  # invalid data of any kind ends the stream with a ModelError
            if event.event == "error":
                self._fail(event.data)
            else:
                self._over = True
                detail = f"{type(error).__name__}: {error}: {event.data[:200]}"
                self._out.append(fault_of("protocol", self._provider, detail))
        return self._out

    def end(self) -> StreamOutput:
        if self._over:
            return ()
        self._over = True
        self._out = []
        self._end()
        return self._out

    def _read(self, data: Json, name: str) -> None:
        """Add the events of a server-sent event with this name."""
        raise NotImplementedError

    def _end(self) -> None:
        """Add the last events when the connection ends."""

    # ---- events -----------------------------------------------------------------------------------------------------

    def _start_message(self, message_id: str, model: str, usage: Usage | None = None) -> None:
        self._started = True
        self._out.append(MessageStarted(message_id, f"{self._family}/{model}", usage or Usage()))

    def _start_part(self, kind: PartKind, call_id: str = "", name: str = "") -> int:
        """Start a part and return its number."""
        part = self._parts
        self._parts += 1
        self._out.append(PartStarted(part, kind, call_id, name))
        return part

    def _end_part(self, part: int) -> None:
        self._out.append(PartEnded(part))

    def _text(self, part: int, text: str) -> None:
        if text:
            self._out.append(TextDelta(part, text))

    def _thinking(self, part: int, text: str, signature: str | None = None) -> None:
        if text or signature:
            self._out.append(ThinkingDelta(part, text, signature))

    def _arguments(self, part: int, text: str) -> None:
        if text:
            self._out.append(ArgumentsDelta(part, text))

    def _opaque(self, part: int, data: Json) -> None:
        self._out.append(OpaqueData(part, self._family, data))

    def _opaque_part(self, data: Json) -> None:
        part = self._start_part("opaque")
        self._opaque(part, data)
        self._end_part(part)

    def _switch(self, kind: PartKind) -> int:
        """Return the number of the open part of this kind. If another part is open, close it and start a new part."""
        if self._open is None or self._open[0] != kind:
            self._close()
            self._open = (kind, self._start_part(kind))
        return self._open[1]

    def _close(self) -> None:
        if self._open is not None:
            self._end_part(self._open[1])
            self._open = None

    def _finish(self, stop: StopReason, usage: Usage, detail: str) -> None:
        self._over = True
        self._out.append(MessageEnded(stop, usage, detail))

    def _fail(self, error: Any) -> None:
        """End the stream with the ModelError of an error that the server reported."""
        self._over = True
        self._out.append(stream_fault(error, self._provider, self._family))


class AnswerTally:
    """A counter for the events of one answer.

    ended  True if the message is complete
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._chars = 0
        self._known = Usage()
        self.ended = False
        self.has_events = False

    def count(self, event: ModelEvent) -> ModelEvent:
        """Count an event and return it. If the provider reported no usage, a copy of MessageEnded with an estimate
        is returned."""
        self.has_events = True
        kind = event.__class__
        if kind is TextDelta or kind is ArgumentsDelta or kind is ThinkingDelta:
            self._chars += len(event.text)  # type: ignore[union-attr]
        elif isinstance(event, MessageStarted):
            self._known = event.usage
        elif isinstance(event, MessageEnded):
            self.ended = True
            missing = missing_usage(self._known + event.usage, self._request, self._chars)
            return replace(event, usage=event.usage + missing) if missing.estimated else event
        return event


def with_joined_deltas(events: Iterable[ModelEvent | ModelError]) -> Iterator[ModelEvent]:
    """Yield the events, with consecutive deltas of a part joined into a single delta. Raise the first ModelError
    among the events."""
    first: TextDelta | ArgumentsDelta | None = None
    texts: list[str] = []
    for event in events:
        kind = event.__class__
        if first is not None:
            if kind is first.__class__ and event.index == first.index:  # type: ignore[union-attr]
                texts.append(event.text)  # type: ignore[union-attr]
                continue
            yield replace(first, text="".join(texts)) if len(texts) > 1 else first
            first = None
        if isinstance(event, ModelError):
            raise event
        if kind is TextDelta or kind is ArgumentsDelta:
            first, texts = cast("TextDelta | ArgumentsDelta", event), [cast(TextDelta, event).text]
        else:
            yield event
    if first is not None:
        yield replace(first, text="".join(texts)) if len(texts) > 1 else first
