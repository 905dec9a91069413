"""Host patterns of network rules and of the sandbox's proxy.

Hosts are compared in a normal form: lower case, no trailing dot, international names in ``xn--`` form, addresses in
canonical form. A host that programs could interpret differently has no normal form: no allow rule covers it and every
deny rule matches it.

A name may resolve to any address. Therefore the code that connects calls ``is_private`` again for the address, and
``covers`` again for the target of a redirect.
"""

import re
from collections.abc import Sequence
from functools import partial
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from unicodedata import category

from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.host.sandbox.proxy_connection import ProxyRules

_WEB_PORTS = (80, 443)
"""The default ports of http and https. A URL with one of these ports is compared like a URL without a port."""
_LAST_PORT = 65_535
_HOST = late_pattern(r"(?:\[([^\[\]]*)\]|([^:\[\]]*))(?::([1-9][0-9]{0,4}))?")
_URL = late_pattern(r"https?://([^/?#]+)(?:[/?#].*)?", re.IGNORECASE)
_LONGEST_URL = 16_384
_LONGEST_HOST = 300  # longer than any name with its port
_NOT_IN_A_URL = late_pattern(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]")
_LABEL = late_pattern(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_LIKE_A_NUMBER = late_pattern(r"[0-9]+|0x[0-9a-f]*")
# IDNA 2003 and 2008 encode these differently, so programs may connect to different hosts. (The two joiners are the
# other such characters.)
_AMBIGUOUS_LETTERS = "ßς"


@noun
class HostPattern:
    """A pattern for hosts.

    name   the name of the host; empty for every host
    below  the pattern matches the subdomains of the name, but not the name itself
    port   None for the default ports of http and https
    """

    name: str
    below: bool = False
    port: int | None = None

    def covers(self, host: str) -> bool:
        """Return True if an allow rule with the pattern covers the host, given as ``name`` or ``name:port``. The
        pattern for every host excludes hosts of this machine or its network, which a rule must name."""
        found = _read(host)
        if found is None or found[1] != self.port:
            return False
        return self._takes(found[0]) if self.name else not is_private(found[0])

    def may_match(self, host: str) -> bool:
        """Return True if a deny rule with the pattern applies to the host. A pattern without a port matches every
        port. Ambiguous hosts always match."""
        found = _read(host)
        if found is None:
            return True
        return (not self.name or self._takes(found[0])) and self.port in (None, found[1])

    def _takes(self, name: str) -> bool:
        return name.endswith(f".{self.name}") if self.below else name == self.name


def host_pattern(text: str, *, star: bool = False) -> HostPattern:
    """Parse the host of a rule. Raise ValueError if the host is invalid.

    The host is ``example.com`` (this name only), ``*.example.com`` (its subdomains) or an address, each with an
    optional ``:port``.

    star  accept ``*`` for every host, as in the user's own settings; files of a repository must not use it
    """
    if text == "*":
        if star:
            return HostPattern("")
        raise ValueError("* allows every host and is accepted only in your own settings")
    if "://" in text:
        raise ValueError(f"{text!r} is a URL: write only its host, such as example.com")
    below = text.startswith("*.")
    found = _read(text[2:] if below else text)
    if found is None:
        raise ValueError(f"{text!r} is not a valid host: {_what_is_wrong(text)}")
    name, port = found
    if below and _is_address(name):
        raise ValueError(f"{text!r}: an IP address has no subdomains")
    if below and is_public_suffix(name):
        raise ValueError(f"{text!r}: anyone can register a name below {name}; write the exact names")
    return HostPattern(name, below, port)


def host_of(url: str) -> str | None:
    """Return the host of an ``http`` or ``https`` URL in normal form, with ``:port`` for a port other than 80 and
    443. Return None if programs could connect to different hosts."""
    if len(url) > _LONGEST_URL or _NOT_IN_A_URL.search(url):
        return None
    found = _URL.fullmatch(url)
    return normal_host(found[1]) if found and _HOST.fullmatch(found[1]) else None


def normal_host(text: str) -> str | None:
    """Return ``host`` or ``host:port`` in normal form; None if it is ambiguous."""
    found = _read(text)
    if found is None:
        return None
    return found[0] if found[1] is None else f"{found[0]}:{found[1]}"


# ---- reading ------------------------------------------------------------------------------------------------------


def _read(text: str) -> tuple[str, int | None] | None:
    """Return the name in normal form and the port. The port is None for a default port of http and https; the result
    is None for an ambiguous host."""
    if len(text) > _LONGEST_HOST:
        return None
    found = _HOST.fullmatch(text)
    if found is None:
        name, port = _v6(text), 0  # the form of an address without a port
    else:
        name, port = _v6(found[1]) if found[1] is not None else _name(found[2]), int(found[3] or 0)
    if name is None or port > _LAST_PORT:
        return None
    return name, port if port and port not in _WEB_PORTS else None


def _v6(text: str) -> str | None:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return None
    # The same machine has an IPv4 address, and a scope differs between machines: no rule can name it.
    return None if address.ipv4_mapped or address.scope_id else f"[{address.compressed}]"


def _name(text: str) -> str | None:
    labels: list[str] = []
    for label in text.removesuffix(".").split("."):
        plain = label.lower() if label.isascii() else _international(label)
        if plain is None or not _LABEL.fullmatch(plain):
            return None
        labels.append(plain)
    name = ".".join(labels)
    if len(name) > 253:
        return None
    # Programs read 2130706433, 0x7f.1 and 0177.0.0.1 as addresses; only the canonical spelling is accepted.
    return (_v4(name) if text[-1] != "." else None) if _LIKE_A_NUMBER.fullmatch(labels[-1]) else name


def _v4(text: str) -> str | None:
    try:
        return str(IPv4Address(text))  # refuses leading zeros, which some read as octal
    except AddressValueError:
        return None


def _international(label: str) -> str | None:
    from encodings.idna import ToASCII, nameprep  # costly to load: its tables

    try:
        if not all(map(_in_a_name, label)) or nameprep(label) != label:
            return None
        return ToASCII(label).decode("ascii")
    except UnicodeError:
        return None


def _in_a_name(sign: str) -> bool:
    """Return True for a character that IDNA 2003 and IDNA 2008 interpret in the same way in a name."""
    return sign == "-" or (category(sign)[0] in "LMN" and sign not in _AMBIGUOUS_LETTERS)


def _what_is_wrong(text: str) -> str:
    if "*" in text.removeprefix("*."):
        return "a * is allowed only at the beginning, before a dot"
    if "/" in text or "\\" in text or "@" in text:
        return "a host must not contain a user, a path or a query"
    if not text.isascii():
        return "write an international name in its xn-- form"
    return "write a name such as example.com, or an IP address in its usual form"


def _is_address(name: str) -> bool:
    return name.startswith("[") or bool(_LIKE_A_NUMBER.fullmatch(name.rpartition(".")[2]))


# ---- what is known of hosts ---------------------------------------------------------------------------------------

_OWN_NETWORK = (
    *("localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa"),
    *("svc", "metadata.tencentyun.com", "metadata.packet.net"),
)
"""Names that belong to this machine, its network, cluster or cloud. Names below them belong to it too."""
# The registries of special addresses differ between versions of Python, so these are listed: services beside a machine
# in a cloud, assignments of the protocols, relays, networks for tests and multicast.
_NETWORKS = ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/3")
_NOT_PUBLIC_V4 = tuple(map(IPv4Network, _NETWORKS))
_PUBLIC_V6 = IPv6Network("2000::/3")
"""All public addresses of IPv6. It leaves out site-local, mapped, translated (NAT64) and unassigned addresses."""
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3ffe::/16", "3fff::/20")))
_ISATAP = (0x5EFE, 0x2005EFE)  # an IPv4 address of the own network follows


def is_private(host: str) -> bool:
    """Return True if the name or address belongs to this machine, its network or its cloud. Also return True for an
    ambiguous host."""
    found = _read(host)
    if found is None:
        return True
    name = found[0]
    if name.startswith("["):
        return _is_private_v6(IPv6Address(name[1:-1]))
    if _is_address(name):
        return _is_private_v4(IPv4Address(name))
    # A name without a dot is resolved in the own network first.
    return "." not in name or name.endswith(tuple(f".{each}" for each in _OWN_NETWORK)) or name in _OWN_NETWORK


def _is_private_v4(address: IPv4Address) -> bool:
    return not address.is_global or any(address in network for network in _NOT_PUBLIC_V4)


def _is_private_v6(address: IPv6Address) -> bool:
    if address not in _PUBLIC_V6 or not address.is_global or any(address in each for each in _NOT_PUBLIC_V6):
        return True
    inner = address.sixtofour
    return (int(address) >> 32 & 0xFFFFFFFF) in _ISATAP or (inner is not None and _is_private_v4(inner))


_SECOND_LEVEL = """
    ac co com edu gen go gob gouv gov id ind info ltd me mil ne net nhs nom or org plc pref sch web
"""
"""Labels that form a public suffix with a country code: ``co.uk``, ``com.br``, ``or.jp``."""
_SHARED_DOMAINS = """
    github.io gitlab.io githubusercontent.com readthedocs.io bitbucket.io codeberg.page herokuapp.com vercel.app
    netlify.app pages.dev workers.dev r2.dev fly.dev deno.dev onrender.com railway.app render.com surge.sh glitch.me
    repl.co replit.app replit.dev web.app firebaseapp.com appspot.com run.app cloudfunctions.net googleusercontent.com
    amazonaws.com s3.amazonaws.com cloudfront.net elasticbeanstalk.com awsapprunner.com azurewebsites.net cloudapp.net
    azureedge.net blob.core.windows.net azurestaticapps.net ngrok.io ngrok.app ngrok-free.app ngrok.dev
    trycloudflare.com loca.lt serveo.net blogspot.com wordpress.com tumblr.com wixsite.com weebly.com myshopify.com
    duckdns.org dyndns.org no-ip.org hopto.org nip.io sslip.io xip.io localtest.me
"""
"""Domains below which anyone can register a name."""


def is_public_suffix(name: str) -> bool:
    """Return True if anyone can register names below the name, according to a short table."""
    labels = name.split(".")
    if len(labels) == 1 or name in _SHARED_DOMAINS.split():
        return True
    return len(labels) == 2 and len(labels[1]) == 2 and labels[0] in _SECOND_LEVEL.split()


_LOCAL = "localhost"
_DIRECT = (_LOCAL, "127.0.0.1", "::1")
"""Hosts that commands reach without the proxy: the sandbox's own loopback interface. A host is omitted if the user
allows the host of that name on this machine."""


def proxy_rules(hosts: Sequence[str], denied: Sequence[HostPattern] = ()) -> "ProxyRules":
    """Return the proxy rules for hosts written as in ``sandbox.allow_hosts``. Raise ValueError for an invalid host.

    denied  patterns of hosts that the proxy refuses, even if ``hosts`` allows them
    """
    from callgate.host.sandbox.proxy_connection import ProxyRules  # most settings name no hosts

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
        return name != _LOCAL and not name.endswith(f".{_LOCAL}")
    return found.is_link_local or found.is_unspecified or found.is_multicast or not found.is_private
