"""The interface between the HTTP code and the API families, with functions that families share.

A family performs no I/O. It converts a request to a POST, and the server-sent events of the answer to model events.
"""

from collections.abc import Mapping, Sequence
from json import JSONDecoder
from typing import Any, Protocol, cast

from callgate.words.errors import ModelError
from callgate.words.messages import Usage
from callgate.words.model import Abilities, Effort, ModelEvent, Request
from callgate.words.noun import noun

Json = dict[str, Any]


@noun
class ServerEvent:
    """One server-sent event.

    event  the name of the event; empty if the server sends none
    """

    event: str
    data: str


@noun
class HttpPost:
    """An HTTP POST.

    path     the path that is appended to the base URL
    headers  all headers, including the key
    """

    path: str
    headers: Mapping[str, str]
    body: bytes


@noun
class Prices:
    """The prices of a model in dollars per million tokens.

    above  the prices of requests whose prompt has more than ``over`` tokens
    """

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0
    over: int = 0
    above: "Prices | None" = None

    def cost(self, usage: Usage) -> float:
        """Return the cost of one request in dollars."""
        if self.above is not None and usage.input + usage.cache_read + usage.cache_write > self.over:
            return self.above.cost(usage)
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
        ) / 1_000_000


@noun
class ModelFacts:
    """The known properties of a model, from one row of ``models.toml``.

    efforts         the provider's value for each effort level of the model
    effort          the default level
    thinking        the kind of thinking: ``none``, ``always`` (not optional), ``budget`` (in tokens) or ``adaptive``
    image_pixels    the maximum length of the longest side
    image_bytes     the maximum size of one image
    images_at_most  the maximum number of images
    images_bytes    the maximum total size of images
    known           False for a model without a row, whose facts are defaults
    """

    name: str
    family: str
    context_tokens: int = 128_000
    output_tokens: int = 8_192
    prices: Prices | None = None
    abilities: Abilities = Abilities()
    efforts: Mapping[Effort, Any] | None = None
    effort: Effort | None = None
    thinking: str = "none"
    image_pixels: int = 1_568
    image_bytes: int = 3_700_000
    images_at_most: int = 100
    images_bytes: int = 20_000_000
    quirks: frozenset[str] = frozenset()
    known: bool = True


StreamOutput = Sequence[ModelEvent | ModelError]


class StreamParser(Protocol):
    """Converts the server-sent events of one answer to model events.

    A parser never raises. If the server reports an error, or an event is invalid, the last returned value is a
    ModelError.
    """

    def feed(self, event: ServerEvent) -> StreamOutput: ...

    def end(self) -> StreamOutput:
        """Return the last events when the connection ends. If the API's end marker is missing, the message is cut
        off and no MessageEnded is returned."""
        ...


class Family(Protocol):
    """One API: creates request bodies and parses answers, without I/O."""

    name: str

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        """Return the POST for a request, and notes about options that were left out. Raise ModelError if the request
        cannot be encoded.

        Provider-specific parts of other providers (``Opaque``, signatures) are left out without a note.
        """
        ...

    def parser(self) -> StreamParser: ...

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        """Return the ModelError for an HTTP answer. Never raises.

        headers  the headers by lower-case name
        """
        ...


def object_of(value: object) -> Json:
    """Return the value if it is a JSON object, otherwise an empty object."""
    return cast("Json", value) if isinstance(value, dict) else {}


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


_decode = JSONDecoder(parse_constant=_refuse_constant).decode


def read_object(text: str) -> Json:
    """Parse a JSON object. Raise ValueError for invalid JSON, which includes ``NaN``, and for other values."""
    value = _decode(text)
    if value.__class__ is not dict:
        raise ValueError(f"an object is wanted, not {text[:80]!r}")
    return value


def text_of(value: object) -> str:
    """Return the value if it is a string. Raise TypeError otherwise."""
    if type(value) is str:
        return value
    raise TypeError(f"text is wanted, not {value!r:.80}")


def rest_of(total: Usage, first: Usage) -> Usage:
    """Return the difference of two usages. No field is below zero."""
    return Usage(
        input=max(0, total.input - first.input),
        cache_read=max(0, total.cache_read - first.cache_read),
        cache_write=max(0, total.cache_write - first.cache_write),
        output=max(0, total.output - first.output),
        reasoning=max(0, total.reasoning - first.reasoning),
    )
