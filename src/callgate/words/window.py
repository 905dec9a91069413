"""The context window of a model: limits in tokens, and the size of requests.

Sizes are counted in characters, and tokens are estimated from the number of characters.
"""

from collections.abc import Iterable, Mapping

from callgate.words.messages import CallPart, Image, Message, Opaque, Part, Resource, ResultPart, Text, Thinking, Usage
from callgate.words.model import Request, ToolSpec
from callgate.words.noun import noun

ANSWER = 20_000
"""Tokens reserved for the answer, or the output limit of the model if that is less."""
AUTOMATIC = ((800_000, 50_000), (400_000, 30_000), (0, 13_000))
"""Minimum size of a window, and the distance below ``usable`` at which the history is compacted automatically."""
WARNING = 20_000
REFUSAL = 3_000
SMALL = 64_000
"""In windows below this size all distances are scaled in proportion."""


@noun
class ContextLimits:
    """Limits of the input in tokens.

    usable     the window without the reserve for the answer
    warning    above this limit, the user is warned
    automatic  above this limit, the history is compacted
    refusal    above this limit, no request is sent
    """

    window: int
    usable: int
    warning: int
    automatic: int
    refusal: int


def context_limits(window: int, output: int | None = None) -> ContextLimits:
    def scaled(distance: int) -> int:
        return distance * min(window, SMALL) // SMALL

    usable = window - min(output or ANSWER, scaled(ANSWER))
    below = next(distance for size, distance in AUTOMATIC if window >= size)
    return ContextLimits(
        window=window,
        usable=usable,
        warning=usable - scaled(WARNING),
        automatic=usable - scaled(below),
        refusal=usable - scaled(REFUSAL),
    )


# ---- sizes -----------------------------------------------------------------------------------------------------------

CHARS_PER_TOKEN = 3.5
"""The estimate before a provider has reported numbers. Code and JSON have fewer characters per token than prose."""
IMAGE_TOKENS = 1_600
_ENVELOPE = 16
"""Characters of the JSON around a message or a part: role, ids, quotes."""


def missing_usage(known: Usage, request: Request, written: int) -> Usage:
    """Return estimates of the input and output tokens that the provider has not reported, as a Usage.

    written  the length of the answer in characters
    """
    counted = known.input + known.cache_read + known.cache_write
    sent = 0 if counted else len(request.system) + spec_chars(request.tools) + chars_of(request.messages)
    came = 0 if known.output else written
    return Usage(input=_tokens(sent), output=_tokens(came), estimated=bool(sent or came))


def chars_of(messages: Iterable[Message]) -> int:
    """Estimate the number of characters of messages in a request."""
    return sum(_ENVELOPE + sum(map(part_chars, message.parts)) for message in messages)


def spec_chars(tools: Iterable[ToolSpec]) -> int:
    return sum(_ENVELOPE + len(each.name) + len(each.description) + _nested(each.parameters) for each in tools)


def spec_tokens(tools: Iterable[ToolSpec]) -> int:
    """Estimate the number of tokens of tool definitions in a request."""
    return -int(-spec_chars(tools) // CHARS_PER_TOKEN)


def part_chars(part: Part) -> int:
    """Estimate the number of characters of a part in a request. The tokens of an image are converted to characters."""
    match part:
        case Text() | Thinking():
            return len(part.text)
        case CallPart():
            written = part.raw_arguments
            kept = 0 if part.kept is None else _nested(part.kept.data)
            return (
                2 * _ENVELOPE + len(part.name) + kept + (_nested(part.arguments) if written is None else len(written))
            )
        case ResultPart():
            return 2 * _ENVELOPE + sum(map(part_chars, part.content))
        case Image():
            return round(IMAGE_TOKENS * CHARS_PER_TOKEN)
        case Resource():
            return len(part.uri) + len(part.text or "") + len(part.data or b"")
        case Opaque():
            return _nested(part.data)


def _nested(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value) + 2
    if isinstance(value, Mapping):
        return 2 + sum(len(str(key)) + 4 + _nested(each) for key, each in value.items())  # pyright: ignore
    if isinstance(value, list | tuple):
        return 2 + sum(1 + _nested(each) for each in value)  # pyright: ignore
    return 5


def _tokens(chars: int) -> int:
    return -int(-chars // CHARS_PER_TOKEN)
