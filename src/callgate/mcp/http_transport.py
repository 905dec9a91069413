"""The HTTP transports: streamable HTTP, and SSE for old servers.

Response bodies are limited before the SDK parses them on the event loop. A body, and each event of a stream, has the
same size limit as a line on stdio. Large bodies are parsed in a thread, and lists that are too long are shortened.
Compressed bodies are refused, because a small body may expand to any size. If a server sends too many messages, they
are read more slowly.
"""

import asyncio
import json
import re
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from callgate.core.ports import Clock
from callgate.host.host_addresses import Resolve, system_addresses
from callgate.host.processes import run_process
from callgate.mcp.link_faults import innermost
from callgate.mcp.rate_limit import RateLimit
from callgate.mcp.server_config import ServerConfig
from callgate.mcp.stdio_transport import BYTES_A_MESSAGE, LARGEST_LINE, message_rate, parsed
from callgate.policy.hosts import is_private

LARGE = 64 << 10
"""The size in bytes from which a message is parsed in a thread."""
_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")
_NO_MESSAGE = b"null"


class TooLarge(httpx2.StreamError):
    """Raised if a response body exceeds the size limit. The SDK reports it as the error of the request."""


class BoundedStream(httpx2.AsyncByteStream):
    """A response body that raises an error if the body, or an event in it, exceeds the size limit. The body is read
    within the ``rate`` limit of the server and yields only complete events."""

    def __init__(self, inner: httpx2.AsyncByteStream, rate: RateLimit, *, events: bool) -> None:
        self._inner = inner
        self._rate = rate
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = bytearray()
        async for chunk in self._inner:
            looked = max(len(read) - 3, 0)
            read += chunk
            ends = [each.end() for each in _BLANK_LINE.finditer(read, looked)] if self._events else []
            if ends:
                whole, read = bytes(read[: ends[-1]]), read[ends[-1] :]
                yield whole if len(whole) <= LARGE else await asyncio.to_thread(lighter_events, whole)
            if len(read) > LARGEST_LINE:
                raise TooLarge(f"the answer has more than {LARGEST_LINE >> 20} MiB, so it was not read")
            pause = self._rate.spend(len(ends) + len(chunk) / BYTES_A_MESSAGE)
            if pause:
                await asyncio.sleep(pause)
        if read:
            whole = bytes(read)
            lighter = lighter_events if self._events else lighter_message
            yield whole if len(whole) <= LARGE else await asyncio.to_thread(lighter, whole)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def bound_body(response: httpx2.Response, rate: RateLimit) -> None:
    """Limit the body of a response. Used as a response hook of the HTTP client."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise TooLarge("the answer is compressed although compression was not requested")
    kind = response.headers.get("content-type", "").lower()
    inner = cast(httpx2.AsyncByteStream, response.stream)
    response.stream = BoundedStream(inner, rate, events=kind.startswith("text/event-stream"))


def lighter_message(body: bytes) -> bytes:
    """Return a JSON message with its lists shortened. Blocks. An invalid message is replaced by a short text that the
    SDK rejects."""
    match parsed(body):
        case [SessionMessage() as found]:
            return found.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        case _:
            return _NO_MESSAGE


def lighter_events(body: bytes) -> bytes:
    """Return server-sent events with the lists in their data shortened. Blocks."""
    written: list[bytes] = []
    fields: list[bytes] = []
    data: list[bytes] = []
    for line in body.splitlines():
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif line:
            fields.append(line)
        else:
            written += [*fields, *_light_data(data), b""]
            fields, data = [], []
    return b"\n".join((*written, *fields, *_light_data(data), b""))


def _light_data(lines: list[bytes]) -> list[bytes]:
    whole = b"\n".join(lines)
    return [b"data: " + each for each in ([lighter_message(whole)] if len(whole) > LARGE else lines)]


_SECONDS = 30.0
_HELPER_SECONDS = 10.0
_HELPER_BYTES = 64_000
_STREAMS = 20  # opened at once; then one per second
_WRONG_PLACE = '. Check the address. An old server that supports only SSE needs "type": "sse"'


def outward_only(
    url: str, resolve: Resolve = system_addresses
) -> Callable[[httpx2.Request], Coroutine[Any, Any, None]]:
    """Return a request hook that limits the hosts that a server may name for its login.

    A server on the internet may name only hosts on the internet, over https; every address of the host is checked. So a
    server cannot make this machine send requests to local hosts. A server whose addresses are all private is not
    limited.
    """
    own = httpx2.URL(url)

    async def near(there: httpx2.URL) -> list[bool]:
        """Return a value for each address of the host: True if the address is private."""
        if is_private(_literal(there.host)):
            return [True]
        try:
            found = await asyncio.to_thread(resolve, there.host, there.port or 443)
        except (OSError, UnicodeError):  # then it cannot be reached either
            return [False]
        return [is_private(_literal(each)) for each in found]

    async def check(request: httpx2.Request) -> None:
        there = request.url
        if (there.scheme, there.host, there.port) == (own.scheme, own.host, own.port) or all(await near(own)):
            return
        if there.scheme != "https" or any(await near(there)):
            raise ValueError(f"it names {there.scheme}://{there.host} for its login, which is refused")

    return check


def paced(rate: RateLimit) -> Callable[[httpx2.Request], Coroutine[Any, Any, None]]:
    """Return a request hook that limits how often streams are opened, because the SDK reopens a stream at a server's
    request."""

    async def wait(request: httpx2.Request) -> None:
        if request.method == "GET":
            await asyncio.sleep(rate.spend(1))

    return wait


def _literal(host: str) -> str:
    return f"[{host.partition('%')[0]}]" if ":" in host else host


@asynccontextmanager
async def web_streams(
    config: ServerConfig, headers: Mapping[str, str], auth: httpx2.Auth | None, ended: Callable[[str], None]
) -> AsyncGenerator[Any]:
    """Open the read and write streams of an HTTP server. The caller limits the time of a response.

    ended  called with a sentence when the server has dropped the session
    """
    messages, pace = message_rate(), paced(RateLimit(_STREAMS, 1.0))

    def client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={**(headers or {}), "accept-encoding": "identity"},
            timeout=httpx2.Timeout(_SECONDS, read=None),
            auth=auth,
            event_hooks={
                "request": [outward_only(config.url), pace],
                "response": [partial(bound_body, rate=messages)],
            },
        )

    if config.transport == "sse":
        async with sse_client(config.url, dict(headers), httpx_client_factory=client, auth=auth) as streams:
            yield streams
        return
    async with client(dict(headers), auth=auth) as made:
        place, refusal, speaks = httpx2.URL(config.url), "", False

        async def notice(response: httpx2.Response) -> None:
            nonlocal refusal, speaks
            if response.request.method == "POST" and response.request.url == place:
                if response.status_code == 404 and "mcp-session-id" in response.request.headers:
                    ended("its session is over")  # the SDK detects that only in an answer without a body
                speaks = speaks or response.is_success
                refusal = f"it answered {response.status_code} {response.reason_phrase}" if response.is_error else ""
                refusal += _WRONG_PLACE if response.status_code in (404, 405) else ""

        made.event_hooks["response"].append(notice)
        try:
            async with streamable_http_client(config.url, http_client=made, max_sse_event_size=LARGEST_LINE) as streams:
                yield streams
        except Exception as error:
            if speaks or not refusal or not isinstance(innermost(error), MCPError):
                raise
            raise ConnectionError(refusal) from None


async def helper_headers(helper: str, root: str, env: Mapping[str, str], clock: Clock) -> dict[str, str]:
    """Run a command and return the headers that it prints as a JSON object. Raise ValueError, without the output, if it
    fails."""
    try:
        ran = await run_process(
            shlex.split(helper), cwd=root, env=env, clock=clock, timeout=_HELPER_SECONDS, limit=_HELPER_BYTES
        )
    except (OSError, ValueError) as error:
        raise ValueError(f"headersHelper cannot be run: {error}") from None
    if ran.returncode != 0:
        raise ValueError(f"headersHelper failed with exit status {ran.returncode}")
    try:
        found: Any = json.loads(ran.stdout)
        return {str(name): str(value) for name, value in found.items()}
    except (ValueError, AttributeError):
        raise ValueError("headersHelper did not print a JSON object") from None
