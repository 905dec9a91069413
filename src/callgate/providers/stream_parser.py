"""The base class of the parsers of all API families."""

from typing import Any

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
    StopReason,
    TextDelta,
    ThinkingDelta,
)
from callgate.words.noun import maker

_text_delta, _thinking_delta, _arguments_delta = maker(TextDelta), maker(ThinkingDelta), maker(ArgumentsDelta)


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
            self._out.append(_text_delta(part, text))

    def _thinking(self, part: int, text: str, signature: str | None = None) -> None:
        if text or signature:
            self._out.append(_thinking_delta(part, text, signature))

    def _arguments(self, part: int, text: str) -> None:
        if text:
            self._out.append(_arguments_delta(part, text))

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
        self._out.append(stream_fault(error, self._provider))
