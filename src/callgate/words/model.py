"""Requests to models and the events that models stream, in a form that is the same for all providers."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from typing import Any, Literal, get_args

from callgate.words.messages import Message, Usage
from callgate.words.noun import nothing, noun

PartKind = Literal["text", "thinking", "tool_call", "opaque"]
StopReason = Literal["end", "tool_calls", "max_tokens", "refusal", "context_full", "cut_off", "paused"]
"""``paused``: a server-side tool was interrupted; the model finishes the message when it is asked to continue."""
WHOLE: frozenset[str] = frozenset({"end", "tool_calls"})
"""Stop reasons of complete messages, whose calls with effects may run."""


@noun
class MessageStarted:
    id: str
    model: str = ""
    usage: Usage = Usage()


@noun
class PartStarted:
    """A part of the message started. ``id`` and ``name`` are set for a tool call. Parts are in the order of their
    starts."""

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
    """The whole content of an ``opaque`` part, or provider-specific data about a tool call."""

    index: int
    provider: str
    data: Mapping[str, Any] | bytes


@noun
class PartEnded:
    """A part of the message ended. A tool call is complete at this event."""

    index: int


@noun
class MessageEnded:
    """The message ended. ``detail`` is the provider's text about the reason, such as the category of a refusal."""

    stop_reason: StopReason
    usage: Usage = Usage()
    detail: str = ""


@noun
class ModelNoted:
    """A note for the user about the request, such as an option that the model does not support."""

    text: str


_PartEvent = PartStarted | TextDelta | ThinkingDelta | ArgumentsDelta | OpaqueData | PartEnded
ModelEvent = MessageStarted | _PartEvent | MessageEnded | ModelNoted


@noun
class ToolSpec:
    """The definition of a tool in a request; ``parameters`` is JSON Schema 2020-12."""

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
    """Positions of cache breakpoints in a request: after the tools, after the system text, and after messages.

    messages  the number of messages before the breakpoint; None: all messages
    life      the requested lifetime of the cache
    """

    tools: bool = True
    system: bool = True
    messages: int | None = None
    life: Literal["5m", "1h"] = "5m"

    @property
    def off(self) -> bool:
        """True if no cache breakpoint is set."""
        return not (self.tools or self.system or self.messages)


Effort = Literal["low", "medium", "high", "xhigh", "max"]
"""Effort levels of models, lowest first."""

EFFORTS: tuple[Effort, ...] = get_args(Effort)

WantedEffort = Effort | Literal["auto"]
"""An effort level that the user sets. ``auto`` is the default of the model."""


EffortSource = Literal["environment", "turn", "session", "settings", "model"]
"""The sources of an effort level, highest precedence first."""


@noun
class EffortInForce:
    """The effort level of the next request.

    wanted  the level that ``source`` sets, or None
    sent    the nearest level that the model supports; None if the request contains no level
    """

    wanted: WantedEffort | None
    source: EffortSource
    sent: Effort | None


@noun
class RequestOptions:
    """Options of a request. None is the default of the model.

    A provider leaves out options that its model does not support, and reports each of them once in a note.

    effort    ``auto`` is the default of the model and overrides the settings
    thinking  a number is a budget in tokens
    body      sent unchanged in the request body
    headers   sent unchanged as HTTP headers
    """

    effort: WantedEffort | None = None
    thinking: Literal["off", "adaptive"] | int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    service_tier: str | None = None
    body: Mapping[str, Any] = field(default_factory=nothing)
    headers: Mapping[str, str] = field(default_factory=nothing)

    def over(self, others: "RequestOptions") -> "RequestOptions":
        """Return these options. Options with the default value are replaced by the options of ``others``."""
        default = RequestOptions()
        names = [each.name for each in fields(self)]
        own = {name: getattr(self, name) for name in names if getattr(self, name) != getattr(default, name)}
        return replace(others, **own)


@noun
class RunOptions:
    """Options of the run of one prompt.

    request  options that override the options of the session
    output   JSON Schema for the text of the answer
    budget   a limit on the output tokens
    quoted   the prompt has text of an MCP server or of a model: mentions and budgets in the prompt are ignored
    """

    request: RequestOptions | None = None
    output: Mapping[str, Any] | None = None
    budget: int | None = None
    quoted: bool = False


@noun
class Request:
    """A request to a model.

    output   a JSON Schema for the text of the answer
    session  the id of the session, used as a cache key
    """

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
    """The abilities of a model.

    force          kinds of tool choice that the model supports
    context_from   where the size of the context window is known from, such as ``models.toml``; empty if unspecified
    output_tokens  the maximum length of a message
    structured     the model supports a JSON Schema for answers
    efforts        supported effort levels, lowest first
    deferred       the API accepts the definition of a tool in the result of a tool search
    written_calls  ``known``: the model writes calls as text; ``possible``: it may, and a whole answer that is a call
                   is read as one; ``never``
    """

    force: frozenset[str] = field(default_factory=lambda: frozenset({"auto", "required", "named", "none"}))
    streams: bool = True
    caches: bool = False
    context_tokens: int | None = None
    context_from: str = ""
    output_tokens: int | None = None
    images: bool = True
    structured: bool = False
    efforts: tuple[Effort, ...] = ()
    deferred: bool = False
    written_calls: Literal["known", "possible", "never"] = "possible"

    def nearest(self, wanted: ToolChoice) -> ToolChoice:
        """Return the requested tool choice, or the nearest tool choice that the model supports."""
        if wanted.kind in self.force:
            return wanted
        return ToolChoice("required" if wanted.kind == "named" and "required" in self.force else "auto")


@noun
class ServerSettings:
    """Settings of a provider, ``[providers.NAME]``. None and empty values keep the built-in value."""

    family: str | None = None
    base_url: str | None = None
    key_variable: str | None = None
    key_command: str | None = None
    headers: Mapping[str, str] = field(default_factory=nothing)
    quirks: tuple[str, ...] = ()
    idle_timeout: float | None = None


@noun
class ModelSettings:
    """Settings of models.

    cheap          the model for titles and summaries
    fallback       the model that is used if ``default`` is overloaded
    forced_effort  the effort level from the environment, which overrides all other levels
    caching        False: prompts are not cached
    options        request options by the name of the model
    servers        provider settings by the name of the provider
    """

    default: str | None = None
    cheap: str | None = None
    fallback: str | None = None
    effort: WantedEffort | None = None
    forced_effort: WantedEffort | None = None
    caching: bool = True
    options: Mapping[str, RequestOptions] = field(default_factory=nothing)
    servers: Mapping[str, ServerSettings] = field(default_factory=nothing)
