"""The Anthropic Messages API: the family and the bodies of its requests.

A request has at most four cache breakpoints, the limit of the API: after the tools, after the system text, after the
last stable message, and at the end of the previous request.
"""

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any, Final

from callgate.providers.anthropic_messages import BlockMemo, MessageBlocks, container
from callgate.providers.anthropic_stream import NAME, AnthropicParser
from callgate.providers.content_pieces import defined_before
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
)
from callgate.providers.server_faults import ApiFamily
from callgate.words.model import CacheHints, Request, ToolSpec

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
        _add_prompt(body, request, facts, talk, self._tools.convert(request.tools, _written_tool))
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


def _written_tool(spec: ToolSpec) -> Written:
    return Written(encode_json(_tool(spec)))


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
