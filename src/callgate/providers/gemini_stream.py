"""Parses server-sent events of Gemini's ``streamGenerateContent``.

Each event contains the next parts of the answer. Consecutive texts are merged into one part, and consecutive
thoughts too. Parts without an equivalent in Callgate (code run by the provider, files, server tools) become
``opaque`` parts. The signature of a call is stored in the call. The signature of a text is stored in an ``opaque``
part after the text, with the number of signed characters, because the API requires signed text as a part of its own.
"""

from collections.abc import Mapping
from json import dumps
from typing import Final

from callgate.providers.family import Json, rest_of, text_of
from callgate.providers.stream_parser import EventParser
from callgate.words.messages import Usage
from callgate.words.model import StopReason

NAME: Final = "gemini"
_REASONS: Final[Mapping[StopReason, str]] = {
    "end": "STOP",
    "max_tokens": "MAX_TOKENS CONTINUATION",
    "refusal": "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT "
    "IMAGE_RECITATION ESCALATION MODEL_ARMOR PUP_LIMITED_DISABLED",
    "cut_off": "MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS "
    "MISSING_THOUGHT_SIGNATURE NO_IMAGE IMAGE_OTHER OTHER",
}
STOPS: Final[Mapping[str, StopReason]] = {
    reason: stop for stop, reasons in _REASONS.items() for reason in reasons.split()
}
"""Maps ``finishReason`` of the API. For any other value, the message is treated as cut off, so that no call is run."""
_OWN: Final = frozenset({"text", "thought"})
_UNSPECIFIED: Final = ("FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")
_COUNTS: Final = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
)


class GeminiParser(EventParser):
    """The parser of one answer. The answer ends when the connection closes, because token counts may follow the
    finish reason."""

    def __init__(self, provider: str = NAME) -> None:
        super().__init__(NAME, provider)
        self._ids: set[str] = set()
        self._id = ""
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
        name, given, arguments = text_of(call["name"]), text_of(call.get("id") or ""), call.get("args")
        if not name or not isinstance(arguments, dict | None):
            raise ValueError("a call without a name or with arguments that are no object")
        if "partialArgs" in call or call.get("willContinue"):
            raise ValueError("a call in pieces, which the request did not ask for")
        wanted = given or f"{self._id}-{len(self._ids) + 1}"
        call_id = wanted if wanted not in self._ids else f"{wanted}-{len(self._ids) + 1}"
        self._ids.add(call_id)
        index = self._start_part("tool_call", call_id, name)
        own = {name: value for name, value in call.items() if name not in ("name", "args") and value is not None}
        beside = {name: value for name, value in part.items() if name != "functionCall"}
        if own or beside:
            self._opaque(index, {"functionCall": own, **beside} if own else beside)
        self._arguments(index, dumps(arguments or {}, ensure_ascii=False))
        self._end_part(index)

    def _usage(self) -> Usage:
        """Return the token counts as Usage. The API includes cached tokens in the prompt count, and excludes
        thoughts from the answer count."""
        prompt, cached, tools, answer, thoughts = (self._counts[name] for name in _COUNTS)
        return Usage(
            input=max(0, prompt - cached) + tools, cache_read=cached, output=answer + thoughts, reasoning=thoughts
        )
