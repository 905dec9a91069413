"""Parses streams of the Chat Completions API, from OpenAI and compatible servers.

The finish reason is the end marker: a stream without a finish reason is cut off, a stream without ``[DONE]`` is not.
The usage follows the finish reason, so the message ends with ``[DONE]`` or with the connection. Calls have no end
marker. A call is closed when another call begins and its own arguments are a complete JSON object; all calls are
closed when the message finishes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from callgate.providers.family import Json, ServerEvent, object_of
from callgate.providers.openai_shared import ChatUsage, protocol_error, read_object
from callgate.providers.request_json import encode_body
from callgate.words.errors import ModelError
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


class CallPiece:
    """One element of ``tool_calls``. Arguments that arrive as an object are converted to JSON text."""

    __slots__ = ("extra", "id", "index", "name", "text")

    def __init__(self, index: object, data: Json) -> None:
        function: Any = data.get("function") or {}
        arguments = function.get("arguments")
        self.index = index
        self.id = str(data.get("id") or "")
        self.name = str(function.get("name") or "")
        self.extra: object = data.get("extra_content")  # thought signatures of Google
        self.text: str = arguments if arguments.__class__ is str else _json_of(arguments)


def _json_of(arguments: object) -> str:
    return "" if arguments is None else encode_body(cast("Json", arguments)).decode()


class StreamedCall:
    """A call during streaming.

    part  the number of the part; negative until the arguments begin, because the name may be incomplete until then
    """

    __slots__ = ("closed", "extra", "id", "name", "part", "pieces")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.part = -1
        self.pieces: list[str] = []
        self.extra: Json = {}
        self.closed = False

    def take(self, piece: CallPiece) -> str:
        """Store the fields of a piece, except its arguments, and return the arguments."""
        self.id = self.id or piece.id
        if piece.extra:
            self.extra["extra_content"] = piece.extra
        if self.part < 0 and piece.name != self.name:
            self.name += piece.name
        return piece.text

    def is_followed_by(self, piece: CallPiece) -> bool:
        """Return True if a piece with the index of this call begins a new call. A piece without a name never begins
        a call."""
        if not piece.name:
            return False
        if piece.id and self.id:
            return piece.id != self.id
        if piece.index is None and piece.name != self.name:
            return True
        return bool(piece.text) and (self.closed or self.is_whole())

    def is_whole(self) -> bool:
        """Return True if the received arguments are a complete JSON object."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            read_object("".join(self.pieces))
        except (ValueError, RecursionError):
            return False
        return True


Out = Sequence[ModelEvent | ModelError]
FAMILY = "openai-chat"
_arguments_delta, _text_delta, _thinking_delta = maker(ArgumentsDelta), maker(TextDelta), maker(ThinkingDelta)
_STOPS: Mapping[str, StopReason] = {
    "stop": "end",
    "eos": "end",
    "stop_sequence": "end",
    "tool_calls": "end",
    "function_call": "end",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "context_full",
    "content_filter": "refusal",
    "sensitive": "refusal",
}
"""Maps finish reasons. A finished message with calls stops for the calls, whatever the reason. With an unknown reason
the message counts as cut off."""
_FAILURES = {
    "error": "server_error",
    "network_error": "server_error",
    "insufficient_system_resource": "overloaded_error",
}
"""Finish reasons that report a server failure, and the error code."""
THINKING_FIELDS = ("reasoning_content", "reasoning")
_QUIET = frozenset({"role", "content", "tool_calls"})


