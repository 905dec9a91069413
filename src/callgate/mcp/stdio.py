"""The transport of a server that is a program: messages are lines on its standard input and output.

The program is started by the host, as commands are: with everything it starts in its turn it ends with Callgate, also
if Callgate is killed. A thread reads its output, splits it into lines and parses them, so that a large or a malformed
answer costs the event loop nothing. Lines are bounded, and a server that floods is read more slowly.
"""

import asyncio
import json
import os
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from threading import Condition
from time import monotonic
from types import TracebackType
from typing import Any, Self, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from callgate.core.ports import Host
from callgate.host.ports import Command, processes_of
from callgate.host.processes import end_process
from callgate.mcp.log import ServerLog

LARGEST_LINE = 8 << 20
"""Bytes of one message."""
MOST_LISTED = 1_000
"""Entries of a list in one answer; the rest is not read."""
_LISTS = ("tools", "prompts", "resources", "resourceTemplates")
_WAITING = 4 << 20  # bytes of messages that the loop has not taken yet
_PER_SECOND, _BURST = 5_000, 20_000  # messages, or 32 KiB of one
_FAIR = 16  # messages that are taken before others on the loop get their turn
_GRACE = 2.0
_HEAD = 200  # bytes of a line in which the number of its request stands
_ID = re.compile(rb'\A\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")\s*[,}]')

Item = SessionMessage | Exception


class OutputLines:
    """The messages in the output of a program. ``take`` belongs to the thread that reads it, all else to the loop's.

    It is the read stream of the SDK."""

    def __init__(self, log: ServerLog) -> None:
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._changed = Condition()
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._line = bytearray()
        self._too_long = False  # of the line only the beginning is kept
        self._closed = self._over = False
        self._arrived = asyncio.Event()
        self._taken = 0
        self._allowance, self._counted_at = float(_BURST), monotonic()

    # ---- in the thread of the program ---------------------------------------------------------------------------

    def take(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._add(piece)
            self._end_line()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        if self._closed or self._too_long:
            return
        self._line += piece
        if len(self._line) > LARGEST_LINE:
            self._line, self._too_long = self._line[:_HEAD], True

    def _end_line(self) -> None:
        line, self._line = self._line, bytearray()
        dropped, self._too_long = self._too_long, False
        if line.strip() and not self._closed:
            for item in [too_long(line)] if dropped else parsed(line):
                self._put(item, len(line))

    def _put(self, item: Item, size: int) -> None:
        if isinstance(item, Exception):
            self._log.say(f"a line that is no message: {item}")
        with self._changed:
            self._spend(1 + size / 32_768)
            while self._bytes > _WAITING and not self._closed:
                self._changed.wait()
            if self._closed:
                return
            self._items.append((item, size))
            self._bytes += size
            wake = len(self._items) == 1
        if wake:
            self._wake()

    def _spend(self, cost: float) -> None:
        """Waits while the program has sent more than its share."""
        now = monotonic()
        self._allowance = min(float(_BURST), self._allowance + (now - self._counted_at) * _PER_SECOND) - cost
        self._counted_at = now
        until = now - self._allowance / _PER_SECOND
        while self._allowance < 0 and not self._closed and (now := monotonic()) < until:
            self._changed.wait(until - now)

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed, so nothing waits
            self._loop.call_soon_threadsafe(self._arrived.set)

    # ---- the read stream ----------------------------------------------------------------------------------------

    def end(self) -> None:
        """Nothing more comes."""
        self._over = True
        self._arrived.set()

    async def receive(self) -> Item:
        while True:
            if self._closed:
                raise anyio.ClosedResourceError
            with self._changed:
                if self._items:
                    item, size = self._items.popleft()
                    self._bytes -= size
                    self._changed.notify_all()
                    break
                self._arrived.clear()
            if self._over:
                raise anyio.EndOfStream
            await self._arrived.wait()
        self._taken += 1
        if self._taken % _FAIR == 0:
            await asyncio.sleep(0)
        return item

    async def aclose(self) -> None:
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()
        self._arrived.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


class InputLines:
    """The write stream of the SDK: messages as lines to the standard input of a program."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, item: SessionMessage, /) -> None:
        if self._writer.is_closing():
            raise anyio.ClosedResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            self._writer.write(f"{line}\n".encode())
            await self._writer.drain()
        except OSError:
            raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        self._writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


def parsed(line: bytes | bytearray) -> list[Item]:
    """The message of a line, or those of an array, which servers of 2025-03-26 may send."""
    read = types.jsonrpc_message_adapter
    try:
        if line.lstrip()[:1] == b"[":
            return [SessionMessage(read.validate_python(each, by_name=False)) for each in json.loads(line)]
        return [SessionMessage(_cut(read.validate_json(line, by_name=False)))]
    except (ValueError, TypeError, RecursionError) as error:
        return [_refused(line, f"the message does not keep to the protocol ({type(error).__name__})")]


def _cut(message: Any) -> Any:
    """An answer without the rest of a list that is too long: the SDK reads answers on the loop."""
    result: Any = getattr(message, "result", None)
    for key in _LISTS if isinstance(result, dict) else ():
        listed: Any = cast("dict[str, Any]", result).get(key)
        if isinstance(listed, list):
            del cast("list[Any]", listed)[MOST_LISTED:]
    return message


def too_long(line: bytes | bytearray) -> Item:
    return _refused(line, f"the message has more than {LARGEST_LINE >> 20} MiB, so it was not read")


def _refused(line: bytes | bytearray, text: str) -> Item:
    """An error for the request that a line answers, if its beginning says which."""
    found = _ID.match(line[:_HEAD])
    if found is None:
        return ValueError(f"{text}: {bytes(line[:100])!r}")
    number = found[1].decode("utf-8", "replace")
    reply = types.JSONRPCError(
        jsonrpc="2.0",
        id=number.strip('"') if number.startswith('"') else int(number),
        error=types.ErrorData(code=types.INTERNAL_ERROR, message=text),
    )
    return SessionMessage(reply)


@asynccontextmanager
async def program_streams(
    command: Command, host: Host, log: ServerLog, ended: Callable[[str], None]
) -> AsyncGenerator[tuple[OutputLines, InputLines]]:
    """Starts the program; at the end it is told to end, and is killed a little later. ``ended`` is called with a
    sentence when it ends by itself. OSError when it cannot be started."""
    reader, writer = os.pipe()
    output = OutputLines(log)
    loop = asyncio.get_running_loop()
    try:
        started = Command(command.argv, command.cwd, command.env, input_fd=reader)
        process = await processes_of(host).start(started, output.take, log.take)
    except BaseException:
        os.close(writer)
        raise
    watching = asyncio.create_task(_watch(process, output, ended))
    lines: InputLines | None = None
    try:
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(writer, "wb", buffering=0)
        )
        lines = InputLines(asyncio.StreamWriter(transport, protocol, None, loop))
        yield output, lines
    finally:
        watching.cancel()
        await output.aclose()
        if lines is not None:
            await lines.aclose()
        if process.running:
            await end_process(process, host.clock, _GRACE)


async def _watch(process: Any, output: OutputLines, ended: Callable[[str], None]) -> None:
    code = await process.ended()
    output.end()
    ended(f"it ended with exit status {code}" if code >= 0 else f"it was ended by signal {-code}")
