"""The seam between the wire, which sends and receives, and the families of APIs, which write bodies and read events.

A family does no I/O: it makes a POST of a request, and model events of the server-sent events that answer it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from callgate.words.errors import ModelError
from callgate.words.messages import Usage
from callgate.words.model import Abilities, Effort, ModelEvent, Request
from callgate.words.noun import noun

Json = dict[str, Any]


@noun
class ServerEvent:
    """One event of a stream; ``event`` is empty where the server names none."""

    event: str
    data: str


@noun
class HttpPost:
    """One HTTP request. ``path`` is added to the base URL; ``headers`` include the key."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@noun
class Prices:
    """Dollars for a million tokens. ``above`` counts for requests whose prompt has more than ``over`` tokens."""

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0
    over: int = 0
    above: "Prices | None" = None

    def cost(self, usage: Usage) -> float:
        """Dollars for the usage of one request."""
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
    """One row of ``models.toml``: what is known of a model. ``known`` is false for assumptions about one that has no
    row. ``efforts`` gives the provider's own value for each level that the model has, ``effort`` the level that counts
    where none is asked for; ``thinking`` is how it is asked to think: ``none``, ``always`` (off is not possible),
    ``budget`` (in tokens) or ``adaptive``. Images: the longest side, bytes of one, their number and bytes of all."""

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


class StreamParser(Protocol):
    """Makes model events of the server-sent events of one answer. It never raises: a failure that the server reports,
    and data that is not what the API promises, is a ModelError as the last value."""

    def feed(self, event: ServerEvent) -> Sequence[ModelEvent | ModelError]: ...

    def end(self) -> Sequence[ModelEvent | ModelError]:
        """The connection has ended. Without the API's end marker there is no MessageEnded: the message is cut off."""
        ...


class Family(Protocol):
    """One API. It writes request bodies and parses answers, without I/O."""

    name: str

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        """The POST for a request, and notes about wishes that were left out. Parts of other providers (``Opaque``,
        signatures) are left out without a note. ModelError for a request that cannot be written."""
        ...

    def parser(self) -> StreamParser: ...

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        """The error for an answer with this HTTP status; ``headers`` have lower-case names. Must not raise."""
        ...


def object_of(value: object) -> Json:
    """Return the value if it is a JSON object, otherwise an empty object."""
    return cast("Json", value) if isinstance(value, dict) else {}


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
