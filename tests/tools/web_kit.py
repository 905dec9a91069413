"""Real web servers on the loopback interface for the tests of WebFetch. Nothing goes beyond it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from callgate.host.page_fetch import PageFetch, WebRules
from callgate.policy.hosts import host_of

Page = tuple[int, Mapping[str, str], bytes]
Answer = Callable[[BaseHTTPRequestHandler], Page | None]
HTML = {"Content-Type": "text/html; charset=utf-8"}


class Site:
    """A server; ``asked`` has the path and headers of every request."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.port: int = server.server_address[1]
        self.pages: dict[str, Page | Answer] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@contextmanager
def serving(address: str = "127.0.0.1") -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            page = site.pages.get(self.path, (404, {"Content-Type": "text/plain"}, b"no such page"))
            found = page(self) if callable(page) else page
            if found is None:
                return
            status, headers, body = found
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """The other side hangs up in some tests."""

    server = Quiet((address, 0), Handler)
    site = Site(server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def fetch(
    names: Mapping[str, list[str]] | None = None, *, most: int = 100_000, allowed: str = "127.0.0.1"
) -> PageFetch:
    """A fetch to which one address counts as public, with its own names."""
    known = names or {}
    rules = WebRules(host_of, lambda address, host: address != allowed)
    return PageFetch(rules, "callgate/test", most, lambda name, port: known.get(name, [name]))
