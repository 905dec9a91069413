"""Parses server-sent events of Gemini's ``streamGenerateContent``.

Each event contains the next parts of the answer. Consecutive texts are merged into one part, and consecutive
thoughts too. Parts without an equivalent in Callgate (code run by the provider, files, server tools) become
``opaque`` parts. The signature of a call is stored in the call. The signature of a text is stored in an ``opaque``
part after the text, with the number of signed characters, because the API requires signed text as a part of its own.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from json import dumps
from typing import Any, Final, cast

from callgate.providers.family import Json, rest_of, text_of
from callgate.providers.stream_parser import EventParser
from callgate.words.messages import Usage
from callgate.words.model import StopReason

NAME: Final = "gemini"
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


class GeminiParser(EventParser):
    """The parser of one answer. The answer ends when the connection closes, because token counts may follow the
    finish reason."""

    def __init__(self, provider: str = NAME) -> None:
        super().__init__(NAME, provider)
        self._ids: set[str] = set()
        self._id = ""
        self._pending: PartialCall | None = None
        self._first = Usage()
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._reason: str | None = None
        self._blocked = False
        self._words = ""

    def _end(self) -> None:
        if self._reason is None:
            return
        self._close()
        stop: StopReason = "refusal" if self._blocked else STOPS.get(self._reason, "cut_off")
        if stop == "end":
            stop = "tool_calls" if self._ids else "end" if self._parts else "cut_off"
            stop = "cut_off" if self._pending is not None else stop
        said = () if self._reason == "STOP" and self._parts else (self._reason,)
        detail = ": ".join((*said, *filter(None, [self._words])))
        self._finish(stop, rest_of(self._usage(), self._first), detail)

    def _read(self, data: Json, name: str) -> None:
        if "error" in data:
            self._fail(data)
            return
        if counts := data.get("usageMetadata"):
            for count in _COUNTS:
                if type(value := counts.get(count)) is int:
                    self._counts[count] = max(0, value)
        if not self._started:
            self._id = text_of(data.get("responseId") or NAME)
            self._first = self._usage()
            self._start_message(self._id, text_of(data.get("modelVersion") or "unknown"), self._first)
        if candidates := data.get("candidates"):
            candidate: Json = candidates[0]
            content: Json | None = candidate.get("content")
            if content and (parts := content.get("parts")):
                for part in parts:
                    self._part(part)
            if reason := candidate.get("finishReason"):
                self._finished(reason, candidate.get("finishMessage"))
        if (feedback := data.get("promptFeedback")) and (reason := feedback.get("blockReason")):
            self._finished(reason, feedback.get("blockReasonMessage"))
            self._blocked = self._reason == reason

    def _finished(self, reason: object, words: object) -> None:
        if text_of(reason) not in _UNSPECIFIED:
            self._reason = text_of(reason)
            self._words = words if isinstance(words, str) else self._words

    def _part(self, part: Json) -> None:
        text = part.get("text")
        if "functionCall" in part:
            self._call(part)
        elif type(text) is not str:
            self._close()
            self._opaque_part(dict(part))
        elif part.get("thought"):
            if text:
                self._thinking(self._switch("thinking"), text)
            if signature := part.get("thoughtSignature"):
                self._thinking(self._switch("thinking"), "", text_of(signature))
                self._close()
        else:
            if text:
                self._text(self._switch("text"), text)
            if len(part) > 1 and (beside := {name: value for name, value in part.items() if name not in _OWN}):
                self._close()
                self._opaque_part({**beside, "on": "text", "chars": len(text)} if text else dict(part))

    def _call(self, part: Json) -> None:
        self._close()
        call: Json = part["functionCall"]
        pending = self._pending
        if pending is None:
            name, given = text_of(call["name"]), text_of(call.get("id") or "")
            if not name:
                raise ValueError("a call without a name")
            wanted = given or f"{self._id}-{len(self._ids) + 1}"
            call_id = wanted if wanted not in self._ids else f"{wanted}-{len(self._ids) + 1}"
            self._ids.add(call_id)
            pending = PartialCall(self._start_part("tool_call", call_id, name))
        pending.add(part)
        self._pending = pending if call.get("willContinue") is True else None
        if self._pending is None:
            if pending.kept:
                self._opaque(pending.part, pending.kept)
            self._arguments(pending.part, dumps(pending.arguments, ensure_ascii=False))
            self._end_part(pending.part)

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

    def __init__(self, part: int) -> None:
        self.part = part
        self.arguments: Json = {}
        self.kept: Json = {}

    def add(self, part: Json) -> None:
        call: Json = part["functionCall"]
        whole = call.get("args")
        if whole is not None:
            if not isinstance(whole, dict):
                raise TypeError("arguments are not an object")
            self.arguments.update(cast("Json", whole))
        for piece in call.get("partialArgs") or ():
            self._put(piece)
        gone = ("name", "args", "partialArgs", "willContinue")
        own = {name: value for name, value in call.items() if name not in gone and value is not None}
        beside = {name: value for name, value in part.items() if name != "functionCall"}
        self.kept.update({**({"functionCall": own} if own else {}), **beside})

    def _put(self, piece: Json) -> None:
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
