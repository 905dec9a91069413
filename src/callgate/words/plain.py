"""Values of others as data that can be put on record."""

from json import dumps, loads
from typing import Any


def plain_json(value: Any) -> Any:
    """The value as JSON reads it back; what JSON cannot say is there as its ``repr``."""
    try:
        return loads(dumps(value, default=repr, skipkeys=True, allow_nan=False))
    except (ValueError, RecursionError):  # not a number, a circle, too deep
        return {"unreadable": repr(value)[:1000]}
