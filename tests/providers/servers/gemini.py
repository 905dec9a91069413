"""Google's server for Gemini, as far as a script of an answer needs it. Calls come whole: there are no pieces of
arguments, and nothing to interleave. The end marker is the reason of the end."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from callgate.providers.family import ModelFacts
from callgate.providers.gemini import Gemini
from tests.providers.servers.script import Answer, Call, Phase, Say, pieces

STOPS = {"end": "STOP", "tool_calls": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GeminiWriter:
    family = Gemini()
    facts = ModelFacts("fake-1", "gemini")
    key = "AIza-fake-0123456789"

    def events(self, answer: Answer) -> Sequence[tuple[Phase, bytes]]:
        usage = answer.usage
        counts = {"promptTokenCount": usage.input + usage.cache_read, "cachedContentTokenCount": usage.cache_read}
        always = {"usageMetadata": counts, "modelVersion": answer.model, "responseId": answer.id}

        def chunk(phase: Phase, *parts: dict[str, Any], **more: Any) -> tuple[Phase, bytes]:
            content = {"content": {"role": "model", "parts": list(parts)}} if parts else {}
            candidates = [{**content, "index": 0, **more}] if parts or more else []
            return phase, event({"candidates": candidates, **always})

        found = [chunk("start")]
        for part in answer.parts:
            if isinstance(part, Call):
                call = {"id": part.id, "name": part.name, "args": _arguments(part.arguments)}
                found.append(chunk("call", {"functionCall": call}))
            elif isinstance(part, Say):
                found += [chunk("text", {"text": text}) for text in pieces(part.text, answer.piece)]
            else:
                said = [{"text": text, "thought": True} for text in pieces(part.text, answer.piece)]
                said += [{"text": "", "thought": True, "thoughtSignature": part.signature}] if part.signature else []
                found += [chunk("thinking", each) for each in said]
        thoughts = usage.reasoning
        counts |= {"candidatesTokenCount": usage.output - thoughts, "thoughtsTokenCount": thoughts}
        return [*found, chunk("end", finishReason=STOPS.get(answer.stop_reason, "OTHER"))]

    def error_event(self, kind: Literal["overloaded", "server"], message: str) -> bytes:
        return event(_error(503 if kind == "overloaded" else 500, message))

    def error_body(self, status: int, message: str) -> bytes:
        return json.dumps(_error(status, message)).encode()


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": STATUSES.get(status, "UNKNOWN")}}


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"not_json": text}


def event(data: object) -> bytes:
    return f"data: {json.dumps(data, separators=(',', ':'))}\r\n\r\n".encode()


WRITER = GeminiWriter()
