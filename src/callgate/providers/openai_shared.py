"""The parts that both of OpenAI's APIs have in common: JSON, headers, contents, options and usage."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from json import JSONDecoder, JSONEncoder
from typing import Any, cast, get_args

from callgate.providers.family import ModelFacts
from callgate.providers.faults import fault_of
from callgate.words.errors import ModelError
from callgate.words.messages import CallPart, Image, Opaque, Resource, Text, Usage
from callgate.words.model import Effort, Request

Json = dict[str, Any]
KEY_VARIABLES: tuple[str, ...] = ("OPENAI_API_KEY",)
BASE_URL = "https://api.openai.com/v1"
BASE_VARIABLE = "OPENAI_BASE_URL"
NO_IMAGES = "[An image was left out: this model reads no images.]"

# ---- JSON -----------------------------------------------------------------------------------------------------------


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_decode = JSONDecoder(parse_constant=_refuse).decode


def read_object(text: str) -> Json:
    """A JSON object. ValueError for anything else."""
    value = _decode(text)
    if value.__class__ is not dict:
        raise ValueError(f"an object is wanted, not {text[:80]!r}")
    return value


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence | frozenset):
        return list(cast("Sequence[Any]", value))
    raise TypeError(f"{type(value).__name__} has no form in JSON")


compact = JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain).encode


def write_body(body: Mapping[str, Any], provider: str) -> bytes:
    """The same bytes for the same body. Halves of a character, which UTF-8 cannot say, are joined or replaced."""
    try:
        text = compact(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise fault_of("bad_request", provider, f"the request cannot be written as JSON: {error}") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


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
            case Image(media_type, data):
                found.append(_image(media_type, data, "image", facts))
            case Resource(uri, text) if text is not None:
                found.append(("text", f"{uri}:\n{text}", ""))
            case Resource(uri, _, bytes() as data, kind):
                found.append(_file(uri, data, kind or "application/octet-stream", facts))
            case Resource(uri):
                found.append(("text", uri, ""))
            case _:
                pass
    return found


def _image(kind: str, data: bytes, name: str, facts: ModelFacts) -> tuple[str, str, str]:
    return ("image", data_url(kind, data), name) if facts.abilities.images else ("text", NO_IMAGES, "")


def _file(uri: str, data: bytes, kind: str, facts: ModelFacts) -> tuple[str, str, str]:
    if kind.startswith("image/"):
        return _image(kind, data, uri, facts)
    if kind == "application/pdf" and facts.abilities.images:
        return "pdf", data_url(kind, data), uri.rpartition("/")[2] or "file.pdf"
    return "text", f"[{uri}: {kind}, {len(data):,} bytes, not shown]", ""


def data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"


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
    if raw is None:
        return compact(call.arguments)
    if not raw.strip():
        return "{}"
    try:
        read_object(raw)
    except (ValueError, RecursionError):
        return compact({"not_json": raw})
    return raw


_BAD_SIGNS = re.compile(r"[^A-Za-z0-9_-]")


def safe_name(name: str) -> str:
    """A name that the API takes: models invent names of tools, and the next request has to repeat them."""
    return _BAD_SIGNS.sub("_", name)[:64] or "unnamed"


def safe_id(call_id: str, *, longest: int, exactly: int | None = None) -> str:
    """A call id that the API takes; another one made of it where it does not. Ids come from other providers too."""
    if exactly is not None:
        if len(call_id) == exactly and call_id.isalnum() and call_id.isascii():
            return call_id
        return sha256(call_id.encode("utf-8", "replace")).hexdigest()[:exactly]
    if 0 < len(call_id) <= longest and not _BAD_SIGNS.search(call_id):
        return call_id
    return f"call_{sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:24]}"


def kept_for(provider: str, kept: Opaque | None) -> Json:
    """The data that this provider put on a call; nothing if another one did."""
    if kept is not None and kept.provider == provider and isinstance(kept.data, Mapping):
        return dict(kept.data)
    return {}


# ---- options --------------------------------------------------------------------------------------------------------

_LEVELS = cast("tuple[Effort, ...]", get_args(Effort))


def effort_value(request: Request, facts: ModelFacts, note: Callable[[str], None]) -> Any:
    """The API's own value for the wanted effort: that of the next lower level where the model lacks one, of its lowest
    where it has none lower. None: nothing is sent."""
    wanted, known = request.options.effort, cast("Mapping[str, Any]", facts.efforts or {})
    if wanted is None:
        return None
    if not known:
        note(f"{facts.name} has no levels of effort: {wanted!r} was left out")
        return None
    if wanted in known:
        return known[wanted]
    lower = [level for level in _LEVELS[: _LEVELS.index(wanted)] if level in known]
    level = lower[-1] if lower else next(level for level in _LEVELS if level in known)
    note(f"{facts.name} has no effort {wanted!r}: {level!r} is used")
    return known[level]


def output_limit(request: Request, facts: ModelFacts, note: Callable[[str], None]) -> int | None:
    wanted = request.limits.max_output_tokens
    if wanted is not None and facts.known and wanted > facts.output_tokens:
        note(f"{facts.name} writes at most {facts.output_tokens:,} tokens: the limit of {wanted:,} was lowered")
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
