"""OpenTelemetry spans and metrics of sessions, by the semantic conventions for generative AI.

    stop = trace(session)              # uses the program's tracer provider
    with exporting(environ): …         # for a program without one: OTLP, configured by the OTEL_… variables

There is one span for each run (``invoke_agent``), each request to the model (``chat``) and each call
(``execute_tool``). Without the extra ``otel`` this package is not imported, and a session without tracing has no
overhead.

spans         converts the events of a session to spans and metrics
span_export   sends spans and metrics to a collector
"""
