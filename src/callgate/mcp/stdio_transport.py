"""The transport of a server that is a program: one message per line on its standard input and output.

The host starts the program like a command, so the program and its child processes end with Callgate, even if Callgate
is killed. Its output is read and parsed on the event loop, because passing it through a thread would double the cost of
a call; only long lines are parsed in a thread. The size of a line is limited. If a server sends too many messages, they
are read more slowly.
"""

import asyncio
import os
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any, Self, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic_core import from_json

from callgate.core.ports import Host
from callgate.host.ports import Command, processes_of
from callgate.host.processes import end_process
from callgate.mcp.rate_limit import RateLimit
from callgate.mcp.server_log import ServerLog

LARGEST_LINE = 8 << 20
"""The most bytes of one message."""
MOST_LISTED = 1_000
"""The most entries of a list that are kept from one response."""
_LISTS = ("tools", "prompts", "resources", "resourceTemplates")
_PER_SECOND, _BURST = 5_000, 20_000  # messages; a large one counts for each BYTES_A_MESSAGE
BYTES_A_MESSAGE = 8 << 10
_CHUNK = 64 << 10
_SHORT = 8 << 10  # bytes of a line that is parsed on the loop
_FAIR = 16  # messages that are received before other tasks get a turn
_GRACE = 2.0
_LINGER = 1.0  # seconds that a program may take to end after its output
_HEAD = 200  # the first bytes of a line, which contain the id of its request
_ID = re.compile(rb'\A\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")\s*[,}]')

Item = SessionMessage | Exception


def message_rate() -> RateLimit:
    return RateLimit(_BURST, _PER_SECOND)


