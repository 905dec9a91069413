"""The context window of a model: its limits in tokens, and the size of what is put into it.

The distances between limits are data. Sizes are in characters, and tokens are estimated from them.
"""

from collections.abc import Iterable, Mapping

from callgate.words.messages import CallPart, Image, Message, Opaque, Part, Resource, ResultPart, Text, Thinking, Usage
from callgate.words.model import Request, ToolSpec
from callgate.words.noun import noun

ANSWER = 20_000
"""Room that is kept free for the answer, or the output limit of the model if that is less."""
AUTOMATIC = ((800_000, 50_000), (400_000, 30_000), (0, 13_000))
"""Windows from this size on, and how far below the usable part the history is compacted by itself."""
WARNING = 20_000
REFUSAL = 3_000
SMALL = 64_000
"""In smaller windows every distance shrinks in proportion: with 16,000 tokens it is a quarter."""


@noun
class ContextLimits:
    """``usable`` is the window without the room for the answer. From ``warning`` on people are told, from
    ``automatic`` on the history is compacted, from ``refusal`` on no request is sent."""

    window: int
    usable: int
    warning: int
    automatic: int
    refusal: int


def context_limits(window: int, output: int | None = None) -> ContextLimits:
    """The limits for a model with this window and this output limit."""

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
"""Before a provider has reported anything. Code and JSON have fewer characters in a token than prose."""
IMAGE_TOKENS = 1_600
_ENVELOPE = 16
"""Characters for the frame of a message or a part: role, ids, quotes."""


def missing_usage(known: Usage, request: Request, written: int) -> Usage:
    """Estimates of the input and the output that a provider has not counted, for an answer of ``written``
    characters."""
    counted = known.input + known.cache_read + known.cache_write
    sent = 0 if counted else len(request.system) + spec_chars(request.tools) + chars_of(request.messages)
    came = 0 if known.output else written
    return Usage(input=_tokens(sent), output=_tokens(came), estimated=bool(sent or came))


def chars_of(messages: Iterable[Message]) -> int:
    """The characters of messages as they are sent, roughly."""
    return sum(_ENVELOPE + sum(map(part_chars, message.parts)) for message in messages)


def spec_chars(tools: Iterable[ToolSpec]) -> int:
    return sum(_ENVELOPE + len(each.name) + len(each.description) + _nested(each.parameters) for each in tools)


def spec_tokens(tools: Iterable[ToolSpec]) -> int:
    """The tokens of these definitions in a request, estimated."""
    return -int(-spec_chars(tools) // CHARS_PER_TOKEN)


def part_chars(part: Part) -> int:
    """The characters of a part as it is sent, roughly; an image as the characters of its tokens."""
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
    """The length of a value as JSON, roughly, without writing it."""
    if isinstance(value, str | bytes):
        return len(value) + 2
    if isinstance(value, Mapping):
        return 2 + sum(len(str(key)) + 4 + _nested(each) for key, each in value.items())  # pyright: ignore
    if isinstance(value, list | tuple):
        return 2 + sum(1 + _nested(each) for each in value)  # pyright: ignore
    return 5


def _tokens(chars: int) -> int:
    return -int(-chars // CHARS_PER_TOKEN)
