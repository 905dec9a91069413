"""Parses server-sent events of Gemini's ``streamGenerateContent``.

Each event contains the next parts of the answer. Consecutive texts are merged into one part, and consecutive
thoughts too. Parts without an equivalent in Callgate (code run by the provider, files, server tools) become
``opaque`` parts. The signature of a call is stored in the call. The signature of a text is stored in an ``opaque``
part after the text, with the number of signed characters, because the API requires signed text as a part of its own.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from json import dumps, loads
from typing import Any, Final, Literal, cast

from callgate.providers.family import ServerEvent, object_of, refuse_constant, rest_of, text_of
from callgate.providers.fault_table import (
    Fault,
    fault_by_status,
    fault_in_message,
    fault_of,
    request_id_of,
    retry_after,
)
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

NAME: Final = "gemini"

STATUSES: Final[Mapping[str, Fault]] = {
    "INVALID_ARGUMENT": "bad_request",
    "FAILED_PRECONDITION": "bad_request",
    "OUT_OF_RANGE": "bad_request",
    "UNIMPLEMENTED": "bad_request",
    "UNAUTHENTICATED": "wrong_key",
    "PERMISSION_DENIED": "not_allowed",
    "NOT_FOUND": "unknown_model",
    "RESOURCE_EXHAUSTED": "rate_limited",
    "ABORTED": "conflict",
    "CANCELLED": "server",
    "INTERNAL": "server",
    "UNKNOWN": "server",
    "DATA_LOSS": "server",
    "UNAVAILABLE": "overloaded",
    "DEADLINE_EXCEEDED": "timeout",
}
_WORDS: Final[tuple[tuple[str, Fault], ...]] = (
    ("api key not valid", "wrong_key"),
    ("api key expired", "wrong_key"),
    ("api key not found", "wrong_key"),
    ("api key was reported as leaked", "wrong_key"),
    ("exceeds the maximum number of tokens", "too_long"),
    ("input token count", "too_long"),
    ("payload size exceeds", "too_long"),
    ("input image", "image"),
    ("credits are depleted", "no_credit"),
    ("spending cap", "no_credit"),
    ("enable billing", "no_credit"),
)
"""Substrings of messages that determine the fault where the status is not specific enough."""


def stream_error(data: object) -> ModelError:
    """Return the ModelError for an error event inside a stream."""
    error = _error_object(data)
    code = error.get("code")
    return _model_error(error, code if type(code) is int else 500, {})


def http_error(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """Return the ModelError for an HTTP error status."""
    try:
        error = _error_object(loads(body))
    except (ValueError, RecursionError):
        error = {}
    return _model_error(error or {"message": body[:2000].decode("utf-8", "replace")}, status, headers)


def _model_error(error: dict[str, Any], status: int, headers: Mapping[str, str]) -> ModelError:
    message, name = error.get("message"), error.get("status")
    message = message if isinstance(message, str) else ""
    fault = fault_in_message(message, _WORDS)
    if fault is None and isinstance(name, str):
        fault = STATUSES.get(name)
    wait, daily = _quota_details(error.get("details"))
    after = retry_after(headers)
    return fault_of(
        fault or fault_by_status(status),
        NAME,
        f"HTTP {status}: {message}" if message else f"HTTP {status}",
        request_id=request_id_of(headers),
        retry_after=wait if after is None else after,
        retryable=False if daily else None,
    )


def _error_object(data: object) -> dict[str, Any]:
    if isinstance(data, list) and data:
        data = cast("list[object]", data)[0]
    return object_of(object_of(cast("object", data)).get("error"))


def _quota_details(details: object) -> tuple[float | None, bool]:
    wait: float | None = None
    daily = False
    for detail in cast("list[object]", details) if isinstance(details, list) else ():
        given = object_of(detail)
        delay, violations = given.get("retryDelay"), given.get("violations")
        if isinstance(delay, str) and delay[:-1].replace(".", "", 1).isdecimal() and delay.endswith("s"):
            wait = float(delay[:-1])
        for violation in cast("list[object]", violations) if isinstance(violations, list) else ():
            daily = daily or "PerDay" in str(object_of(violation).get("quotaId"))
    return wait, daily


Given = dict[str, Any]
Out = list[ModelEvent | ModelError]

STOPS: Final[Mapping[str, StopReason]] = {
    "STOP": "end",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "max_tokens",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
    "ESCALATION": "refusal",
    "MODEL_ARMOR": "refusal",
    "PUP_LIMITED_DISABLED": "refusal",
    "MALFORMED_FUNCTION_CALL": "cut_off",
    "MALFORMED_RESPONSE": "cut_off",
    "UNEXPECTED_TOOL_CALL": "cut_off",
    "TOO_MANY_TOOL_CALLS": "cut_off",
    "MISSING_THOUGHT_SIGNATURE": "cut_off",
    "NO_IMAGE": "cut_off",
    "IMAGE_OTHER": "cut_off",
    "OTHER": "cut_off",
}
"""Maps ``finishReason`` of the API. For any other value, the message is treated as cut off, so that no call is run."""
_UNSPECIFIED: Final = ("FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")
_COUNTS: Final = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
)

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,4})\]|\['([^']*)'\]|\["([^"]*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_DEEPEST = 64

_text, _thinking = maker(TextDelta), maker(ThinkingDelta)


class GeminiParser:
    """The parser of one answer. The answer ends when the connection closes, because token counts may follow the
    finish reason."""

    def __init__(self) -> None:
        self._open: Literal["text", "thinking"] | None = None
        self._parts = 0
        self._ids: set[str] = set()
        self._id = ""
        self._pending: PartialCall | None = None
        self._begun = self._over = False
        self._first = Usage()
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._finish: str | None = None
        self._blocked = False
        self._words = ""

    def feed(self, event: ServerEvent) -> Sequence[ModelEvent | ModelError]:
        if self._over or not event.data:
            return ()
        out: Out = []
        try:
            data: Given = loads(event.data, parse_constant=refuse_constant)
            if "error" in data:
                self._over = True
                return (stream_error(data),)
            self._read(data, out)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
            self._over = True
            out.append(fault_of("protocol", NAME, f"{event.data[:200]}: {in_words(error)}"))
        return out

    def end(self) -> Sequence[ModelEvent | ModelError]:
        if self._over or self._finish is None:
            self._over = True
            return ()
        self._over = True
        out: Out = []
        self._close(out)
        reason: StopReason = "refusal" if self._blocked else STOPS.get(self._finish, "cut_off")
        if reason == "end":
            reason = "tool_calls" if self._ids else "end" if self._parts else "cut_off"
            reason = "cut_off" if self._pending is not None else reason
        said = () if self._finish == "STOP" and self._parts else (self._finish,)
        detail = ": ".join((*said, *filter(None, [self._words])))
        out.append(MessageEnded(reason, rest_of(self._usage(), self._first), detail))
        return out

    def _read(self, data: Given, out: Out) -> None:
        if counts := data.get("usageMetadata"):
            for name in _COUNTS:
                if type(value := counts.get(name)) is int:
                    self._counts[name] = max(0, value)
        if not self._begun:
            self._begin(data, out)
        candidates = data.get("candidates")
        if candidates:
            candidate: Given = candidates[0]
            content: Given | None = candidate.get("content")
            if content and (parts := content.get("parts")):
                for part in parts:
                    self._part(part, out)
            if reason := candidate.get("finishReason"):
                self._finished(reason, candidate.get("finishMessage"))
        if (feedback := data.get("promptFeedback")) and (reason := feedback.get("blockReason")):
            self._finished(reason, feedback.get("blockReasonMessage"))
            self._blocked = self._finish == reason

    def _begin(self, data: Given, out: Out) -> None:
        self._begun = True
        self._id = text_of(data.get("responseId") or NAME)
        self._first = self._usage()
        out.append(MessageStarted(self._id, f"{NAME}/{text_of(data.get('modelVersion') or 'unknown')}", self._first))

    def _finished(self, reason: object, words: object) -> None:
        if text_of(reason) not in _UNSPECIFIED:
            self._finish = text_of(reason)
            self._words = words if isinstance(words, str) else self._words

    def _part(self, part: Given, out: Out) -> None:
        text = part.get("text")
        if "functionCall" in part:
            self._call(part, out)
        elif type(text) is not str:
            self._opaque(dict(part), out)
        elif part.get("thought"):
            if text:
                self._switch("thinking", out)
                out.append(_thinking(self._parts - 1, text))
            if signature := part.get("thoughtSignature"):
                self._switch("thinking", out)
                out.append(_thinking(self._parts - 1, "", text_of(signature)))
                self._close(out)
        else:
            if text:
                self._switch("text", out)
                out.append(_text(self._parts - 1, text))
            if len(part) > 1 and (beside := {name: value for name, value in part.items() if name not in _OWN}):
                self._opaque({**beside, "on": "text", "chars": len(text)} if text else dict(part), out)

    def _call(self, part: Given, out: Out) -> None:
        self._close(out)
        call: Given = part["functionCall"]
        pending = self._pending
        if pending is None:
            name, given = text_of(call["name"]), text_of(call.get("id") or "")
            if not name:
                raise ValueError("a call without a name")
            wanted = given or f"{self._id}-{len(self._ids) + 1}"
            call_id = wanted if wanted not in self._ids else f"{wanted}-{len(self._ids) + 1}"
            self._ids.add(call_id)
            pending = PartialCall(self._parts)
            self._parts += 1
            out.append(PartStarted(pending.index, "tool_call", call_id, name))
        pending.add(part)
        self._pending = pending if call.get("willContinue") is True else None
        if self._pending is None:
            if kept := pending.kept:
                out.append(OpaqueData(pending.index, NAME, kept))
            arguments = dumps(pending.arguments, ensure_ascii=False)
            out += (ArgumentsDelta(pending.index, arguments), PartEnded(pending.index))

    def _opaque(self, data: Given, out: Out) -> None:
        self._close(out)
        index = self._parts
        self._parts += 1
        out += (PartStarted(index, "opaque"), OpaqueData(index, NAME, data), PartEnded(index))

    def _switch(self, kind: Literal["text", "thinking"], out: Out) -> None:
        if self._open is not kind:
            self._close(out)
            self._open = kind
            out.append(PartStarted(self._parts, kind))
            self._parts += 1

    def _close(self, out: Out) -> None:
        if self._open is not None:
            self._open = None
            out.append(PartEnded(self._parts - 1))

    def _usage(self) -> Usage:
        """Return the token counts as Usage. The API includes cached tokens in the prompt count, and excludes
        thoughts from the answer count."""
        prompt, cached, tools, answer, thoughts = (self._counts[name] for name in _COUNTS)
        return Usage(
            input=max(0, prompt - cached) + tools, cache_read=cached, output=answer + thoughts, reasoning=thoughts
        )


_OWN: Final = frozenset({"text", "thought"})


class PartialCall:
    """A call during streaming. Its arguments arrive complete, or in pieces addressed by a JSON path.

    kept  the other fields of the part, such as the signature
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self.arguments: Given = {}
        self.kept: Given = {}

    def add(self, part: Given) -> None:
        call: Given = part["functionCall"]
        whole = call.get("args")
        if whole is not None:
            if not isinstance(whole, dict):
                raise TypeError("arguments are not an object")
            self.arguments.update(cast("Given", whole))
        for piece in call.get("partialArgs") or ():
            self._put(piece)
        gone = ("name", "args", "partialArgs", "willContinue")
        own = {name: value for name, value in call.items() if name not in gone and value is not None}
        beside = {name: value for name, value in part.items() if name != "functionCall"}
        self.kept.update({**({"functionCall": own} if own else {}), **beside})

    def _put(self, piece: Given) -> None:
        path = [_key(found) for found in _STEP.finditer(piece["jsonPath"])]
        name = next(name for name in _VALUES if name in piece) if any(map(piece.__contains__, _VALUES)) else None
        if not path or len(path) > _DEEPEST or name is None:
            return
        at: Any = self.arguments
        for here, following in pairwise(path):
            at = _place(at, here, [] if isinstance(following, int) else {})
        value = None if name == "nullValue" else piece[name]
        before = _place(at, path[-1], None)
        joined = before + value if isinstance(before, str) and isinstance(value, str) else value
        at[path[-1]] = joined


def _key(found: re.Match[str]) -> str | int:
    name, number, single, double = found.groups()
    return int(number) if number is not None else next(each for each in (name, single, double) if each is not None)


def _place(at: Any, key: str | int, default: Any) -> Any:
    if isinstance(key, int):
        while len(at) <= key:
            at.append(None)
        if at[key] is None:
            at[key] = default
        return at[key]
    return at.setdefault(key, default)
