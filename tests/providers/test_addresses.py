"""Base URLs and proxies of the environment."""

import pytest

from callgate.providers.addresses import ServerAddress, base_url, proxy_for
from callgate.words.errors import UsageError

API = ServerAddress(True, "api.acme.example", 443)


@pytest.mark.parametrize(
    ("base", "path", "host", "target"),
    [
        ("https://api.acme.example", "/v1/messages", "api.acme.example", "/v1/messages"),
        ("https://api.acme.example/", "v1/messages", "api.acme.example", "/v1/messages"),
        ("http://localhost:11434/v1/", "/chat/completions", "localhost:11434", "/v1/chat/completions"),
        ("HTTP://Host.Example:80/a b", "/c", "host.example", "/a%20b/c"),
        (
            "https://x.example/openai?api-version=1",
            "/responses?stream=1",
            "x.example",
            "/openai/responses?api-version=1&stream=1",
        ),
        ("https://[::1]:8443/ü", "/m:stream?alt=sse", "[::1]:8443", "/%C3%BC/m:stream?alt=sse"),
        ("https://bücher.example", "/x", "xn--bcher-kva.example", "/x"),
    ],
)
def test_a_base_url_has_a_path_and_a_query_of_its_own(base: str, path: str, host: str, target: str) -> None:
    read = base_url(base)
    assert read.origin.header == host
    assert read.target(path) == target


@pytest.mark.parametrize(
    "base", ["", "api.acme.example", "ftp://x", "https://", "https://x:99999", "https://[::1", "https://a b"]
)
def test_a_base_url_that_cannot_be_is_refused_with_words(base: str) -> None:
    with pytest.raises(UsageError, match="base URL"):
        base_url(base)


def test_a_password_in_a_base_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        base_url("https://me:hunter2@x.example")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p.example:3128"}, "p.example:3128"),
        ({"https_proxy": "p.example:3128", "HTTPS_PROXY": "http://other:1"}, "p.example:3128"),
        ({"HTTP_PROXY": "http://p.example"}, None),
        ({"ALL_PROXY": "https://p.example"}, "p.example:443"),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": "*"}, None),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": "acme.example"}, None),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": "x, .acme.example"}, None),
        ({"HTTPS_PROXY": "http://p.example", "no_proxy": "*.acme.example"}, None),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": "api.acme.example:443"}, None),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": "api.acme.example:80"}, "p.example:80"),
        ({"HTTPS_PROXY": "http://p.example", "NO_PROXY": "me.example,10.0.0.0/8,i.acme.example"}, "p.example:80"),
    ],
)
def test_the_environment_names_a_proxy_and_exceptions(environment: dict[str, str], proxy: str | None) -> None:
    found = proxy_for(API, environment)
    assert (None if found is None else str(found.origin)) == proxy


def test_a_network_of_addresses_can_be_an_exception() -> None:
    environment = {"HTTP_PROXY": "http://p.example", "NO_PROXY": "10.0.0.0/8,not/one,[fd00::1]:80"}
    assert proxy_for(ServerAddress(False, "10.2.3.4", 80), environment) is None
    assert proxy_for(ServerAddress(False, "11.2.3.4", 80), environment) is not None
    assert proxy_for(ServerAddress(False, "fd00::1", 80), environment) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_this_machine_is_reached_without_a_proxy(host: str) -> None:
    assert proxy_for(ServerAddress(False, host, 11434), {"HTTP_PROXY": "http://p.example"}) is None


def test_a_proxy_with_a_password_shows_it_nowhere() -> None:
    found = proxy_for(API, {"HTTPS_PROXY": "http://me:hun%40ter2@p.example:3128"})
    assert found is not None
    assert found.authorization == "Basic bWU6aHVuQHRlcjI="
    assert "bWU6" not in repr(found)


def test_a_proxy_of_another_kind_is_refused_with_words() -> None:
    with pytest.raises(UsageError, match="proxy begins with socks5"):
        proxy_for(API, {"HTTPS_PROXY": "socks5://p.example"})
