"""Messages of people, models and tools, and the parts they are made of."""

from collections.abc import Mapping
from json import loads
from typing import Any, Literal, cast

from callgate.words.noun import noun

Role = Literal["user", "assistant", "tool"]

HOOK_ADDED = "\n[hook: "
"""The beginning of each part that a hook added to a prompt."""


@noun
class Text:
    text: str


@noun
class Image:
    media_type: str
    data: bytes


@noun
class Resource:
    """Something with an address: embedded text or bytes, or a bare link when it has neither."""

    uri: str
    text: str | None = None
    data: bytes | None = None
    media_type: str | None = None


Content = Text | Image | Resource


@noun
class Thinking:
    """A model's reasoning; the signature goes back to the provider unchanged."""

    text: str
    signature: str | None = None


@noun
class Opaque:
    """A provider's own part or data: hidden reasoning, a server-side tool, encrypted state. Nothing but that provider
    reads it; the next request gives it back unchanged. ``data`` is a JSON object or bytes."""

    provider: str
    data: Mapping[str, Any] | bytes

    @property
    def beside(self) -> bool:
        """True for data on another part, such as the signature of a text: it has ``on``, and nothing to show."""
        return isinstance(self.data, Mapping) and "on" in self.data


@noun
class CallPart:
    """A tool call inside an assistant message, as the model asked for it.

    ``raw_arguments`` is kept when the text the model wrote was not simply the JSON of ``arguments``; ``kept`` is data
    that the provider put on the call, such as a signature.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    raw_arguments: str | None = None
    kept: Opaque | None = None

    @property
    def written(self) -> Mapping[str, Any]:
        """The arguments as the model wrote them. Text that is no JSON object is a field of one, so that the model sees
        what it wrote."""
        if self.raw_arguments is None:
            return self.arguments
        try:
            found = loads(self.raw_arguments or "{}")
        except (ValueError, RecursionError):
            found = None
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {"not_json": self.raw_arguments}


@noun
class ResultPart:
    """The one answer to a CallPart, in a message of role ``tool``."""

    call_id: str
    name: str
    content: tuple[Content, ...]
    is_error: bool = False


Part = Text | Image | Resource | Thinking | CallPart | ResultPart | Opaque


@noun
class Usage:
    """Tokens. ``input`` excludes what was read from or written to a cache; ``output`` includes ``reasoning``.
    ``estimated``: the provider did not say, so they were computed from the number of characters."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            estimated=self.estimated or other.estimated,
        )


@noun
class Spent:
    """Tokens that requests to a model have used, and their price in dollars; None where no price is known."""

    model: str
    usage: Usage
    cost: float | None = None

    def __add__(self, other: "Spent") -> "Spent":
        known = [each.cost for each in (self, other) if each.cost is not None]
        return Spent(self.model, self.usage + other.usage, sum(known) if known else None)


@noun
class Message:
    """``model`` is the one that answered, as ``family/name``: a family of APIs gives signatures back to its own models
    alone."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    model: str | None = None
    usage: Usage | None = None

    @property
    def text(self) -> str:
        """The plain text of the message, its other parts left out."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def said(self) -> str:
        """The text that a person wrote, without what hooks added to it."""
        texts = (part.text for part in self.parts if isinstance(part, Text))
        return "".join(text for text in texts if not text.startswith(HOOK_ADDED))

    @property
    def calls(self) -> tuple[CallPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, CallPart))
