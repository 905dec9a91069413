"""Encrypted connections and proxies. The certificate is for localhost alone and made for these tests."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from callgate.providers.exchange import ConnectionPool
from callgate.testing import ManualClock, settle
from tests.providers.clients import failed, is_whole, model_on, streamed
from tests.providers.servers import Answer, FakeServer, Reply, writer

CERTIFICATE = Path(__file__).parents[1] / "data" / "providers" / "localhost.pem"
PLAIN = writer("plain")
HELLO = Reply.of(PLAIN, Answer())


def encrypted(*replies: Reply) -> FakeServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return FakeServer(*replies, tls=context)


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))


class TunnelProxy:
    """A proxy that makes tunnels; ``asked`` has the head of each request. It answers with ``status``."""

    def __init__(self, status: str = "200 OK") -> None:
        self.status = status
        self.asked: list[str] = []
        self.address = ""
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["TunnelProxy"]:
        server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.get_running_loop().create_task(self._served(reader, writer)))

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        target = head.split(" ")[1]
        connect = head.startswith("CONNECT")
        if not self.status.startswith("200"):
            writer.write(f"HTTP/1.1 {self.status}\r\ncontent-length: 0\r\n\r\n".encode())
            writer.close()
            return
        port = int(target.rpartition(":")[2]) if connect else int(target.split("/")[2].rpartition(":")[2])
        there, back = await asyncio.open_connection("127.0.0.1", port)
        if connect:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            back.write(head.replace(target, "/" + target.split("/", 3)[3], 1).encode())
        try:
            await asyncio.gather(_copied(reader, back), _copied(there, writer))
        finally:
            writer.transport.abort()
            back.transport.abort()


async def _copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    target.close()


@pytest.mark.usefixtures("trusted")
async def test_an_encrypted_server_is_believed_with_the_certificates_of_the_system() -> None:
    async with encrypted(HELLO, HELLO) as server, model_on(server) as (model, _):
        for _ in range(2):
            events, error = await streamed(model)
            assert error is None
            assert is_whole(events)
        assert server.connections == 1


async def test_a_certificate_that_nobody_vouches_for_is_refused_with_advice() -> None:
    async with encrypted(HELLO) as server, model_on(server) as (model, _):
        error = await failed(model)
        assert (error.kind, error.retryable) == ("connection", False)
        assert "SSL_CERT_FILE" in str(error)
        assert not server.requests


@pytest.mark.parametrize("hello", [0, 1], ids=["at once", "after the first byte"])
@pytest.mark.parametrize("says", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
async def test_a_plain_server_under_an_https_address_is_told(hello: int, says: bytes) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(hello)
        writer.write(says)
        writer.close()
        await writer.wait_closed()

    listening = await asyncio.start_server(plain, "127.0.0.1", 0)
    server = FakeServer()
    server.url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with model_on(server) as (model, _):
        assert (await failed(model)).kind == "connection"
    listening.close()
    await settle()


@pytest.mark.usefixtures("trusted")
async def test_an_encrypted_connection_goes_through_the_tunnel_of_a_proxy() -> None:
    async with TunnelProxy().running() as proxy, encrypted(HELLO, HELLO) as server:
        clock = ManualClock()
        pool = ConnectionPool(clock, {"HTTPS_PROXY": f"http://me:secret@{proxy.address}"})
        port = server.url.rpartition(":")[2]
        other = f"https://lvh.invalid:{port}"
        async with model_on(server, base=other, pool=pool, clock=clock) as (model, _):
            error = await failed(model)
            assert "mismatch" in str(error)  # the tunnel is there, and the name is not that of the certificate
            assert proxy.asked[0].startswith(f"CONNECT lvh.invalid:{port} HTTP/1.1\r\n")
            assert "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in proxy.asked[0]


async def test_a_plain_request_is_given_to_the_proxy_with_its_whole_address() -> None:
    async with TunnelProxy().running() as proxy, FakeServer(HELLO, HELLO) as server:
        clock = ManualClock()
        pool = ConnectionPool(clock, {"HTTP_PROXY": f"http://me:secret@{proxy.address}"})
        base = f"http://lvh.invalid:{server.url.rpartition(':')[2]}/v1"
        async with model_on(server, base=base, pool=pool, clock=clock) as (model, _):
            for _ in range(2):
                events, error = await streamed(model)
                assert error is None
                assert is_whole(events)
                await settle()
                pool.close()  # this proxy reads one head for each connection
            assert proxy.asked[0].startswith(f"POST {base}/talk HTTP/1.1\r\n")
            assert "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in proxy.asked[0]


@pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "403 Forbidden"])
async def test_a_proxy_that_refuses_is_named(status: str) -> None:
    async with TunnelProxy(status).running() as proxy:
        clock, server = ManualClock(), FakeServer()
        pool = ConnectionPool(clock, {"HTTPS_PROXY": f"http://me:secret@{proxy.address}"})
        async with model_on(server, base="https://x.invalid", pool=pool, clock=clock) as (model, _):
            error = await failed(model)
            assert (error.kind, error.retryable) == ("connection", False)
            assert status in str(error)
            assert "HTTPS_PROXY" in str(error)
            assert "secret" not in str(error)


async def test_a_proxy_that_cannot_be_used_is_told() -> None:
    clock, server = ManualClock(), FakeServer()
    pool = ConnectionPool(clock, {"ALL_PROXY": "socks5://me:secret@p.example"})
    async with model_on(server, base="https://x.invalid", pool=pool, clock=clock) as (model, _):
        error = await failed(model)
        assert "socks5" in str(error)
        assert "secret" not in str(error)


async def test_silence_during_the_handshake_is_limited() -> None:
    server = FakeServer()
    with socket.create_server(("127.0.0.1", 0)) as mute:  # the system connects, and nobody answers
        server.url = f"https://127.0.0.1:{mute.getsockname()[1]}"
        async with model_on(server) as (model, clock):
            task = asyncio.create_task(failed(model))
            while not task.done():  # certificates are read in a thread first
                clock.advance(91)
                await settle()
            assert (await task).kind == "timeout"
