"""Nouns to JSON and back without loss, driven by their own type annotations.

A dataclass becomes an object; where several classes are possible a ``type`` key says which. Bytes become base64.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from json import dumps, loads
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, overload

from callgate.words.errors import UsageError, in_words

T = TypeVar("T")


def to_json(value: object) -> Any:
    """A JSON value that ``from_json`` turns back into an equal one."""
    if is_dataclass(value) and not isinstance(value, type):
        out: dict[str, Any] = {"type": type(value).__name__}
        for field in fields(value):
            out[field.name] = to_json(getattr(value, field.name))
        return out
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in cast(Mapping[str, object], value).items()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in cast(list[object], value)]
    if callable(value):
        raise TypeError(f"a function cannot be written down: {value!r}")
    return value


@overload
def from_json(kind: type[T], data: Any) -> T: ...
@overload
def from_json(kind: Any, data: Any) -> Any: ...
def from_json(kind: Any, data: Any) -> Any:
    """The noun of the given class (or union of classes, such as ``Event``) that ``to_json`` wrote.

    UsageError says what does not fit; what a newer version added is left out.
    """
    try:
        return _read(kind, data)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise UsageError(f"this is not the JSON of {name}: {in_words(error)}") from error


def plain_json(value: Any) -> Any:
    """The value as JSON reads it back; what JSON cannot say is there as its ``repr``."""
    try:
        return loads(dumps(value, default=repr, skipkeys=True, allow_nan=False))
    except (ValueError, RecursionError):  # not a number, a circle, too deep
        return {"unreadable": repr(value)[:1000]}


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _read(kind: Any, data: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_union(get_args(kind), data)
    if origin is tuple:
        (item, *_rest) = get_args(kind)
        return tuple(_read(item, entry) for entry in data)
    if origin is Literal:
        if data not in get_args(kind):
            raise ValueError(f"{data!r} is none of {', '.join(map(repr, get_args(kind)))}")
        return data
    if kind is Any:
        return data
    if isinstance(kind, type):
        if is_dataclass(kind):
            if not isinstance(data, Mapping):
                raise TypeError(f"{kind.__name__} is an object, not {type(data).__name__}")
            given = cast(Mapping[str, Any], data)
            hints = _hints(kind)
            known = {field.name for field in fields(kind)}
            return kind(**{key: _read(hints[key], item) for key, item in given.items() if key in known})
        if issubclass(kind, Enum):
            return kind(data)
        if kind is bytes:
            return b64decode(data)
        if kind is float and isinstance(data, int):
            return float(data)
    return data


def _read_union(members: tuple[Any, ...], data: Any) -> Any:
    if data is None and NoneType in members:
        return None
    name = cast(dict[str, Any], data).get("type") if isinstance(data, dict) else None
    for member in members:
        if isinstance(member, type) and is_dataclass(member) and member.__name__ == name:
            return _read(member, data)
    for member in members:
        if member is NoneType or get_origin(member) is Callable:
            continue
        if _fits(member, data):
            return _read(member, data)
    return cast(Any, data)


def _fits(member: Any, data: Any) -> bool:
    origin = get_origin(member)
    if origin is tuple:
        return isinstance(data, list)
    if isinstance(member, type):
        if is_dataclass(member):
            return False
        if member is bytes:
            return isinstance(data, str)
        return isinstance(data, member) or (member is float and isinstance(data, int))
    return False
