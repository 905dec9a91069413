"""The parts that both of OpenAI's APIs have in common: JSON, headers, contents, options and usage."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from json import JSONDecoder
from typing import Any, cast

from callgate.providers.family import ModelFacts
from callgate.providers.fault_table import fault_of
from callgate.providers.reading import refuse_constant
from callgate.providers.request_json import base64, compact, in_text, not_shown
from callgate.words.errors import ModelError
from callgate.words.messages import CallPart, Image, Opaque, Resource, Text, Usage
from callgate.words.model import Request

Json = dict[str, Any]

# ---- JSON -----------------------------------------------------------------------------------------------------------


_decode = JSONDecoder(parse_constant=refuse_constant).decode


def read_object(text: str) -> Json:
    """A JSON object. ValueError for anything else."""
    value = _decode(text)
    if value.__class__ is not dict:
        raise ValueError(f"an object is wanted, not {text[:80]!r}")
    return value


def make_headers(request: Request, key: str | None) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    headers.update((name.lower(), value) for name, value in request.options.headers.items())
    return headers


# ---- contents -------------------------------------------------------------------------------------------------------


def pieces(content: Sequence[object], facts: ModelFacts) -> list[tuple[str, str, str]]:
    """Contents as (kind, value, name): ``text`` with its text, ``image`` and ``pdf`` with their data URL."""
    found: list[tuple[str, str, str]] = []
    for item in content:
        match item:
            case Text(text):
                if text:
                    found.append(("text", text, ""))
            case Image():
                found.append(_image(item, facts))
            case Resource(_, None, bytes() as data, str(kind)) if kind.startswith("image/"):
                found.append(_image(Image(kind, data), facts))
            case Resource(uri, None, bytes() as data, "application/pdf") if facts.abilities.images:
                found.append(("pdf", data_url("application/pdf", data), uri.rpartition("/")[2] or "file.pdf"))
            case Resource():
                found.append(("text", in_text(item), ""))
            case _:
                pass
    return found


def _image(image: Image, facts: ModelFacts) -> tuple[str, str, str]:
    if not facts.abilities.images:
        return "text", not_shown(image), ""
    return "image", data_url(image.media_type, image.data), ""


def data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64(data)}"


def result_words(texts: Sequence[str], *, is_error: bool) -> str:
    """The text of a result. The APIs have no mark for a failure, so it is said in words."""
    text = "\n".join(texts)
    if is_error and text[:5].lower() != "error":
        return f"Error: {text}"
    return text


def arguments_text(call: CallPart) -> str:
    """The arguments as the model wrote them. Text that is no JSON object is wrapped in one: servers read the arguments
    of earlier calls again and refuse the whole conversation for one that they cannot."""
    raw = call.raw_arguments
    if raw is not None:
        try:
            read_object(raw)
            return raw
        except (ValueError, RecursionError):
            pass
    return compact(call.written).decode()


def kept_for(provider: str, kept: Opaque | None) -> Json:
    """The data that this provider put on a call; nothing if another one did."""
    if kept is not None and kept.provider == provider and isinstance(kept.data, Mapping):
        return dict(kept.data)
    return {}


# ---- options --------------------------------------------------------------------------------------------------------


def output_limit(request: Request, facts: ModelFacts, note: Callable[[str], None]) -> int | None:
    wanted = request.limits.max_output_tokens
    if wanted is not None and facts.known and wanted > facts.output_tokens:
        note(f"{facts.name} writes at most {facts.output_tokens:,} tokens: the limit of {wanted:,} was lowered.")
        return facts.output_tokens
    return wanted


def cache_key(request: Request) -> str | None:
    """Requests with the same key are sent to the machine that has their common beginning in its cache."""
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
"""The keywords of JSON Schema that strict mode knows."""


def is_strict(schema: object, *, root: bool = True) -> bool:
    """True if strict mode takes the schema: every object closed, every property required, and no keyword that it does
    not know."""
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


def group(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def make_usage(*, prompt: int, cached: int, written: int, output: int, reasoning: int) -> Usage:
    """OpenAI's prompt tokens include those read from and written to the cache."""
    return Usage(
        input=max(0, prompt - cached - written),
        cache_read=cached,
        cache_write=written,
        output=max(output, reasoning),
        reasoning=reasoning,
    )


class ChatUsage:
    """The usage of a stream of Chat Completions so far. Chunks tell totals, some servers in every one:
    the highest of each counts."""

    def __init__(self) -> None:
        self._prompt = self._cached = self._written = self._output = self._reasoning = self._total = 0

    def take(self, data: object) -> None:
        told = group(data)
        if not told:
            return
        read, made = group(told.get("prompt_tokens_details")), group(told.get("completion_tokens_details"))
        cached = count(read.get("cached_tokens")) or count(told.get("prompt_cache_hit_tokens"))
        self._prompt = max(self._prompt, count(told.get("prompt_tokens")))
        self._cached = max(self._cached, cached or count(told.get("cached_tokens")))
        self._written = max(self._written, count(read.get("cache_write_tokens")))
        self._output = max(self._output, count(told.get("completion_tokens")))
        self._reasoning = max(self._reasoning, count(made.get("reasoning_tokens")))
        self._total = max(self._total, count(told.get("total_tokens")))

    def total(self) -> Usage:
        apart = self._reasoning and self._total == self._prompt + self._output + self._reasoning
        return make_usage(
            prompt=self._prompt,
            cached=self._cached,
            written=self._written,
            output=self._output + self._reasoning if apart else self._output,  # xAI counts reasoning apart
            reasoning=self._reasoning,
        )


def broken(provider: str, error: object, data: str) -> ModelError:
    """The ModelError for an event that is not what the API promises."""
    return fault_of("protocol", provider, f"{error}: {data[:200]}")
