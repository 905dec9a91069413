"""Answers of servers on the web, bounded before the SDK reads them on the event loop.

A body, and each event of a stream, has at most as many bytes as a line of a program. Large ones are parsed in a thread,
and go on without the rest of lists that are too long. Compressed ones are refused, because a small one may unpack to
any size. A server that floods is read more slowly.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import cast

import httpx2
from mcp.shared.message import SessionMessage

from callgate.mcp.rate import RateLimit
from callgate.mcp.stdio import BYTES_A_MESSAGE, LARGEST_LINE, parsed

LARGE = 64 << 10
"""Bytes of a message from which on it is parsed in a thread first."""
_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")
_NO_MESSAGE = b"null"


class TooLarge(httpx2.StreamError):
    """Reported by the SDK as the error of the one request that it answers."""


class BoundedStream(httpx2.AsyncByteStream):
    """A body that fails once it, or one event of it, is larger than a message may be. Events are given whole. It is
    read within the ``rate`` of its server."""

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
    """For each response of a server: bounds its body."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise TooLarge("the answer is compressed, which was not asked for")
    kind = response.headers.get("content-type", "").lower()
    inner = cast(httpx2.AsyncByteStream, response.stream)
    response.stream = BoundedStream(inner, rate, events=kind.startswith("text/event-stream"))


def lighter_message(body: bytes) -> bytes:
    """The message without the rest of its lists. What is none becomes a short one that the SDK refuses. Blocks."""
    match parsed(body):
        case [SessionMessage() as found]:
            return found.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        case _:
            return _NO_MESSAGE


def lighter_events(body: bytes) -> bytes:
    """The same for the data of each event. Blocks."""
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
