"""A head is passed on only if no two programs could read it in two ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.host.sandbox.proxy_connection import END, ProxyRequest, UnreadableRequest, read_head
from callgate.policy.hosts import normal_host
from tests.rows import rows


def read(text: str) -> ProxyRequest | UnreadableRequest:
    return read_head(text.replace("\n", "\r\n").encode("latin-1") + END, normal_host)


@rows(
    "text, host, port",
    [
        ("CONNECT Example.com:443 HTTP/1.1\nHost: example.com:443", "example.com", 443),
        ("CONNECT example.com:443 HTTP/1.0", "example.com", 443),
        ("CONNECT example.com:22 HTTP/1.1", "example.com:22", 22),
        ("CONNECT [::1]:443 HTTP/1.1", "[::1]", 443),
        ("CONNECT 127.0.0.1:80 HTTP/1.1", "127.0.0.1", 80),
    ],
)
def test_a_tunnel_names_its_host_and_port(text: str, host: str, port: int) -> None:
    assert read(text) == ProxyRequest(host, port)


@rows(
    "text, why",
    [
        ("GET / HTTP/1.1\nHost: example.com", "neither"),
        ("GET https://example.com/ HTTP/1.1", "neither"),
        ("GET ftp://example.com/ HTTP/1.1", "neither"),
        ("GET http://user@example.com/ HTTP/1.1", "neither"),
        ("GET  http://example.com/ HTTP/1.1", "neither"),
        ("GET http://example.com/ HTTP/2", "neither"),
        ("GET http://example.com/a b HTTP/1.1", "neither"),
        ("CONNECT example.com HTTP/1.1", "neither"),
        ("CONNECT ::1 HTTP/1.1", "its host is ambiguous"),
        ("CONNECT 0x7f.1:443 HTTP/1.1", "its host is ambiguous"),
        ("CONNECT 2130706433:443 HTTP/1.1", "its host is ambiguous"),
        ("CONNECT exa%6dple.com:443 HTTP/1.1", "its host is ambiguous"),
        ("CONNECT example.com:99999 HTTP/1.1", "its host is ambiguous"),
        ("GET http://example.com/ HTTP/1.1\nHost: other.com", "its Host header is other.com"),
        ("GET http://example.com/ HTTP/1.1\nHost: example.com:8080", "its Host header is"),
        ("GET http://example.com/ HTTP/1.1\nHost: example.com\nHost: example.com", "its Host header is"),
        ("GET http://example.com/ HTTP/1.1\nHost : other.com", "is invalid"),
        ("GET http://example.com/ HTTP/1.1\nA: b\n c", "is invalid"),
        ("GET http://example.com/ HTTP/1.1\nA: b\x00", "is invalid"),
        ("POST http://example.com/ HTTP/1.1\nContent-Length: 5\nContent-Length: 5", "length"),
        ("POST http://example.com/ HTTP/1.1\nContent-Length: +5", "length"),
        ("POST http://example.com/ HTTP/1.1\nContent-Length: 5\nTransfer-Encoding: chunked", "length"),
        ("POST http://example.com/ HTTP/1.1\nTransfer-Encoding: gzip, chunked", "length"),
        ("POST http://example.com/ HTTP/1.1\nTransfer-Encoding: xchunked", "length"),
    ],
)
def test_what_can_be_read_in_two_ways_is_not_passed_on(text: str, why: str) -> None:
    found = read(text)
    assert isinstance(found, UnreadableRequest), found
    assert why in found.why


def test_a_bare_line_end_is_no_line_end() -> None:
    found = read_head(b"GET http://example.com/ HTTP/1.1\r\nA: b\nHost: other.com" + END, normal_host)
    assert isinstance(found, UnreadableRequest)


@pytest.mark.spec("BLT-2")
def test_a_plain_request_is_written_anew_for_its_server() -> None:
    found = read(
        "POST http://Example.com:80/a?b=c HTTP/1.1\nHost: example.com\nProxy-Authorization: x\n"
        "Connection: close, X-Hop\nX-Hop: 1\nUpgrade: h2c\nContent-Length: 3\nAccept: */*"
    )
    assert isinstance(found, ProxyRequest)
    lines = found.head.decode().split("\r\n")
    assert lines == [
        "POST /a?b=c HTTP/1.1",
        "Host: Example.com:80",
        "Content-Length: 3",
        "Accept: */*",
        "Connection: close",
        "",
        "",
    ]
    assert (found.host, found.port, found.length, found.is_tunnel) == ("example.com", 80, 3, False)


@given(st.binary(max_size=300))
def test_any_bytes_are_answered(data: bytes) -> None:
    assert isinstance(read_head(data + END, normal_host), ProxyRequest | UnreadableRequest)
