"""Google's Gemini API: the family and the bodies of its ``streamGenerateContent`` requests.

The API has no cache breakpoints; the server detects repeated prefixes. So the bytes of tools, system text and
earlier messages must not change between requests.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from callgate.providers.content_pieces import pieces
from callgate.providers.family import HttpPost, Json, ModelFacts, StreamParser
from callgate.providers.gemini_stream import NAME, GeminiParser
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
from callgate.words.messages import CallPart, Message, Opaque, Part, ResultPart, Thinking
from callgate.words.model import Request, ToolSpec

Given = dict[str, Any]
IMAGES = ("image/jpeg", "image/png", "image/webp", "image/heic", "image/heif")
NO_SIGNATURE = "skip_thought_signature_validator"
"""The value that the API accepts as the signature of a call that another model made or that lost its signature."""
_OLD = re.compile(r"(models/)?(gemini-[12]\b|gemma|learnlm)")


def is_old(facts: ModelFacts) -> bool:
    """Return True for models before Gemini 3: their calls need no signatures, their results contain no images, and
    their requests cannot have both a schema and tools."""
    return _OLD.match(facts.name) is not None


_Piece = tuple[Given, bytes]
"""A part, which must not be changed, and its JSON."""
_Pieces = tuple[list[_Piece], list[tuple[str, CallPart | None]]]
"""The parts of a message, and the calls whose results they contain."""


PartsMemo = RequestMemo[Message, _Pieces]


def _with_signature(pieces: list[_Piece], at: int) -> list[_Piece]:
    """Return the parts. If the call at index ``at``, the first call of an answer, has no signature, add a
    placeholder, because the API requires a signature."""
    part, _ = pieces[at]
    if "thoughtSignature" in part:
        return pieces
    part = {**part, "thoughtSignature": NO_SIGNATURE}
    return [*pieces[:at], (part, encode_json(part)), *pieces[at + 1 :]]


class Contents:
    """The ``contents`` field of a request body. Consecutive messages of one role are merged, but results are not
    merged with user text, because the API compares the number of results with the number of calls before them."""

    def __init__(self, messages: Sequence[Message], facts: ModelFacts, memo: PartsMemo) -> None:
        self._facts = facts
        self._old = is_old(facts)
        self._calls = {call.id: call for message in messages for call in message.calls}
        signs = not self._old and facts.thinking != "none"
        self.contents: list[Written] = []
        before, signed = "", False
        pieces: list[bytes] = []
        for message, found in zip(messages, self._message_parts(messages, facts, memo), strict=True):
            if not found:
                continue
            if message.role != before:
                self._add(before, pieces)
                before, signed, pieces = message.role, not signs, []
            call = None if signed else next((at for at, (part, _) in enumerate(found) if "functionCall" in part), None)
            if call is not None:
                signed, found = True, _with_signature(found, call)
            pieces += [data for _, data in found]
        self._add(before, pieces)

    def _message_parts(self, messages: Sequence[Message], facts: ModelFacts, memo: PartsMemo) -> list[list[_Piece]]:
        made = memo.convert(messages, self._pieces, facts)
        found: list[list[_Piece]] = []
        for message, (parts, calls) in zip(messages, made, strict=True):
            same = all(self._calls.get(name) is call for name, call in calls)
            found.append(parts if same else self._pieces(message)[0])
        return found

    def _add(self, role: str, pieces: list[bytes]) -> None:
        if not pieces:
            return
        if role == "assistant" and not self.contents:
            self.contents.append(Written(encode_json({"role": "user", "parts": [{"text": "Go on."}]})))
        name = b"model" if role == "assistant" else b"user"
        self.contents.append(Written(b'{"role":"%b","parts":[%b]}' % (name, b",".join(pieces))))

    def _pieces(self, message: Message) -> _Pieces:
        answered = [part.call_id for part in message.parts if isinstance(part, ResultPart)]
        parts = [(part, encode_json(part)) for part in self._parts(message)]
        return parts, [(name, self._calls.get(name)) for name in answered]

    def _parts(self, message: Message) -> list[Given]:
        parts: list[Given] = []
        images: list[Given] = []
        for part in message.parts:
            match part:
                case Opaque(provider, data) if provider == NAME and isinstance(data, dict):
                    if message.role == "assistant":
                        _restore_opaque(data, parts)
                case Thinking(text, signature) if signature and (message.model or "").startswith(f"{NAME}/"):
                    parts.append({"text": text, "thought": True, "thoughtSignature": signature})
                case CallPart():
                    parts.append(self._call(part))
                case ResultPart():
                    parts.append(self._result(part, images))
                case _:
                    parts += self._content_parts((part,))
        return parts + images

    def _content_parts(self, content: Sequence[Part]) -> list[Given]:
        return [
            {"text": piece.data}
            if piece.kind == "text"
            else {"inlineData": {"mimeType": piece.media_type, "data": piece.data}}
            for piece in pieces(content, self._facts, IMAGES)
        ]

    def _call(self, call: CallPart) -> Given:
        kept = _own_data(call)
        own = kept.get("functionCall")
        made = {**(cast("Given", own) if isinstance(own, dict) else {}), "name": _name(call.name)}
        others = {name: value for name, value in kept.items() if name != "functionCall"}
        return {"functionCall": {**made, "args": call.written}, **others}

    def _result(self, result: ResultPart, images: list[Given]) -> Given:
        """Convert a result, with the name and id of its call. The images are included in the result, or appended to
        ``images`` for old models."""
        call = self._calls.get(result.call_id)
        own: Any = None if call is None else _own_data(call).get("functionCall")
        answer: Given = {"id": own["id"]} if isinstance(own, dict) and "id" in own else {}
        answer["name"] = _name(result.name if call is None else call.name)
        texts: list[str] = []
        media: list[Given] = []
        for content in self._content_parts(result.content):
            texts += [content["text"]] if "text" in content else []
            media += [content] if "text" not in content else []
        answer["response"] = {"error" if result.is_error else "output": "\n".join(texts)}
        if media and not self._old:
            answer["parts"] = media
        elif media:
            images += media
        return {"functionResponse": answer}


def _name(name: str) -> str:
    safe = safe_name(name, 127)
    return safe if safe[0].isalpha() or safe[0] == "_" else f"_{safe}"


def _own_data(call: CallPart) -> Given:
    kept = call.kept
    return kept.data if kept is not None and kept.provider == NAME and isinstance(kept.data, dict) else {}


def _restore_opaque(data: Given, parts: list[Given]) -> None:
    """Append a provider-specific part in its original position, or add its signature to the last characters of the
    preceding text."""
    if data.get("on") != "text":
        parts.append(data)
        return
    if not parts or parts[-1].keys() != {"text"}:
        return
    beside = {name: value for name, value in data.items() if name not in ("on", "chars")}
    text, chars = cast(str, parts[-1]["text"]), data.get("chars")
    if isinstance(chars, int) and 0 < chars < len(text):
        parts[-1:] = [{"text": text[:-chars]}, {"text": text[-chars:], **beside}]
    else:
        parts[-1] = {"text": text, **beside}


MOST_STOPS = 5
LEAST_BUDGET = 128
_MODES = {"required": "ANY", "named": "ANY", "none": "NONE"}


class Gemini(ApiFamily):
    """The family of Google's Gemini API."""

    name: str = NAME

    def __init__(self, provider: str = NAME) -> None:
        super().__init__(provider)
        self._parts = PartsMemo()
        self._tools = RequestMemo[ToolSpec, bytes]()

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        notes: list[str] = []
        body: Json = {}
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            declared = b",".join(self._tools.convert(request.tools, _declared))
            body["tools"] = [Written(b'{"functionDeclarations":[%b]}' % declared)]
            if (choice := _choice(request, facts, notes)) is not None:
                body["toolConfig"] = {"functionCallingConfig": choice}
        body["contents"] = Contents(request.messages, facts, self._parts).contents
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
