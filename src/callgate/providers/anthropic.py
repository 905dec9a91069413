"""The Anthropic Messages API: the family and the bodies of its requests.

A request has at most four cache breakpoints, the limit of the API: after the tools, after the system text, after the
last stable message, and at the end of the previous request.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from typing import Any, Final, cast

from callgate.providers.anthropic_stream import NAME, AnthropicParser
from callgate.providers.content_pieces import ContentPiece, defined_before, defined_in, pieces
from callgate.providers.family import HttpPost, Json, ModelFacts, StreamParser
from callgate.providers.request_json import (
    RequestMemo,
    Written,
    add_own_fields,
    answer_schema,
    convert_inside,
    effort_value,
    encode_body,
    encode_json,
    nearest_choice,
    output_limit,
    put_temperature,
    request_headers,
    safe_name,
)
from callgate.providers.server_faults import ApiFamily
from callgate.words.messages import CallPart, Content, Message, Opaque, Part, ResultPart, Thinking
from callgate.words.model import CacheHints, Request, ToolSpec
from callgate.words.tool_search import SEARCH

Block = dict[str, Any]
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MARKED = ("text", "image", "document", "tool_use", "tool_result")
_DATED = re.compile(r"[-@]\d{8}$")


_Piece = tuple[Block, bytes]
"""A block, which must not be changed, and its JSON."""
BlockMemo = RequestMemo[Message, list[_Piece]]


def _piece(block: Block) -> _Piece:
    return block, encode_json(block)


class _Content:
    def __init__(self, role: str, pieces: list[_Piece]) -> None:
        self.role = role
        self.pieces = pieces

    @property
    def first(self) -> Block:
        return self.pieces[0][0]

    def mark(self, size: int, control: Block) -> None:
        """Set a cache breakpoint on the last block that supports breakpoints, among the first ``size`` blocks."""
        at = next((at for at in reversed(range(size)) if self.pieces[at][0]["type"] in _MARKED), None)
        if at is not None:
            self.pieces[at] = _piece({**self.pieces[at][0], "cache_control": control})

    def written(self) -> Written:
        return Written(b'{"role":"%b","content":[%b]}' % (self.role.encode(), b",".join(b for _, b in self.pieces)))


class MessageBlocks:
    """The ``messages`` field of a request body.

    Consecutive messages of one role are merged, as the API requires. Texts that contain only white space are left out,
    because the API rejects them.

    thinks  True if thinking is enabled for this request; only then is earlier thinking sent
    loaded  the tools whose definitions are always in the request; search results do not refer to these tools
    """

    def __init__(
        self,
        messages: Sequence[Message],
        facts: ModelFacts,
        *,
        thinks: bool,
        memo: BlockMemo,
        loaded: frozenset[str] = frozenset(),
    ) -> None:
        self._facts = facts
        self._loaded = loaded
        self._thinks = thinks
        self._unanswered_server_calls = _unanswered_server_calls(messages)
        self._contents: list[_Content] = []
        self._ends: list[tuple[int, int]] = []
        found = memo.convert(messages, self._pieces, (facts, thinks, self._unanswered_server_calls, loaded))
        for message, made in zip(messages, found, strict=True):
            self._add("assistant" if message.role == "assistant" else "user", made)
            self._ends.append((len(self._contents), len(self._contents[-1].pieces) if self._contents else 0))
        if self._contents and self._contents[0].role == "assistant":
            self._contents.insert(0, _Content("user", [_piece({"type": "text", "text": "Go on."})]))
            self._ends = [(at + 1, size) for at, size in self._ends]

    @property
    def contents(self) -> list[Written]:
        return [content.written() for content in self._contents]

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools that the messages call, without duplicates."""
        blocks = (block for content in self._contents for block, _ in content.pieces)
        return list(dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use"))

    @property
    def thought_first(self) -> bool:
        """True unless the message with the pending calls begins without thinking. The API rejects a thinking budget
        for such a message."""
        answer = next((each for each in reversed(self._contents) if each.role == "assistant"), None)
        pending = bool(self._contents) and self._contents[-1].first["type"] == "tool_result"
        return not pending or answer is None or answer.first["type"] in ("thinking", "redacted_thinking")

    def mark(self, hints: CacheHints, control: Block) -> None:
        """Set a cache breakpoint after the last stable message, and another where the previous request ended. The
        server searches only about twenty blocks back from a breakpoint, and a message with many calls has more
        blocks."""
        count = len(self._ends) if hints.messages is None else min(hints.messages, len(self._ends))
        at, size = self._ends[count - 1] if count > 0 and not hints.off else (0, 0)
        if not at:
            return
        self._contents[at - 1].mark(size, control)
        before = next((content for content in reversed(self._contents[: at - 1]) if content.role == "user"), None)
        if before is not None:
            before.mark(len(before.pieces), control)

    def _add(self, role: str, pieces: Sequence[_Piece]) -> None:
        if not pieces:
            return
        if self._contents and self._contents[-1].role == role:
            self._contents[-1].pieces += pieces
        else:
            self._contents.append(_Content(role, [*pieces]))

    def _pieces(self, message: Message) -> list[_Piece]:
        return [_piece(block) for block in self._blocks(message)]

    def _blocks(self, message: Message) -> list[Block]:
        own = message.role == "assistant"
        blocks: list[Block] = []
        self._behind: list[Block] = []
        last: Block | None = None
        for part in message.parts:
            if isinstance(part, Opaque):
                if own and part.provider == NAME and isinstance(part.data, dict):
                    self._restore_opaque(part.data, message, last, blocks)
                continue
            last = self._thinking_block(part, message) if isinstance(part, Thinking) else self._block(part)
            if last is not None:
                blocks.append(last)
        return blocks + self._behind

    def _restore_opaque(self, data: Block, message: Message, last: Block | None, blocks: list[Block]) -> None:
        """Append a provider-specific block in its original position, or merge its fields into the preceding block."""
        kind = data.get("type")
        if kind is None:
            if last is not None and data.get("on") == "block":
                last.update({name: value for name, value in data.items() if name != "on"})
        elif data.get("id") in self._unanswered_server_calls:
            return
        elif self._accepts_thinking(message) or kind not in ("thinking", "redacted_thinking"):
            blocks.append(data)

    def _thinking_block(self, part: Thinking, message: Message) -> Block | None:
        if not part.signature or not self._accepts_thinking(message):
            return None
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}

    def _accepts_thinking(self, message: Message) -> bool:
        family, _, model = (message.model or "").rpartition("/")
        ours = family == NAME or (not family and model.startswith("claude-"))
        bound = "own_thinking" in self._facts.quirks and _DATED.sub("", model) != _DATED.sub("", self._facts.name)
        return self._thinks and ours and not bound

    def _block(self, part: Part) -> Block | None:
        if isinstance(part, CallPart):
            return self._call(part)
        if isinstance(part, ResultPart):
            return self._result(part)
        return next(map(_piece_block, pieces((part,), self._facts, IMAGES)), None)

    def _call(self, call: CallPart) -> Block:
        block: Block = {"type": "tool_use", "id": safe_name(call.id, 64), "name": safe_name(call.name, 128)}
        block["input"] = call.written
        for data in _own_data((call.kept,)) if call.kept is not None else ():
            caller = data.get("caller")
            lost = isinstance(caller, dict) and cast("Block", caller).get("tool_id") in self._unanswered_server_calls
            block.update({name: value for name, value in data.items() if name != "caller" or not lost})
        return block

    def _result(self, result: ResultPart) -> Block:
        found, rest = self._tool_references(result)
        content = [block for block in map(self._block, rest) if block is not None]
        if found:  # a result with references must not contain other blocks
            self._behind += content
            content = found
        if result.is_error:  # the API accepts only text in failed results
            self._behind += [block for block in content if block["type"] != "text"]
            content = [block for block in content if block["type"] == "text"]
            content = content or [{"type": "text", "text": "It failed without a message."}]
        block: Block = {"type": "tool_result", "tool_use_id": safe_name(result.call_id, 64)}
        if content:
            block["content"] = content
        return {**block, "is_error": True} if result.is_error else block

    def _tool_references(self, result: ResultPart) -> tuple[list[Block], Sequence[Content]]:
        if result.name != SEARCH or not self._facts.abilities.deferred:
            return [], result.content
        specs, rest = defined_in(result)
        if any(spec.name in self._loaded for spec in specs):
            return [], result.content
        return [{"type": "tool_reference", "tool_name": spec.name} for spec in specs], rest


