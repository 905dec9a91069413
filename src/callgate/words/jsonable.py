"""Nouns to JSON and back without loss, driven by their own type annotations.

A dataclass becomes an object; where several classes are possible a ``type`` key says which. Bytes become base64.

Every event of a log passes through here, so annotations are looked at once per class: what they say is kept as
closures. A closure looks inside its class when it is first called, so that a class may contain itself.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from json import dumps, loads
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, overload

from callgate.words.errors import UsageError, in_words

T = TypeVar("T")
Turn = Callable[[Any], Any]
"""What turns a value into JSON, or JSON into a value."""

_PLAIN = frozenset({str, int, float, bool, NoneType})
_NO_DEFAULT = object()
_LEFT_OUT = object()


def to_json(value: object) -> Any:
    """A JSON value that ``from_json`` turns back into an equal one."""
    return _WRITERS[type(value)](value)


def to_sparse(value: object) -> dict[str, Any]:
    """The fields of a noun without those at their defaults, for ``from_json`` of its own class.

    The nouns in its fields are written the same way, with a ``type`` only where their class is not certain. What is
    inside a mapping or an ``Any`` is written whole.
    """
    if isinstance(value, type) or not is_dataclass(value):
        raise TypeError(f"only a noun has fields to leave out: {value!r}")
    return _sparse_writer(type(value), None)(value)


@overload
def from_json(kind: type[T], data: Any) -> T: ...
@overload
def from_json(kind: Any, data: Any) -> Any: ...
def from_json(kind: Any, data: Any) -> Any:
    """The noun of the given class (or union of classes, such as ``Event``) that ``to_json`` or ``to_sparse`` wrote.

    UsageError says what does not fit; what a newer version added is left out.
    """
    try:
        return _reader(kind)(data)
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError, RecursionError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise UsageError(f"this is not the JSON of {name}: {in_words(error)}") from error


def plain_json(value: Any) -> Any:
    """The value as JSON reads it back; what JSON cannot say is there as its ``repr``."""
    try:
        return loads(dumps(value, default=repr, skipkeys=True, allow_nan=False))
    except (ValueError, RecursionError):  # not a number, a circle, too deep
        return {"unreadable": repr(value)[:1000]}


# Writing follows the values: what is not of the class its annotation says is written all the same.


class _Writers(dict[type, Turn]):
    """The function that writes the values of each class. A lookup with ``[]`` is the fastest in Python."""

    def __missing__(self, cls: type) -> Turn:
        if not is_dataclass(cls):
            return _write_other
        write = self[cls] = _writer(cls)
        return write


def _as_it_is(value: Any) -> Any:
    return value


def _write_items(value: Mapping[str, Any]) -> dict[str, Any]:
    # Most values are plain: asking here saves a call.
    return {key: item if type(item) in _PLAIN else _WRITERS[type(item)](item) for key, item in value.items()}


def _write_each(value: Iterable[Any]) -> list[Any]:
    return [item if type(item) in _PLAIN else _WRITERS[type(item)](item) for item in value]


def _write_bytes(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def _write_other(value: object) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return _write_bytes(value)
    if isinstance(value, Mapping):
        return _write_items(cast(Mapping[str, Any], value))
    if isinstance(value, tuple | list):
        return _write_each(cast(list[Any], value))
    if callable(value):
        raise TypeError(f"a function cannot be written down: {value!r}")
    return value


_WRITERS = _Writers(
    {dict: _write_items, tuple: _write_each, list: _write_each, bytes: _write_bytes} | dict.fromkeys(_PLAIN, _as_it_is)
)


def _writer(cls: type) -> Turn:
    names = tuple(field.name for field in fields(cls))
    values_of, tag = _all_of(attrgetter, names), cls.__name__

    def write(value: Any) -> dict[str, Any]:
        out: dict[str, Any] = {"type": tag}
        for name, item in zip(names, values_of(value)):  # noqa: B905 - strict= would cost a fifth of the whole
            out[name] = item if type(item) in _PLAIN else _WRITERS[type(item)](item)
        return out

    return write


class _SparseWriters(dict[type, Turn]):
    """The functions that write the values under one annotation; a class it does not name is written whole."""

    def __missing__(self, cls: type) -> Turn:
        return _WRITERS[cls]


@cache
def _sparse_writer(cls: type, tag: str | None) -> Turn:
    values_of = _all_of(attrgetter, tuple(field.name for field in fields(cls)))
    plan: tuple[tuple[str, Any, dict[type, Turn]], ...] | None = None

    def write(value: Any) -> dict[str, Any]:
        nonlocal plan
        if plan is None:
            hints = get_type_hints(cls)
            plan = tuple((field.name, _default(field), _sparse(hints[field.name])) for field in fields(cls))
        out: dict[str, Any] = {} if tag is None else {"type": tag}
        for (name, default, writers), item in zip(plan, values_of(value)):  # noqa: B905 - as above
            # 1 equals True and 1.0, and yet they are not the same JSON.
            if item is default or (type(item) is type(default) and item == default):
                continue
            out[name] = item if type(item) in _PLAIN else writers[type(item)](item)
        return out

    return write


def _sparse(kind: Any) -> dict[type, Turn]:
    members, found = _members(kind), _SparseWriters()
    for member in members:
        if _is_noun(member):
            found[member] = _sparse_writer(member, member.__name__ if len(members) > 1 else None)
        elif get_origin(member) is tuple:
            found.setdefault(tuple, _sparse_tuple(get_args(member)))
    return found or _WRITERS


def _sparse_tuple(kinds: tuple[Any, ...]) -> Turn:
    each = [_sparse(kind) for kind in kinds if kind is not ...]

    def write_fixed(value: tuple[Any, ...]) -> list[Any]:
        if len(value) != len(each):
            return _write_each(value)
        return [writers[type(item)](item) for writers, item in zip(each, value, strict=True)]

    if ... in kinds:
        (writers,) = each
        return lambda value: [writers[type(item)](item) for item in value]
    return write_fixed


# Reading follows the annotations.


@cache
def _reader(kind: Any) -> Turn:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _union_reader(kind)
    if origin is tuple:
        return _tuple_reader(get_args(kind))
    if origin is Literal:
        return _literal_reader(get_args(kind))
    if _is_noun(kind):
        return _noun_reader(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if kind is bytes:
        return b64decode
    if kind is float:
        return _read_float
    if origin in (Mapping, dict):
        return _plain_reader(Mapping)
    return _plain_reader(kind) if kind in (str, int, bool) else _as_it_is


def _read_float(data: Any) -> Any:
    if isinstance(data, float):
        return data
    if isinstance(data, int):
        return float(data)
    raise TypeError(f"a number is wanted, not {type(data).__name__}")


@cache
def _plain_reader(kind: type) -> Turn:
    def read(data: Any) -> Any:
        if isinstance(data, kind):
            return data
        raise TypeError(f"{'an object' if kind is Mapping else kind.__name__} is wanted, not {type(data).__name__}")

    return read


def _literal_reader(allowed: tuple[Any, ...]) -> Turn:
    known = {each: each for each in allowed}

    def read(data: Any) -> Any:
        try:
            return known[data]
        except (KeyError, TypeError):
            raise ValueError(f"{data!r} is none of {', '.join(map(repr, allowed))}") from None

    return read


def _tuple_reader(kinds: tuple[Any, ...]) -> Turn:
    reads = [_reader(kind) for kind in kinds if kind is not ...]

    def read_any(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list | tuple):
            raise TypeError(f"a list is wanted, not {type(data).__name__}")
        return tuple(map(reads[0], cast(list[Any], data)))

    def read_fixed(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list | tuple) or len(cast(list[Any], data)) != len(reads):
            raise TypeError(f"a list of {len(reads)} is wanted")
        return tuple(read(item) for read, item in zip(reads, cast(list[Any], data), strict=True))

    return read_any if ... in kinds else read_fixed


def _union_reader(kind: Any) -> Turn:
    is_optional = NoneType in get_args(kind)
    reads = {member: _reader(member) for member in _members(kind)}
    if all(read is _as_it_is for read in reads.values()):
        return _as_it_is
    if len(reads) == 1:
        (only,) = reads.values()
        return lambda data: None if data is None else only(data)
    nouns = {member.__name__: read for member, read in reads.items() if _is_noun(member)}
    others = [(_taken(member), read) for member, read in reads.items() if not _is_noun(member)]
    # Plain members take what is left over unchecked, as a plain annotation does.
    is_closed = all(_is_noun(member) or member is bytes or get_origin(member) is tuple for member in reads)

    def read(data: Any) -> Any:
        if data is None and is_optional:
            return None
        name = cast(Any, data).get("type") if isinstance(data, dict) else None
        if isinstance(name, str) and name in nouns:
            return nouns[name](data)
        for taken, read_other in others:
            if isinstance(data, taken):
                return read_other(data)
        if is_closed:
            found = repr(name) if isinstance(name, str) else f"{type(cast(Any, data)).__name__} without a type"
            raise ValueError(f"{found} is none of {', '.join(getattr(each, '__name__', '?') for each in reads)}")
        return cast(Any, data)

    return read


def _taken(member: Any) -> tuple[type, ...]:
    """The JSON types a member of a union takes when no ``type`` decides."""
    if get_origin(member) is tuple:
        return (list,)
    if member is bytes:
        return (str,)
    if member is float:
        return (float, int)
    return (member,) if isinstance(member, type) and member is not Any else ()


def _noun_reader(cls: type) -> Turn:
    plan: _Plan | None = None

    def read(data: Any) -> Any:
        nonlocal plan
        if plan is None:
            plan = _Plan(cls)
        if type(data) is not dict and not isinstance(data, Mapping):
            raise TypeError(f"{cls.__name__} is an object, not {type(data).__name__}")
        try:
            values = [*plan.values_of({**plan.defaults, **data})]
        except KeyError as missing:
            raise ValueError(f"{cls.__name__} has no {missing}") from None
        for index, default, turn in plan.turns:
            if values[index] is not default:
                values[index] = turn(values[index])
        for index, fresh in plan.factories:
            if values[index] is _LEFT_OUT:
                values[index] = fresh()
        return plan.make(*values)

    return read


class _Plan:
    """Of reading a class: its fields in order, what stands in for those left out, and which of them are turned."""

    __slots__ = ("defaults", "factories", "make", "turns", "values_of")

    def __init__(self, cls: type) -> None:
        given = [field for field in fields(cls) if field.init]
        names, hints = tuple(field.name for field in given), get_type_hints(cls)
        self.values_of = _all_of(itemgetter, names)
        self.make: Callable[..., Any] = cls
        if any(field.kw_only for field in given):
            self.make = lambda *values: cls(**dict(zip(names, values, strict=True)))
        self.defaults: dict[str, Any] = {}
        self.factories: list[tuple[int, Callable[[], Any]]] = []
        self.turns: list[tuple[int, Any, Turn]] = []
        for index, field in enumerate(given):
            if field.default_factory is not MISSING:
                self.factories.append((index, field.default_factory))
                self.defaults[field.name] = _LEFT_OUT
            elif field.default is not MISSING:
                self.defaults[field.name] = field.default
            turn = _reader(hints[field.name])
            if turn is not _as_it_is:
                self.turns.append((index, self.defaults.get(field.name, _NO_DEFAULT), turn))


def misfit(kind: Any, value: Any, name: str = "") -> str | None:
    """The reason why a value is not what an annotation says, so that it might not come back from JSON; None if it is. A
    list may stand for a tuple."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        reasons = [misfit(each, value, name) for each in inner]
        return None if None in reasons else next((each for each in reasons if each and "of " in each), reasons[0])
    if origin is tuple and isinstance(value, tuple | list):
        items = cast(tuple[Any, ...], value)
        kinds = [inner[0]] * len(items) if inner[1:] == (...,) else list(inner)
        if len(kinds) != len(items):
            return f"{name or 'it'} has {len(items)} items, not {len(kinds)}"
        found = (
            misfit(each, item, f"item {n} of {name}")
            for n, (each, item) in enumerate(zip(kinds, items, strict=True), 1)
        )
        return next(filter(None, found), None)
    if _is_noun(kind) and isinstance(value, kind):
        hints = get_type_hints(kind)
        found = (misfit(hints[each.name], getattr(value, each.name), each.name) for each in fields(kind))
        return next(filter(None, found), None)
    if origin is Literal:
        known = isinstance(value, str) and value in inner
        return None if known else f"there is no {name} {value!r:.80}; there are {', '.join(map(str, inner))}"
    wanted = (int, float) if kind is float else origin or kind
    if kind is Any or (wanted is NoneType and value is None) or (kind is not NoneType and isinstance(value, wanted)):
        return None
    return f"{name} is to be {getattr(kind, '__name__', kind)}, not {type(value).__name__}"


def _is_noun(kind: Any) -> bool:
    return isinstance(kind, type) and is_dataclass(kind)


def _members(kind: Any) -> tuple[Any, ...]:
    """The types that an annotation allows, besides None."""
    if get_origin(kind) in (Union, UnionType):
        return tuple(member for member in get_args(kind) if member is not NoneType)
    return (kind,)


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return _NO_DEFAULT if field.default is MISSING else field.default


def _all_of(getter: Callable[..., Any], names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """``attrgetter`` or ``itemgetter`` of all names: always a tuple, also of one and of none."""
    if len(names) > 1:
        return getter(*names)
    if not names:
        return lambda thing: ()
    get = getter(*names)
    return lambda thing: (get(thing),)
