"""OpenAI's Chat Completions API as a compatible server writes it. The reason to finish is its end marker."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from callgate.providers.family import ModelFacts
from callgate.providers.openai_chat import OpenAIChat
from callgate.words.model import Abilities
from tests.providers.servers.openai_responses import error_body
from tests.providers.servers.script import Answer, Call, Part, Phase, Say, pieces, turns

Written = tuple[Phase, bytes]
_REASONS = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
    "context_full": "model_length",
    "cut_off": "abort",
}


class ChatWriter:
    family = OpenAIChat()
    facts = ModelFacts("fake-1", "openai-chat", abilities=Abilities(structured=True))
    key = "sk-chat-0123456789"

    def events(self, answer: Answer) -> Sequence[Written]:
        numbers = {id(part): number for number, part in enumerate(_calls(answer))}
        parts = [[*_part(numbers.get(id(part), 0), part, answer)] for part in answer.parts]
        begun = _chunk(answer, {"role": "assistant", "content": ""})
        return [("start", begun), *turns(answer, parts), ("end", _end(answer))]

    def error_event(self, kind: Literal["overloaded", "server"], message: str) -> bytes:
        code = "overloaded_error" if kind == "overloaded" else "server_error"
        return _event({"error": {"message": message, "type": code, "code": None}})

    def error_body(self, status: int, message: str) -> bytes:
        return error_body(status, message)


def _calls(answer: Answer) -> list[Call]:
    return [part for part in answer.parts if isinstance(part, Call)]


def _part(number: int, part: Part, answer: Answer) -> Iterator[Written]:
    if not isinstance(part, Call):
        phase, field = ("text", "content") if isinstance(part, Say) else ("thinking", "reasoning_content")
        for piece in pieces(part.text, answer.piece):
            yield phase, _chunk(answer, {field: piece})
        return
    begun = {"index": number, "id": part.id, "type": "function", "function": {"name": part.name, "arguments": ""}}
    yield "arguments", _chunk(answer, {"tool_calls": [begun]})
    written = pieces(part.arguments, answer.piece)
    for place, piece in enumerate(written, 1):
        phase = "call" if place == len(written) else "arguments"
        yield phase, _chunk(answer, {"tool_calls": [{"index": number, "function": {"arguments": piece}}]})


def _end(answer: Answer) -> bytes:
    """The reason, the usage and the mark of the end as one: without the first nothing is whole."""
    usage = answer.usage
    prompt = usage.input + usage.cache_read + usage.cache_write
    told = {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
    last = _chunk(answer, {}, _REASONS[answer.stop_reason])
    return last + _event({**_head(answer), "choices": [], "usage": told}) + b"data: [DONE]\n\n"


def _head(answer: Answer) -> dict[str, Any]:
    return {"id": answer.id, "object": "chat.completion.chunk", "created": 1, "model": answer.model}


def _chunk(answer: Answer, delta: dict[str, Any], reason: str | None = None) -> bytes:
    return _event({**_head(answer), "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


WRITER = ChatWriter()
