"""The hosts that commands in a sandbox may reach: which names, which addresses, and who may say so."""

import pytest

from callgate.policy.hosts import host_pattern, includes, proxy_rules
from tests.rows import rows


@rows(
    "hosts, host, allowed",
    [
        ((), "example.com", False),
        (("example.com",), "example.com", True),
        (("example.com",), "example.com:8080", False),
        (("example.com",), "www.example.com", False),
        (("*.example.com",), "www.example.com", True),
        (("*.example.com",), "example.com", False),
        (("example.com:8080",), "example.com:8080", True),
        (("10.0.0.7",), "10.0.0.7", True),
        (("*",), "anything.org", True),
        (("*",), "localhost", False),
        (("*",), "10.0.0.7", False),
    ],
)
def test_a_host_is_allowed_by_its_name_and_port(hosts: tuple[str, ...], host: str, allowed: bool) -> None:
    assert proxy_rules(hosts).allows(host) is allowed


def test_a_deny_rule_on_a_host_stands() -> None:
    rules = proxy_rules(["*.example.com", "example.org"], [host_pattern("bad.example.com")])
    assert rules.allows("good.example.com")
    assert not rules.allows("bad.example.com")
    assert not rules.allows("bad.example.com:8080")


@rows(
    "hosts, host, address, refused",
    [
        (("example.com",), "example.com", "93.184.216.34", False),
        (("example.com",), "example.com", "127.0.0.1", True),
        (("example.com",), "example.com", "10.0.0.7", True),
        (("example.com",), "example.com", "::1", True),
        (("example.com",), "example.com", "::ffff:127.0.0.1", True),
        (("example.com",), "example.com", "169.254.169.254", True),
        (("example.com", "10.0.0.7"), "example.com", "10.0.0.7", False),
        (("example.com:8080", "10.0.0.7"), "example.com:8080", "10.0.0.7", True),
        (("example.com:8080", "10.0.0.7:8080"), "example.com:8080", "10.0.0.7", False),
        (("10.0.0.7",), "10.0.0.7", "10.0.0.7", False),
        (("[::1]:8080",), "[::1]:8080", "::1", False),
        (("localhost",), "localhost", "127.0.0.1", False),
        (("localhost:8000",), "localhost:8000", "::1", False),
        (("localhost",), "localhost", "10.0.0.7", False),
        (("git.internal",), "git.internal", "10.0.0.7", False),
        (("git.internal",), "git.internal", "127.0.0.1", True),
        (("git.internal",), "git.internal", "169.254.169.254", True),
        (("git.internal",), "git.internal", "168.63.129.16", True),
        (("git.internal",), "git.internal", "0.0.0.0", True),
        (("169.254.169.254",), "169.254.169.254", "169.254.169.254", False),
        (("*",), "example.com", "10.0.0.7", True),
    ],
)
def test_an_address_of_the_own_network_must_be_meant(
    hosts: tuple[str, ...], host: str, address: str, refused: bool
) -> None:
    assert proxy_rules(hosts).refuses(address, host) is refused


def test_the_sandbox_s_own_loopback_is_reached_directly_unless_the_machine_s_is_allowed() -> None:
    assert proxy_rules(["example.com"]).direct == ("localhost", "127.0.0.1", "::1")
    assert proxy_rules(["localhost:8000", "127.0.0.1"]).direct == ("::1",)


@rows(
    "wide, narrow, included",
    [
        (("example.com",), (), True),
        ((), ("example.com",), False),
        (("example.com",), ("example.com",), True),
        (("*.example.com",), ("a.example.com", "*.b.example.com"), True),
        (("*.example.com",), ("example.com",), False),
        (("a.example.com",), ("*.example.com",), False),
        (("*",), ("example.com",), True),
        (("*",), ("localhost",), False),
        (("example.com",), ("example.com:8080",), False),
        (("example.com",), ("*",), False),
    ],
)
def test_a_list_may_be_narrower_than_another(wide: tuple[str, ...], narrow: tuple[str, ...], included: bool) -> None:
    assert includes(wide, narrow) is included


def test_what_is_no_host_is_said() -> None:
    with pytest.raises(ValueError, match="is a URL"):
        proxy_rules(["https://example.com/"])
