"""Anthropic's server, as far as a script of an answer needs it."""

import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Literal

from callgate.providers.anthropic import Anthropic
from callgate.providers.family import ModelFacts
from tests.providers.servers.script import Answer, Call, Part, Phase, Say, pieces

STOPS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "context_full": "model_context_window_exceeded",
    "paused": "pause_turn",
}
TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
Event = tuple[Phase, bytes]


class AnthropicWriter:
    family = Anthropic()
    facts = ModelFacts("fake-1", "anthropic")
    key = "sk-ant-fake-0123456789"

    def events(self, answer: Answer) -> Sequence[Event]:
        usage = {
            "input_tokens": answer.usage.input,
            "cache_read_input_tokens": answer.usage.cache_read,
            "cache_creation_input_tokens": answer.usage.cache_write,
        }
        message = {"id": answer.id, "type": "message", "role": "assistant", "content": [], "model": answer.model}
        found = [event("start", "message_start", message={**message, "usage": {**usage, "output_tokens": 1}})]
        found.append(event("start", "ping"))
        blocks = [_block(index, part, answer.piece) for index, part in enumerate(answer.parts)]
        if answer.interleave:
            turns = zip_longest(
                *(block for block, part in zip(blocks, answer.parts, strict=True) if isinstance(part, Call))
            )
            said = [block for block, part in zip(blocks, answer.parts, strict=True) if not isinstance(part, Call)]
            blocks = [*said, [each for turn in turns for each in turn if each is not None]]
        found += [each for block in blocks for each in block]
        totals = {
            "output_tokens": answer.usage.output,
            "output_tokens_details": {"thinking_tokens": answer.usage.reasoning},
        }
        ended = {"stop_reason": STOPS.get(answer.stop_reason, answer.stop_reason), "stop_sequence": None}
        found.append(event("stop", "message_delta", delta=ended, usage=totals))
        return [*found, event("end", "message_stop")]

    def error_event(self, kind: Literal["overloaded", "server"], message: str) -> bytes:
        error = {"type": "overloaded_error" if kind == "overloaded" else "api_error", "message": message}
        return event("stop", "error", error=error)[1]

    def error_body(self, status: int, message: str) -> bytes:
        kind = TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


def _block(index: int, part: Part, size: int) -> list[Event]:
    """The events of one content block."""
    if isinstance(part, Call):
        block: dict[str, Any] = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": text} for text in pieces(part.arguments, size)]
        phase, last = "arguments", "call"
    elif isinstance(part, Say):
        block = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": text} for text in pieces(part.text, size)]
        phase = last = "text"
    else:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": text} for text in pieces(part.text, size)]
        deltas += [{"type": "signature_delta", "signature": part.signature}] if part.signature else []
        phase = last = "thinking"
    return [
        event(phase, "content_block_start", index=index, content_block=block),
        *(event(phase, "content_block_delta", index=index, delta=delta) for delta in deltas),
        event(last, "content_block_stop", index=index),
    ]


def event(phase: Phase, kind: str, **data: Any) -> Event:
    return phase, f"event: {kind}\ndata: {json.dumps({'type': kind, **data}, separators=(',', ':'))}\n\n".encode()


WRITER = AnthropicWriter()