def _piece_block(piece: ContentPiece) -> Block | None:
    if piece.kind == "text":
        return {"type": "text", "text": piece.data} if piece.data.strip() else None
    source = {"type": "base64", "media_type": piece.media_type, "data": piece.data}
    if piece.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **({"title": piece.uri} if piece.uri else {})}


def container(messages: Sequence[Message]) -> str | None:
    """Return the id of the server-side container that the model's last message used; None if it used none."""
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    for data in () if last is None else _own_data(last.parts):
        found = data.get("container")
        if data.get("on") == "message" and isinstance(found, dict):
            name = cast("Block", found).get("id")
            return name if isinstance(name, str) else None
    return None


def _own_data(parts: Iterable[Part]) -> list[Block]:
    opaque = (part for part in parts if isinstance(part, Opaque) and part.provider == NAME)
    return [part.data for part in opaque if isinstance(part.data, dict)]


def _unanswered_server_calls(messages: Sequence[Message]) -> frozenset[str]:
    """Return the ids of server-side calls without a result.

    The API rejects a conversation in which a user message follows such a call. If only results of client-side tools
    follow, the server still processes the call.
    """
    called: set[str] = set()
    lost: set[str] = set()
    for message in messages:
        if message.role == "user":
            lost |= called
            called.clear()
        for data in _own_data(message.parts) if message.role == "assistant" else ():
            kind, name, of = data.get("type"), data.get("id"), data.get("tool_use_id")
            if isinstance(kind, str) and kind.endswith("_tool_use") and isinstance(name, str):
                called.add(name)
            if isinstance(of, str):
                called.discard(of)
    return frozenset(lost)


