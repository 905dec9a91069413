"""Local servers are found by asking, and whatever else listens there is left alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from callgate.providers.catalogue import ServerRow
from callgate.providers.model_setup import find_local
from tests.rows import rows


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[str]:
    """A server on loopback that gives every request this answer; its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/v1/models" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def local(base_url: str) -> dict[str, ServerRow]:
    return {"ollama": ServerRow("openai-chat", base_url, local=True)}


def test_a_server_that_lists_its_models_is_found() -> None:
    with answering(b'{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "a\\u001bb"}, 5, {"id": ""}]}') as url:
        (found,) = find_local(local(url))
    assert (found.provider, found.base_url, found.models) == ("ollama", url, ("qwen3:8b",))


@rows(
    ("body", "status"),
    [
        (b"<html>hello</html>", 200),
        (b"[]", 200),
        (b'{"data": 5}', 200),
        (b'{"data": []}', 401),
        (b"\xff" * 50, 200),
        (b"[" * 200_000, 200),
    ],
)
def test_something_else_that_answers_there_is_none(body: bytes, status: int) -> None:
    with answering(body, status) as url:
        assert find_local(local(url)) == ()


def test_where_nothing_listens_nothing_is_found() -> None:
    with answering(b"") as url:
        pass
    assert find_local(local(url)) == ()
    assert find_local(local("https://127.0.0.1:1/v1")) == ()
    assert find_local({"anthropic": ServerRow("anthropic", url)}) == (), "only local servers are asked"
