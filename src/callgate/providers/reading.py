"""Text and usage for the parsers of streams."""

from callgate.words.messages import Usage


def refuse_constant(name: str) -> object:
    """Raise ValueError for ``NaN`` and ``Infinity``, which Python reads as JSON; for ``parse_constant``."""
    raise ValueError(f"{name} is no JSON")


def text_of(value: object) -> str:
    """The value, if it is text."""
    if type(value) is str:
        return value
    raise TypeError(f"text is wanted, not {value!r:.80}")


def rest_of(total: Usage, first: Usage) -> Usage:
    """The usage since the first count of a message, never below zero: a reader adds up both."""
    return Usage(
        input=max(0, total.input - first.input),
        cache_read=max(0, total.cache_read - first.cache_read),
        cache_write=max(0, total.cache_write - first.cache_write),
        output=max(0, total.output - first.output),
        reasoning=max(0, total.reasoning - first.reasoning),
    )