VERSION = "2023-06-01"
LEAST_BUDGET = 1_024
USUAL_BUDGET = 8_192
_AS_IS: Final = frozenset({"$ref", "const", "description", "enum", "required", "title", "type"})
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_NESTED: Final = frozenset({"$defs", "definitions", "properties", "anyOf", "oneOf", "allOf", "items"})
_CHOICES = {"required": "any", "none": "none"}


class Anthropic(ApiFamily):
    """The family of the Anthropic Messages API, which is also supported by other servers."""

    name: str = NAME

    def __init__(self, provider: str = NAME) -> None:
        super().__init__(provider)
        self._blocks = BlockMemo()
        self._tools = RequestMemo[ToolSpec, Written]()

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        notes: list[str] = []
        betas: list[str] = []
        options = request.options
        most = output_limit(facts, request.limits.max_output_tokens)
        effort = None if options.effort is None else effort_value(facts, options.effort, notes)
        thinking = _thinking(request, facts, effort, most, notes)
        off = thinking.get("type") in ("disabled", "between_tools")
        if off and effort in ("xhigh", "max"):
            notes.append(f"{facts.name} does not support the effort {effort!r} while thinking is off: 'high' is used.")
            effort = "high"
        loaded = frozenset(tool.name for tool in request.tools)
        talk = MessageBlocks(request.messages, facts, thinks=not off, memo=self._blocks, loaded=loaded)
        if thinking.get("type") == "enabled" and not talk.thought_first:
            notes.append(
                f"The calls under way did not begin with thinking of {facts.name}: thinking is used again after "
                "these calls."
            )
            thinking = {}
        if "block_binding" in thinking:
            betas.append("thinking-binding-controls-2026-08-01")
        if thinking.get("type") == "enabled" and request.tools:
            betas.append("interleaved-thinking-2025-05-14")
        body: Json = {"model": facts.name, "max_tokens": most, "stream": True}
        _add_prompt(
            body,
            request,
            facts,
            talk,
            self._tools.convert(request.tools, lambda tool: Written(encode_json(_tool(tool)))),
        )
        thinks = thinking.get("type") in ("adaptive", "enabled")
        choice = _choice(request, facts, thinks, notes)
        if "tools" in body and choice is not None:
            body["tool_choice"] = choice
        if thinking:
            body["thinking"] = thinking
        config: Json = {"effort": effort} if isinstance(effort, str) else {}
        if (schema := answer_schema(request, facts, notes)) is not None:
            config["format"] = {"type": "json_schema", "schema": closed_schema(schema)}
        if config:
            body["output_config"] = config
        refused = thinks or "no_sampling" in facts.quirks
        reason = " while it thinks" if thinks else " at all"
        put_temperature(body, request, facts, notes, refused=refused, reason=reason)
        if options.stop:
            body["stop_sequences"] = list(options.stop)
        if options.service_tier is not None:
            body["service_tier"] = options.service_tier
        if (place := container(request.messages)) is not None:
            body["container"] = place
        add_own_fields(body, options.body)
        return HttpPost("/v1/messages", _headers(request, key, betas), encode_body(body)), notes

    def parser(self) -> StreamParser:
        return AnthropicParser(self._provider)


def _headers(request: Request, key: str | None, betas: list[str]) -> dict[str, str]:
    headers = request_headers(request, {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})})
    if betas:
        headers["anthropic-beta"] = ",".join([*betas, *filter(None, [headers.get("anthropic-beta", "")])])
    return headers


