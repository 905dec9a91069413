"""Compact JSON of fixed bytes, resources in words and names that APIs accept, for the writers of request bodies."""

from collections.abc import Callable, Collection, Mapping, Sequence
from json import JSONEncoder, dumps, loads
from operator import is_
from typing import Any, Generic, TypeVar, cast, get_args
from zlib import crc32

from callgate.providers.family import ModelFacts
from callgate.words.errors import ModelError
from callgate.words.late_pattern import late_pattern
from callgate.words.model import Effort, Request, WantedEffort

G = TypeVar("G")
T = TypeVar("T")

_NOT_A_NAME = late_pattern(r"[^a-zA-Z0-9_-]")


class Written(bytes):
    """A value that is JSON already: an item of a list in a body, such as a message that was sent before."""


def compact(body: Mapping[str, Any]) -> bytes:
    """The body as JSON without spaces. The same body gives the same bytes: keys keep their order."""
    return b"{%b}" % b",".join(b"%b:%b" % (encoded(name), _field(value)) for name, value in body.items())


def _field(value: Any) -> bytes:
    if not isinstance(value, list):
        return encoded(value)
    items = cast("list[Any]", value)
    return b"[%b]" % b",".join([each if each.__class__ is Written else encoded(each) for each in items])


def encoded(value: Any) -> bytes:
    """A value as JSON without spaces. Halves of a character, which UTF-8 cannot say, are joined or replaced; numbers
    that JSON does not have become null."""
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


# Made once: ``dumps`` would make an encoder for the arguments of every call in every request.
_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain).encode


class RequestMemo(Generic[G, T]):
    """Keeps what was made of each message, or each tool, of the last request. They never change, and a session sends
    the very same objects again, so a long conversation costs what is new in it. ``under`` are the circumstances that
    count for all of them: where another one is given, all is made anew."""

    def __init__(self) -> None:
        self._under: object = None
        self._given: list[G] = []
        self._made: list[T] = []

    def of(self, given: Sequence[G], make: Callable[[G], T], under: object = None) -> list[T]:
        """The values that ``make`` gives. They are kept, so they must not be changed."""
        now = list(given)
        same = self._under is under or self._under == under
        if same and len(now) >= len(self._given) and all(map(is_, now, self._given)):  # most requests add some
            made = [*self._made, *map(make, now[len(self._given) :])]
        else:
            known = {id(each): at for at, each in enumerate(self._given)} if same else {}
            made = [make(each) if (at := known.get(id(each))) is None else self._made[at] for each in now]
        self._given, self._made, self._under = now, made, under
        return made


def safe_name(name: str, longest: int) -> str:
    """The id or name as it is, if it consists of letters, digits, ``_`` and ``-``; otherwise with ``_`` for everything
    else and a checksum, so that different ones stay different and the same one stays the same."""
    if name and len(name) <= longest and _NOT_A_NAME.search(name) is None:
        return name
    mark = f"{crc32(name.encode('utf-8', 'replace')):08x}"
    return f"{_NOT_A_NAME.sub('_', name)[: longest - 9]}_{mark}"


def request_headers(request: Request, authorization: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request; the user's own replace the others."""
    own = {name.lower(): value for name, value in request.options.headers.items()}
    return {"content-type": "application/json", "accept": "text/event-stream", **authorization, **own}


def add_own_fields(body: dict[str, Any], own: Mapping[str, Any]) -> None:
    """Add the user's own fields. Tools are appended to those of the body, fields of ``generationConfig`` are merged;
    every other field replaces that of the body."""
    for name, value in own.items():
        if name == "tools" and isinstance(value, list | tuple):
            value = [*body.get("tools", ()), *cast("list[Any]", value)]
        elif name == "generationConfig" and isinstance(value, Mapping):
            value = {**body.get(name, {}), **cast("Mapping[str, Any]", value)}
        body[name] = value


def effort_value(facts: ModelFacts, wanted: WantedEffort, notes: list[str]) -> Any:
    """The provider's own value for a level of effort; a level that the model lacks is the next lower one, which is
    said. None for ``auto`` and for a model that has no levels."""
    if wanted == "auto":
        return None
    found = effort_level(tuple(facts.efforts or ()), wanted)
    if found is None:
        notes.append(f"{facts.name} has no levels of effort: {wanted!r} is left out.")
        return None
    if found != wanted:
        notes.append(f"{facts.name} has no effort {wanted!r}: {found!r} is used.")
    return (facts.efforts or {})[found]


def effort_level(levels: Collection[Effort], wanted: Effort) -> Effort | None:
    """The level that is used where a model has these: the wanted one, the next lower one, or the lowest."""
    order: tuple[Effort, ...] = get_args(Effort)
    lower: list[Effort] = [level for level in order[: order.index(wanted) + 1] if level in levels]
    known: list[Effort] = [level for level in order if level in levels]
    return lower[-1] if lower else known[0] if known else None


def output_limit(facts: ModelFacts, wanted: int | None) -> int:
    """The most tokens of the answer: as wanted, but not more than the model is known to write."""
    if wanted is None:
        return facts.output_tokens
    return max(1, min(wanted, facts.output_tokens) if facts.known else wanted)
