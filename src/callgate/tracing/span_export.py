"""Sends spans and metrics to a collector over OTLP, configured by OpenTelemetry's standard variables."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


class Providers(NamedTuple):
    tracers: TracerProvider
    meters: MeterProvider


@contextmanager
def exporting(environ: Mapping[str, str]) -> Generator[Providers]:
    """Return tracer and meter providers that send to the collector of the OTEL_… variables. The exit of the context
    sends buffered spans and metrics, within the timeouts of these variables."""
    resource = Resource.create({"service.name": environ.get("OTEL_SERVICE_NAME") or "callgate"})
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    meters = MeterProvider((PeriodicExportingMetricReader(OTLPMetricExporter()),), resource, shutdown_on_exit=False)
    try:
        yield Providers(tracers, meters)
    finally:
        tracers.shutdown()
        meters.shutdown()