def _add_prompt(body: Json, request: Request, facts: ModelFacts, talk: MessageBlocks, tools: list[Any]) -> None:
    hints = request.cache if facts.abilities.caches else CacheHints(tools=False, system=False)
    control = {"type": "ephemeral"} if hints.life == "5m" else {"type": "ephemeral", "ttl": hints.life}
    last = _tool(request.tools[-1]) if request.tools else None
    found = _deferred(request, facts)
    if last is None:
        named = {tool["name"] for tool in found}
        # The API requires the tools of all calls in the messages.
        tools = [_tool(ToolSpec(name, "", {})) for name in talk.tool_names if name not in named]
        last = tools[-1] if tools else None
    if last is not None:
        body["tools"] = [*tools[:-1], {**last, "cache_control": control}] if hints.tools else tools
        body["tools"] = [*body["tools"], *found]  # found tools are not part of the cached prefix
    if request.system.strip():
        system: Json = {"type": "text", "text": request.system}
        if hints.system:
            system["cache_control"] = control
        body["system"] = [system]
    talk.mark(hints, control)
    body["messages"] = talk.contents


def _deferred(request: Request, facts: ModelFacts) -> list[Json]:
    if not facts.abilities.deferred:
        return []
    loaded = {tool.name for tool in request.tools}
    found = [spec for spec in defined_before(request.messages) if spec.name not in loaded]
    return [{**_tool(spec), "defer_loading": True} for spec in found]


def _tool(spec: ToolSpec) -> Json:
    schema = spec.parameters if "type" in spec.parameters else {"type": "object", **spec.parameters}
    described = {"description": spec.description} if spec.description else {}
    return {"name": spec.name, **described, "input_schema": schema}


def _choice(request: Request, facts: ModelFacts, thinks: bool, notes: list[str]) -> Json | None:
    """Return the tool choice of a body; None for the default of the API."""
    if not request.tools:
        return {"type": "none"}
    choice = nearest_choice(request, facts, notes, thinks=thinks)
    if choice.kind == "named":
        return {"type": "tool", "name": choice.name}
    return None if choice.kind == "auto" else {"type": _CHOICES[choice.kind]}


def _thinking(request: Request, facts: ModelFacts, effort: Any, most: int, notes: list[str]) -> Json:
    """Return the ``thinking`` field of a body; empty for the model's default.

    Models with the quirk ``fixed_prefix`` reject thinking blocks whose prefix was changed, for example by compaction
    or masking. For these models the request tells the server to drop such blocks. Newer models return thinking only
    if ``display`` requests it.
    """
    wanted, mode = request.options.thinking, facts.thinking
    if wanted is None and isinstance(effort, int):
        wanted = effort
    binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}} if "fixed_prefix" in facts.quirks else {}
    adaptive: Json = {"type": "adaptive", "display": "summarized", **binding}
    default = adaptive if binding else {}
    if wanted is None:
        return default
    if wanted in ("off", 0):
        if mode == "always":
            notes.append(f"{facts.name} always thinks; thinking cannot be turned off.")
            return default
        kind = "between_tools" if "between_tools" in facts.quirks else "disabled"
        return {} if mode == "none" else {"type": kind}
    if mode == "none":
        notes.append(f"{facts.name} does not support thinking: omitted.")
        return {}
    if mode != "budget":
        if wanted != "adaptive" and effort is not wanted:
            notes.append(f"{facts.name} does not support a thinking budget: the model decides how much it thinks.")
        return adaptive
    if wanted == "adaptive":
        wanted = USUAL_BUDGET
        notes.append(f"{facts.name} thinks with a budget: {wanted:,} tokens are used.")
    return _budget(wanted, request, facts, most, notes)


def _budget(wanted: int, request: Request, facts: ModelFacts, most: int, notes: list[str]) -> Json:
    limit = request.limits.max_thinking_tokens
    budget = min(wanted, most - most // 4, wanted if limit is None else limit)
    if wanted >= LEAST_BUDGET > budget:
        notes.append(f"{facts.name} does not think, because an answer of {most:,} tokens is too short for thinking.")
        return {}
    return {"type": "enabled", "budget_tokens": max(budget, LEAST_BUDGET)}


def closed_schema(schema: Mapping[str, Any]) -> Json:
    """Return a copy of the schema with closed objects. Keywords that the API rejects, such as ``minimum``, are moved
    into the description."""
    found: Json = {}
    rest: Json = {}
    for name, value in schema.items():
        if name in _NESTED:
            found["anyOf" if name == "oneOf" else name] = convert_inside(name, value, closed_schema)
        elif name in _AS_IS or (name == "format" and value in _FORMATS) or (name == "minItems" and value in (0, 1)):
            found[name] = value
        elif name not in ("$schema", "$id", "additionalProperties"):
            rest[name] = value
    if found.get("type") == "object" or "properties" in found:
        found["additionalProperties"] = False
    if rest and "$ref" not in found:
        words = dumps(rest, ensure_ascii=False, default=str)
        found["description"] = f"{found['description']}\n\n{words}" if found.get("description") else words
    return found
