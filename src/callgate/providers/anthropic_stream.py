"""Parses server-sent events of the Anthropic Messages API.

Blocks without an equivalent in Callgate become ``opaque`` parts into which their deltas are merged: redacted thinking,
server-side tools and their results, compaction, and blocks of unknown types. Events of unknown types are ignored.
"""

from collections.abc import Callable, Mapping, Sequence
from json import dumps, loads
from typing import Any, Final, cast

from callgate.providers.family import ServerEvent, object_of, refuse_constant, rest_of, text_of
from callgate.providers.fault_table import Fault, fault_in_message, fault_of, http_fault
from callgate.words.errors import ModelError, in_words
from callgate.words.messages import Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    OpaqueData,
    PartEnded,
    PartStarted,
    StopReason,
    TextDelta,
    ThinkingDelta,
)
from callgate.words.noun import maker

NAME: Final = "anthropic"

TYPES: Final[Mapping[str, Fault]] = {
    "invalid_request_error": "bad_request",
    "authentication_error": "wrong_key",
    "billing_error": "no_credit",
    "permission_error": "not_allowed",
    "not_found_error": "unknown_model",
    "request_too_large": "too_long",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
    "conflict_error": "conflict",
    "api_error": "server",
    "overloaded_error": "overloaded",
}
_WORDS: Final[tuple[tuple[str, Fault], ...]] = (
    ("prompt is too long", "too_long"),
    ("exceed context limit", "too_long"),
    ("exceeds the maximum number of tokens", "too_long"),
    ("request exceeds the maximum size", "too_long"),
    ("credit balance", "no_credit"),
    ("spend limit", "no_credit"),
    ("usage limits", "no_credit"),
    ("extra usage is required", "no_credit"),
    ("organization has been disabled", "not_allowed"),
    ("image exceeds", "image"),
    ("image dimensions", "image"),
    ("could not process image", "image"),
    ("many-image requests", "image"),
)
"""Substrings of messages that determine the fault where the error type is not specific enough."""


def stream_error(data: object, words: str = "") -> ModelError:
    """Return the ModelError for an ``error`` event inside a stream."""
    fault, detail = _fault_and_message(data)
    given = object_of(data).get("request_id")
    return fault_of(fault or "server", NAME, detail or words, request_id=given if isinstance(given, str) else None)


