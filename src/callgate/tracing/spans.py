"""Converts the events of a session to spans and metrics.

Attributes, spans and metrics have the names of the semantic conventions for generative AI of November 2026. The
constants in OpenTelemetry's own package are private and change with every release.
"""

from collections.abc import Callable, Mapping
from json import dumps
from os import environ
from typing import Any, Protocol

from opentelemetry.metrics import MeterProvider, get_meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider, get_tracer, set_span_in_context

from callgate._version import __version__
from callgate.words.events import (
    AgentPath,
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Event,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
    RequestRetried,
    RunEnded,
    TextStreamed,
    ThinkingStreamed,
    TurnEnded,
    TurnStarted,
)
from callgate.words.messages import Usage

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_NAME = "callgate"
_OPERATION = "gen_ai.operation.name"
_TOOL = "gen_ai.tool.name"
_TOKEN_TYPE = "gen_ai.token.type"
_ERROR = "error.type"
_PROVIDERS = {"gemini": "gcp.gemini", "openai-chat": "openai"}
"""Provider names of the conventions that differ from ours."""
_LONGEST = 20_000


class Traced(Protocol):
    """The attributes of a session that tracing uses."""

    @property
    def id(self) -> str: ...

    def listen(self, listener: Callable[[AgentPath, int, Event], None]) -> Callable[[], None]: ...


def trace(
    session: Traced,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    content: bool | None = None,
) -> Callable[[], None]:
    """Create spans and metrics for the events of a session from now on. Return a function that stops tracing and ends
    open spans.

    tracer_provider, meter_provider  replace the program's own providers
    content                          True if spans contain arguments and results of calls, which may be secret; by
                                     default OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT decides
    """
    if content is None:
        content = environ.get(CONTENT_VARIABLE, "").lower() in ("1", "true")
    spans = SessionSpans(session.id, tracer_provider, meter_provider, content=content)
    unlisten = session.listen(spans.on_event)

    def stop() -> None:
        unlisten()
        spans.end_all()

    return stop


