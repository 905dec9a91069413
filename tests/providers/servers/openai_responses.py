"""OpenAI's Responses API as its server writes it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from callgate.providers.family import ModelFacts
from callgate.providers.openai_responses import OpenAIResponses
from callgate.words.model import Abilities
from tests.providers.servers.script import Answer, Call, Part, Phase, Say, pieces, turns

Written = tuple[Phase, bytes]
_INCOMPLETE = {"max_tokens": "max_output_tokens", "context_full": "max_output_tokens", "refusal": "content_filter"}


class ResponsesWriter:
    family = OpenAIResponses()
    facts = ModelFacts(
        "fake-1",
        "openai",
        thinking="adaptive",
        efforts={"low": "low", "high": "high"},
        abilities=Abilities(structured=True),
    )
    key = "sk-openai-0123456789"

    def events(self, answer: Answer) -> Sequence[Written]:
        parts = [[*_part(index, part, answer)] for index, part in enumerate(answer.parts)]
        begun = {"response": _response(answer, "in_progress", [])}
        return [("start", _event("response.created", begun)), *turns(answer, parts), ("end", _end(answer))]

    def error_event(self, kind: Literal["overloaded", "server"], message: str) -> bytes:
        code = "server_is_overloaded" if kind == "overloaded" else "server_error"
        return _event("error", {"code": code, "message": message, "param": None})

    def error_body(self, status: int, message: str) -> bytes:
        return error_body(status, message)


def error_body(status: int, message: str) -> bytes:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}}).encode()


def _part(index: int, part: Part, answer: Answer) -> Iterator[Written]:
    item = _item(index, part, answer)
    place = {"item_id": item["id"], "output_index": index}
    phase: Phase = "text" if isinstance(part, Say) else "arguments" if isinstance(part, Call) else "thinking"
    empty = (
        {"content": []} if isinstance(part, Say) else {"arguments": ""} if isinstance(part, Call) else {"summary": []}
    )
    yield phase, _event("response.output_item.added", {"output_index": index, "item": {**item, **empty}})
    kind, field = {
        "text": ("output_text", "content_index"),
        "arguments": ("function_call_arguments", ""),
        "thinking": ("reasoning_summary_text", "summary_index"),
    }[phase]
    place |= {field: 0} if field else {}
    text = part.arguments if isinstance(part, Call) else part.text
    for piece in pieces(text, answer.piece):
        yield phase, _event(f"response.{kind}.delta", {**place, "delta": piece})
    whole = {"arguments": text} if isinstance(part, Call) else {"text": text}
    yield phase, _event(f"response.{kind}.done", {**place, **whole})
    ended: Phase = "call" if isinstance(part, Call) else phase
    yield ended, _event("response.output_item.done", {"output_index": index, "item": item})


def _item(index: int, part: Part, answer: Answer) -> dict[str, Any]:
    if isinstance(part, Call):
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": part.id, "name": part.name}
        return {**item, "arguments": part.arguments, "status": "completed"}
    if isinstance(part, Say):
        content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": part.text}]
        return {"id": f"{answer.id}_{index}", "type": "message", "status": "completed", "role": "assistant"} | {
            "content": content
        }
    summary = [{"type": "summary_text", "text": part.text}]
    return {"id": f"rs_{index}", "type": "reasoning", "summary": summary, "encrypted_content": part.signature or "x"}


def _response(answer: Answer, status: str, output: list[Any], **more: Any) -> dict[str, Any]:
    head = {"id": answer.id, "object": "response", "created_at": 1, "status": status, "model": answer.model}
    return {**head, "error": None, "incomplete_details": None, "output": output, "usage": None, **more}


def _end(answer: Answer) -> bytes:
    usage = answer.usage
    told = {
        "input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
    output = [_item(index, part, answer) for index, part in enumerate(answer.parts)]
    why = _INCOMPLETE.get(answer.stop_reason)
    status, details = ("completed", None) if why is None else ("incomplete", {"reason": why})
    response = _response(answer, status, output, usage=told, incomplete_details=details)
    return _event(f"response.{status}", {"response": response})


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


WRITER = ResponsesWriter()
