"""Resolves host names, so that an address can be checked before a connection is opened."""

import socket
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from callgate.words.noun import noun

CONNECT_SECONDS = 10.0
MOST_ADDRESSES = 3
"""The number of addresses of a name that are tried."""

Resolve = Callable[[str, int], Sequence[str]]


def system_addresses(name: str, port: int) -> Sequence[str]:
    """Return the addresses of a host name from the system's resolver. Raise OSError if the lookup fails."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


def host_name(host: str) -> str:
    """Return a normalised host without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


@noun
class HttpTarget:
    """The target of a request.

    host  the host without brackets and port
    path  the path with the query
    """

    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def target_of(url: str) -> HttpTarget:
    """Parse a URL. Raise ValueError unless it begins with http:// or https:// and a host."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    if not (secure or parts.scheme == "http") or not parts.hostname:
        raise ValueError("a URL must begin with https:// or http:// and a host")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return HttpTarget(secure, parts.hostname, parts.port or (443 if secure else 80), path)
