"""Login to servers with OAuth 2.1.

The SDK performs discovery, registration, PKCE, the check of the issuer and the refresh of tokens. This module shows the
login address, listens for the redirect and stores the tokens. The listener is on the loopback interface; its port is
part of the client registration and stored with it. Login addresses are shown to the user and never passed to a program.
"""

import asyncio
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import time
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError

from callgate.mcp.link_faults import NeedsLogin
from callgate.mcp.server_config import OAuthClient
from callgate.mcp.server_questions import shown_address

_PATH = "/callback"
_LONGEST_REQUEST = 16_000
_ENDPOINTS = {"issuer", "authorization_endpoint", "token_endpoint"}
_PAGE = (
    "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {size}\r\n"
    "Connection: close\r\nCache-Control: no-store\r\n\r\n{text}"
)


class TokenStore(Protocol):
    """A store of secrets by name. All methods block."""

    def get(self, name: str) -> str | None: ...

    def put(self, name: str, text: str) -> None: ...

    def remove(self, name: str) -> bool: ...


Show = Callable[[str, Awaitable[object]], Awaitable[None]]
"""Show the address to the user and wait until the redirect has arrived. Raise if the user cannot be asked."""


class KeptTokens:
    """Stores the tokens and the client registration of one server, as the SDK's token storage.

    The expiry of the tokens and the endpoints are stored too, which the SDK does not store. Tokens that were stored
    for another ``url`` are not returned, so a changed configuration sends no token to another host.
    """

    def __init__(self, server: str, url: str, store: TokenStore) -> None:
        self._name = server
        self._url = url
        self._store = store
        self._context: OAuthContext | None = None
        self.registered: OAuthClientInformationFull | None = None
        """A client registered by hand. It replaces the stored registration."""

    async def restore(self, context: OAuthContext) -> None:
        """Restore the expiry of the tokens and the endpoints, which the SDK does not store."""
        self._context = context
        kept = await self._get("tokens")
        with suppress(ValidationError, KeyError, TypeError):
            if kept is not None:
                context.token_expiry_time = kept["expires"]
                context.oauth_metadata = OAuthMetadata.model_validate(kept["endpoints"])

    async def get_tokens(self) -> OAuthToken | None:
        kept = await self._get("tokens")
        with suppress(ValidationError, KeyError, TypeError):
            return None if kept is None else OAuthToken.model_validate(kept["tokens"])
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        found: dict[str, Any] = {"tokens": tokens.model_dump(mode="json", exclude_none=True)}
        found["expires"] = None if tokens.expires_in is None else time() + int(tokens.expires_in)
        if self._context is not None and self._context.oauth_metadata is not None:
            found["endpoints"] = self._context.oauth_metadata.model_dump(mode="json", include=_ENDPOINTS)
        await self._put("tokens", found)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self.registered is not None:
            return self.registered
        kept = await self._get("client")
        with suppress(ValidationError):
            return None if kept is None else OAuthClientInformationFull.model_validate(kept)
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._put("client", client_info.model_dump(mode="json", exclude_none=True))

    async def _get(self, key: str) -> Any:
        text = await asyncio.to_thread(lambda: self._store.get(f"{key}:{self._name}"))
        with suppress(ValueError, TypeError, KeyError):
            kept = json.loads(urlsafe_b64decode(text or ""))
            return kept if kept["url"] == self._url else None
        return None

    async def _put(self, key: str, value: dict[str, Any]) -> None:
        packed = urlsafe_b64encode(json.dumps({**value, "url": self._url}).encode()).decode()
        await asyncio.to_thread(lambda: self._store.put(f"{key}:{self._name}", packed))


def forget_tokens(server: str, store: TokenStore) -> bool:
    """Remove the tokens and the client registration of a server; return False if there were none. Blocks."""
    removed = [store.remove(f"{key}:{server}") for key in ("tokens", "client")]
    return any(removed)


class Callback:
    """The listener for the redirect of the browser after a login."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[AuthorizationCodeResult] | None = None

    async def open(self, port: int) -> int:
        """Listen on this port of the loopback interface and return the port; 0 selects any free port."""
        self._answer = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=_LONGEST_REQUEST)
        return self._server.sockets[0].getsockname()[1]

    @property
    def answer(self) -> "asyncio.Future[AuthorizationCodeResult]":
        assert self._answer is not None
        return self._answer

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readline()).decode("latin-1").split(" ")
            parts = urlsplit(line[1] if len(line) == 3 else "")
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, text = "404 Not Found", "There is nothing here."
            if line[0] == "GET" and parts.path == _PATH and ("code" in asked or "error" in asked):
                status, text = "200 OK", "You can close this page and go back to Callgate."
                self._take(asked)
            writer.write(_PAGE.format(status=status, size=len(text), text=text).encode())
            await writer.drain()
        except (OSError, ValueError):
            pass
        finally:
            writer.close()

    def _take(self, asked: dict[str, str]) -> None:
        if self._answer is None or self._answer.done():
            return
        if "error" in asked:
            self._answer.set_exception(NeedsLogin(f"the login was refused: {asked['error'][:80]}"))
            return
        self._answer.set_result(
            AuthorizationCodeResult(code=asked["code"], state=asked.get("state"), iss=asked.get("iss"))
        )


async def login_auth(
    server: str, url: str, store: TokenStore, show: Show, client: OAuthClient | None = None
) -> OAuthClientProvider:
    """Return the authentication of requests to a server. It does nothing until the server requires a login.

    client  a client that was registered manually at the authorization server
    """
    kept = KeptTokens(server, url, store)
    callback = Callback()
    port = await _kept_port(kept) if client is None else client.port
    listening = await callback.open(port) if port == 0 else port
    if port == 0:
        callback.close()  # opened only to find a free port

    async def redirect(address: str) -> None:
        shown = shown_address(address)
        await callback.open(listening)
        try:
            await show(shown, callback.answer)
        except BaseException:
            callback.close()
            raise

    async def answered() -> AuthorizationCodeResult:
        try:
            return await callback.answer
        finally:
            callback.close()

    metadata = OAuthClientMetadata(
        client_name="Callgate",
        redirect_uris=[AnyUrl(f"http://127.0.0.1:{listening}{_PATH}")],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    if client is not None:
        kept.registered = OAuthClientInformationFull(
            client_id=client.id,
            client_secret=client.secret or None,
            redirect_uris=metadata.redirect_uris,
            token_endpoint_auth_method="client_secret_basic" if client.secret else "none",
        )
    provider = OAuthClientProvider(url, metadata, kept, redirect, answered)
    await kept.restore(provider.context)
    return provider


async def _kept_port(kept: KeptTokens) -> int:
    info = await kept.get_client_info()
    uris = () if info is None else info.redirect_uris or ()
    return next((each.port for each in uris if each.host == "127.0.0.1" and each.port), 0)
