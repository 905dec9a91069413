"""Compiles the setting ``sandbox.allow_hosts`` to rules of the sandbox's proxy."""

from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address

from callgate.host.sandbox.proxy_connection import ProxyRules
from callgate.policy.hosts import HostPattern, host_pattern, is_private, normal_host

_OWN = "localhost"
_DIRECT = (_OWN, "127.0.0.1", "::1")
"""Hosts that commands reach without the proxy: the sandbox's own loopback interface. A host is omitted if the user
allows the host of that name on this machine."""


def proxy_rules(hosts: Sequence[str], denied: Sequence[HostPattern] = ()) -> ProxyRules:
    """Return the proxy rules for hosts written as in ``sandbox.allow_hosts``. Raise ValueError for an invalid host.

    denied  patterns of hosts that the proxy refuses, even if ``hosts`` allows them
    """
    allowed = tuple(host_pattern(each, star=True) for each in hosts)
    named = {each.name.strip("[]") for each in allowed}
    return ProxyRules(
        normal=normal_host,
        allows=partial(_allows, allowed, tuple(denied)),
        refuses=partial(_refuses, allowed),
        direct=tuple(each for each in _DIRECT if each not in named),
    )


def includes(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """Return True if the patterns ``wide`` allow every host that the patterns ``narrow`` allow."""
    patterns = [host_pattern(each, star=True) for each in wide]
    return all(any(_within(host_pattern(each, star=True), pattern) for pattern in patterns) for each in narrow)


def _within(narrow: HostPattern, wide: HostPattern) -> bool:
    if narrow == wide:
        return True
    if narrow.port != wide.port or not narrow.name:
        return False
    if not wide.name:
        return not is_private(narrow.name)
    return wide.below and narrow.name.endswith(f".{wide.name}")


def _allows(allowed: Sequence[HostPattern], denied: Sequence[HostPattern], host: str) -> bool:
    return any(each.covers(host) for each in allowed) and not any(each.may_match(host) for each in denied)


def _refuses(allowed: Sequence[HostPattern], address: str, host: str) -> bool:
    """Return True if the resolved address is private and not allowed. A private address is allowed if a pattern
    contains the address, or if a pattern names a host of the local network that resolves to it. Only localhost may
    resolve to this machine. No name may resolve to a cloud metadata address."""
    if not is_private(address):
        return False
    port = host.rpartition(":")[2] if host.count(":") == 1 or "]:" in host else ""
    literal = f"[{address}]" if ":" in address else address
    if any(each.covers(f"{literal}:{port}" if port else literal) for each in allowed if each.name):
        return False
    name, found = host.removesuffix(f":{port}").strip("[]"), ip_address(address)
    if not is_private(name) or not any(each.name and each.covers(host) for each in allowed):
        return True
    if found.is_loopback:
        return name != _OWN and not name.endswith(f".{_OWN}")
    return found.is_link_local or found.is_unspecified or found.is_multicast or not found.is_private
