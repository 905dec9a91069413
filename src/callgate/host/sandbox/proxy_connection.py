"""One connection to the sandbox's proxy: checks and resolves the requested host, checks its addresses, and forwards
the request."""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread

from callgate.host.host_addresses import CONNECT_SECONDS, MOST_ADDRESSES, Resolve, host_name
from callgate.host.ports import HostDecision
from callgate.host.sandbox.proxy_head import END, LARGEST_HEAD, Normal, ProxyRequest, UnreadableRequest, read_head
from callgate.words.noun import noun

SETTING = "sandbox.allow_hosts"
_HEAD_SECONDS = 60.0
_CHUNK = 65_536
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,12})(?:;[^\r\n]*)?\r\n")

OnDecision = Callable[[HostDecision], None]
"""Called with every decision, in the thread of the proxy, before the command gets it."""


@noun
class ProxyRules:
    """The rules of a proxy, as callbacks.

    normal   returns a host in normal form; None if it is ambiguous
    allows   returns True for an allowed host in normal form
    refuses  returns True for an IP address of a host that must not be reached
    direct   not a callback: the hosts inside the sandbox, which commands reach without the proxy
    """

    normal: Normal
    allows: Callable[[str], bool]
    refuses: Callable[[str, str], bool]
    direct: tuple[str, ...] = ()


class _Refused(Exception):
    """Raised to answer a request with this status and text."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


class ProxyConnection:
    """The connections of one command to the proxy."""

    def __init__(self, rules: ProxyRules, resolve: Resolve, on_decision: OnDecision) -> None:
        self._rules = rules
        self._resolve = resolve
        self._on_decision = on_decision

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it is closed. Network errors are not raised."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            try:
                asked = await self._read_request(reader)
                server = await self._connect(asked)
            except _Refused as refused:
                writer.write(_answer(refused.status, str(refused)))
                await writer.drain()
                return
            try:
                await _pass_on(asked, (reader, writer), server)
            finally:
                server[1].close()

    async def _read_request(self, reader: asyncio.StreamReader) -> ProxyRequest:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(END)
        except (asyncio.LimitOverrunError, TimeoutError):
            raise _Refused("431 Request Header Fields Too Large", "the header of the request is too long") from None
        asked = UnreadableRequest("its header is too long") if len(head) > LARGEST_HEAD else None
        asked = asked or read_head(head, self._rules.normal)
        if isinstance(asked, UnreadableRequest):
            if asked.host:
                self._on_decision(HostDecision(asked.host, allowed=False, why=asked.why))
            raise _Refused("400 Bad Request", f"the request is refused: {asked.why}")
        return asked

    async def _connect(self, asked: ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self._rules.allows(asked.host):
            raise self._refusal(asked, f"the host is not in {SETTING}")
        try:
            addresses = await _resolve_in_daemon(self._resolve, host_name(asked.host), asked.port)
        except OSError as error:
            self._on_decision(HostDecision(asked.host, allowed=True, why=f"the host was not found: {error}"))
            raise _Refused("502 Bad Gateway", f"{asked.host} was not found: {error}") from None
        for address in addresses:
            if self._rules.refuses(address, asked.host):
                raise self._refusal(
                    asked, f"its IP address {address} belongs to this machine, its network or its cloud"
                )
        self._on_decision(HostDecision(asked.host, allowed=True))
        why = "it has no IP address"
        for address in addresses[:MOST_ADDRESSES]:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(address, asked.port)
            except (OSError, TimeoutError) as error:
                why = str(error) or "no answer"
        raise _Refused("502 Bad Gateway", f"{asked.host} cannot be reached: {why}")

    def _refusal(self, asked: ProxyRequest, why: str) -> _Refused:
        self._on_decision(HostDecision(asked.host, allowed=False, why=why))
        return _Refused("403 Forbidden", f"the sandbox blocks {asked.host}: {why}")


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _pass_on(asked: ProxyRequest, client: Streams, server: Streams) -> None:
    if asked.is_tunnel:
        client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy(client[0], server[1]))
            both.create_task(_copy(server[0], client[1]))
        return
    server[1].write(asked.head)
    sending = asyncio.ensure_future(_send_body(asked, client[0], server[1]))
    try:
        await _copy(server[0], client[1])  # a server may answer before it has read the whole request
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
    with suppress(OSError):
        target.write_eof()


async def _send_body(asked: ProxyRequest, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    if asked.length != "chunked":
        await _send(source, target, asked.length)
        return
    while True:
        line = await source.readline()
        size = _SIZE.fullmatch(line)
        if size is None:
            target.close()
            return
        count = int(size[1], 16)
        target.write(b"%x\r\n" % count)
        if count == 0:
            break
        await _send(source, target, count)
        if await source.readexactly(2) != b"\r\n":
            target.close()
            return
        target.write(b"\r\n")
    target.write(b"\r\n")  # without trailer fields
    await target.drain()


async def _send(source: asyncio.StreamReader, target: asyncio.StreamWriter, count: int) -> None:
    while count > 0 and (data := await source.read(min(count, _CHUNK))):
        target.write(data)
        await target.drain()
        count -= len(data)


async def _resolve_in_daemon(resolve: Resolve, name: str, port: int) -> Sequence[str]:
    """Resolve a name in a daemon thread: resolving may take long, and must not delay the exit of the program."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Sequence[str]] = loop.create_future()

    def work() -> None:
        try:
            addresses, error = resolve(name, port), None
        except (OSError, UnicodeError) as fault:
            addresses, error = (), OSError(str(fault))

        def end() -> None:
            if not found.done():
                if error is None:
                    found.set_result(addresses)
                else:
                    found.set_exception(error)

        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(end)

    Thread(target=work, name="callgate-resolve", daemon=True).start()
    return await found


def _answer(status: str, text: str) -> bytes:
    body = f"callgate: {text}\n".encode(errors="replace")
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
