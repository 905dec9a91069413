"""Our answers to requests of a server: one that asks without end and does not take them is disconnected."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

MOST_UNTAKEN = 1_000
"""Answers that wait to be taken. Each is a task of the SDK, which sets no limit."""


class BoundedAnswers:
    """The write stream ``inner`` of the SDK. ``ended`` is called with a sentence when too many answers wait."""

    def __init__(self, inner: Any, ended: Callable[[str], None]) -> None:
        self._inner = inner
        self._ended = ended
        self._untaken = 0

    async def send(self, item: SessionMessage, /) -> None:
        if not isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            await self._inner.send(item)
            return
        if self._untaken >= MOST_UNTAKEN:
            self._ended("it asks more and more, and does not take the answers")
            raise anyio.BrokenResourceError
        self._untaken += 1
        try:
            await self._inner.send(item)
        finally:
            self._untaken -= 1

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


@asynccontextmanager
async def bounded_answers(
    streams: AbstractAsyncContextManager[Any], ended: Callable[[str], None]
) -> AsyncGenerator[Any]:
    """The streams of a transport, with a limit on answers."""
    async with streams as (read, write):
        yield read, BoundedAnswers(write, ended)
