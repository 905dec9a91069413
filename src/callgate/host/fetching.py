"""Fetches pages over HTTP, from addresses that were checked after they were resolved.

A name may lead to any address, and to another one a moment later. So a name is resolved once, all of its addresses are
checked, and the connection goes to one of those; the name itself is only used for TLS and for the Host header. Each
redirection is resolved and checked anew. Proxies of the environment are not used: behind one, no address is known.
"""

import socket
import ssl
import zlib
from collections.abc import Callable, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Lock
from urllib.parse import quote, urljoin, urlsplit

from callgate.host.resolving import CONNECT_SECONDS, MOST_ADDRESSES, Resolve, host_name, system_addresses
from callgate.words.errors import ToolFailure
from callgate.words.noun import noun

SILENT_SECONDS = 30.0
"""The other side may be silent so long. The time of the whole fetch is the timeout of the call."""
MOST_REDIRECTS = 5
_CHUNK = 65_536
_REDIRECTIONS = (301, 302, 303, 307, 308)
_NOT_ESCAPED = "!#$%&'()*+,/:;=?@[]~"


@noun
class FetchedPage:
    """``url`` is the address that answered. ``cut``: there was more than was read. ``moved_to`` is the target of a
    redirection that was not followed, because it leads to another host."""

    url: str
    status: int
    reason: str
    content_type: str
    body: bytes
    cut: bool = False
    moved_to: str | None = None


@noun
class WebRules:
    """``host_of`` gives the host of an address in the form in which hosts are compared, or None where it is in doubt.
    ``refuses`` says of an IP address, for this host, that nothing may be fetched from there."""

    host_of: Callable[[str], str | None]
    refuses: Callable[[str, str], bool]


class PageFetch:
    """One fetch. ``run`` blocks and belongs in a worker thread; ``stop`` may be called from any thread."""

    def __init__(self, rules: WebRules, agent: str, most: int, resolve: Resolve = system_addresses) -> None:
        self._rules = rules
        self._agent = agent
        self._most = most
        self._resolve = resolve
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._stopped = False

    def stop(self) -> None:
        """Ends the wait for the other side."""
        with self._lock:
            self._stopped = True
            if self._socket is not None:
                _shut(self._socket)

    def run(self, url: str) -> FetchedPage:
        """ToolFailure says in words why there is no page."""
        first = url
        for _ in range(MOST_REDIRECTS + 1):
            page = self._one(url)
            if page.moved_to is None:
                return page
            target = page.moved_to
            if self._is_elsewhere(first, url, target):
                return page
            url = target
        raise ToolFailure(f"{first} redirects more than {MOST_REDIRECTS} times.")

    def _is_elsewhere(self, first: str, url: str, target: str) -> bool:
        """Another host, or the same one without encryption."""
        other = self._rules.host_of(target) != self._rules.host_of(first)
        return other or (url.lower().startswith("https:") and not target.lower().startswith("https:"))

    def _one(self, url: str) -> FetchedPage:
        host, parts = self._rules.host_of(url), urlsplit(url)
        if host is None or not parts.hostname:
            raise ToolFailure(f"{url} is not a plain http or https address, so it is not fetched.")
        try:
            secure = parts.scheme.lower() == "https"
            port = parts.port or (443 if secure else 80)
            connection = HTTPConnection("unused")  # it has its socket already, so it resolves and connects nothing
            try:
                connection.sock = self._connected(host, port)
                if secure:
                    connection.sock = self._encrypted(connection.sock, host)
                return self._asked(connection, url, host, port)
            finally:
                with self._lock:
                    self._socket = None
                connection.close()
        except (OSError, HTTPException, ValueError, AttributeError, zlib.error) as error:
            # AttributeError: an encrypted socket that was shut down in another thread.
            why = "it was stopped" if self._stopped else str(error) or type(error).__name__
            raise ToolFailure(f"{url} could not be fetched: {why}") from error

    def _connected(self, host: str, port: int) -> socket.socket:
        failure = OSError("no address could be reached")
        for address in self._checked(host, port)[:MOST_ADDRESSES]:
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
            try:
                self._adopt(sock)
                sock.settimeout(CONNECT_SECONDS)
                sock.connect((address, port))
                sock.settimeout(SILENT_SECONDS)
                return sock
            except OSError as error:
                sock.close()
                failure = error
        raise failure

    def _encrypted(self, sock: socket.socket, host: str) -> socket.socket:
        """The handshake comes after the new socket is known to ``stop``."""
        context = ssl.create_default_context()
        secure = context.wrap_socket(sock, server_hostname=host_name(host), do_handshake_on_connect=False)
        try:
            self._adopt(secure)
            secure.do_handshake()
        except BaseException:
            secure.close()
            raise
        return secure

    def _checked(self, host: str, port: int) -> Sequence[str]:
        """All addresses of the host; ToolFailure if one of them is refused."""
        found = self._resolve(host_name(host), port)
        refused = [address for address in found if self._rules.refuses(address, host)]
        if refused:
            raise ToolFailure(
                f"{host} is at {refused[0]}, an address of this machine, its network or its cloud: nothing is fetched "
                "from there."
            )
        return found

    def _adopt(self, sock: socket.socket) -> None:
        with self._lock:
            if self._stopped:
                raise OSError("it was stopped")
            self._socket = sock

    def _asked(self, connection: HTTPConnection, url: str, host: str, port: int) -> FetchedPage:
        parts, name = urlsplit(url), host_name(host)
        path, query = (quote(text, safe=_NOT_ESCAPED) for text in (parts.path or "/", parts.query))
        shown = f"[{name}]" if ":" in name else name
        headers = {
            "Host": shown if port == (443 if parts.scheme.lower() == "https" else 80) else f"{shown}:{port}",
            "User-Agent": self._agent,
            "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5",
            "Accept-Encoding": "gzip, identity",
            "Connection": "close",
        }
        connection.request("GET", f"{path}?{query}" if query else path, headers=headers)
        with connection.getresponse() as response:
            return self._answered(response, url)

    def _answered(self, response: HTTPResponse, url: str) -> FetchedPage:
        moved, location = None, response.getheader("Location")
        if response.status in _REDIRECTIONS and location:
            moved, body, cut = urljoin(url, location.strip()), b"", False
        else:
            body, cut = self._body(response)
        kind = response.getheader("Content-Type") or ""
        return FetchedPage(
            url=url,
            status=response.status,
            reason=response.reason,
            content_type=kind,
            body=body,
            cut=cut,
            moved_to=moved,
        )

    def _body(self, response: HTTPResponse) -> tuple[bytes, bool]:
        """At most so many bytes, also of what is packed: a small packed answer can be very large."""
        coding = (response.getheader("Content-Encoding") or "identity").strip().lower()
        if coding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise ToolFailure(f"The answer is packed as {coding!r:.40}, which cannot be read.")
        unpack = None if coding == "identity" else zlib.decompressobj(wbits=47)  # gzip or zlib, by its header
        parts: list[bytes] = []
        size = 0
        while size <= self._most and not (unpack is not None and unpack.eof):  # what follows would pile up in it
            data = response.read1(_CHUNK)
            if not data:
                break
            if unpack is not None:
                data = unpack.decompress(data, self._most - size + 1)
            parts.append(data)
            size += len(data)
        if self._stopped:
            raise OSError("it was stopped")
        return b"".join(parts)[: self._most], size > self._most


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:  # not connected yet, or not any more
        return
