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
from contextlib import ExitStack, asynccontextmanager
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
_WAITING = 4 << 20  # bytes of messages that wait for the SDK
_PER_SECOND, _BURST = 5_000, 20_000  # messages; a large one counts for each BYTES_A_MESSAGE
BYTES_A_MESSAGE = 8 << 10
_CHUNK = 64 << 10
_SHORT = 8 << 10  # bytes of a line that is parsed on the loop
_LINES = 250  # lines that are parsed before other tasks get a turn
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
    """The read stream of the SDK: messages from the standard output of a program. Reading pauses while too many
    messages are queued, while the rate limit is exceeded, and while a long line is parsed in a thread.

    reader  the file descriptor of the pipe
    silent  called when the program closes its output but keeps running
    """

    def __init__(self, reader: int, log: ServerLog, silent: Callable[[], None] = lambda: None) -> None:
        self._reader = reader
        self._log = log
        self._silent = silent
        self._loop = asyncio.get_running_loop()
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._line = bytearray()
        self._unread: deque[bytes] = deque()  # pieces of lines, while others are parsed
        self._too_long = False  # only the beginning of the line is kept
        self._parsing = False
        self._closed = self._exited = self._over = False
        self._arrived = asyncio.Event()
        self._taken = 0
        self._rate = message_rate()
        self._pause: asyncio.TimerHandle | None = None
        self._listening = False
        os.set_blocking(reader, False)
        self._listen()

    @property
    def over(self) -> bool:
        return self._over

    # ---- the pipe -----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        if self._over or self._paused:
            return
        try:
            data = os.read(self._reader, _CHUNK)
        except BlockingIOError:
            if self._exited:  # a child process has the pipe open
                self._finish()
            return
        if not data:
            self._finish()
        elif not self._closed:  # otherwise dropped: the program is ending and must not block
            pieces = data.split(b"\n")
            self._spend(len(pieces) - 1 + len(data) / BYTES_A_MESSAGE)
            self._unread.extend(pieces)
            self._split()

    def _split(self) -> None:
        """Parse buffered lines. Stop at a line that must be parsed in a thread, and regularly for other tasks."""
        for _ in range(_LINES):
            if self._parsing or not self._unread:
                break
            self._add(self._unread.popleft())
            if self._unread:
                self._end_line()
        if self._unread and not self._parsing:
            self._loop.call_soon(self._split)
        self._listen()

    def _add(self, piece: bytes) -> None:
        if not self._too_long:
            self._line += piece
            if len(self._line) > LARGEST_LINE:
                self._line, self._too_long = self._line[:_HEAD], True

    def _end_line(self) -> None:
        line, self._line = self._line, bytearray()
        dropped, self._too_long = self._too_long, False
        if dropped:
            self._put([too_long(line)], len(line))
        elif len(line) > _SHORT:
            self._parsing = True
            self._loop.run_in_executor(None, parsed, line).add_done_callback(lambda done: self._parsed(done, len(line)))
        elif line.strip():
            self._put(parsed(line), len(line))

    def _parsed(self, done: "asyncio.Future[list[Item]]", size: int) -> None:
        self._parsing = False
        if not self._closed:
            self._put(done.result(), size)
            self._split()

    def _put(self, items: list[Item], size: int) -> None:
        for item in items:
            if isinstance(item, Exception):
                self._log.refuse(str(item))
            self._items.append((item, size))
            self._bytes += size
        if len(items) > 1:
            self._spend(len(items) - 1)
        self._arrived.set()

    def _spend(self, cost: float) -> None:
        seconds = self._rate.spend(cost)
        if seconds:
            if self._pause is not None:
                self._pause.cancel()
            self._pause = self._loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        self._pause = None
        self._listen()

    @property
    def _paused(self) -> bool:
        waits = self._parsing or bool(self._unread) or self._pause is not None or self._bytes > _WAITING
        return not self._closed and waits

    def _listen(self) -> None:
        wanted = not (self._over or self._paused)
        if wanted != self._listening:
            self._listening = wanted
            if wanted:
                self._loop.add_reader(self._reader, self._read)
            else:
                self._loop.remove_reader(self._reader)
        if wanted and self._exited:
            self._loop.call_soon(self._read)  # the pipe may stay silent and open

    def _finish(self) -> None:
        self._over = True
        self._listen()
        self._arrived.set()
        if not self._exited:  # the exit status is a better reason than a closed output
            self._pause = self._loop.call_later(_LINGER, self._runs_on)

    def _runs_on(self) -> None:
        self.exited()
        if not self._closed:
            self._silent()

    def exited(self) -> None:
        """Record that the program has ended; the pipe still contains the rest of its output."""
        self._exited = True
        self._arrived.set()
        self._listen()

    def release(self) -> None:
        self._closed = self._over = True
        self._listen()
        if self._pause is not None:
            self._pause.cancel()
        os.close(self._reader)

    # ---- the read stream ----------------------------------------------------------------------------------------

    async def receive(self) -> Item:
        self._taken += 1
        if self._taken % _FAIR == 0:
            await asyncio.sleep(0)  # before a message is taken, which a cancel would lose
        while not self._items:
            if self._closed:
                raise anyio.ClosedResourceError
            if self._over and self._exited and not self._parsing:
                raise anyio.EndOfStream
            self._arrived.clear()
            await self._arrived.wait()
        item, size = self._items.popleft()
        self._bytes -= size
        self._listen()
        return item

    async def aclose(self) -> None:
        self._closed = True
        self._items.clear()
        self._unread.clear()
        self._listen()
        self._arrived.set()

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
