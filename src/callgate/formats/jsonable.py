"""Converts value types to JSON and back without loss, by their type annotations.

A dataclass becomes an object whose ``type`` key is the class name; bytes become base64.

Every event of a log is converted by this module, so the fields of a class are inspected once and stored in closures.
A closure that reads JSON inspects its class at the first call, so that a class can contain itself.
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
"""Converts a value to JSON, or JSON to a value."""

RENAMED = {"Ask": {"standing": "unconditional"}, "Compacted": {"untold": "unreported"}}
"""Field names of earlier versions by class, which old logs contain."""

_PLAIN = frozenset({str, int, float, bool, NoneType})
_NO_DEFAULT = object()
_MISFITS = (TypeError, ValueError, AttributeError, KeyError, OverflowError, RecursionError)


def to_json(value: object) -> Any:
    """Convert a value to JSON; ``from_json`` converts the JSON back to an equal value."""
    return _WHOLE[type(value)](value)


def to_sparse(value: object) -> dict[str, Any]:
    """Convert a dataclass to JSON without fields that have their default value and without the top-level ``type``.
    The caller of ``from_json`` must pass the class."""
    if not is_dataclass(type(value)):
        raise TypeError(f"only a value type has fields that can be omitted: {value!r}")
    out = _SPARSE[type(value)](value)
    del out["type"]
    return out


@overload
def from_json(kind: type[T], data: Any) -> T: ...
@overload
def from_json(kind: Any, data: Any) -> Any: ...
def from_json(kind: Any, data: Any) -> Any:
    """Convert JSON from ``to_json`` or ``to_sparse`` back to the given class, or to a class of a union such as
    ``Event``.

    Unknown fields of newer versions are ignored. Raise UsageError if the JSON does not match the class.
    """
    try:
        return _reader(kind)(data)
    except _MISFITS as error:
        # the error of a union contains the names
        name = kind.__name__ if isinstance(kind, type) else "any of its classes"
        raise UsageError(f"invalid JSON for {name}: {in_words(error)}") from error


def misfit(value: object) -> str | None:
    """Return the reason why a value cannot be converted to JSON and back without loss, such as a field that does not
    match its annotation; None if it can."""
    try:
        written = _CHECKED[type(value)](value)
        if loads(dumps(written, allow_nan=False)) != written:
            return "a value changes when it is converted to JSON and back"
        again = to_json(_reader(type(value))(written))
    except _MISFITS as error:
        return str(error)
    other = [name for name, item in again.items() if item != written[name]]  # a dataclass of another class, or none
    return f"{other[0]}: the value has the wrong type" if other else None


# Writing is based on the values: a value that does not match its annotation is written too.


class _Writers(dict[type, Turn]):
    """The write function of each class. A dict subclass, because a lookup with ``[]`` is the fastest in Python."""

    def __init__(self, *, sparse: bool) -> None:
        super().__init__(dict.fromkeys(_PLAIN, _as_it_is))
        self._sparse = sparse

    def __missing__(self, cls: type) -> Turn:
        write = self[cls] = self._writer(cls)
        return write

    def _writer(self, cls: type) -> Turn:
        if is_dataclass(cls):
            return self._noun(cls)
        if issubclass(cls, Enum):
            return attrgetter("value")
        if issubclass(cls, bytes):
            return _write_bytes
        if issubclass(cls, Mapping):
            return self._items
        if issubclass(cls, tuple | list):
            return self._each
        return _refuse if issubclass(cls, Callable) else _as_it_is

    def _items(self, value: Mapping[str, Any]) -> dict[str, Any]:
        # Most values are plain; this test saves a call.
        return {key: item if type(item) in _PLAIN else self[type(item)](item) for key, item in value.items()}

    def _each(self, value: Iterable[Any]) -> list[Any]:
        return [item if type(item) in _PLAIN else self[type(item)](item) for item in value]

    def _noun(self, cls: type) -> Turn:
        names, tag = tuple(field.name for field in fields(cls)), cls.__name__
        values_of = _all_of(attrgetter, names)
        defaults = tuple(_default(field) if self._sparse else _NO_DEFAULT for field in fields(cls))

        def write(value: Any) -> dict[str, Any]:
            out: dict[str, Any] = {"type": tag}
            for name, default, item in zip(names, defaults, values_of(value)):  # noqa: B905 - strict= costs a fifth
                # 1 equals True and 1.0, but their JSON is different.
                if item is default or (type(item) is type(default) and item == default):
                    continue
                out[name] = item if type(item) in _PLAIN else self[type(item)](item)
            return out

        return write


def _as_it_is(value: Any) -> Any:
    return value


def _write_bytes(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def _refuse(value: object) -> Any:
    raise TypeError(f"a function cannot be written as JSON: {value!r}")


class _Base64(str):
    """The base64 of bytes, as a type of its own, so that it is not read as text."""

    __slots__ = ()


_WHOLE, _SPARSE, _CHECKED = _Writers(sparse=False), _Writers(sparse=True), _Writers(sparse=False)
_CHECKED[bytes] = lambda value: _Base64(_write_bytes(value))


# Reading is based on the annotations.


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
    raise TypeError(f"expected a number, not {type(data).__name__}")


@cache
def _plain_reader(kind: type) -> Turn:
    def read(data: Any) -> Any:
        if type(data) is kind or (isinstance(data, kind) and type(data) is not _Base64):
            return data
        raise TypeError(f"expected {'an object' if kind is Mapping else kind.__name__}, not {type(data).__name__}")

    return read


def _literal_reader(allowed: tuple[Any, ...]) -> Turn:
    known = {each: each for each in allowed}

    def read(data: Any) -> Any:
        try:
            return known[data]
        except (KeyError, TypeError):
            raise ValueError(f"{data!r:.80} is not one of {', '.join(map(repr, allowed))}") from None

    return read


def _tuple_reader(kinds: tuple[Any, ...]) -> Turn:
    reads = [_reader(kind) for kind in kinds if kind is not ...]

    def read_any(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list | tuple):
            raise TypeError(f"expected a list, not {type(data).__name__}")
        return tuple(map(reads[0], cast(list[Any], data)))

    def read_fixed(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list | tuple) or len(cast(list[Any], data)) != len(reads):
            raise TypeError(f"expected a list of {len(reads)} values")
        return tuple(read(item) for read, item in zip(reads, cast(list[Any], data), strict=True))

    return read_any if ... in kinds else read_fixed


def _union_reader(kind: Any) -> Turn:
    is_optional = NoneType in get_args(kind)
    reads = {member: _reader(member) for member in get_args(kind) if member is not NoneType}
    if all(read is _as_it_is for read in reads.values()):
        return _as_it_is
    if len(reads) == 1:
        (only,) = reads.values()
        return lambda data: None if data is None else only(data)
    nouns = {member.__name__: read for member, read in reads.items() if _is_noun(member)}
    others = [(_taken(member), read) for member, read in reads.items() if not _is_noun(member)]
    # A member that accepts any value also accepts what no other member accepts.
    is_closed = all(_is_noun(member) or get_origin(member) is tuple or member in _TAKEN for member in reads)

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
            raise ValueError(f"{found} is not one of {', '.join(getattr(each, '__name__', '?') for each in reads)}")
        return cast(Any, data)

    return read


_TAKEN = (bytes, str, int, float, bool)


def _taken(member: Any) -> tuple[type, ...]:
    if get_origin(member) is tuple:
        return (list,)
    if member is bytes:
        return (str,)
    if member is float:
        return (float, int)
    return (member,) if isinstance(member, type) and member is not Any else ()


def _noun_reader(cls: type) -> Turn:
    read_fields: Turn | None = None

    def read(data: Any) -> Any:
        nonlocal read_fields
        if type(data) is not dict and not isinstance(data, Mapping):
            raise TypeError(f"{cls.__name__} must be an object, not {type(data).__name__}")
        if read_fields is None:
            read_fields = _fields_reader(cls)
        return read_fields(data)

    return read


def _fields_reader(cls: type) -> Turn:
    known = [field for field in fields(cls) if field.init]
    names, hints = tuple(field.name for field in known), get_type_hints(cls)
    values_of = _all_of(itemgetter, names)
    by_keyword = any(field.kw_only for field in known)
    defaults: dict[str, Any] = {field.name: field.default for field in known if field.default is not MISSING}
    # A factory stands for its value.
    factories = {at: field.default_factory for at, field in enumerate(known) if field.default_factory is not MISSING}
    defaults |= {names[at]: make for at, make in factories.items()}
    turns = [(at, defaults.get(name, _NO_DEFAULT), _reader(hints[name])) for at, name in enumerate(names)]
    turns = [each for each in turns if each[2] is not _as_it_is]

    renamed = RENAMED.get(cls.__name__, {})

    def read(data: Mapping[str, Any]) -> Any:
        if renamed:
            data = {renamed.get(name, name): value for name, value in data.items()}
        try:
            values = [*values_of({**defaults, **data})]
        except KeyError as missing:
            raise ValueError(f"{cls.__name__} has no {missing}") from None
        at = 0
        try:
            for at, default, turn in turns:
                if values[at] is not default:
                    values[at] = turn(values[at])
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{names[at]}: {error}") from None
        for at, make in factories.items():
            if values[at] is make:
                values[at] = make()
        return cls(**dict(zip(names, values, strict=True))) if by_keyword else cls(*values)

    return read


def _is_noun(kind: Any) -> bool:
    return isinstance(kind, type) and is_dataclass(kind)


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return _NO_DEFAULT if field.default is MISSING else field.default


def _all_of(getter: Callable[..., Any], names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return getter(*names)
    if not names:
        return lambda thing: ()
    get = getter(*names)
    return lambda thing: (get(thing),)
