"""A loopback HTTP/1.1 server that plays replies in order, and can fail at any byte."""

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from tests.providers.servers.script import Answer, WireWriter


@dataclass(frozen=True)
class _Action:
    name: str


CUT = _Action("cut")
"""The connection is dropped here."""
HANG = _Action("hang")
"""Nothing more is sent; the connection stays open until the client lets go of it."""


@dataclass(frozen=True, eq=False)
class Until:
    """Waits here until the test sets ``go``; ``reached`` says that the server waits."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)


Step = bytes | _Action | Until


@dataclass(frozen=True)
class Reply:
    """``steps`` are the body; bytes are one chunk each. ``raw``: the steps are all that is sent, with no head and no
    chunks. ``before``: what happens before the head, such as HANG or CUT. ``close``: the connection ends after it."""

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    before: Sequence[Step] = ()
    raw: bool = False
    chunked: bool = True
    close: bool = False

    @classmethod
    def of(cls, writer: WireWriter, answer: Answer, **more: Any) -> "Reply":
        """A whole answer of this family, one chunk for each event."""
        return cls([data for _, data in writer.events(answer)], **more)

    @classmethod
    def error(cls, writer: WireWriter, status: int, message: str = "no", **headers: str) -> "Reply":
        """A failure in the words of this family. Underscores in names of headers stand for dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = writer.error_body(status, message)
        return cls([body], status=status, headers={"content-type": "application/json", **named})


@dataclass(frozen=True)
class Received:
    """One request. ``headers`` have lower-case names; ``connection`` counts the connections from 1."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class FakeServer:
    """Plays one reply for each request, in order over all connections, and keeps the requests."""

    def __init__(self, *replies: Reply, tls: ssl.SSLContext | None = None) -> None:
        self._replies = list(replies)
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []
        self.aside: Reply | None = None
        """Answers requests that offer no tools, such as the one for a title, whose time is not known; those are not
        in ``requests``."""
        self.connections = 0
        self.open = 0
        self.url = ""
        self.hung = asyncio.Event()
        """Set when a reply has come to HANG."""
        self.gone = asyncio.Event()
        """Set when a client has let go of a connection on which a reply was under way."""

    def play(self, *replies: Reply) -> None:
        self._replies.extend(replies)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0, ssl=self._tls)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.url = f"{'http' if self._tls is None else 'https'}://{'localhost' if self._tls else host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._served(reader, writer, self.connections))
        self._tasks.add(task)

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.open += 1
        try:
            while (request := await _request(reader, number)) is not None:
                if not await self._played(self._reply_to(request), reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            self.open -= 1
            writer.transport.abort()

    def _reply_to(self, request: Received) -> Reply:
        if self.aside is not None and b'"tools"' not in request.body:
            return self.aside
        self.requests.append(request)
        return self._replies.pop(0) if self._replies else Reply([b"out of replies"], status=500, headers={})

    async def _played(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """True if the connection goes on."""
        for step in reply.before:
            if not await self._step(step, reader, writer, chunked=False):
                return False
        if not reply.raw:
            framing = {"transfer-encoding": "chunked"} if reply.chunked else {"connection": "close"}
            lines = [f"{name}: {value}" for name, value in {**reply.headers, **framing}.items()]
            writer.write("\r\n".join([f"HTTP/1.1 {reply.status} Status", *lines, "", ""]).encode())
        for step in reply.steps:
            if not await self._step(step, reader, writer, chunked=reply.chunked and not reply.raw):
                return False
        if reply.chunked and not reply.raw:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        if reply.close or reply.raw or not reply.chunked:
            writer.close()
            return False
        return True

    async def _step(
        self, step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, chunked: bool
    ) -> bool:
        if isinstance(step, bytes):
            writer.write(b"%x\r\n%b\r\n" % (len(step), step) if chunked and step else step)
            await writer.drain()
            return True
        if isinstance(step, Until):
            step.reached.set()
            ended = asyncio.ensure_future(reader.read(1))
            went = asyncio.ensure_future(step.go.wait())
            await asyncio.wait((ended, went), return_when="FIRST_COMPLETED")
            going = went.done()
            for waiting in (ended, went):
                waiting.cancel()
            await asyncio.wait((ended, went))
            if not going:
                self.gone.set()
            return going
        if step is HANG:
            self.hung.set()
            await reader.read(1)
            self.gone.set()
        writer.close()
        return False


async def _request(reader: asyncio.StreamReader, number: int) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body, number)


@contextmanager
def serving(*replies: Reply) -> Iterator[FakeServer]:
    """A server in a thread. Replies are given before, or by ``play`` while it runs; ``requests`` may be read."""
    made: list[FakeServer] = []
    ready = threading.Event()
    stopped: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def main() -> None:
        async with FakeServer(*replies) as server:
            stop = asyncio.Event()
            made.append(server)
            stopped.append((asyncio.get_running_loop(), stop))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    assert ready.wait(30), "the server did not start"
    try:
        yield made[0]
    finally:
        loop, stop = stopped[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
