"""Base URLs of providers, and the proxies that the environment sets for their servers."""

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote, unquote, urlsplit

from callgate.words.errors import UsageError
from callgate.words.noun import noun

_SAFE = "/:@!$&'()*+,;=~%-._?"


@noun
class ServerAddress:
    """The scheme, host and port of a server."""

    secure: bool
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    @property
    def loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.") or self.host.endswith(".localhost")


@noun
class BaseUrl:
    """The base URL of a provider.

    path  the path without a trailing slash
    """

    origin: ServerAddress
    path: str = ""
    query: str = ""

    def target(self, path: str) -> str:
        """Return the path and query of a request, appended to the path and query of the base URL."""
        path, _, query = path.partition("?")
        path = quote(f"{self.path}/{path.lstrip('/')}", safe=_SAFE)
        query = "&".join(part for part in (self.query, query) if part)
        return f"{path}?{quote(query, safe=_SAFE)}" if query else path

    def full_url(self, path: str) -> str:
        return f"{'https' if self.origin.secure else 'http'}://{self.origin.header}{self.target(path)}"


@noun
class Proxy:
    """A proxy server.

    authorization  the value of Proxy-Authorization, or None; the repr does not contain it
    """

    origin: ServerAddress
    authorization: str | None = None

    def __repr__(self) -> str:
        return f"Proxy({self.origin})"


def base_url(text: str) -> BaseUrl:
    """Parse a base URL. Raise UsageError with the reason for an invalid URL; the message does not contain a
    password."""
    origin, path, query, user = _read(text, "base URL")
    if user:
        raise UsageError("a base URL must not contain a user name or password: set a header of the provider instead")
    return BaseUrl(origin, path.rstrip("/"), query)


def proxy_for(origin: ServerAddress, environment: Mapping[str, str]) -> Proxy | None:
    """Return the proxy that the environment sets for a server; None if there is none.

    HTTPS_PROXY or HTTP_PROXY is used, otherwise ALL_PROXY, unless the host is in NO_PROXY. Variables with lower-case
    names take precedence. Loopback addresses are reached without a proxy.
    """

    def value(name: str) -> str:
        return environment.get(name.lower(), "") or environment.get(name, "")

    text = value("HTTPS_PROXY" if origin.secure else "HTTP_PROXY") or value("ALL_PROXY")
    if not text or origin.loopback or _excluded(origin, value("NO_PROXY")):
        return None
    found, _, _, user = _read(text if "://" in text else f"http://{text}", "proxy")
    return Proxy(found, f"Basic {b64encode(unquote(user).encode()).decode()}" if user else None)


def _read(text: str, what: str) -> tuple[ServerAddress, str, str, str]:
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(f"the {what} is not a URL such as https://host:port") from None
    scheme = parts.scheme.lower()
    if scheme not in ("http", "https"):
        raise UsageError(f"the {what} begins with {scheme or 'nothing'}://; only http:// and https:// are supported")
    try:
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        host = ""
    if not host or not host.isprintable() or " " in host:
        raise UsageError(f"the {what} names no host: write it as https://host:port")
    secure = scheme == "https"
    user = parts.netloc.rpartition("@")[0]
    return ServerAddress(secure, host, port or (443 if secure else 80)), parts.path, parts.query, user


def _excluded(origin: ServerAddress, no_proxy: str) -> bool:
    for entry in no_proxy.replace(",", " ").lower().split():
        name, colon, port = entry.rpartition(":")
        if colon and port.isdigit() and "]" not in port and (":" not in name or name.startswith("[")):
            if int(port) != origin.port:
                continue
            entry = name
        entry = entry.strip("[]").removeprefix("*").removeprefix(".")
        if entry in ("", origin.host) or origin.host.endswith(f".{entry}") or _within(origin.host, entry):
            return True
    return False


def _within(host: str, network: str) -> bool:
    if "/" not in network:
        return False
    from ipaddress import ip_address, ip_network  # slow to import, rarely needed

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
