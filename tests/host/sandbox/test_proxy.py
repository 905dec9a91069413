"""The proxy of a sandbox passes on what is allowed and nothing else, and says each decision first."""

import socket

import pytest

from callgate.host.ports import HostDecision
from tests.host.sandbox.proxy_kit import echo, everything, page, proxied, server

pytestmark = pytest.mark.spec("BLT-2")


def test_an_allowed_host_is_reached_by_a_tunnel() -> None:
    with server(echo) as port, proxied([f"localhost:{port}"]) as proxy, proxy.connect() as channel:
        channel.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n".encode())
        assert channel.recv(1000).startswith(b"HTTP/1.1 200 ")
        sent = bytes(range(256)) * 2_000
        channel.sendall(sent)
        channel.shutdown(socket.SHUT_WR)
        assert everything(channel) == sent.decode(errors="replace")
        assert proxy.told == [HostDecision(f"localhost:{port}", allowed=True)]


def test_an_allowed_page_is_fetched_and_what_follows_its_body_is_not_sent() -> None:
    with server(page) as port, proxied([f"localhost:{port}"]) as proxy:
        host = f"localhost:{port}"
        head = f"POST http://{host}/a HTTP/1.1\nHost: {host}\n"
        told = proxy.ask(f"{head}Content-Length: 3\n\nabcGET /evil HTTP/1.1\n\n")
        assert "POST /a HTTP/1.1\r\n" in told
        assert told.endswith("Connection: close\r\n\r\nabc")
        told = proxy.ask(f"{head}Transfer-Encoding: chunked\n\n3;x=y\nabc\n00\n\nGET /evil HTTP/1.1\n\n")
        assert told.endswith("\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        assert "evil" not in proxy.ask(f"GET http://{host}/b HTTP/1.1\n\nGET /evil HTTP/1.1\n\n")


@pytest.mark.spec("GATE-13")
def test_a_host_that_is_not_allowed_is_neither_looked_up_nor_reached() -> None:
    with server(echo) as port, proxied([f"localhost:{port}"]) as proxy:
        told = proxy.ask("CONNECT secret.evil.example:443 HTTP/1.1\n\n")
        assert told.startswith("HTTP/1.1 403 Forbidden\r\n")
        assert "the sandbox blocks secret.evil.example: the host is not in sandbox.allow_hosts" in told
        assert proxy.looked_up == []
        assert [(each.host, each.allowed) for each in proxy.told] == [("secret.evil.example", False)]
        for other in (f"127.0.0.1:{port}", f"localhost:{port + 1}", "localhost:443"):
            assert proxy.ask(f"CONNECT {other} HTTP/1.1\n\n").startswith("HTTP/1.1 403 "), other
        assert proxy.ask(f"CONNECT 2130706433:{port} HTTP/1.1\n\n").startswith("HTTP/1.1 400 ")
        assert proxy.looked_up == []


def test_a_name_that_leads_to_this_machine_or_to_keys_of_a_cloud_is_refused() -> None:
    hosts = ["rebound.example", "cloud.internal", "*.corp.example"]
    leads = {"rebound_example": "127.0.0.1", "cloud_internal": "169.254.169.254", "a_corp_example": "10.0.0.7"}
    with proxied(hosts, **leads) as proxy:
        for name in leads:
            host = name.replace("_", ".")
            told = proxy.ask(f"CONNECT {host}:443 HTTP/1.1\n\n")
            assert told.startswith("HTTP/1.1 403 "), host
            assert "belongs to this machine, its network or its cloud" in told
        assert not any(each.allowed for each in proxy.told)


def test_faults_of_the_network_are_said_and_are_no_refusals() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with proxied([f"localhost:{port}", "gone.example"]) as proxy:
        assert proxy.ask(f"CONNECT localhost:{port} HTTP/1.1\n\n").startswith("HTTP/1.1 502 ")
        assert "gone.example was not found" in proxy.ask("CONNECT gone.example:443 HTTP/1.1\n\n")
        assert all(each.allowed for each in proxy.told)


def test_heads_without_end_and_broken_bodies_end_the_connection() -> None:
    with server(page) as port, proxied([f"localhost:{port}"]) as proxy:
        assert proxy.ask("GET http://localhost/ HTTP/1.1\nA: " + "x" * 70_000 + "\n\n").startswith("HTTP/1.1 431 ")
        host = f"localhost:{port}"
        told = proxy.ask(f"POST http://{host}/ HTTP/1.1\nTransfer-Encoding: chunked\n\nxyz\nabc\n")
        assert "abc" not in told


def test_the_end_of_a_sandbox_ends_its_connections() -> None:
    with server(echo) as port, proxied([f"localhost:{port}"]) as proxy, proxy.connect() as channel:
        channel.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n".encode())
        assert channel.recv(1000).startswith(b"HTTP/1.1 200 ")
        proxy.line.close()
        assert channel.recv(1) == b""


def test_something_else_than_a_socket_of_the_loopback_is_not_served() -> None:
    pair, other = socket.socketpair()
    with proxied(["example.com"]) as proxy, socket.socket() as outside, pair, other:
        outside.bind(("0.0.0.0", 0))
        for wrong in (outside, pair):
            with socket.socket(fileno=proxy.proxy.line(proxy.told.append).descriptor) as line:
                socket.send_fds(line, [b"."], [wrong.fileno()])
                line.settimeout(10)
                assert line.recv(1) == b""
