"""OpenTelemetry spans and metrics of sessions, by the conventions for generative AI.

    stop = trace(session)              # spans go where the program's tracer provider sends them
    with exporting(environ): …         # a program without one: OTLP, by the usual OTEL_… variables

A span for each run (``invoke_agent``), each request to the model (``chat``) and each call (``execute_tool``). Without
the extra ``otel`` nothing of this is imported, and a session that is not traced pays nothing.

spans   makes spans and metrics of the events of a session
export  sends them to a collector
names   the attribute names
"""
