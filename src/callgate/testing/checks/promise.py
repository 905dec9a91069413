"""Assertions of the conformance checks."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def promise(kept: object, text: str) -> None:
    """Raise an AssertionError with the text unless the condition is true. Works with ``python -O``, unlike
    ``assert``."""
    if not kept:
        raise AssertionError(f"broken promise: {text}")


def promise_kind(value: object, *kinds: type, text: str) -> None:
    """Raise an AssertionError unless the value has one of these types."""
    promise(isinstance(value, kinds), f"{text}, not {value!r}")


def quietly(ask: Callable[[], T], text: str) -> T:
    """Return the result of the function. Raise an AssertionError with the text if the function raises."""
    try:
        return ask()
    except Exception as error:
        raise AssertionError(f"broken promise: {text}, but: {error!r}") from error
