"""Parses streams of the Chat Completions API, from OpenAI and compatible servers.

The finish reason is the end marker: a stream without a finish reason is cut off, a stream without ``[DONE]`` is not.
The usage follows the finish reason, so the message ends with ``[DONE]`` or with the connection. Calls have no end
marker. A call is closed when another call begins and its own arguments are a complete JSON object; all calls are
closed when the message finishes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from callgate.providers.family import Json, object_of, read_object, text_of
from callgate.providers.openai_shared import ChatUsage
from callgate.providers.request_json import encode_body
from callgate.providers.stream_parser import EventParser
from callgate.words.model import PartKind, StopReason

FAMILY = "openai-chat"
_REASONS: Mapping[StopReason, str] = {
    "end": "stop eos stop_sequence tool_calls function_call",
    "max_tokens": "length max_tokens",
    "context_full": "model_length",
    "refusal": "content_filter sensitive",
}
_STOPS: Mapping[str, StopReason] = {reason: stop for stop, reasons in _REASONS.items() for reason in reasons.split()}
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
        self.text: str = arguments or "" if isinstance(arguments, str | None) else encode_body(arguments).decode()


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


class ChatParser(EventParser):
    def __init__(self, provider: str = FAMILY) -> None:
        super().__init__(FAMILY, provider)
        self._calls: dict[object, StreamedCall] = {}  # the latest call of each index
        self._all: list[StreamedCall] = []
        self._details: list[Json] = []
        self._details_part = -1
        self._usage = ChatUsage()
        self._reason: str | None = None
        self._refused = False

    def _end(self) -> None:
        """Add the last events. The message is complete if there was a finish reason."""
        if self._reason is not None:
            self._close_all()
            stop, detail = self._stop(self._reason)
            self._finish(stop, self._usage.total(), detail)

    def _read(self, data: Json, name: str) -> None:
        choices = data.get("choices")
        if data.get("error") or (name == "error" and not choices) or data.get("object") == "error":
            self._fail(data)
            return
        if not self._started and (choices or data.get("model")):
            self._start_message(str(data.get("id") or ""), str(data.get("model") or ""))
        if usage := data.get("usage") or object_of(data.get("x_groq")).get("usage"):
            self._usage.take(usage)
        if choices:
            self._choice(choices)

    # ---- one chunk --------------------------------------------------------------------------------------------------

    def _choice(self, choices: list[Json]) -> None:
        choice = choices[0]
        if choice.get("index"):  # additional answers, which were not requested
            choice = next((each for each in choices if not each.get("index")), None)
            if choice is None:
                return
        delta = choice.get("delta") or choice.get("message")
        if delta:
            if not delta.keys() <= _QUIET:
                self._other_fields(delta)
            content = delta.get("content")
            if content.__class__ is str:
                self._add("text", content)
            elif content:
                self._contents(content)
            for call in delta.get("tool_calls") or ():
                self._piece(call.get("index"), call)
        reason = choice.get("finish_reason")
        if reason:
            self._usage.take(choice.get("usage"))
            if reason in _FAILURES:
                told = {"code": _FAILURES[reason], "message": f"the answer finished with {reason!r}"}
                self._fail(choice.get("error") or told)
                return
            self._reason = self._reason or str(reason)
            self._close_all()

    def _add(self, kind: PartKind, text: str) -> None:
        if text_of(text):
            part = self._switch(kind)
            self._text(part, text) if kind == "text" else self._thinking(part, text)

    def _contents(self, contents: Iterable[Json]) -> None:
        for each in contents:
            if each["type"] == "thinking":
                inner: Any = each["thinking"]
                self._add(
                    "thinking",
                    inner if isinstance(inner, str) else "".join(str(one.get("text") or "") for one in inner),
                )
            else:
                self._add("text", each.get("text") or "")

    def _other_fields(self, delta: Json) -> None:
        thought = next((delta[field] for field in THINKING_FIELDS if delta.get(field)), None)
        details = delta.get("reasoning_details")
        if details:
            self._add_details(details)
            thought = thought or "".join(str(each.get("text") or each.get("summary") or "") for each in details)
        self._add("thinking", thought or "")
        if delta.get("refusal"):
            self._refused = True
            self._add("text", delta["refusal"])
        if delta.get("function_call"):
            self._piece("function_call", {"function": delta["function_call"]})

    def _add_details(self, details: Iterable[Json]) -> None:
        """Collect OpenRouter's ``reasoning_details``. The pieces of one text are joined."""
        if self._details_part < 0:
            self._details_part = self._start_part("opaque")
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

    def _piece(self, index: object, data: Json) -> None:
        piece = CallPiece(index, data)
        call = self._calls.get(index) if index is not None else self._all[-1] if self._all else None
        if call is None or call.is_followed_by(piece):
            call = self._new_call(index)
        text = call.take(piece)
        if not text:
            return
        if call.closed:
            if not text.isspace():
                raise ValueError("more arguments for a call that is whole")
            return
        call.pieces.append(text)
        if call.part < 0:
            self._start_call(call)
        self._arguments(call.part, text)

    def _new_call(self, index: object) -> StreamedCall:
        for earlier in self._all:
            if not earlier.closed and earlier.is_whole():
                self._end_call(earlier)
        call = StreamedCall()
        self._all.append(call)
        self._calls[index] = call
        return call

    def _start_call(self, call: StreamedCall) -> None:
        self._close()
        call.part = self._start_part("tool_call", call.id, call.name)

    def _end_call(self, call: StreamedCall) -> None:
        if call.part < 0:
            self._start_call(call)
        if call.extra:
            self._opaque(call.part, call.extra)
        self._end_part(call.part)
        call.closed = True

    # ---- ends -------------------------------------------------------------------------------------------------------

    def _close_all(self) -> None:
        """Close all parts. If the answer did not end normally, calls with incomplete arguments stay open, and open
        calls are refused."""
        self._close()
        ended = _STOPS.get(self._reason or "") == "end"
        for call in self._all:
            if not call.closed and (ended or call.is_whole()):
                self._end_call(call)
        if self._details_part >= 0:
            self._opaque(self._details_part, {"reasoning_details": self._details})
            self._end_part(self._details_part)
            self._details, self._details_part = [], -1

    def _stop(self, reason: str) -> tuple[StopReason, str]:
        stop = _STOPS.get(reason, "cut_off")
        if stop == "end":
            if self._all:
                return "tool_calls", ""
            return ("refusal" if self._refused else "end"), ""
        return stop, reason
