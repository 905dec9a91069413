"""Conformance checks of the ports, to run on other implementations of a port.

Each ``check_*`` function raises an AssertionError that names the violated requirement. All functions are coroutines,
because they run on the event loop of the implementation.
"""

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
