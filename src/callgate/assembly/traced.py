"""Sends traces of a session, if the variables of OpenTelemetry name a collector."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from callgate.session.conversation import Conversation

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Environment variables with the address of the collector for spans and metrics."""


@contextmanager
def traced(session: Conversation, environ: Mapping[str, str], say: Callable[[str], None]) -> Generator[None]:
    """Send the spans and metrics of the session to the collector, if one is set. The exit of the context blocks
    until the last spans and metrics are sent. Without a collector nothing is imported; without the extra ``otel``,
    ``say`` is called with a message."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or not any(environ.get(name) for name in ENDPOINTS):
        yield
        return
    try:
        from callgate.tracing.span_export import exporting
        from callgate.tracing.spans import trace
    except ImportError:
        say("a collector for traces is set, but OpenTelemetry is not installed: pip install 'callgate[otel]'")
        yield
        return
    with exporting(environ) as providers:
        stop = trace(session, tracer_provider=providers.tracers, meter_provider=providers.meters)
        try:
            yield
        finally:
            stop()