class ChatParser:
    def __init__(self, provider: str = FAMILY) -> None:
        self._provider = provider
        self._parts = 0
        self._open: tuple[PartKind, int] | None = None  # the open text or thinking part
        self._calls: dict[object, StreamedCall] = {}  # the latest call of each index
        self._all: list[StreamedCall] = []
        self._details: list[Json] = []
        self._details_part = -1
        self._usage = ChatUsage()
        self._reason: str | None = None
        self._started = False
        self._refused = False
        self._over = False

    def feed(self, event: ServerEvent) -> Out:
        text = event.data
        if self._over or not text:
            return ()
        try:
            if text == "[DONE]":
                return self.end()
            data = read_object(text)
            choices = data.get("choices")
            if not choices or not self._started or data.get("usage") or data.get("error") or data.get("x_groq"):
                return self._special_chunk(event, data)
            out: list[ModelEvent] = []
            self._choice(out, choices)
            return out
        except _ServerFailure as failure:
            return self._failed(failure.data)
        except Exception as error:  # invalid data of any kind ends the stream with a ModelError
            self._over = True
            return (protocol_error(self._provider, f"{type(error).__name__}: {error}", text),)

    def end(self) -> Out:
        """Return the last events at the end of the stream. The message is complete if there was a finish reason."""
        if self._over or self._reason is None:
            self._over = True
            return ()
        self._over = True
        out: list[ModelEvent] = []
        self._close_all(out)
        stop, detail = self._stop(self._reason)
        out.append(MessageEnded(stop, self._usage.total(), detail))
        return out

    def _special_chunk(self, event: ServerEvent, data: Json) -> Out:
        if data.get("error") or (event.event == "error" and not data.get("choices")) or data.get("object") == "error":
            return self._failed(data)
        out: list[ModelEvent] = []
        if not self._started and (data.get("choices") or data.get("model")):
            self._started = True
            out.append(MessageStarted(str(data.get("id") or ""), f"{FAMILY}/{data.get('model') or ''}"))
        self._usage.take(data.get("usage") or object_of(data.get("x_groq")).get("usage"))
        if data.get("choices"):
            self._choice(out, data["choices"])
        return out

    def _failed(self, data: object) -> Out:
        from callgate.providers.openai_faults import stream_fault  # slow to import, rarely needed

        self._over = True
        return (stream_fault(data, self._provider),)

    # ---- one chunk --------------------------------------------------------------------------------------------------

    def _choice(self, out: list[ModelEvent], choices: list[Json]) -> None:
        choice = choices[0]
        if choice.get("index"):  # additional answers, which were not requested
            choice = next((each for each in choices if not each.get("index")), None)
            if choice is None:
                return
        delta = choice.get("delta") or choice.get("message")
        if delta:
            if not delta.keys() <= _QUIET:
                self._other_fields(out, delta)
            content = delta.get("content")
            if content:
                if content.__class__ is str:
                    self._add_text(out, "text", content)
                else:
                    self._contents(out, content)
            calls = delta.get("tool_calls")
            if calls:
                for call in calls:
                    self._piece(out, call.get("index"), call)
        reason = choice.get("finish_reason")
        if reason:
            self._usage.take(choice.get("usage"))
            if reason in _FAILURES:
                told = {"code": _FAILURES[reason], "message": f"the answer finished with {reason!r}"}
                raise _ServerFailure(choice.get("error") or told)
            self._reason = self._reason or str(reason)
            self._close_all(out)

    def _add_text(self, out: list[ModelEvent], kind: PartKind, text: str) -> None:
        if text.__class__ is not str:
            raise TypeError("text is wanted")
        if self._open is None or self._open[0] != kind:
            self._close(out)
            self._open = (kind, self._new_part(out, kind))
        make = _text_delta if kind == "text" else _thinking_delta
        out.append(make(self._open[1], text))

    def _contents(self, out: list[ModelEvent], contents: Iterable[Json]) -> None:
        for each in contents:
            if each["type"] == "thinking":
                inner: Any = each["thinking"]
                text = inner if isinstance(inner, str) else "".join(str(one.get("text") or "") for one in inner)
                if text:
                    self._add_text(out, "thinking", text)
            elif each.get("text"):
                self._add_text(out, "text", each["text"])

    def _other_fields(self, out: list[ModelEvent], delta: Json) -> None:
        thought = next((delta[field] for field in THINKING_FIELDS if delta.get(field)), None)
        details = delta.get("reasoning_details")
        if details:
            self._add_details(out, details)
            thought = thought or "".join(str(each.get("text") or each.get("summary") or "") for each in details)
        if thought:
            self._add_text(out, "thinking", thought)
        if delta.get("refusal"):
            self._refused = True
            self._add_text(out, "text", delta["refusal"])
        if delta.get("function_call"):
            self._piece(out, "function_call", {"function": delta["function_call"]})

    def _add_details(self, out: list[ModelEvent], details: Iterable[Json]) -> None:
        """Collect OpenRouter's ``reasoning_details``. The pieces of one text are joined."""
        if self._details_part < 0:
            self._details_part = self._new_part(out, "opaque")
        for each in details:
            last = self._details[-1] if self._details else {}
            same = all(last.get(key) == each.get(key) for key in ("type", "index")) and "data" not in each
            if not same or last.get("id", each.get("id")) != each.get("id", last.get("id")):
                self._details.append(dict(each))
                continue
            for key, value in each.items():
                if key in ("text", "summary"):
                    last[key] = (last.get(key) or "") + (value or "")
                elif value is not None:
                    last[key] = value

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _piece(self, out: list[ModelEvent], index: object, data: Json) -> None:
        piece = CallPiece(index, data)
        call = self._calls.get(index) if index is not None else self._all[-1] if self._all else None
        if call is None or call.is_followed_by(piece):
            call = self._new_call(out, index)
        text = call.take(piece)
        if not text:
            return
        if call.closed:
            if not text.isspace():
                raise ValueError("more arguments for a call that is whole")
            return
        call.pieces.append(text)
        if call.part < 0:
            self._start(out, call)
        out.append(_arguments_delta(call.part, text))

    def _new_call(self, out: list[ModelEvent], index: object) -> StreamedCall:
        for earlier in self._all:
            if not earlier.closed and earlier.is_whole():
                self._end_call(out, earlier)
        call = StreamedCall()
        self._all.append(call)
        self._calls[index] = call
        return call

    def _start(self, out: list[ModelEvent], call: StreamedCall) -> None:
        self._close(out)
        call.part = self._parts
        self._parts += 1
        out.append(PartStarted(call.part, "tool_call", call.id, call.name))

    def _end_call(self, out: list[ModelEvent], call: StreamedCall) -> None:
        if call.part < 0:
            self._start(out, call)
        if call.extra:
            out.append(OpaqueData(call.part, FAMILY, call.extra))
        out.append(PartEnded(call.part))
        call.closed = True

    # ---- ends -------------------------------------------------------------------------------------------------------

    def _new_part(self, out: list[ModelEvent], kind: PartKind) -> int:
        out.append(PartStarted(self._parts, kind))
        self._parts += 1
        return self._parts - 1

    def _close(self, out: list[ModelEvent]) -> None:
        if self._open is not None:
            out.append(PartEnded(self._open[1]))
            self._open = None

    def _close_all(self, out: list[ModelEvent]) -> None:
        """Close all parts. If the answer did not end normally, calls with incomplete arguments stay open, and open
        calls are refused."""
        self._close(out)
        ended = _STOPS.get(self._reason or "") == "end"
        for call in self._all:
            if not call.closed and (ended or call.is_whole()):
                self._end_call(out, call)
        if self._details_part >= 0:
            out.append(OpaqueData(self._details_part, FAMILY, {"reasoning_details": self._details}))
            out.append(PartEnded(self._details_part))
            self._details, self._details_part = [], -1

    def _stop(self, reason: str) -> tuple[StopReason, str]:
        stop = _STOPS.get(reason, "cut_off")
        if stop == "end":
            if self._all:
                return "tool_calls", ""
            return ("refusal" if self._refused else "end"), ""
        return stop, reason


class _ServerFailure(Exception):
    def __init__(self, data: object) -> None:
        super().__init__()
        self.data = data
