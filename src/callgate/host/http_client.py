"""Sends one HTTP/1.1 request at a time, to an address that was checked after its name was resolved.

A name can resolve to any address, and to a different address a moment later. So each name is resolved once, the caller
checks all its addresses, and the connection is made to one of the checked addresses. The name is only used for TLS and
the Host header. Redirects are not followed. Proxies of the environment are not used, because a proxy hides the address.
"""

import socket
import ssl
import zlib
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Lock

from callgate.host.host_addresses import CONNECT_SECONDS, MOST_ADDRESSES, HttpTarget, system_addresses
from callgate.words.noun import noun

_CHUNK = 65_536


class HttpError(OSError):
    """Raised if a request fails for a reason other than an operating system error."""


@noun
class HttpAnswer:
    """The answer to a request.

    headers  the headers by lower-case name
    cut      True if the body was longer than the limit
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    cut: bool


class HttpClient:
    """Sends requests one after the other. ``send`` blocks and runs in a worker thread; ``stop`` is thread-safe.

    most             the maximum size of a decompressed body in bytes
    silent_seconds   the timeout of each wait for the server
    connect_seconds  the timeout of each attempt to connect
    """

    def __init__(self, *, most: int, silent_seconds: float, connect_seconds: float = CONNECT_SECONDS) -> None:
        self._most = most
        self._silent_seconds = silent_seconds
        self._connect_seconds = connect_seconds
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._stopped = False

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:  # not connected, or no longer
                    return

    def send(
        self,
        target: HttpTarget,
        headers: Mapping[str, str],
        *,
        method: str = "GET",
        body: bytes | None = None,
        addresses: Callable[[str, int], Sequence[str]] = system_addresses,
        reads_body: Callable[[int, Mapping[str, str]], bool] = lambda status, headers: True,
    ) -> HttpAnswer:
        """Send a request and return its answer. Raise OSError if the request fails, TimeoutError after a timeout.

        addresses   a callback that resolves the name and returns the addresses to connect to; its errors are raised
                    unchanged
        reads_body  a callback that gets status and headers and returns True if the body is to be read
        """
        connection = HTTPConnection("unused")  # the socket is set below, so the name is not used
        try:
            connection.sock = self._connect(target, addresses)
            connection.request(method, target.path, body, {"Host": target.authority, "Connection": "close", **headers})
            with connection.getresponse() as response:
                found = {name.lower(): value for name, value in response.getheaders()}
                data, cut = self._body(response) if reads_body(response.status, found) else (b"", False)
                return HttpAnswer(response.status, response.reason, found, data, cut)
        except (OSError, HTTPException, ValueError, AttributeError, zlib.error) as error:
            # an encrypted socket shut down by another thread raises AttributeError
            if self._stopped:
                raise HttpError("the request was cancelled") from error
            if isinstance(error, OSError):
                raise
            raise HttpError(str(error) or type(error).__name__) from error
        finally:
            with self._lock:
                self._socket = None
            connection.close()

    def _connect(self, target: HttpTarget, addresses: Callable[[str, int], Sequence[str]]) -> socket.socket:
        failure = OSError("no IP address could be reached")
        for address in addresses(target.host, target.port)[:MOST_ADDRESSES]:
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
            try:
                self._set_socket(sock)
                sock.settimeout(self._connect_seconds)
                sock.connect((address, target.port))
                sock.settimeout(self._silent_seconds)
            except OSError as error:
                sock.close()
                failure = error
            else:
                return self._start_tls(sock, target.host) if target.secure else sock
        raise failure

    def _start_tls(self, sock: socket.socket, host: str) -> socket.socket:
        """Start TLS on a socket. The new socket is stored before the handshake begins, so that ``stop`` can close
        it."""
        context = ssl.create_default_context()
        secure = context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
        try:
            self._set_socket(secure)
            secure.do_handshake()
        except BaseException:
            secure.close()
            raise
        return secure

    def _set_socket(self, sock: socket.socket) -> None:
        with self._lock:
            if self._stopped:
                raise HttpError("the request was cancelled")
            self._socket = sock

    def _body(self, response: HTTPResponse) -> tuple[bytes, bool]:
        """Return the decompressed body, and True if it was cut. The limit applies to the decompressed size, because
        a small compressed body can be huge."""
        coding = (response.getheader("Content-Encoding") or "identity").strip().lower()
        if coding not in ("identity", "gzip", "x-gzip", "deflate"):
            raise HttpError(f"the answer is compressed as {coding!r:.40}, which is not supported")
        unpack = None if coding == "identity" else zlib.decompressobj(wbits=47)  # gzip or zlib, by its header
        parts: list[bytes] = []
        size = 0
        # further data would accumulate in the decompressor
        while size <= self._most and not (unpack is not None and unpack.eof):
            data = response.read1(_CHUNK)
            if not data:
                break
            if unpack is not None:
                data = unpack.decompress(data, self._most - size + 1)
            parts.append(data)
            size += len(data)
        if self._stopped:
            raise HttpError("the request was cancelled")
        return b"".join(parts)[: self._most], size > self._most