class SessionSpans:
    """Converts the events of one session to spans and metrics. ``on_event`` must receive every event in order. Events
    of nested sessions are left out. Spans have the times of the events."""

    def __init__(
        self, session: str, tracers: TracerProvider | None, meters: MeterProvider | None, *, content: bool
    ) -> None:
        self._tracer = get_tracer(_NAME, __version__, tracers)
        meter = get_meter(_NAME, __version__, meters)
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}")
        self._durations = meter.create_histogram("gen_ai.client.operation.duration", "s")
        self._first_chunks = meter.create_histogram("gen_ai.client.operation.time_to_first_chunk", "s")
        self._content = content
        self._common: dict[str, Any] = {"gen_ai.conversation.id": session} if session else {}
        self._run: Span | None = None
        self._chat: Span | None = None
        self._asked_at = 0.0  # the time of the request
        self._chunk_at: float | None = None
        self._calls: dict[str, _OpenCall] = {}
        self._last = 0.0
        self._steps: Mapping[type, Callable[[Any], None]] = {
            TurnStarted: self._turn_started,
            TextStreamed: self._chunk,
            ThinkingStreamed: self._chunk,
            RequestRetried: self._retried,
            MessageAdded: self._message,
            TurnEnded: self._turn_ended,
            RunEnded: self._run_ended,
            CallArrived: self._arrived,
            CallDecided: self._decided,
            QuestionAsked: self._asked,
            QuestionAnswered: self._answered,
            CallStarted: self._started,
            CallSettled: self._settled,
        }

    def on_event(self, path: AgentPath, number: int, event: Event) -> None:
        if path:
            return
        self._last = event.at
        step = self._steps.get(event.__class__)
        if step is not None:
            step(event)

    def end_all(self) -> None:
        for call in self._calls.values():
            call.span.end(_nanoseconds(self._last))
        self._calls.clear()
        for span in (self._chat, self._run):
            if span is not None:
                span.end(_nanoseconds(self._last))
        self._chat = self._run = None

    # ---- runs and requests --------------------------------------------------------------------------------------

    def _turn_started(self, event: TurnStarted) -> None:
        if self._run is None:
            self._run = self._begin("invoke_agent", _NAME, event.at, SpanKind.INTERNAL, {"gen_ai.agent.name": _NAME})
        self._asked_at, self._chunk_at = event.at, None
        self._chat = self._begin("chat", "", event.at, SpanKind.CLIENT, {})

    def _chunk(self, event: TextStreamed | ThinkingStreamed) -> None:
        if self._chunk_at is None:
            self._chunk_at = event.at

    def _retried(self, event: RequestRetried) -> None:
        if self._chat is not None:
            about = {_ERROR: event.kind, "callgate.attempt": event.attempt, "callgate.delay": event.delay}
            self._chat.add_event("retry", about, _nanoseconds(event.at))
        self._chunk_at = None

    def _message(self, event: MessageAdded) -> None:
        chat, message = self._chat, event.message
        if chat is None or message.role != "assistant":
            return
        family, _, model = (message.model or "").rpartition("/")
        about: dict[str, Any] = {"gen_ai.response.finish_reasons": (event.stop_reason or "cut_off",)}
        told = {_OPERATION: "chat"}
        if model:
            told["gen_ai.request.model"] = about["gen_ai.response.model"] = model
            chat.update_name(f"chat {model}")
        if family:
            told["gen_ai.provider.name"] = _PROVIDERS.get(family, family)
        chat.set_attributes({**about, **told})
        if message.usage is not None:
            self._count(chat, message.usage, told)
        if self._chunk_at is not None:
            waited = max(0.0, self._chunk_at - self._asked_at)
            chat.set_attribute("gen_ai.response.time_to_first_chunk", waited)
            self._first_chunks.record(waited, told)
        self._durations.record(max(0.0, event.at - self._asked_at), told)
        chat.end(_nanoseconds(event.at))
        self._chat = None

    def _count(self, chat: Span, usage: Usage, told: Mapping[str, str]) -> None:
        """Add the usage of a request to its span and to the metric. The conventions count cached tokens as input
        tokens."""
        given = usage.input + usage.cache_read + usage.cache_write
        chat.set_attributes(
            {
                "gen_ai.usage.input_tokens": given,
                "gen_ai.usage.output_tokens": usage.output,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
                "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
                "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
            }
        )
        self._tokens.record(given, {**told, _TOKEN_TYPE: "input"})
        self._tokens.record(usage.output, {**told, _TOKEN_TYPE: "output"})

    def _turn_ended(self, event: TurnEnded) -> None:
        if self._chat is not None:  # the request produced no message
            _fail(self._chat, event.reason, event.detail)
            self._durations.record(max(0.0, event.at - self._asked_at), {_OPERATION: "chat", _ERROR: event.reason})
            self._chat.end(_nanoseconds(event.at))
            self._chat = None

    def _run_ended(self, event: RunEnded) -> None:
        if self._run is None:
            return
        self._run.set_attribute("callgate.run.reason", event.reason)
        if event.reason not in ("done", "interrupted", "stopped"):
            _fail(self._run, event.kind or event.reason, event.detail)
        self._run.end(_nanoseconds(event.at))
        self._run = None

    # ---- calls --------------------------------------------------------------------------------------------------

    def _arrived(self, event: CallArrived) -> None:
        about: dict[str, Any] = {
            _TOOL: event.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": event.call_id,
        }
        if self._content:
            about["gen_ai.tool.call.arguments"] = dumps(dict(event.arguments), default=str)[:_LONGEST]
        span = self._begin("execute_tool", event.name, event.at, SpanKind.INTERNAL, about)
        self._calls[event.call_id] = _OpenCall(span, event.name)

    def _decided(self, event: CallDecided) -> None:
        kind = type(event.decision).__name__.lower()
        about = {"callgate.decision": kind, "callgate.decision.by": event.decision.by}
        self._mark(event.call_id, event.at, "decided", about)

    def _asked(self, event: QuestionAsked) -> None:
        self._mark(event.question.call_id, event.at, "question", {})

    def _answered(self, event: QuestionAnswered) -> None:
        about = {"callgate.answer": event.confirmation.outcome}
        self._mark(event.confirmation.call_id, event.at, "answer", about)

    def _started(self, event: CallStarted) -> None:
        self._mark(event.call_id, event.at, "started", {"callgate.attempt": event.attempt})
        call = self._calls.get(event.call_id)
        if call is not None:
            call.started_at = event.at

    def _mark(self, call_id: str, at: float, what: str, about: Mapping[str, Any]) -> None:
        call = self._calls.get(call_id)
        if call is not None:
            call.span.add_event(what, about, _nanoseconds(at))

    def _settled(self, event: CallSettled) -> None:
        call = self._calls.pop(event.call_id, None)
        if call is None:
            return
        result = event.result
        call.span.set_attribute("callgate.result.code", result.code)
        if self._content:
            call.span.set_attribute("gen_ai.tool.call.result", result.text[:_LONGEST])
        told: dict[str, Any] = {_OPERATION: "execute_tool", _TOOL: call.name}
        if result.is_error:
            told[_ERROR] = result.code
            _fail(call.span, result.code, result.text if self._content else "")
        if call.started_at is not None:
            self._durations.record(max(0.0, event.at - call.started_at), told)
        call.span.end(_nanoseconds(event.at))

    def _begin(self, operation: str, name: str, at: float, kind: SpanKind, about: Mapping[str, Any]) -> Span:
        attributes = {_OPERATION: operation, **self._common, **about}
        around = None if self._run is None else set_span_in_context(self._run)
        title = f"{operation} {name}".strip()
        return self._tracer.start_span(title, around, kind, attributes, start_time=_nanoseconds(at))


class _OpenCall:
    __slots__ = ("name", "span", "started_at")

    def __init__(self, span: Span, name: str) -> None:
        self.span = span
        self.name = name
        self.started_at: float | None = None


def _fail(span: Span, kind: str, detail: str) -> None:
    span.set_attribute(_ERROR, kind)
    span.set_status(Status(StatusCode.ERROR, detail[:_LONGEST] or None))


def _nanoseconds(at: float) -> int:
    return int(at * 1_000_000_000)
