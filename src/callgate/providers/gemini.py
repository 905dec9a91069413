"""Google's Gemini API: the family and the bodies of its ``streamGenerateContent`` requests.

The API has no cache breakpoints; the server detects repeated prefixes. So the bytes of tools, system text and
earlier messages must not change between requests.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from callgate.providers.family import HttpPost, Json, ModelFacts, StreamParser
from callgate.providers.gemini_contents import Contents, ContentsMemo, is_old
from callgate.providers.gemini_stream import NAME, GeminiParser
from callgate.providers.request_json import (
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
from callgate.words.model import Request, ToolSpec

MOST_STOPS = 5
LEAST_BUDGET = 128
_MODES = {"required": "ANY", "named": "ANY", "none": "NONE"}


class Gemini(ApiFamily):
    """The family of Google's Gemini API."""

    name: str = NAME

    def __init__(self, provider: str = NAME) -> None:
        super().__init__(provider)
        self._memo = ContentsMemo()

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        notes: list[str] = []
        body: Json = {}
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            declared = b",".join(self._memo.tools.convert(request.tools, _declared))
            body["tools"] = [Written(b'{"functionDeclarations":[%b]}' % declared)]
            if (choice := _choice(request, facts, notes)) is not None:
                body["toolConfig"] = {"functionCallingConfig": choice}
        body["contents"] = Contents(request.messages, facts, self._memo).contents
        body["generationConfig"] = _generation(request, facts, notes)
        if request.options.service_tier is not None:
            body["serviceTier"] = request.options.service_tier
        add_own_fields(body, request.options.body)
        headers = request_headers(request, {"x-goog-api-key": key} if key else {})
        name = facts.name if "/" in facts.name else f"models/{facts.name}"
        path = f"/v1beta/{quote(name, safe='/:@')}:streamGenerateContent?alt=sse"
        return HttpPost(path, headers, encode_body(body)), notes

    def parser(self) -> StreamParser:
        return GeminiParser(self._provider)


def _declared(tool: ToolSpec) -> bytes:
    declared: Json = {"name": tool.name, **({"description": tool.description} if tool.description else {})}
    if tool.parameters.get("properties"):
        declared["parametersJsonSchema"] = supported_schema(tool.parameters)
    return encode_json(declared)


def _choice(request: Request, facts: ModelFacts, notes: list[str]) -> Json | None:
    """Return the tool choice of a body; None for the default of the API."""
    choice = nearest_choice(request, facts, notes)
    if choice.kind == "auto":
        return None
    named = {"allowedFunctionNames": [choice.name]} if choice.kind == "named" else {}
    return {"mode": _MODES[choice.kind], **named}


def _generation(request: Request, facts: ModelFacts, notes: list[str]) -> Json:
    options = request.options
    config: Json = {"maxOutputTokens": output_limit(facts, request.limits.max_output_tokens)}
    if thinking := _thinking(request, facts, notes):
        config["thinkingConfig"] = thinking
    put_temperature(config, request, facts, notes, refused="no_sampling" in facts.quirks)
    if options.stop:
        config["stopSequences"] = list(options.stop[:MOST_STOPS])
        if len(options.stop) > MOST_STOPS:
            notes.append(f"{facts.name} takes {MOST_STOPS} stop sequences: the others are omitted.")
    if (schema := answer_schema(request, facts, notes, with_tools=not is_old(facts))) is not None:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": supported_schema(schema)}
    return config


def _thinking(request: Request, facts: ModelFacts, notes: list[str]) -> Json:
    """Return the ``thinkingConfig`` of a body: a budget if the model supports budgets, otherwise a level. Thoughts
    are requested if the model thinks."""
    wanted, mode, options = request.options.thinking, facts.thinking, request.options
    effort = None if options.effort is None else effort_value(facts, options.effort, notes)
    if mode == "none":
        if wanted not in (None, "off", 0):
            notes.append(f"{facts.name} does not support thinking: omitted.")
        return {}
    config: Json = {"includeThoughts": True}
    if wanted in ("off", 0):
        if mode == "budget" and "no_off" not in facts.quirks:
            return {"thinkingBudget": 0}
        if mode == "budget":
            notes.append(f"{facts.name} always thinks: {LEAST_BUDGET} tokens, its minimum, are used.")
            return {**config, "thinkingBudget": LEAST_BUDGET}
        notes.append(f"{facts.name} always thinks; thinking cannot be turned off.")
    elif wanted is not None and mode != "budget" and wanted != "adaptive":
        notes.append(f"{facts.name} does not support a thinking budget: the model decides how much it thinks.")
    budget = -1 if wanted == "adaptive" else wanted if isinstance(wanted, int) and wanted > 0 else effort
    if mode == "budget" and isinstance(budget, int):
        limit = request.limits.max_thinking_tokens
        config["thinkingBudget"] = budget if limit is None or budget < 0 else min(budget, limit)
    elif isinstance(effort, str):
        config["thinkingLevel"] = effort
    return config


def supported_schema(schema: Mapping[str, Any]) -> Json:
    """Convert a JSON Schema to the subset that the API supports: a ``$ref`` has no other keys, and ``const`` becomes
    ``enum``."""
    found: Json = {}
    for name, value in schema.items():
        if name == "const" and isinstance(value, str | int) and not isinstance(value, bool):
            found["enum"] = [value]
        elif name != "$schema":
            found[name] = convert_inside(name, value, supported_schema)
    if "$ref" in found and any(not name.startswith("$") for name in found):
        found = {"anyOf": [{"$ref": found.pop("$ref")}], **found}
    return found
