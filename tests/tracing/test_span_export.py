"""Spans that really travel: a collector on loopback receives them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from callgate import Session
from callgate.testing import ScriptedModel, say, turn

pytest.importorskip("opentelemetry.exporter.otlp", reason="the extra otel is not installed")


@pytest.fixture
def received() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    posts: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posts.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", posts
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.spec("TRN-7")
async def test_a_collector_receives_spans_and_metrics(
    received: tuple[str, list[tuple[str, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from callgate.tracing.span_export import exporting
    from callgate.tracing.spans import trace

    address, posts = received
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    with exporting({}) as providers:
        async with Session(ScriptedModel(turn(say("Hello.")), name="openai/gpt-x")) as session:
            stop = trace(session, tracer_provider=providers.tracers, meter_provider=providers.meters)
            await session.run("hi")
            stop()
    sent = dict(posts)
    assert b"chat gpt-x" in sent["/v1/traces"]
    assert b"gen_ai.client.operation.duration" in sent["/v1/metrics"]


@pytest.mark.slow
@pytest.mark.spec("TRN-7")
def test_a_headless_run_sends_its_spans_to_the_collector_of_the_environment(
    received: tuple[str, list[tuple[str, bytes]]], tmp_path: Path
) -> None:
    address, posts = received
    environment = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "CALLGATE_MODEL": "ollama/none",
        "OLLAMA_HOST": "http://127.0.0.1:1",
    }
    words = (sys.executable, "-m", "callgate", "-p", "hi", "--no-save", "--settings", '{"limits": {"max_seconds": 5}}')
    ran = subprocess.run(words, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ran.returncode != 0
    assert "Traceback" not in ran.stderr
    assert b"invoke_agent callgate" in dict(posts)["/v1/traces"]
