"""Parses the head of a request to the sandbox's proxy strictly, and rewrites the head for the server.

Nothing ambiguous is forwarded: all lines must be valid, the Host header must match the requested address, and the
length of the body must be known. Bytes after the body are not forwarded, so one connection carries one request to
one host.
"""

import re
from collections.abc import Callable
from typing import Literal

from callgate.words.noun import noun

LARGEST_HEAD = 65_536
END = b"\r\n\r\n"
_CONNECT = re.compile(r"CONNECT ([^ /?#@]+:[0-9]{1,5}) HTTP/1\.[01]")
_PLAIN = re.compile(r"([A-Z]{1,20}) http://([^ /?#@]+)(/[^ #]*|\?[^ #]*)? HTTP/1\.[01]", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:\[[^\[\]]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")
_LENGTH = re.compile(r"[0-9]{1,15}")
# Headers of one connection; the proxy closes its own after one request.
_OF_A_CONNECTION = frozenset(("connection", "keep-alive", "te", "trailer", "upgrade", "host"))

Normal = Callable[[str], str | None]
"""Returns a host, or host:port, in normal form; None if it is ambiguous."""


@noun
class ProxyRequest:
    """A valid request.

    host    the host in normal form
    head    the bytes sent to the server before the body; empty for a tunnel
    length  the length of the body in bytes
    """

    host: str
    port: int
    head: bytes = b""
    length: int | Literal["chunked"] = 0

    @property
    def is_tunnel(self) -> bool:
        return not self.head


@noun
class UnreadableRequest:
    """An invalid request, which is not forwarded.

    host  the requested host; empty if it is unknown
    """

    why: str
    host: str = ""


def read_head(data: bytes, normal: Normal) -> ProxyRequest | UnreadableRequest:
    """Parse the head of a request, including the empty line at its end."""
    first, *rest = data.removesuffix(END).decode("latin-1").split("\r\n")
    fields: list[tuple[str, str]] = []
    for line in rest:
        found = _FIELD.fullmatch(line)
        if found is None:
            return UnreadableRequest("a line of its header is invalid")
        fields.append((found[1], found[2]))
    if (tunnel := _CONNECT.fullmatch(first)) is not None:
        return _parse_authority(tunnel[1], normal)
    plain = _PLAIN.fullmatch(first)
    if plain is None:
        return UnreadableRequest("it is neither CONNECT host:port nor a request with an absolute http:// URL")
    asked = _parse_authority(plain[2], normal)
    return asked if isinstance(asked, UnreadableRequest) else _rewrite(asked, plain, fields, normal)


def _parse_authority(authority: str, normal: Normal) -> ProxyRequest | UnreadableRequest:
    found, host = _AUTHORITY.fullmatch(authority), normal(authority)
    if found is None or host is None:
        return UnreadableRequest("its host is ambiguous", authority[:100])
    return ProxyRequest(host, int(found[1] or 80))


def _rewrite(
    asked: ProxyRequest, line: "re.Match[str]", fields: list[tuple[str, str]], normal: Normal
) -> ProxyRequest | UnreadableRequest:
    by_name: dict[str, list[str]] = {}
    for name, value in fields:
        by_name.setdefault(name.lower(), []).append(value)
    hosts, length = by_name.get("host", []), _length(by_name)
    if len(hosts) > 1 or any(normal(each) != asked.host for each in hosts):
        return UnreadableRequest(f"its Host header is {' and '.join(hosts)[:100]}", asked.host)
    if length is None:
        return UnreadableRequest("the length of its body is ambiguous", asked.host)
    named = {each.strip().lower() for value in by_name.get("connection", ()) for each in value.split(",")}
    dropped = (_OF_A_CONNECTION | named) - {"content-length", "transfer-encoding"}
    kept = [
        f"{name}: {value}"
        for name, value in fields
        if name.lower() not in dropped and not name.lower().startswith("proxy-")
    ]
    target = line[3] or "/"
    first = f"{line[1]} {target if target.startswith('/') else f'/{target}'} HTTP/1.1"
    head = "\r\n".join((first, f"Host: {line[2]}", *kept, "Connection: close", "", ""))
    return ProxyRequest(asked.host, asked.port, head.encode("latin-1"), length)


def _length(fields: dict[str, list[str]]) -> int | Literal["chunked"] | None:
    lengths, codings = fields.get("content-length", []), fields.get("transfer-encoding", [])
    if codings:
        return "chunked" if [each.lower() for each in codings] == ["chunked"] and not lengths else None
    if len(lengths) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0])):
        return None
    return int(lengths[0]) if lengths else 0
