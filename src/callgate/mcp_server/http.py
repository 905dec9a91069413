"""The HTTP server on a port of this machine. Each request needs a token; requests of web pages are refused.

A web page can send requests to this machine under its own host name (DNS rebinding). Therefore the Host header must
name this server, the Origin header must name this server if the request has one, and each request must have the
token.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hmac import compare_digest
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callgate.mcp_server.served_session import ServedSessions
from callgate.words.errors import UsageError

PATH = "/mcp"
LARGEST_BODY = 4 << 20
_GRACE = 1  # second; clients that listen for events keep their request open until it ends
_EVERY_ADDRESS = ("0.0.0.0", "::", "::ffff:0.0.0.0")


def listen(host: str, port: int) -> socket:
    """Return a listening socket. Port 0 selects a free port. Raise UsageError if the address cannot be used."""
    made = socket(AF_INET6 if ":" in host else AF_INET, SOCK_STREAM)
    try:
        made.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        made.bind((host, port))
        if made.getsockname()[0] in _EVERY_ADDRESS:
            raise OSError("--host must be the address that clients use: each request must have the same address")
        made.listen()  # clients may connect as soon as the address is printed
    except (OSError, TypeError) as error:  # TypeError: the name cannot be encoded
        made.close()
        raise UsageError(f"{host}, port {port}: {getattr(error, 'strerror', None) or error}") from error
    return made


def names_of(host: str, port: int, address: str = "127.0.0.1") -> tuple[str, ...]:
    """Return the accepted values of the Host header. ``address`` is the IP address of ``host``. For port 80 the
    names without a port are accepted too."""
    given = (f"[{each}]" if ":" in each else each for each in (host.lower(), address))
    names = [*dict.fromkeys((*given, "127.0.0.1", "localhost", "[::1]"))]
    return (*(f"{name}:{port}" for name in names), *(names if port == 80 else ()))


class HttpGuard:
    """An ASGI middleware that refuses requests without the token and requests whose headers name another server. A
    DELETE request ends the session of its client."""

    def __init__(self, app: ASGIApp, token: str, names: Sequence[str], sessions: ServedSessions) -> None:
        self._app = app
        self._token = f"Bearer {token}".encode()
        self._names = frozenset(name.encode() for name in names)
        self._origins = frozenset(f"http://{name}".encode() for name in names)
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        refusal = self._refusal(headers)
        if refusal is not None:
            status, text = refusal
            more = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await PlainTextResponse(text, status, more)(scope, receive, send)
        elif scope["method"] == "DELETE":
            await self._app(scope, receive, self._ending(headers, send))
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        hosts, origins, tokens = (
            [value for name, value in headers if name == wanted] for wanted in (b"host", b"origin", b"authorization")
        )
        if len(hosts) != 1 or hosts[0].lower() not in self._names:
            return 421, "The Host header is not the address of this server."
        if any(origin.lower() not in self._origins for origin in origins):
            return 403, "Web pages of other sites may not use this server."
        if len(tokens) != 1 or not compare_digest(tokens[0], self._token):
            return 401, "The token is missing or wrong."
        return None

    def _ending(self, headers: list[tuple[bytes, bytes]], send: Send) -> Send:
        """Return a wrapper of ``send``. A successful response through the wrapper ends the session of the client."""
        session = next((value.decode("latin-1") for name, value in headers if name == b"mcp-session-id"), "")

        async def send_and_end(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                self._sessions.end(f"session {session}")
            await send(message)

        return send_and_end


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class HttpServer:
    """An HTTP server that runs the MCP server ``server`` behind an HttpGuard until ``stop`` is called."""

    def __init__(self, server: Server[Any], sessions: ServedSessions, token: str, names: Sequence[str]) -> None:
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard compares the names
        app = server.streamable_http_app(
            streamable_http_path=PATH, transport_security=security, max_request_body_size=LARGEST_BODY
        )
        self.app: ASGIApp = HttpGuard(app, token, names, sessions)
        self._uvicorn: _Uvicorn | None = None

    async def serve(self, bound: socket) -> None:
        config = uvicorn.Config(
            self.app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=_GRACE
        )
        self._uvicorn = _Uvicorn(config)
        await self._uvicorn.serve([bound])

    def stop(self) -> None:
        """Stop the server. Open requests get one second to end. A second call of ``stop`` ends them at once."""
        if self._uvicorn is not None:
            self._uvicorn.force_exit = self._uvicorn.should_exit
            self._uvicorn.should_exit = True
