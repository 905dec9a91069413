"""One connection to the sandbox's proxy: checks and resolves the requested host, checks its addresses, and forwards
the request.

The head of a request is parsed strictly and rewritten for the server. Nothing ambiguous is forwarded: all lines must be
valid, the Host header must match the requested address, and the length of the body must be known. Bytes after the body
are not forwarded, so one connection carries one request to one host.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import Literal

from callgate.host.host_addresses import CONNECT_SECONDS, MOST_ADDRESSES, Resolve, host_name
from callgate.host.ports import HostDecision
from callgate.words.noun import noun

LARGEST_HEAD = 65_536
END = b"\r\n\r\n"
_CONNECT = re.compile(r"CONNECT ([^ /?#@]+:[0-9]{1,5}) HTTP/1\.[01]")
_PLAIN = re.compile(r"([A-Z]{1,20}) http://([^ /?#@]+)(/[^ #]*|\?[^ #]*)? HTTP/1\.[01]", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:\[[^\[\]]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")
_LENGTH = re.compile(r"[0-9]{1,15}")
# Headers of one connection; the proxy closes its own after one request.
_OF_A_CONNECTION = frozenset(("connection", "keep-alive", "te", "trailer", "upgrade", "host"))

Normal = Callable[[str], str | None]
"""Returns a host, or host:port, in normal form; None if it is ambiguous."""

SETTING = "sandbox.allow_hosts"
_HEAD_SECONDS = 60.0
_CHUNK = 65_536
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,12})(?:;[^\r\n]*)?\r\n")

OnDecision = Callable[[HostDecision], None]
"""Called with every decision, in the thread of the proxy, before the command gets it."""


@noun
class ProxyRequest:
    """A valid request.

    host    the host in normal form
    head    the bytes sent to the server before the body; empty for a tunnel
    length  the length of the body in bytes
    """

    host: str
    port: int
    head: bytes = b""
    length: int | Literal["chunked"] = 0

    @property
    def is_tunnel(self) -> bool:
        return not self.head


@noun
class UnreadableRequest:
    """An invalid request, which is not forwarded.

    host  the requested host; empty if it is unknown
    """

    why: str
    host: str = ""


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


# ---- the head of a request ------------------------------------------------------------------------------------------


def read_head(data: bytes, normal: Normal) -> ProxyRequest | UnreadableRequest:
    """Parse the head of a request, including the empty line at its end."""
    first, *rest = data.removesuffix(END).decode("latin-1").split("\r\n")
    fields: list[tuple[str, str]] = []
    for line in rest:
        found = _FIELD.fullmatch(line)
        if found is None:
            return UnreadableRequest("a line of its header is invalid")
        fields.append((found[1], found[2]))
    if (tunnel := _CONNECT.fullmatch(first)) is not None:
        return _parse_authority(tunnel[1], normal)
    plain = _PLAIN.fullmatch(first)
    if plain is None:
        return UnreadableRequest("it is neither CONNECT host:port nor a request with an absolute http:// URL")
    asked = _parse_authority(plain[2], normal)
    return asked if isinstance(asked, UnreadableRequest) else _rewrite(asked, plain, fields, normal)


def _parse_authority(authority: str, normal: Normal) -> ProxyRequest | UnreadableRequest:
    found, host = _AUTHORITY.fullmatch(authority), normal(authority)
    if found is None or host is None:
        return UnreadableRequest("its host is ambiguous", authority[:100])
    return ProxyRequest(host, int(found[1] or 80))


def _rewrite(
    asked: ProxyRequest, line: "re.Match[str]", fields: list[tuple[str, str]], normal: Normal
) -> ProxyRequest | UnreadableRequest:
    by_name: dict[str, list[str]] = {}
    for name, value in fields:
        by_name.setdefault(name.lower(), []).append(value)
    hosts, length = by_name.get("host", []), _length(by_name)
    if len(hosts) > 1 or any(normal(each) != asked.host for each in hosts):
        return UnreadableRequest(f"its Host header is {' and '.join(hosts)[:100]}", asked.host)
    if length is None:
        return UnreadableRequest("the length of its body is ambiguous", asked.host)
    named = {each.strip().lower() for value in by_name.get("connection", ()) for each in value.split(",")}
    dropped = (_OF_A_CONNECTION | named) - {"content-length", "transfer-encoding"}
    kept = [
        f"{name}: {value}"
        for name, value in fields
        if name.lower() not in dropped and not name.lower().startswith("proxy-")
    ]
    target = line[3] or "/"
    first = f"{line[1]} {target if target.startswith('/') else f'/{target}'} HTTP/1.1"
    head = "\r\n".join((first, f"Host: {line[2]}", *kept, "Connection: close", "", ""))
    return ProxyRequest(asked.host, asked.port, head.encode("latin-1"), length)


def _length(fields: dict[str, list[str]]) -> int | Literal["chunked"] | None:
    lengths, codings = fields.get("content-length", []), fields.get("transfer-encoding", [])
    if codings:
        return "chunked" if [each.lower() for each in codings] == ["chunked"] and not lengths else None
    if len(lengths) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0])):
        return None
    return int(lengths[0]) if lengths else 0
