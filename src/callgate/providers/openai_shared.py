"""Functions that both OpenAI APIs share, for contents, options and usage."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, cast

from callgate.providers.content_pieces import ContentPiece
from callgate.providers.family import HttpPost, Json, ModelFacts, object_of, read_object
from callgate.providers.request_json import encode_body, request_headers
from callgate.words.messages import CallPart, Opaque, Usage
from callgate.words.model import Request


def make_post(path: str, request: Request, key: str | None, body: Json) -> HttpPost:
    """Return the POST of a request body; the user's own fields replace fields of the body."""
    headers = request_headers(request, {"authorization": f"Bearer {key}"} if key else {})
    return HttpPost(path, headers, encode_body({**body, **request.options.body}))


# ---- contents -------------------------------------------------------------------------------------------------------


def file_name(piece: ContentPiece) -> str:
    return piece.uri.rpartition("/")[2] or "file.pdf"


def result_words(texts: Sequence[str], *, is_error: bool) -> str:
    """Return the texts of a result, joined. A failed result gets the prefix "Error:", because the APIs have no error
    flag."""
    text = "\n".join(texts)
    if is_error and text[:5].lower() != "error":
        return f"Error: {text}"
    return text


def arguments_text(call: CallPart) -> str:
    """Return the arguments as the model wrote them. Invalid JSON is wrapped in an object, because servers parse the
    arguments of earlier calls and reject a request with invalid arguments."""
    raw = call.raw_arguments
    if raw is not None:
        try:
            read_object(raw)
            return raw
        except (ValueError, RecursionError):
            pass
    return encode_body(call.written).decode()


def kept_for(provider: str, kept: Opaque | None) -> Json:
    """Return the fields that this provider stored with a call; empty if another provider stored them."""
    if kept is not None and kept.provider == provider and isinstance(kept.data, Mapping):
        return dict(kept.data)
    return {}


# ---- options --------------------------------------------------------------------------------------------------------


def output_limit(request: Request, facts: ModelFacts, notes: list[str]) -> int | None:
    wanted = request.limits.max_output_tokens
    if wanted is not None and facts.known and wanted > facts.output_tokens:
        most = facts.output_tokens
        notes.append(f"{facts.name} writes at most {most:,} tokens: the limit of {wanted:,} was lowered.")
        return most
    return wanted


def note_budget(request: Request, facts: ModelFacts, notes: list[str]) -> None:
    """Append a note if the request has a thinking budget, because OpenAI's APIs do not support budgets."""
    if isinstance(request.options.thinking, int) or request.limits.max_thinking_tokens is not None:
        notes.append(f"{facts.name} does not support a thinking budget: omitted; use effort instead.")


def strict_schema(schema: Json) -> Json:
    """Return the JSON Schema of the answer in the form of the APIs."""
    return {"name": "answer", "schema": schema, "strict": is_strict(schema)}


def cache_key(request: Request) -> str | None:
    """Return the cache key, by which the provider routes requests with a common prefix to the same cache; None if
    there is no key."""
    if not request.session or not (request.cache.tools or request.cache.system):
        return None
    return request.session if len(request.session) <= 64 else sha256(request.session.encode()).hexdigest()


_STRICT = frozenset(
    [
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs"),
        *("definitions", "description", "title", "pattern", "format", "multipleOf", "minimum", "exclusiveMinimum"),
        *("maximum", "exclusiveMaximum", "minItems", "maxItems"),
    ]
)
"""The JSON Schema keywords that strict mode supports."""


def is_strict(schema: object, *, root: bool = True) -> bool:
    """Return True if strict mode supports the schema: all objects are closed, all properties are required, and all
    keywords are known."""
    if not isinstance(schema, Mapping):
        return False
    node = cast("Mapping[str, Any]", schema)
    if not _STRICT.issuperset(node) or (root and (node.get("type") != "object" or "anyOf" in node)):
        return False
    properties: Any = node.get("properties", {})
    kinds: Any = node.get("type")
    if "properties" in node or kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        required: Any = node.get("required", [])
        if node.get("additionalProperties") is not False or not isinstance(properties, Mapping):
            return False
        if not isinstance(required, list) or set(cast("Mapping[str, Any]", properties)) != set(
            cast("list[str]", required)
        ):
            return False
    named = [group for key in ("properties", "$defs", "definitions") if (group := node.get(key)) is not None]
    inner = [value for group in named if isinstance(group, Mapping) for value in cast("Json", group).values()]
    inner += [*cast("list[Any]", node.get("anyOf", [])), *([node["items"]] if "items" in node else [])]
    return all(is_strict(each, root=False) for each in inner)


# ---- usage ----------------------------------------------------------------------------------------------------------


def count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def make_usage(*, prompt: int, cached: int, written: int, output: int, reasoning: int) -> Usage:
    """Convert token counts to Usage. OpenAI includes cached tokens in the prompt count."""
    return Usage(
        input=max(0, prompt - cached - written),
        cache_read=cached,
        cache_write=written,
        output=max(output, reasoning),
        reasoning=reasoning,
    )


class ChatUsage:
    """The accumulated usage of a Chat Completions stream. Chunks contain totals, so the maximum of each count is
    used."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = dict.fromkeys(("prompt", "cached", "written", "output", "reasoning", "total"), 0)

    def take(self, data: object) -> None:
        given = object_of(data)
        read, made = object_of(given.get("prompt_tokens_details")), object_of(given.get("completion_tokens_details"))
        cached = (read.get("cached_tokens"), given.get("prompt_cache_hit_tokens"), given.get("cached_tokens"))
        counts = {
            "prompt": given.get("prompt_tokens"),
            "cached": next(filter(count, cached), 0),
            "written": read.get("cache_write_tokens"),
            "output": given.get("completion_tokens"),
            "reasoning": made.get("reasoning_tokens"),
            "total": given.get("total_tokens"),
        }
        for name, value in counts.items():
            self._counts[name] = max(self._counts[name], count(value))

    def total(self) -> Usage:
        counts = dict(self._counts)
        if counts.pop("total") == counts["prompt"] + counts["output"] + counts["reasoning"]:
            counts["output"] += counts["reasoning"]  # xAI does not include reasoning in the output
        return make_usage(**counts)
