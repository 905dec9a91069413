"""Conversion of values from tools and models to JSON data for the record."""

from json import dumps, loads
from math import isfinite
from typing import Any, cast

_SAME = frozenset((bool, int, type(None)))


class NotPlain(Exception):
    """Raised for a value that is not plain JSON data."""


def plain_json(value: Any) -> Any:
    """Return the value as JSON data. Objects of types that JSON does not have are replaced by their ``repr``."""
    try:
        return plain_copy(value)
    except (NotPlain, RecursionError):
        pass
    try:
        return loads(dumps(value, default=repr, skipkeys=True, allow_nan=False))
    except (ValueError, RecursionError):  # NaN, a cycle, or too deep
        return {"unreadable": repr(value)[:1000]}


def plain_copy(value: Any) -> Any:
    """Return a deep copy of JSON data. The copy is faster than a conversion to JSON text and back.

    Raise NotPlain for a value that JSON might change: a subclass, NaN, an infinity, text beyond ASCII.
    """
    kind = cast(type, value.__class__)
    if kind in _SAME or (kind is str and value.isascii()) or (kind is float and isfinite(value)):
        return value
    if kind is dict:
        copy: dict[str, Any] = {}
        for key, each in value.items():
            if key.__class__ is not str or not key.isascii():
                raise NotPlain
            copy[key] = each if each.__class__ in _SAME else plain_copy(each)
        return copy
    if kind is list or kind is tuple:
        return [plain_copy(each) for each in value]
    raise NotPlain
