"""Encodes request bodies as compact JSON, and provides names, headers, effort levels and output limits for all
families."""

from collections.abc import Callable, Collection, Mapping, Sequence
from json import JSONEncoder, dumps, loads
from operator import is_
from typing import Any, Generic, TypeVar, cast, get_args
from zlib import crc32

from callgate.providers.family import Json, ModelFacts
from callgate.words.errors import ModelError
from callgate.words.late_pattern import late_pattern
from callgate.words.model import Effort, Request, ToolChoice, WantedEffort

G = TypeVar("G")
T = TypeVar("T")

_NOT_A_NAME = late_pattern(r"[^a-zA-Z0-9_-]")


class Written(bytes):
    """A value that is already encoded as JSON, such as an item of a list in a body."""


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Encode a body as JSON without spaces. Equal bodies give equal bytes: the order of keys is kept."""
    return b"{%b}" % b",".join(b"%b:%b" % (encode_json(name), _field(value)) for name, value in body.items())


def _field(value: Any) -> bytes:
    if not isinstance(value, list):
        return encode_json(value)
    items = cast("list[Any]", value)
    return b"[%b]" % b",".join([each if each.__class__ is Written else encode_json(each) for each in items])


def encode_json(value: Any) -> bytes:
    """Encode a value as JSON without spaces. Pairs of surrogates are joined, lone surrogates are replaced, and NaN
    and infinity become null."""
    try:
        try:
            text = _encode(value)
        except ValueError:
            plain = loads(dumps(value, default=_plain), parse_constant=lambda _: None)
            text = dumps(plain, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"the request cannot be written as JSON: {error}", kind="bad_request") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, tuple | set | frozenset):
        return list(cast("tuple[Any, ...]", value))
    raise TypeError(f"{type(value).__name__} is not JSON")


# Created once, because ``dumps`` with options creates an encoder for each call.
_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain).encode


class RequestMemo(Generic[G, T]):
    """A cache for the converted messages or tools of the last request.

    Messages and tools never change, and a session sends the same objects again, so only new objects are converted.
    """

    def __init__(self) -> None:
        self._under: object = None
        self._given: list[G] = []
        self._made: list[T] = []

    def convert(self, given: Sequence[G], make: Callable[[G], T], under: object = None) -> list[T]:
        """Return the converted values, which the caller must not change.

        make   a callback that converts one value
        under  the settings of the conversion; if they change, all values are converted again
        """
        now = list(given)
        same = self._under is under or self._under == under
        if same and len(now) >= len(self._given) and all(map(is_, now, self._given)):  # most requests only append
            made = [*self._made, *map(make, now[len(self._given) :])]
        else:
            known = {id(each): at for at, each in enumerate(self._given)} if same else {}
            made = [make(each) if (at := known.get(id(each))) is None else self._made[at] for each in now]
        self._given, self._made, self._under = now, made, under
        return made


def safe_name(name: str, longest: int) -> str:
    """Return a name that APIs accept: unchanged if it has only letters, digits, ``_`` and ``-``. Otherwise other
    characters become ``_`` and a checksum is appended, so that different names stay different."""
    if name and len(name) <= longest and _NOT_A_NAME.search(name) is None:
        return name
    mark = f"{crc32(name.encode('utf-8', 'replace')):08x}"
    return f"{_NOT_A_NAME.sub('_', name)[: longest - 9]}_{mark}"


def request_headers(request: Request, authorization: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request; the user's own headers replace headers of the same name."""
    own = {name.lower(): value for name, value in request.options.headers.items()}
    return {"content-type": "application/json", "accept": "text/event-stream", **authorization, **own}


def add_own_fields(body: dict[str, Any], own: Mapping[str, Any]) -> None:
    """Add the user's own fields to a body. Tools are appended to the tools of the body, fields of
    ``generationConfig`` are merged, and every other field replaces the field of the body."""
    for name, value in own.items():
        if name == "tools" and isinstance(value, list | tuple):
            value = [*body.get("tools", ()), *cast("list[Any]", value)]
        elif name == "generationConfig" and isinstance(value, Mapping):
            value = {**body.get(name, {}), **cast("Mapping[str, Any]", value)}
        body[name] = value


