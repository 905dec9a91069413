"""OpenAI's Chat Completions API, which many other servers imitate.

Most of these servers support a subset of the API, and some reject requests with unknown fields. So a request has
only the necessary fields, and ``ModelFacts.quirks`` list the differences of a server: see docs/guides/models.md.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, cast

from callgate.providers.content_pieces import ContentPiece, pieces
from callgate.providers.family import HttpPost, Json, ModelFacts, StreamParser
from callgate.providers.openai_chat_stream import FAMILY, THINKING_FIELDS, ChatParser
from callgate.providers.openai_shared import (
    arguments_text,
    cache_key,
    file_name,
    kept_for,
    make_post,
    note_budget,
    output_limit,
    result_words,
    strict_schema,
)
from callgate.providers.request_json import (
    RequestMemo,
    Written,
    answer_schema,
    effort_value,
    encode_json,
    nearest_choice,
    put_temperature,
    safe_name,
)
from callgate.providers.server_faults import ApiFamily
from callgate.words.messages import CallPart, Message, Opaque, ResultPart, Text, Thinking
from callgate.words.model import Request, ToolSpec

_LONGEST_ID = 40
_LONGEST_NAME = 64
_NO_IMAGES_THERE = "(An image follows in the next message.)"


class OpenAIChat(ApiFamily):
    name: str = FAMILY

    def __init__(self, provider: str = FAMILY) -> None:
        super().__init__(provider)
        self._messages = RequestMemo[Message, _ApiMessages]()
        self._tools = RequestMemo[ToolSpec, Written]()

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        notes: list[str] = []
        messages = _messages(
            request, facts, self._messages.convert(request.messages, partial(_api_messages, facts), facts)
        )
        tools = self._tools.convert(request.tools, _tool)
        return make_post("/chat/completions", request, key, _body(request, facts, notes, messages, tools)), notes

    def parser(self) -> StreamParser:
        return ChatParser(self._provider)


def _tool(tool: ToolSpec) -> Written:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return Written(encode_json({"type": "function", "function": function}))


def _body(
    request: Request, facts: ModelFacts, notes: list[str], messages: Sequence[Json | Written], tools: list[Written]
) -> Json:
    body: Json = {"model": facts.name, "messages": messages}
    if tools:
        body["tools"] = tools
        choice = _choice(request, facts, notes)
        if choice != "auto":
            body["tool_choice"] = choice
        if "parallel_tool_calls" in facts.quirks:
            body["parallel_tool_calls"] = True
    body["stream"] = True
    if "no_stream_options" not in facts.quirks:
        body["stream_options"] = {"include_usage": True}
    _put_options(body, request, facts, notes)
    return body


def _choice(request: Request, facts: ModelFacts, notes: list[str]) -> Any:
    choice = nearest_choice(request, facts, notes)
    return {"type": "function", "function": {"name": choice.name}} if choice.kind == "named" else choice.kind


def _put_options(body: Json, request: Request, facts: ModelFacts, notes: list[str]) -> None:
    options, quirks = request.options, facts.quirks
    limit = output_limit(request, facts, notes)
    if limit is not None:
        body["max_completion_tokens" if "max_completion_tokens" in quirks else "max_tokens"] = limit
    _put_thinking(body, request, facts, notes)
    put_temperature(body, request, facts, notes, refused="no_sampling" in quirks)
    if options.stop and "no_sampling" in quirks:
        notes.append(f"{facts.name} does not support stop sequences: omitted.")
    elif options.stop:
        body["stop"] = list(options.stop)
    if (schema := answer_schema(request, facts, notes)) is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": strict_schema(schema)}
    if options.service_tier is not None:
        body["service_tier"] = options.service_tier
    if "cache_key" in quirks and (key := cache_key(request)) is not None:
        body["prompt_cache_key"] = key


def _put_thinking(body: Json, request: Request, facts: ModelFacts, notes: list[str]) -> None:
    wanted, level = request.options.thinking, request.options.effort
    effort = None if level is None else effort_value(facts, level, notes)
    if isinstance(effort, Mapping):  # fields of another server
        body.update(cast("Json", effort))
    elif effort is not None:
        body["reasoning_effort"] = effort
    if wanted == "off":
        if facts.thinking == "always":
            notes.append(f"{facts.name} always thinks; thinking cannot be turned off.")
        elif "thinking_type" in facts.quirks:
            body["thinking"] = {"type": "disabled"}
        elif facts.thinking != "none":
            body["reasoning_effort"] = "none"
    else:
        note_budget(request, facts, notes)


# ---- the conversation -----------------------------------------------------------------------------------------------


def _messages(request: Request, facts: ModelFacts, found: list["_ApiMessages"]) -> list[Json | Written]:
    """Return the messages of the request body. Tool messages can contain only text, so the images of results follow
    in a user message after all results of a turn."""
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


_ApiMessages = tuple[list[Written], list[Json]]


def _api_messages(facts: ModelFacts, message: Message) -> _ApiMessages:
    contents: list[Json] = []
    said: list[Json] = []
    if message.role == "tool":
        said = [_result(part, facts, contents) for part in message.parts if isinstance(part, ResultPart)]
    elif message.role == "assistant":
        answer = _answer(message, facts)
        said = [] if answer is None else [answer]
    else:
        contents = [*map(_content, pieces(message.parts, facts))]
        said = [{"role": "user", "content": _plain_text(contents)}] if contents else []
    return [Written(encode_json(each)) for each in said], contents


def _plain_text(content: list[Json]) -> str | list[Json]:
    """Return a single text as a string, because every server accepts strings. Return other contents unchanged."""
    return content[0]["text"] if len(content) == 1 and content[0]["type"] == "text" else content


def _content(piece: ContentPiece) -> Json:
    if piece.kind == "text":
        return {"type": "text", "text": piece.data}
    if piece.kind == "image":
        return {"type": "image_url", "image_url": {"url": piece.url}}
    return {"type": "file", "file": {"filename": file_name(piece), "file_data": piece.url}}


def _result(result: ResultPart, facts: ModelFacts, images: list[Json]) -> Json:
    found = pieces(result.content, facts)
    texts = [piece.data for piece in found if piece.kind == "text"]
    others = [_content(piece) for piece in found if piece.kind != "text"]
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
