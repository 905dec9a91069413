"""OpenAI's Chat Completions API, which many other servers imitate.

Most of these know a part of it, and some refuse a request for a field that they do not know. So a request has only the
fields that it needs, and ``ModelFacts.quirks`` say what else a server takes or lacks: see ``QUIRKS``.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, cast

from callgate.providers.family import HttpPost, ModelFacts, StreamParser
from callgate.providers.openai_chat_stream import FAMILY, THINKING_FIELDS, ChatParser
from callgate.providers.openai_shared import (
    Json,
    arguments_text,
    cache_key,
    is_strict,
    kept_for,
    make_headers,
    output_limit,
    pieces,
    result_words,
)
from callgate.providers.request_json import RequestMemo, Written, compact, effort_value, encoded, safe_name
from callgate.words.errors import ModelError
from callgate.words.messages import CallPart, Message, Opaque, ResultPart, Text, Thinking
from callgate.words.model import Request, ToolChoice, ToolSpec

QUIRKS: Mapping[str, str] = {
    "no_sampling": "temperature and stop sequences are refused",
    "max_completion_tokens": "the limit of the output has this name instead of max_tokens",
    "cache_key": "prompt_cache_key is known",
    "developer_role": "the system prompt has the role developer",
    "no_stream_options": "stream_options is refused; the usage comes without being asked for",
    "parallel_tool_calls": "calls in parallel have to be asked for",
    "thinking_type": 'thinking is switched off with {"thinking": {"type": "disabled"}}',
    "reasoning_content": "the thinking of messages with calls has to be sent back, in this field",
    "reasoning": "the thinking of earlier messages can be sent back, in this field",
    "ids_of_nine": "a call id has exactly nine letters or digits",
}
_LONGEST_ID = 40
_LONGEST_NAME = 64
_NO_IMAGES_THERE = "(An image follows in the next message.)"


class OpenAIChat:
    """``provider`` is the name in errors for people."""

    name: str = FAMILY

    def __init__(self, provider: str = FAMILY) -> None:
        self._provider = provider
        self._messages = RequestMemo[Message, _Said]()
        self._tools = RequestMemo[ToolSpec, Written]()

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        notes: list[str] = []
        messages = _messages(request, facts, self._messages.of(request.messages, partial(_said, facts), facts))
        tools = self._tools.of(request.tools, _tool)
        body = _body(request, facts, notes, messages, tools)
        return HttpPost("/chat/completions", make_headers(request, key), compact(body)), notes

    def parser(self) -> StreamParser:
        return ChatParser(self._provider)

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        from callgate.providers.openai_faults import read_fault  # costly to load, and rarely needed

        return read_fault(status, headers, body, self._provider)


def _tool(tool: ToolSpec) -> Written:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return Written(encoded({"type": "function", "function": function}))


def _body(
    request: Request, facts: ModelFacts, notes: list[str], messages: Sequence[Json | Written], tools: list[Written]
) -> Json:
    body: Json = {"model": facts.name, "messages": messages}
    if tools:
        body["tools"] = tools
        choice = _choice(request.tool_choice, facts, notes)
        if choice != "auto":
            body["tool_choice"] = choice
        if "parallel_tool_calls" in facts.quirks:
            body["parallel_tool_calls"] = True
    body["stream"] = True
    if "no_stream_options" not in facts.quirks:
        body["stream_options"] = {"include_usage": True}
    _put_options(body, request, facts, notes)
    return {**body, **request.options.body}


def _choice(wanted: ToolChoice, facts: ModelFacts, notes: list[str]) -> Any:
    choice = facts.abilities.nearest(wanted)
    if choice is not wanted:
        notes.append(f"{facts.name} cannot be held to the tool choice {wanted.kind!r}: {choice.kind!r} is used.")
    return {"type": "function", "function": {"name": choice.name}} if choice.kind == "named" else choice.kind


def _put_options(body: Json, request: Request, facts: ModelFacts, notes: list[str]) -> None:
    options, quirks, note = request.options, facts.quirks, notes.append
    limit = output_limit(request, facts, note)
    if limit is not None:
        body["max_completion_tokens" if "max_completion_tokens" in quirks else "max_tokens"] = limit
    _put_thinking(body, request, facts, notes)
    if options.temperature is not None:
        if "no_sampling" in quirks:
            note(f"{facts.name} takes no temperature: it was left out.")
        else:
            body["temperature"] = options.temperature
    if options.stop:
        if "no_sampling" in quirks:
            note(f"{facts.name} takes no stop sequences: they were left out.")
        else:
            body["stop"] = list(options.stop)
    if request.output is not None:
        if facts.abilities.structured:
            schema = {"name": "answer", "schema": request.output, "strict": is_strict(request.output)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            note(f"{facts.name} cannot be held to a JSON Schema: it was left out.")
    if options.service_tier is not None:
        body["service_tier"] = options.service_tier
    if "cache_key" in quirks and (key := cache_key(request)) is not None:
        body["prompt_cache_key"] = key


def _put_thinking(body: Json, request: Request, facts: ModelFacts, notes: list[str]) -> None:
    wanted, level = request.options.thinking, request.options.effort
    effort = None if level is None else effort_value(facts, level, notes)
    if isinstance(effort, Mapping):  # a server with fields of its own
        body.update(cast("Json", effort))
    elif effort is not None:
        body["reasoning_effort"] = effort
    if wanted == "off":
        if facts.thinking == "always":
            notes.append(f"{facts.name} cannot be kept from thinking.")
        elif "thinking_type" in facts.quirks:
            body["thinking"] = {"type": "disabled"}
        elif facts.thinking != "none":
            body["reasoning_effort"] = "none"
    elif isinstance(wanted, int) or request.limits.max_thinking_tokens is not None:
        notes.append(f"{facts.name} takes no budget for thinking: it was left out, effort is what it knows.")


# ---- the conversation -----------------------------------------------------------------------------------------------


def _messages(request: Request, facts: ModelFacts, found: list["_Said"]) -> list[Json | Written]:
    """A message of a tool has text alone: its images follow as a message of the user, after all results of a turn."""
    role = "developer" if "developer_role" in facts.quirks else "system"
    messages: list[Json | Written] = [{"role": role, "content": request.system}] if request.system else []
    images: list[Json] = []
    for message, (said, shown) in zip(request.messages, found, strict=True):
        if message.role == "tool":
            messages += said
            images += shown
        elif message.role == "user" and images and shown:
            messages.append({"role": "user", "content": images + shown})
            images = []
        else:
            if images:
                messages.append({"role": "user", "content": images})
                images = []
            messages += said
    if images:
        messages.append({"role": "user", "content": images})
    return messages


_Said = tuple[list[Written], list[Json]]


def _said(facts: ModelFacts, message: Message) -> _Said:
    """The messages of the API for one of ours, and contents that may share a message of the user with others."""
    contents: list[Json] = []
    said: list[Json] = []
    if message.role == "tool":
        said = [_result(part, facts, contents) for part in message.parts if isinstance(part, ResultPart)]
    elif message.role == "assistant":
        answer = _answer(message, facts)
        said = [] if answer is None else [answer]
    else:
        contents = [_content(*piece) for piece in pieces(message.parts, facts)]
        said = [{"role": "user", "content": _simple(contents)}] if contents else []
    return [Written(encoded(each)) for each in said], contents


def _simple(content: list[Json]) -> str | list[Json]:
    """Plain text where it is no more: every server takes that."""
    return content[0]["text"] if len(content) == 1 and content[0]["type"] == "text" else content


def _content(kind: str, value: str, name: str) -> Json:
    if kind == "text":
        return {"type": "text", "text": value}
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": value}}
    return {"type": "file", "file": {"filename": name, "file_data": value}}


def _result(result: ResultPart, facts: ModelFacts, images: list[Json]) -> Json:
    texts: list[str] = []
    others: list[Json] = []
    for piece in pieces(result.content, facts):
        if piece[0] == "text":
            texts.append(piece[1])
        else:
            others.append(_content(*piece))
    call_id = _id(result.call_id, facts)
    if others:
        texts.append(_NO_IMAGES_THERE)
        images += [{"type": "text", "text": f"Of the result of {result.name} ({call_id}):"}, *others]
    return {"role": "tool", "tool_call_id": call_id, "content": result_words(texts, is_error=result.is_error)}


def _answer(message: Message, facts: ModelFacts) -> Json | None:
    texts = [part.text for part in message.parts if isinstance(part, Text) and part.text]
    calls = [_call(part, facts) for part in message.parts if isinstance(part, CallPart)]
    if not texts and not calls:
        return None
    answer: Json = {"role": "assistant", "content": "".join(texts) or None}
    own = (message.model or "").startswith(f"{FAMILY}/")
    thought = "\n\n".join(part.text for part in message.parts if isinstance(part, Thinking) and own)
    for field in THINKING_FIELDS:
        if field in facts.quirks and (thought or (calls and field == "reasoning_content")):
            answer[field] = thought
    details: list[Any] = []
    for part in message.parts:
        if isinstance(part, Opaque) and part.provider == FAMILY and isinstance(part.data, Mapping):
            details += part.data.get("reasoning_details") or ()
    if details:
        answer["reasoning_details"] = details
    if calls:
        answer["tool_calls"] = calls
    return answer


def _call(call: CallPart, facts: ModelFacts) -> Json:
    return {
        "id": _id(call.id, facts),
        "type": "function",
        "function": {"name": safe_name(call.name, _LONGEST_NAME), "arguments": arguments_text(call)},
        **kept_for(FAMILY, call.kept),
    }


def _id(call_id: str, facts: ModelFacts) -> str:
    if "ids_of_nine" not in facts.quirks:
        return safe_name(call_id, _LONGEST_ID)
    fits = len(call_id) == 9 and call_id.isascii() and call_id.isalnum()
    return call_id if fits else sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]
