"""Hooks behind an address."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from callgate.host.clock import LoopClock
from callgate.host.host_addresses import HttpTarget
from callgate.host.http_client import HttpClient
from callgate.policy.hooks import hook_runners as addresses
from callgate.policy.hooks.hook_answers import LARGEST
from callgate.policy.hooks.hook_protocol import SILENT, HookAnswer, HookFailure
from callgate.policy.hooks.hook_runners import parse_address, post
from callgate.testing import ManualClock
from callgate.words.decisions import Allow, Deny
from tests.policy.hooks.kit import Bench, as_json, hook, permission


class Server:
    """Answers on the loopback device with whatever a test says."""

    def __init__(self) -> None:
        self.status, self.body, self.headers = 200, b"", dict[str, str]()
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                told = self.rfile.read(int(self.headers["Content-Length"]))
                server.requests.append((self.path, dict(self.headers), told))
                self.send_response(server.status)
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(server.body)))
                self.end_headers()
                self.wfile.write(server.body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/check?key=hush"

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def judged(url: str, **more: Any) -> tuple[Any, Bench]:
    bench = Bench(hook(url, kind="http", **more))
    return asyncio.run(bench.before()), bench


def test_the_event_is_posted_as_json_and_the_answer_counts(server: Server) -> None:
    server.body = as_json(permission("allow", "fine")).encode()
    hooked, bench = judged(server.url)
    assert isinstance(hooked.decision, Allow)
    assert hooked.decision.reason == "fine"
    assert bench.noted == []
    ((path, headers, body),) = server.requests
    assert path == "/check?key=hush"
    assert headers["Content-Type"] == "application/json"
    told = json.loads(body)
    assert (told["tool_name"], told["tool_input"]) == ("Bash", {"command": "git push"})


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_2xx_is_an_answer_and_an_empty_one_has_no_opinion(server: Server, status: int) -> None:
    server.status = status
    hooked, bench = judged(server.url, fail_closed=True)
    assert (hooked.decision, bench.noted) == (None, [])


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308, 400, 404, 500, 503])
@pytest.mark.parametrize("fail_closed", [False, True])
def test_any_other_status_is_a_failure_and_no_redirect_is_followed(
    server: Server, status: int, fail_closed: bool
) -> None:
    server.status, server.body = status, as_json(permission("allow")).encode()
    server.headers = {"Location": server.url}
    hooked, bench = judged(server.url, fail_closed=fail_closed)
    assert isinstance(hooked.decision, Deny) == fail_closed
    assert bench.warnings[0].endswith(f"answered with status {status}")
    assert "hush" not in bench.warnings[0]
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [b"fine", b"[]", b"{", b"\xff{}", b'{"decision": 3}'])
def test_an_answer_that_is_not_the_json_of_an_answer_is_a_failure(server: Server, body: bytes) -> None:
    server.body = body
    hooked, bench = judged(server.url, fail_closed=True)
    assert isinstance(hooked.decision, Deny)
    assert len(bench.warnings) == 1


@pytest.mark.parametrize(("size", "fails"), [(LARGEST, False), (LARGEST + 1, True)])
def test_too_long_an_answer_is_a_failure(server: Server, size: int, fails: bool) -> None:
    server.body = b"{}".ljust(size)
    _, bench = judged(server.url)
    assert [text.endswith("returned too much data") for text in bench.warnings] == [True] * fails


def test_nobody_there_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    hooked, bench = judged(f"http://127.0.0.1:{port}/")
    assert hooked.decision is None
    assert bench.warnings[0].endswith("could not be reached: ConnectionRefusedError")


def test_a_server_that_speaks_something_else_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk() -> None:
            connection = server.accept()[0]
            with connection:
                connection.recv(65536)
                connection.sendall(b"SSH-2.0\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        _, bench = judged(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()
    assert bench.warnings[0].endswith("could not be reached: BadStatusLine")


@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_a_server_that_never_answers_is_left(how: str) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}/"
            bench = Bench(hook(url, kind="http", timeout=30, fail_closed=True), clock=(clock := ManualClock()))
            task = asyncio.create_task(bench.before())
            connection = (await asyncio.to_thread(server.accept))[0]
            with connection:
                await asyncio.to_thread(connection.recv, 65536)
                if how == "timeout":
                    clock.advance(30)
                    assert (await task).decision.reason.startswith("hook PreToolUse http://127.0.0.1")
                    assert bench.warnings[0].endswith("took longer than 30 s")
                else:
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task
                while await asyncio.to_thread(connection.recv, 65536):  # the other side hangs up
                    pass

    asyncio.run(main())


def client_for(seconds: float) -> HttpClient:
    return HttpClient(most=LARGEST, silent_seconds=seconds, connect_seconds=seconds)


def test_the_socket_has_the_same_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client, target = client_for(0.01), HttpTarget(False, "127.0.0.1", port, "/")
        assert post(client, target, "PreToolUse", b"{}") == HookFailure("did not answer before the timeout")
        client.stop()  # nothing to stop any more
        stopped = post(client, target, "PreToolUse", b"{}")
        assert stopped == HookFailure("could not be reached", "HttpError"), "a stopped one sends nothing"


def test_a_name_for_this_machine_that_leads_elsewhere_gets_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "_on_this_machine", lambda host: False)
    address = HttpTarget(False, "127.0.0.1", server.http.server_port, "/")
    elsewhere = HookFailure("is not on this machine, so requests must use https")
    assert post(client_for(30), address, "PreToolUse", b"{}") == elsewhere
    assert server.requests == []


def test_a_server_without_a_certificate_that_holds_gets_nothing(server: Server) -> None:
    url = server.url.replace("http://", "https://")
    bench = Bench(hook(url, kind="http"), clock=LoopClock())
    asyncio.run(bench.before())
    assert "could not be reached: SSL" in bench.warnings[0]
    assert server.requests == []


def test_the_call_is_not_made_on_the_thread_of_the_loop(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    where: list[threading.Thread] = []

    def watched(*given: Any) -> Any:
        where.append(threading.current_thread())
        return post(*given)

    monkeypatch.setattr(addresses, "post", watched)
    judged(server.url)
    assert where != [threading.main_thread()]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://example.com", HttpTarget(True, "example.com", 443, "/")),
        ("https://example.com:8443/a/b?c=d#e", HttpTarget(True, "example.com", 8443, "/a/b?c=d")),
        ("https://10.0.0.1/", HttpTarget(True, "10.0.0.1", 443, "/")),
        ("http://localhost/x", HttpTarget(False, "localhost", 80, "/x")),
        ("http://LOCALHOST/x", HttpTarget(False, "localhost", 80, "/x")),
        ("http://127.0.0.1:99", HttpTarget(False, "127.0.0.1", 99, "/")),
        ("http://127.1.2.3/", HttpTarget(False, "127.1.2.3", 80, "/")),
        ("http://[::1]:99/", HttpTarget(False, "::1", 99, "/")),
    ],
)
def test_an_address_that_is_fit(text: str, address: HttpTarget) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "https://",
        "https:///x",
        "http://example.com/",
        "http://10.0.0.1/",
        "http://localhost.example.com/",
        "http://0.0.0.0/",
        "http://127.1/",
        "http://2130706433/",
        "http://[::ffff:1.2.3.4]/",
        "https://ann@example.com/",
        "https://:hush@example.com/",
        "http://localhost@example.com/",
        "https://exa mple.com/",
        "https://example.com/\r\nX: y",
        "https://example.com/\x7f",
        "https://ex\u00e4mple.com/",
        "https://example.com:99999/",
        "https://example.com:x/",
        "https://[::1/",
        "",
    ],
)
def test_an_address_that_is_not_fit(text: str) -> None:
    with pytest.raises(ValueError):
        parse_address(text)


def test_answers_are_read_for_the_event_they_are_about(server: Server) -> None:
    address = HttpTarget(False, "127.0.0.1", server.http.server_port, "/")
    server.body = as_json(permission("deny", "no")).encode()
    assert post(client_for(30), address, "PreToolUse", b"{}") == HookAnswer("deny", "no")
    assert isinstance(post(client_for(30), address, "Stop", b"{}"), HookFailure)
    server.body = b" \n"
    assert post(client_for(30), address, "Stop", b"{}") == SILENT
