"""Names of hosts made into addresses, for code that checks an address before it connects to that very one."""

import socket
from collections.abc import Callable, Sequence

CONNECT_SECONDS = 10.0
MOST_ADDRESSES = 3
"""So many addresses of a name are tried."""

Resolve = Callable[[str, int], Sequence[str]]


def system_addresses(name: str, port: int) -> Sequence[str]:
    """The IP addresses of a name, as the system resolves it."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


def host_name(host: str) -> str:
    """A host in normal form without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
