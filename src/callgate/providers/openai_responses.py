"""OpenAI's Responses API without server-side state: each request contains the whole conversation, including encrypted
reasoning."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import Any

from callgate.providers.content_pieces import ContentPiece, defined_in, pieces
from callgate.providers.family import HttpPost, Json, ModelFacts, StreamParser
from callgate.providers.openai_responses_stream import FAMILY, LENGTHS, TEXT_FIELDS, THOUGHTS, ResponsesParser
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
from callgate.words.tool_search import SEARCH

_LONGEST_ID = 64
_LONGEST_NAME = 64
_FEWEST_TOKENS = 16
_PLAIN: Json = {"type": "output_text", "text": None, "annotations": []}


class OpenAIResponses(ApiFamily):
    name: str = FAMILY

    def __init__(self, provider: str = FAMILY) -> None:
        super().__init__(provider)
        self._messages = RequestMemo[Message, list[Written]]()
        self._tools = RequestMemo[ToolSpec, Written]()

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        notes: list[str] = []
        if facts.abilities.deferred and all(tool.name != SEARCH for tool in request.tools):
            # Search items are only valid in requests with the search tool; otherwise the search is an ordinary function
            # call.
            facts = replace(facts, abilities=replace(facts.abilities, deferred=False))
        items = self._messages.convert(request.messages, partial(_written, facts), facts)
        tools = self._tools.convert(request.tools, partial(_tool, facts), facts)
        body = _body(request, facts, notes, list(chain.from_iterable(items)), tools)
        return make_post("/responses", request, key, body), notes

    def parser(self) -> StreamParser:
        return ResponsesParser(self._provider)


def _tool(facts: ModelFacts, tool: ToolSpec) -> Written:
    return Written(encode_json(_search(tool) if _searches(tool.name, facts) else _function(tool)))


def _function(tool: ToolSpec) -> Json:
    named = {"type": "function", "name": tool.name, "description": tool.description}
    return {**named, "parameters": tool.parameters, "strict": False}


def _search(tool: ToolSpec) -> Json:
    ours = {"type": "tool_search", "execution": "client"}
    return {**ours, "description": tool.description, "parameters": tool.parameters}


def _searches(name: str, facts: ModelFacts) -> bool:
    return name == SEARCH and facts.abilities.deferred


def _written(facts: ModelFacts, message: Message) -> list[Written]:
    return [Written(encode_json(item)) for item in _items(message, facts)]


def _body(request: Request, facts: ModelFacts, notes: list[str], items: list[Written], tools: list[Written]) -> Json:
    body: Json = {"model": facts.name}
    if request.system:
        body["instructions"] = request.system
    body["input"] = items
    if tools:
        body["tools"] = tools
        body["tool_choice"] = _choice(request, facts, notes)
        body["parallel_tool_calls"] = True
    body["store"] = False
    body["stream"] = True
    _put_options(body, request, facts, notes)
    return body


def _choice(request: Request, facts: ModelFacts, notes: list[str]) -> Any:
    choice = nearest_choice(request, facts, notes)
    return {"type": "function", "name": choice.name} if choice.kind == "named" else choice.kind


def _put_options(body: Json, request: Request, facts: ModelFacts, notes: list[str]) -> None:
    options, thinks = request.options, facts.thinking != "none"
    limit = output_limit(request, facts, notes)
    if limit is not None:
        body["max_output_tokens"] = max(limit, _FEWEST_TOKENS)
    effort = None if options.effort is None else effort_value(facts, options.effort, notes)
    if options.thinking == "off" and thinks:
        effort = "none"
        if facts.thinking == "always":
            effort = next(iter((facts.efforts or {}).values()), None)
            notes.append(f"{facts.name} always thinks: its lowest effort is used.")
    else:
        note_budget(request, facts, notes)
    if thinks:
        body["reasoning"] = {**({} if effort is None else {"effort": effort}), "summary": "auto"}
        body["include"] = ["reasoning.encrypted_content"]
    put_temperature(body, request, facts, notes, refused=thinks or "no_sampling" in facts.quirks)
    if options.stop:
        notes.append("OpenAI's Responses API does not support stop sequences: omitted.")
    if (schema := answer_schema(request, facts, notes)) is not None:
        body["text"] = {"format": {"type": "json_schema", **strict_schema(schema)}}
    if options.service_tier is not None:
        body["service_tier"] = options.service_tier
    if (key := cache_key(request)) is not None:
        body["prompt_cache_key"] = key


# ---- the conversation -----------------------------------------------------------------------------------------------


def _items(message: Message, facts: ModelFacts) -> list[Json]:
    if message.role == "assistant":
        return _answer(message, facts)
    if message.role == "tool":
        results = [part for part in message.parts if isinstance(part, ResultPart)]
        found = [item for part in results for item in _outputs(part, facts)]
        return sorted(found, key=lambda item: item["type"] == "message")  # texts of a search follow all results
    content = [*map(_content, pieces(message.parts, facts))]
    return [{"type": "message", "role": "user", "content": content}] if content else []


def _content(piece: ContentPiece) -> Json:
    if piece.kind == "text":
        return _text(piece.data)
    if piece.kind == "image":
        return {"type": "input_image", "image_url": piece.url, "detail": "auto"}
    return {"type": "input_file", "filename": file_name(piece), "file_data": piece.url}


def _text(text: str) -> Json:
    return {"type": "input_text", "text": text}


def _output(result: ResultPart, facts: ModelFacts) -> Json:
    found = pieces(result.content, facts)
    texts = [piece.data for piece in found if piece.kind == "text"]
    output: str | list[Json] = result_words(texts, is_error=result.is_error)
    if len(texts) < len(found):
        output = [*map(_content, found)]
        if result.is_error:
            output.insert(0, _text("Error:"))
    return {"type": "function_call_output", "call_id": safe_name(result.call_id, _LONGEST_ID), "output": output}


def _outputs(result: ResultPart, facts: ModelFacts) -> list[Json]:
    if not _searches(result.name, facts):
        return [_output(result, facts)]
    specs, rest = defined_in(result)
    tools = [{**_function(spec), "defer_loading": True} for spec in specs]
    call_id = safe_name(result.call_id, _LONGEST_ID)
    output: Json = {"type": "tool_search_output", "call_id": call_id, "execution": "client", "status": "completed"}
    words = [*map(_content, pieces(rest, facts))]
    own = _text(f"[{SEARCH} answers, not the user:]")  # they may contain names and texts of servers
    said: list[Json] = [{"type": "message", "role": "user", "content": [own, *words]}] if words else []
    return [{**output, "tools": tools}, *said]


def _answer(message: Message, facts: ModelFacts) -> list[Json]:
    """Return the items of an assistant message. Reasoning at the end of a cut-off answer is left out, because the
    API rejects it."""
    items: list[Json] = []
    said: _MessageItem | None = None
    # the last part has no following one
    for part, following in zip(message.parts, (*message.parts[1:], None), strict=False):
        match part:
            case Text(text):
                if said is None:
                    said = _MessageItem({"type": "message", "role": "assistant"}, items)
                said.add(text)
                continue
            case Opaque(provider, {"type": "message"} as data) if provider == FAMILY:
                said = _MessageItem(data, items)
                continue
            case Opaque(provider, {"type": "reasoning"} as data) if provider == FAMILY:
                items += _reasoning(data, following.text if isinstance(following, Thinking) else "")
            case Opaque(provider, Mapping() as data) if provider == FAMILY:
                items.append(dict(data))
            case CallPart():
                items.append(_search_call(part) if _searches(part.name, facts) else _call(part))
            case _:
                continue
        said = None
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


class _MessageItem:
    """A message item of the answer.

    data  the stored item with None in place of each text; empty for a plain text
    """

    def __init__(self, data: Mapping[str, Any], items: list[Json]) -> None:
        self._item: Json = {**data, "content": [] if "content" in data else ""}
        self._items = items
        self._forms: list[Json] = list(data.get("content") or ())
        self._append_other_contents()

    def add(self, text: str) -> None:
        content = self._item["content"]
        if isinstance(content, str):
            self._item["content"] = content + text
        else:
            form = self._forms.pop(0) if self._forms else _PLAIN
            content.append({k: text if value is None and k in TEXT_FIELDS else value for k, value in form.items()})
        self._put()
        self._append_other_contents()

    def _append_other_contents(self) -> None:
        while self._forms and all(self._forms[0].get(field, "") is not None for field in TEXT_FIELDS):
            self._item["content"].append(self._forms.pop(0))
            self._put()

    def _put(self) -> None:
        if not self._items or self._items[-1] is not self._item:
            self._items.append(self._item)


def _reasoning(data: Mapping[str, Any], thought: str) -> list[Json]:
    """Return a list with the reasoning item and its texts; empty if the item has neither encrypted content nor
    texts, because the server stores no reasoning."""
    item = {key: value for key, value in data.items() if key != LENGTHS}
    if LENGTHS in data:
        texts = _split_thought(thought, data[LENGTHS])
        for name in THOUGHTS:
            item |= {name: [{**each, "text": texts.pop(0)} for each in item[name]]} if item.get(name) else {}
    shown = any(each.get("text") for each in item.get("content") or ())
    return [item] if item.get("encrypted_content") or shown else []


def _split_thought(thought: str, lengths: Sequence[int]) -> list[str]:
    """Split a text that was joined by empty lines. If masking has changed the length, return the whole text as one
    element."""
    if len(thought) != sum(lengths) + 2 * (len(lengths) - 1):
        return [thought, *("" for _ in lengths[1:])]
    ends = [*accumulate(length + 2 for length in lengths)]
    return [thought[end - 2 - length : end - 2] for end, length in zip(ends, lengths, strict=True)]


def _call_data(call: CallPart, *, search: bool) -> Json:
    """Return the stored fields of a call if the call is sent back as the same item type, otherwise an empty object.
    The field ``execution`` exists only in search items."""
    kept = kept_for(FAMILY, call.kept)
    return kept if ("execution" in kept) == search else {}


def _search_call(call: CallPart) -> Json:
    return {
        "type": "tool_search_call",
        **_call_data(call, search=True),
        "call_id": safe_name(call.id, _LONGEST_ID),
        "execution": "client",
        "status": "completed",
        "arguments": call.written,
    }


def _call(call: CallPart) -> Json:
    return {
        "type": "function_call",
        **_call_data(call, search=False),
        "call_id": safe_name(call.id, _LONGEST_ID),
        "name": safe_name(call.name, _LONGEST_NAME),
        "arguments": arguments_text(call),
    }
