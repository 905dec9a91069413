"""One vocabulary for all providers: the events a model streams, and the request it is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from typing import Any, Literal, get_args

from callgate.words.messages import Message, Usage
from callgate.words.noun import nothing, noun

PartKind = Literal["text", "thinking", "tool_call", "opaque"]
StopReason = Literal["end", "tool_calls", "max_tokens", "refusal", "context_full", "cut_off", "paused"]
"""``paused``: the server interrupted its own work, such as a search; asked to go on, the model finishes the message."""
WHOLE: frozenset[str] = frozenset({"end", "tool_calls"})
"""Stop reasons after which a message is known to be complete, so that its effects may happen."""


@noun
class MessageStarted:
    id: str
    model: str = ""
    usage: Usage = Usage()


@noun
class PartStarted:
    """``id`` and ``name`` belong to a tool call; an ``opaque`` part is the provider's own. Parts keep the order
    in which they start."""

    index: int
    kind: PartKind
    id: str = ""
    name: str = ""


@noun
class TextDelta:
    index: int
    text: str


@noun
class ThinkingDelta:
    index: int
    text: str = ""
    signature: str | None = None


@noun
class ArgumentsDelta:
    index: int
    text: str


@noun
class OpaqueData:
    """The content of an ``opaque`` part, or data that belongs to a tool call, whole and once for a part."""

    index: int
    provider: str
    data: Mapping[str, Any] | bytes


@noun
class PartEnded:
    """The part is closed. For a tool call this is the moment it is complete."""

    index: int


@noun
class MessageEnded:
    """``detail`` is what the provider says about the reason, such as the category of a refusal."""

    stop_reason: StopReason
    usage: Usage = Usage()
    detail: str = ""


@noun
class ModelNoted:
    """A line for people about this request: an option that the model does not know was left out, an image scaled."""

    text: str


ModelEvent = (
    MessageStarted
    | PartStarted
    | TextDelta
    | ThinkingDelta
    | ArgumentsDelta
    | OpaqueData
    | PartEnded
    | MessageEnded
    | ModelNoted
)


@noun
class ToolSpec:
    """A tool as the model is told about it; ``parameters`` is JSON Schema 2020-12."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@noun
class ToolChoice:
    kind: Literal["auto", "required", "named", "none"] = "auto"
    name: str | None = None


@noun
class RequestLimits:
    max_output_tokens: int | None = None
    max_thinking_tokens: int | None = None


@noun
class CacheHints:
    """Places for cache breakpoints: after the tools, the system text, a number of messages (None: all of them).
    ``life`` is how long the provider is asked to keep what it has read."""

    tools: bool = True
    system: bool = True
    messages: int | None = None
    life: Literal["5m", "1h"] = "5m"

    @property
    def off(self) -> bool:
        """True if nothing is to be cached: neither tools nor system text, nor a number of messages."""
        return not (self.tools or self.system or self.messages)


Effort = Literal["low", "medium", "high", "xhigh", "max"]
"""Levels of the work that a model puts into an answer, lowest first."""

EFFORTS: tuple[Effort, ...] = get_args(Effort)
"""Every level of effort, lowest first."""

WantedEffort = Effort | Literal["auto"]
"""A level that a person asks for; ``auto`` leaves it to the model."""


EffortSource = Literal["environment", "turn", "session", "settings", "model"]
"""The places that may say the effort, the strongest first."""


@noun
class EffortInForce:
    """The effort of the next request. ``wanted`` is what ``source`` says, None if no place says anything; ``sent`` is
    the level of the model that is used for it, None if the request names none."""

    wanted: WantedEffort | None
    source: EffortSource
    sent: Effort | None


@noun
class RequestOptions:
    """Wishes for one request; a provider leaves out what its model does not know, and says so once. None is the
    model's own default. ``effort``: ``auto`` is that default too, whatever the settings say. ``thinking``: a number is
    a budget in tokens. ``body`` and ``headers`` are sent as they are."""

    effort: WantedEffort | None = None
    thinking: Literal["off", "adaptive"] | int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    service_tier: str | None = None
    body: Mapping[str, Any] = field(default_factory=nothing)
    headers: Mapping[str, str] = field(default_factory=nothing)

    def over(self, others: "RequestOptions") -> "RequestOptions":
        """These, and the others where these are at their defaults."""
        default = RequestOptions()
        names = [each.name for each in fields(self)]
        own = {name: getattr(self, name) for name in names if getattr(self, name) != getattr(default, name)}
        return replace(others, **own)


@noun
class RunOptions:
    """Options for the run of one prompt. ``request`` is laid over the options of the session; ``output`` is a JSON
    Schema that the text of the answer has to fit; ``budget`` is a hard limit on the tokens that the model writes.
    ``quoted``: the prompt has words of an MCP server or of the model, so no mention and no budget is read in it."""

    request: RequestOptions | None = None
    output: Mapping[str, Any] | None = None
    budget: int | None = None
    quoted: bool = False


@noun
class Request:
    """``output`` is a JSON Schema that the text of the answer has to fit. ``session`` is the id of the session, for
    caches that are found by a key."""

    system: str
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    limits: RequestLimits = RequestLimits()
    cache: CacheHints = CacheHints()
    options: RequestOptions = RequestOptions()
    output: Mapping[str, Any] | None = None
    session: str = ""


@noun
class Abilities:
    """The abilities of a model. ``force``: the kinds of tool choice it can be held to; ``output_tokens``: the most it
    writes in one message; ``efforts``: the levels it knows, lowest first; ``structured``: it can be held to a JSON
    Schema; ``deferred``: its API takes the definition of a tool with the answer to a search for it."""

    force: frozenset[str] = field(default_factory=lambda: frozenset({"auto", "required", "named", "none"}))
    streams: bool = True
    caches: bool = False
    context_tokens: int | None = None
    output_tokens: int | None = None
    images: bool = True
    structured: bool = False
    efforts: tuple[Effort, ...] = ()
    deferred: bool = False

    def nearest(self, wanted: ToolChoice) -> ToolChoice:
        """The wanted tool choice, or the nearest one that the model can be held to."""
        if wanted.kind in self.force:
            return wanted
        return ToolChoice("required" if wanted.kind == "named" and "required" in self.force else "auto")


@noun
class ServerSettings:
    """Settings of one server, ``[providers.NAME]``. None, and what is empty, leaves the value that is known of it."""

    family: str | None = None
    base_url: str | None = None
    key_variable: str | None = None
    key_command: str | None = None
    headers: Mapping[str, str] = field(default_factory=nothing)
    quirks: tuple[str, ...] = ()
    idle_timeout: float | None = None


@noun
class ModelSettings:
    """All settings about models. ``cheap`` writes titles and summaries, ``fallback`` answers where ``default`` is
    overloaded. ``forced_effort`` comes from the environment and counts before all others. ``options`` are by the name
    of the model, ``servers`` by the name of the provider. ``caching`` is false where prompts are not to be cached."""

    default: str | None = None
    cheap: str | None = None
    fallback: str | None = None
    effort: WantedEffort | None = None
    forced_effort: WantedEffort | None = None
    caching: bool = True
    options: Mapping[str, RequestOptions] = field(default_factory=nothing)
    servers: Mapping[str, ServerSettings] = field(default_factory=nothing)
