"""The server on a port of this machine: a token for each request, and no request from a page of a browser.

A page may reach a port of the machine it is shown on, under a name of its own that leads there (DNS rebinding). So the
name in Host has to be that of this server, a page that names itself in Origin has to come from it, and each request
has to bring the token.
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

from callgate.mcp_server.sessions import ServedSessions
from callgate.words.errors import UsageError

PATH = "/mcp"
LARGEST_BODY = 4 << 20
_GRACE = 1  # second: a client that listens keeps its request open, and takes all of it
_EVERY_ADDRESS = ("0.0.0.0", "::", "::ffff:0.0.0.0")


def listen(host: str, port: int) -> socket:
    """A socket at this address; port 0 takes a free one. UsageError if it cannot be."""
    made = socket(AF_INET6 if ":" in host else AF_INET, SOCK_STREAM)
    try:
        made.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        made.bind((host, port))
        if made.getsockname()[0] in _EVERY_ADDRESS:
            raise OSError("--host names the one address that clients use: it is compared with that of each request")
        made.listen()  # from now on, and not only once it is served: the address is told before that
    except (OSError, TypeError) as error:  # the latter for a name that cannot be encoded
        made.close()
        raise UsageError(f"{host}, port {port}: {getattr(error, 'strerror', None) or error}") from error
    return made


def names_of(host: str, port: int, address: str = "127.0.0.1") -> tuple[str, ...]:
    """The names under which the server may be addressed: what Host may say. ``address`` is that of ``host``. Clients
    leave out the port where it is that of all HTTP."""
    given = (f"[{each}]" if ":" in each else each for each in (host.lower(), address))
    names = [*dict.fromkeys((*given, "127.0.0.1", "localhost", "[::1]"))]
    return (*(f"{name}:{port}" for name in names), *(names if port == 80 else ()))


class HttpGuard:
    """Lets requests through that are addressed to this server and bring the token. Tells ``sessions`` when a client
    ends its session."""

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
            await self._app(scope, receive, self._noticing(headers, send))
        else:
            await self._app(scope, receive, send)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        hosts, origins, tokens = (
            [value for name, value in headers if name == wanted] for wanted in (b"host", b"origin", b"authorization")
        )
        if len(hosts) != 1 or hosts[0].lower() not in self._names:
            return 421, "This server is not addressed by that name."
        if any(origin.lower() not in self._origins for origin in origins):
            return 403, "Pages of other sites may not use this server."
        if len(tokens) != 1 or not compare_digest(tokens[0], self._token):
            return 401, "The token is missing or wrong."
        return None

    def _noticing(self, headers: list[tuple[bytes, bytes]], send: Send) -> Send:
        """A ``send`` that ends the session of ours when the client's own was ended."""
        session = next((value.decode("latin-1") for name, value in headers if name == b"mcp-session-id"), "")

        async def noticing(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                self._sessions.end(f"session {session}")
            await send(message)

        return noticing


class _Uvicorn(uvicorn.Server):
    """Leaves signals to the program, which has more to end than connections."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class HttpServer:
    """Serves ``app``, which is ``server`` behind the guard, until ``stop``."""

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
        """Ends it soon: requests under way have a second; the second time, none."""
        if self._uvicorn is not None:
            self._uvicorn.force_exit = self._uvicorn.should_exit
            self._uvicorn.should_exit = True
