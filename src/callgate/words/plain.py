"""Values of others as data that can be put on record."""

from json import dumps, loads
from math import isfinite
from typing import Any, cast

_SAME = frozenset((bool, int, type(None)))


class NotPlain(Exception):
    """The value is not made of plain JSON types alone."""


def plain_json(value: Any) -> Any:
    """The value as JSON reads it back; what JSON cannot say is there as its ``repr``."""
    try:
        return plain_copy(value)
    except (NotPlain, RecursionError):
        pass
    try:
        return loads(dumps(value, default=repr, skipkeys=True, allow_nan=False))
    except (ValueError, RecursionError):  # not a number, a circle, too deep
        return {"unreadable": repr(value)[:1000]}


def plain_copy(value: Any) -> Any:
    """A copy that shares nothing with the value, as writing and reading JSON would give it, in a fraction of the time.
    NotPlain for values that JSON might change: subclasses, numbers it does not have, text beyond ASCII."""
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
