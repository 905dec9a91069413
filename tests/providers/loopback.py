"""The vendors' SDKs, imported when a test runs, and a server on loopback that answers every POST with one fixture."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from importlib.util import find_spec
from threading import Thread
from typing import Any

import pytest

from tests.providers.fixtures import DATA


def needs(module: str) -> pytest.MarkDecorator:
    """A mark that skips tests without an SDK."""
    try:
        found = find_spec(module) is not None
    except ModuleNotFoundError:
        found = False
    return pytest.mark.skipif(not found, reason="the SDK comes with `sh scripts/setup.sh oracles`")


def sdk(module: str) -> Any:
    """A module of an SDK. Its types are not checked: development does without it."""
    return import_module(module)


@contextmanager
def serving_fixture(family: str, name: str) -> Iterator[str]:
    """The address of the server, while it runs in a thread of its own."""
    body = (DATA / family / f"{name}.sse").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