def effort_value(facts: ModelFacts, wanted: WantedEffort, notes: list[str]) -> Any:
    """Return the provider's value for an effort level. If the model does not have the level, use the level from
    ``effort_level`` and append a note. Return None for ``auto`` and for a model without levels."""
    if wanted == "auto":
        return None
    found = effort_level(tuple(facts.efforts or ()), wanted)
    if found is None:
        notes.append(f"{facts.name} does not support effort: {wanted!r} is omitted.")
        return None
    if found != wanted:
        notes.append(f"{facts.name} does not support the effort {wanted!r}: {found!r} is used.")
    return (facts.efforts or {})[found]


def effort_level(levels: Collection[Effort], wanted: Effort) -> Effort | None:
    """Return the requested level if the model has it, otherwise the next lower level, otherwise the lowest level.
    Return None if the model has no levels."""
    order: tuple[Effort, ...] = get_args(Effort)
    lower: list[Effort] = [level for level in order[: order.index(wanted) + 1] if level in levels]
    known: list[Effort] = [level for level in order if level in levels]
    return lower[-1] if lower else known[0] if known else None


def nearest_choice(request: Request, facts: ModelFacts, notes: list[str], *, thinks: bool = False) -> ToolChoice:
    """Return the requested tool choice, or the nearest choice that the model supports, with a note.

    thinks  True if the model cannot be forced to call a tool because it thinks
    """
    wanted = request.tool_choice
    choice = facts.abilities.nearest(wanted)
    if thinks and choice.kind in ("required", "named"):
        choice = ToolChoice("auto")
    if choice.kind != wanted.kind:
        reason = " while it thinks" if thinks else ""
        notes.append(f"{facts.name} does not support the tool choice {wanted.kind!r}{reason}: {choice.kind!r} is used.")
    return choice


def put_temperature(
    body: Json, request: Request, facts: ModelFacts, notes: list[str], *, refused: bool, reason: str = ""
) -> None:
    """Set the temperature of a body if one is requested; append a note if the model refuses it."""
    if request.options.temperature is not None:
        if refused:
            notes.append(f"{facts.name} does not support a temperature{reason}: omitted.")
        else:
            body["temperature"] = request.options.temperature


def answer_schema(request: Request, facts: ModelFacts, notes: list[str], *, with_tools: bool = True) -> Json | None:
    """Return the JSON Schema of the answer; None, with a note, if the model does not support one.

    with_tools  False if the model does not support a schema in a request with tools
    """
    if request.output is None:
        return None
    if facts.abilities.structured and (with_tools or not request.tools):
        return {**request.output}
    reason = " while it has tools" if facts.abilities.structured else ""
    notes.append(f"{facts.name} does not support a JSON Schema{reason}: omitted.")
    return None


def convert_inside(name: str, value: Any, convert: Callable[[Mapping[str, Any]], Json]) -> Any:
    """Return the value of a schema's keyword, with ``convert`` applied to each schema in the value."""

    def inner(schema: Any) -> Any:
        return convert(cast("Mapping[str, Any]", schema)) if isinstance(schema, Mapping) else schema

    if name in ("properties", "$defs", "definitions") and isinstance(value, Mapping):
        return {each: inner(inside) for each, inside in cast("Mapping[str, Any]", value).items()}
    if name in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, list | tuple):
        return [inner(inside) for inside in cast("Sequence[Any]", value)]
    return inner(value) if name in ("items", "additionalProperties") else value


def output_limit(facts: ModelFacts, wanted: int | None) -> int:
    """Return the requested output limit in tokens, at most the limit of the model."""
    if wanted is None:
        return facts.output_tokens
    return max(1, min(wanted, facts.output_tokens) if facts.known else wanted)
