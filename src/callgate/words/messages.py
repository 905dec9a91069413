"""Messages of users, models and tools, and the parts of messages."""

from collections.abc import Mapping
from json import loads
from typing import Any, Literal, cast

from callgate.words.noun import noun

Role = Literal["user", "assistant", "tool"]

HOOK_ADDED = "\n[hook: "
"""The prefix of parts that hooks added to a prompt."""


@noun
class Text:
    text: str


@noun
class Image:
    media_type: str
    data: bytes


@noun
class Resource:
    """A resource with a URI: embedded text or bytes, or only a link."""

    uri: str
    text: str | None = None
    data: bytes | None = None
    media_type: str | None = None


Content = Text | Image | Resource


@noun
class Thinking:
    """The reasoning of a model. The signature is sent back to the provider unchanged."""

    text: str
    signature: str | None = None


@noun
class Opaque:
    """Provider-specific data, such as encrypted reasoning. It is sent back to the same provider unchanged.

    data  a JSON object or bytes
    """

    provider: str
    data: Mapping[str, Any] | bytes

    @property
    def beside(self) -> bool:
        """True for data about another part, such as the signature of a text. Interfaces do not show the data."""
        return isinstance(self.data, Mapping) and "on" in self.data


@noun
class CallPart:
    """A tool call in an assistant message.

    raw_arguments  the argument text of the model, if it differs from the JSON of ``arguments``
    kept           provider-specific data about the call, such as a signature
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    raw_arguments: str | None = None
    kept: Opaque | None = None

    @property
    def written(self) -> Mapping[str, Any]:
        """The arguments as the model wrote them. Text that is not a JSON object becomes the value of ``not_json``."""
        if self.raw_arguments is None:
            return self.arguments
        try:
            found = loads(self.raw_arguments or "{}")
        except (ValueError, RecursionError):
            found = None
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {"not_json": self.raw_arguments}


@noun
class ResultPart:
    """The result of a CallPart, in a message with the role ``tool``."""

    call_id: str
    name: str
    content: tuple[Content, ...]
    is_error: bool = False


Part = Text | Image | Resource | Thinking | CallPart | ResultPart | Opaque


@noun
class Usage:
    """Numbers of tokens. ``input`` excludes cached tokens; ``output`` includes ``reasoning``.

    estimated  True if the numbers were estimated from the number of characters, because the provider reported no
               numbers
    """

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
    """The tokens that requests to a model used, and their cost in dollars; the cost is None if no price is known."""

    model: str
    usage: Usage
    cost: float | None = None

    def __add__(self, other: "Spent") -> "Spent":
        known = [each.cost for each in (self, other) if each.cost is not None]
        return Spent(self.model, self.usage + other.usage, sum(known) if known else None)


@noun
class Message:
    """A message. ``model`` is the author of an answer as ``family/name``; signatures are only valid for the same
    family."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    model: str | None = None
    usage: Usage | None = None

    @property
    def text(self) -> str:
        """The joined text parts of the message."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def said(self) -> str:
        """The text that the user wrote, without the parts that hooks added."""
        texts = (part.text for part in self.parts if isinstance(part, Text))
        return "".join(text for text in texts if not text.startswith(HOOK_ADDED))

    @property
    def calls(self) -> tuple[CallPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, CallPart))