class SdkStream:
    """The base class of the read stream and the write stream that are passed to the SDK."""

    async def aclose(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


class OutputLines(SdkStream):
    """The read stream of the SDK: messages from the standard output of a program. The pipe is read when the SDK
    receives a message, so the program is blocked while its messages are not received or the rate limit is exceeded.

    reader  the file descriptor of the pipe
    silent  called when the program closes its output but keeps running
    over    True if the output has ended
    """

    def __init__(self, reader: int, log: ServerLog, silent: Callable[[], None] = lambda: None) -> None:
        self.over = False
        self._reader = reader
        self._log = log
        self._silent = silent
        self._loop = asyncio.get_running_loop()
        self._items: deque[Item] = deque()
        self._buffer = bytearray()
        self._searched = 0  # bytes of the buffer that contain no line end
        self._too_long = False  # only the beginning of the line is in the buffer
        self._parsing: asyncio.Future[list[Item]] | None = None
        self._closed = self._exited = False
        self._changed = asyncio.Event()
        self._taken = 0
        self._rate = message_rate()
        self._resume_at = 0.0
        os.set_blocking(reader, False)

    async def receive(self) -> Item:
        await self._take_turn()  # before a message is taken, which a cancel would lose
        while not self._items:
            await self._take_turn()
            if self._closed:
                raise anyio.ClosedResourceError
            if self._parsing is not None:
                self._put(await asyncio.shield(self._parsing))
                self._parsing = None
            elif (line := self._next_line()) is None:
                await self._read()
            elif self._too_long or len(line) > LARGEST_LINE:
                self._too_long = False
                self._put([too_long(line)])
            elif len(line) > _SHORT:
                self._parsing = self._loop.run_in_executor(None, parsed, line)
            elif line.strip():
                self._put(parsed(line))
        return self._items.popleft()

    def _next_line(self) -> bytearray | None:
        """Remove the next line from the buffer and return it; None if the buffer has no complete line."""
        end = self._buffer.find(b"\n", self._searched)
        if end >= 0:
            line = self._buffer[:end]
            del self._buffer[: end + 1]
            self._searched = 0
            return line
        if self._too_long or len(self._buffer) > LARGEST_LINE:
            self._too_long = True
            del self._buffer[_HEAD:]
        self._searched = len(self._buffer)
        return None

    async def _take_turn(self) -> None:
        self._taken += 1
        if self._taken % _FAIR == 0:
            await asyncio.sleep(0)

    async def _read(self) -> None:
        """Read the pipe into the buffer. Raise EndOfStream at the end of the output."""
        if (pause := self._resume_at - self._loop.time()) > 0:
            await asyncio.sleep(pause)
        try:
            data = os.read(self._reader, _CHUNK)
        except BlockingIOError:
            if not self._exited:
                await self._readable()
                return
            data = b""  # a child process has the pipe open
        if data:
            self._buffer += data
            self._spend(data.count(b"\n") + len(data) / BYTES_A_MESSAGE)
            await asyncio.sleep(0)  # a server that always has output must not block the loop
            return
        self.over = True
        with suppress(TimeoutError):  # the exit status is a better reason than a closed output
            async with asyncio.timeout(_LINGER):
                while not (self._exited or self._closed):
                    self._changed.clear()
                    await self._changed.wait()
        if not (self._exited or self._closed):
            self._silent()
        raise anyio.EndOfStream

    async def _readable(self) -> None:
        self._changed.clear()
        self._loop.add_reader(self._reader, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            if not self._closed:
                self._loop.remove_reader(self._reader)

    def _put(self, items: list[Item]) -> None:
        for item in items:
            if isinstance(item, Exception):
                self._log.refuse(str(item))
        self._items.extend(items)
        self._spend(max(len(items) - 1, 0))  # an empty batch is not free

    def _spend(self, cost: float) -> None:
        self._resume_at = self._loop.time() + self._rate.spend(cost)

    def exited(self) -> None:
        """Record that the program has ended; the pipe still contains the rest of its output."""
        self._exited = True
        self._changed.set()

    async def aclose(self) -> None:
        """Drop the rest of the output, so that the program is not blocked while it ends."""
        if not self._closed:
            self._closed = True
            self._items.clear()
            self._loop.add_reader(self._reader, self._drop)
            self._changed.set()

    def _drop(self) -> None:
        with suppress(BlockingIOError):
            if not os.read(self._reader, _CHUNK):
                self._loop.remove_reader(self._reader)

    def release(self) -> None:
        self._closed = self.over = True
        self._loop.remove_reader(self._reader)
        self._changed.set()
        os.close(self._reader)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class InputLines(SdkStream):
    """The write stream of the SDK: messages as lines on the standard input of a program.

    closed  called when the stream is closed, if the program has not closed its end before
    """

    def __init__(self, writer: asyncio.StreamWriter, closed: Callable[[], None]) -> None:
        self._writer = writer
        self._closed = closed

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
        if not self._writer.is_closing():
            self._closed()
        self._writer.close()


def parsed(line: bytes | bytearray) -> list[Item]:
    """Return the message of a line, or the messages of an array, which servers of 2025-03-26 may send."""
    read = types.jsonrpc_message_adapter
    try:
        if line.lstrip()[:1] == b"[":
            return [SessionMessage(_cut(read.validate_python(each, by_name=False))) for each in from_json(line)]
        return [SessionMessage(_cut(read.validate_json(line, by_name=False)))]
    except (ValueError, TypeError, RecursionError) as error:
        return [_refused(line, f"the message violates the protocol ({type(error).__name__})")]


def _cut(message: Any) -> Any:
    """Return a message with the lists of its result shortened, because the SDK parses messages on the event loop."""
    result: Any = getattr(message, "result", None)
    for key in _LISTS if isinstance(result, dict) else ():
        listed: Any = cast("dict[str, Any]", result).get(key)
        if isinstance(listed, list):
            del cast("list[Any]", listed)[MOST_LISTED:]
    return message


def too_long(line: bytes | bytearray) -> Item:
    return _refused(line, f"the message has more than {LARGEST_LINE >> 20} MiB, so it was not read")


def _refused(line: bytes | bytearray, text: str) -> Item:
    """Return an error response for the request whose id is at the beginning of the line."""
    found = _ID.match(line[:_HEAD])
    if found is None:
        return ValueError(bytes(line[:100]).decode("utf-8", "replace"))
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
    """Start a program and yield the streams of the SDK. On exit the program is asked to end, and killed shortly after.
    Raise OSError if it cannot be started.

    ended  called with a sentence when the program ends by itself or closes its output
    """
    loop, processes = asyncio.get_running_loop(), processes_of(host)
    with ExitStack() as stack:
        input_fd, writer = _pipe(stack)
        reader, output_fd = _pipe(stack)
        started = Command(command.argv, command.cwd, command.env, input_fd=input_fd, output_fd=output_fd)
        stack.pop_all()
    with ExitStack() as stack:
        stack.callback(os.close, writer)
        stack.callback(os.close, reader)
        process = await processes.start(started, log.take)
        stack.pop_all()
    closing = False

    def report(reason: str) -> None:
        if not closing:
            ended(reason)

    def closed() -> None:  # a program that then ends is no failure
        nonlocal closing
        closing = closing or not output.over

    output = OutputLines(reader, log, lambda: report("it closed its output"))
    watching = asyncio.create_task(_watch(process, output, report))
    lines: InputLines | None = None
    try:
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(writer, "wb", buffering=0)
        )
        lines = InputLines(asyncio.StreamWriter(transport, protocol, None, loop), closed)
        yield output, lines
    finally:
        try:
            if output.over:  # its exit status is a better reason than a closed output
                await asyncio.wait({watching}, timeout=_LINGER)
        finally:
            watching.cancel()
        await output.aclose()
        if lines is not None:
            await lines.aclose()
        try:
            if process.running:
                await end_process(process, host.clock, _GRACE)
        finally:
            output.release()


def _pipe(stack: ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    stack.callback(os.close, reader)
    stack.callback(os.close, writer)
    return reader, writer


async def _watch(process: Any, output: OutputLines, ended: Callable[[str], None]) -> None:
    try:
        code = await process.ended()
    except OSError as error:
        how = str(error)
    else:
        how = f"it ended with exit status {code}" if code >= 0 else f"it was ended by signal {-code}"
    output.exited()
    ended(how)
