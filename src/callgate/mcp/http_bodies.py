"""Limits HTTP response bodies before the SDK parses them on the event loop.

A body, and each event of a stream, has the same size limit as a line on stdio. Large bodies are parsed in a thread, and
lists that are too long are shortened. Compressed bodies are refused, because a small body may expand to any size. If a
server sends too many messages, they are read more slowly.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import cast

import httpx2
from mcp.shared.message import SessionMessage

from callgate.mcp.rate_limit import RateLimit
from callgate.mcp.stdio_transport import BYTES_A_MESSAGE, LARGEST_LINE, parsed

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