def http_error(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """Return the ModelError for an HTTP error status."""
    try:
        data = loads(body)
    except (ValueError, RecursionError):
        return http_fault(status, headers, NAME, body[:2000].decode("utf-8", "replace"))
    fault, detail = _fault_and_message(data)
    return http_fault(status, headers, NAME, detail, fault=fault)


def _fault_and_message(data: object) -> tuple[Fault | None, str]:
    given = object_of(object_of(data).get("error"))
    kind, message = given.get("type"), given.get("message")
    message = message if isinstance(message, str) else ""
    fault = fault_in_message(message, _WORDS)
    if fault is None and isinstance(kind, str):
        fault = TYPES.get(kind)
    return fault, message


Given = dict[str, Any]
Out = Sequence[ModelEvent | ModelError]

STOPS: Final[Mapping[str, StopReason]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "context_full",
    "refusal": "refusal",
    "pause_turn": "paused",
    "compaction": "paused",
}
"""Maps ``stop_reason`` of the API. With any other value the message ends as cut off, so that no call is run."""

_text, _thinking, _arguments = maker(TextDelta), maker(ThinkingDelta), maker(ArgumentsDelta)


class _Block:
    """A content block during streaming.

    data  the block of an opaque part, or the fields of a text block or call that have no equivalent in Callgate
    json  the received pieces of the call's input
    """

    __slots__ = ("data", "index", "json", "steps")

    def __init__(self, index: int, steps: "Mapping[str, Step]", data: Given) -> None:
        self.index = index
        self.steps = steps
        self.data = data
        self.json: list[str] = []


Step = Callable[[_Block, Given], Out]


class AnthropicParser:
    """The parser of one answer. Parts are numbered in the order in which their blocks start."""

    def __init__(self) -> None:
        self._open: dict[int, _Block] = {}
        self._parts = 0
        self._calls: set[str] = set()
        self._begun = self._over = False
        self._first = Usage()
        self._counts: dict[str, int] = {}
        self._stop: str | None = None
        self._detail = ""
        self._container: Given | None = None
        self._read: Mapping[str, Callable[[Given], Out]] = {
            "content_block_delta": self._delta,
            "content_block_start": self._started,
            "content_block_stop": self._stopped,
            "message_start": self._message_started,
            "message_delta": self._message_delta,
            "message_stop": self._message_stopped,
            "error": self._error,
        }

    def feed(self, event: ServerEvent) -> Out:
        if self._over or not event.data:
            return ()
        try:
            data = loads(event.data, parse_constant=refuse_constant)
            read = self._read.get(data.get("type") or event.event)
            return () if read is None else read(data)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            if event.event == "error":
                return self._failed(stream_error({}, event.data))
            return self._failed(fault_of("protocol", NAME, f"{event.data[:200]}: {in_words(error)}"))

    def end(self) -> Out:
        self._over = True
        return ()

    def _failed(self, error: ModelError) -> Out:
        self._over = True
        return (error,)

    def _error(self, data: Given) -> Out:
        return self._failed(stream_error(data))

    def _message_started(self, data: Given) -> Out:
        message: Given = data["message"]
        if self._begun:
            raise ValueError("the message started twice")
        self._begun = True
        self._count(message.get("usage"))
        self._first = self._usage()
        return (MessageStarted(text_of(message["id"]), f"{NAME}/{text_of(message['model'])}", self._first),)

    def _started(self, data: Given) -> Out:
        index, given = data["index"], dict[str, Any](data["content_block"])
        if not self._begun or index in self._open:
            raise ValueError("a block started before the message, or twice")
        kind = text_of(given["type"])
        steps = _STEPS.get(kind, _OPAQUE)
        part = self._parts
        self._parts += 1
        block = self._open[index] = _Block(part, steps, given)
        if steps is _OPAQUE:
            return (PartStarted(part, "opaque"),)
        del given["type"]
        if steps is _TEXT:
            return (PartStarted(part, "text"), *_text_delta(block, {"text": given.pop("text", None) or ""}))
        if steps is _THINKING:
            began = {name: given.pop(name, None) or "" for name in ("thinking", "signature")}
            return (PartStarted(part, "thinking"), *_thinking_delta(block, began), *_signature_delta(block, began))
        name, call_id = text_of(given.pop("name")), text_of(given.pop("id"))
        if not name or not call_id or call_id in self._calls:
            raise ValueError("a call without a name or an id of its own")
        self._calls.add(call_id)
        if whole := given.pop("input", None):
            block.json.append(dumps(whole, ensure_ascii=False))
        kept = _without_empty(given)
        started = PartStarted(part, "tool_call", call_id, name)
        return (started, OpaqueData(part, NAME, kept)) if kept else (started,)

    def _delta(self, data: Given) -> Out:
        block = self._open[data["index"]]
        delta = data["delta"]
        step = block.steps.get(delta["type"])
        return () if step is None else step(block, delta)

    def _stopped(self, data: Given) -> Out:
        block = self._open.pop(data["index"])
        steps, part = block.steps, block.index
        if steps is _OPAQUE:
            if block.json:
                block.data["input"] = loads("".join(block.json) or "{}", parse_constant=refuse_constant)
            return (OpaqueData(part, NAME, block.data), PartEnded(part))
        if steps is _CALL:
            whole = "".join(block.json)  # from a server that sends all arguments at once
            return (_arguments(part, whole), PartEnded(part)) if whole else (PartEnded(part),)
        beside = _without_empty(block.data)
        return (PartEnded(part), *self._extra_part({**beside, "on": "block"})) if beside else (PartEnded(part),)

    def _extra_part(self, data: Given) -> Out:
        """Return the events of an opaque part that stores additional fields of the preceding part or of the whole
        message."""
        part = self._parts
        self._parts += 1
        return (PartStarted(part, "opaque"), OpaqueData(part, NAME, data), PartEnded(part))

    def _message_delta(self, data: Given) -> Out:
        delta: Given = data["delta"]
        self._count(data.get("usage"))
        if stop := delta.get("stop_reason"):
            self._stop, self._detail = text_of(stop), _detail(delta)
        if isinstance(container := delta.get("container"), dict):
            self._container = cast("Given", container)
        return ()

    def _message_stopped(self, _: Given) -> Out:
        if not self._begun or self._stop is None or self._open:
            raise ValueError("the message ended before it started, without a reason, or inside a block")
        self._over = True
        reason: StopReason = STOPS.get(self._stop, "cut_off")
        if reason in ("end", "tool_calls"):
            reason = "tool_calls" if self._calls else "end"
        kept = () if self._container is None else self._extra_part({"container": self._container, "on": "message"})
        detail = self._detail if reason not in ("cut_off", "paused") else self._stop
        return (*kept, MessageEnded(reason, rest_of(self._usage(), self._first), detail))

    def _count(self, usage: object) -> None:
        """Store the token counts of an event. Counts are cumulative: later values replace earlier values, and a
        count that is missing in the event is unchanged."""
        given = object_of(usage)
        for name, value in (*given.items(), *object_of(given.get("output_tokens_details")).items()):
            if type(value) is int and value >= 0:
                self._counts[name] = value

    def _usage(self) -> Usage:
        count = self._counts.get
        output = count("output_tokens", 0)
        return Usage(
            input=count("input_tokens", 0),
            cache_read=count("cache_read_input_tokens", 0),
            cache_write=count("cache_creation_input_tokens", 0),
            output=output,
            reasoning=min(count("thinking_tokens", 0), output),
        )


def _detail(delta: Given) -> str:
    if details := object_of(delta.get("stop_details")):
        said = (details.get(name) for name in ("category", "explanation"))
        return ": ".join(each for each in said if isinstance(each, str))
    sequence = delta.get("stop_sequence")
    return sequence if isinstance(sequence, str) else ""


def _without_empty(data: Given) -> Given:
    return {name: value for name, value in data.items() if value is not None and value != []}


def _text_delta(block: _Block, delta: Given) -> Out:
    text = text_of(delta["text"])
    return (_text(block.index, text),) if text else ()


def _citations_delta(block: _Block, delta: Given) -> Out:
    block.data["citations"] = [*(block.data.get("citations") or ()), delta["citation"]]
    return ()


def _thinking_delta(block: _Block, delta: Given) -> Out:
    text = text_of(delta["thinking"])
    return (_thinking(block.index, text),) if text else ()


def _signature_delta(block: _Block, delta: Given) -> Out:
    signature = text_of(delta["signature"])
    return (_thinking(block.index, "", signature),) if signature else ()


def _input_delta(block: _Block, delta: Given) -> Out:
    text = text_of(delta["partial_json"])
    if not text:
        return ()
    if block.json:
        block.json.clear()
    return (_arguments(block.index, text),)


def _append_to(name: str) -> Step:
    def step(block: _Block, delta: Given) -> Out:
        block.data[name] = text_of(block.data.get(name) or "") + text_of(delta[name])
        return ()

    return step


def _opaque_input(block: _Block, delta: Given) -> Out:
    block.json.append(text_of(delta["partial_json"]))
    return ()


def _replaced(block: _Block, delta: Given) -> Out:
    block.data.update({name: value for name, value in delta.items() if name != "type" and value is not None})
    return ()


_TEXT: Final[Mapping[str, Step]] = {"text_delta": _text_delta, "citations_delta": _citations_delta}
_THINKING: Final[Mapping[str, Step]] = {"thinking_delta": _thinking_delta, "signature_delta": _signature_delta}
_CALL: Final[Mapping[str, Step]] = {"input_json_delta": _input_delta}
_OPAQUE: Final[Mapping[str, Step]] = {
    "input_json_delta": _opaque_input,
    "text_delta": _append_to("text"),
    "thinking_delta": _append_to("thinking"),
    "signature_delta": _replaced,
    "citations_delta": _citations_delta,
    "compaction_delta": _replaced,
}
_STEPS: Final[Mapping[str, Mapping[str, Step]]] = {"text": _TEXT, "thinking": _THINKING, "tool_use": _CALL}
