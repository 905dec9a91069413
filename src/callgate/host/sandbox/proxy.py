"""The proxy through which commands in a sandbox reach allowed hosts.

    command ──TCP──▶ 127.0.0.1 of its sandbox ══ the same socket ══▶ proxy, in a thread of Callgate ──TCP──▶ host

A socket belongs to the network namespace in which it was created. So the program that starts a command creates the
listening socket inside the sandbox and sends it over the *line*, a pair of connected sockets. The proxy accepts
connections on the listening socket and connects to hosts outside. The command does not get the line, and no socket has
a path or name that the command could find. The line is closed when the sandbox has ended.

The proxy compares the host with the allowed hosts, resolves it, checks its addresses, and connects to one of them.
TLS is not decrypted.
"""

import asyncio
import socket
import weakref
from contextlib import suppress
from threading import Event, Thread, current_thread

from callgate.host.host_addresses import Resolve, system_addresses
from callgate.host.sandbox.proxy_connection import OnDecision, ProxyConnection, ProxyRules
from callgate.host.sandbox.sandbox import ProxyLine

_MOST_CONNECTIONS = 256


class HostProxy:
    """A proxy for the commands of one sandbox. Its thread starts with the first line and ends when the proxy is
    closed or garbage collected."""

    def __init__(self, rules: ProxyRules, resolve: Resolve = system_addresses) -> None:
        self._rules = rules
        self._resolve = resolve
        self._thread: _ProxyThread | None = None

    def line(self, on_decision: OnDecision) -> ProxyLine:
        """Create and return a line for a new command. ``on_decision`` is called with each decision about a host."""
        if self._thread is None:
            self._thread = _ProxyThread()
            weakref.finalize(self, self._thread.stop)
        ours, theirs = socket.socketpair()
        self._thread.serve(ours, ProxyConnection(self._rules, self._resolve, on_decision))
        return ProxyLine(theirs.detach(), self._rules.direct)

    def close(self) -> None:
        if self._thread is not None:
            self._thread.stop()


class _ProxyThread:
    """A thread with an event loop of its own, so that network traffic of commands does not delay the session."""

    def __init__(self) -> None:
        self._begun = Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = Thread(target=asyncio.run, args=(self._run(),), name="callgate-proxy", daemon=True)
        self._thread.start()
        self._begun.wait()

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._begun.set()
        await self._over.wait()  # asyncio.run cancels the remaining tasks

    def stop(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._over.set)
        if current_thread() is not self._thread:
            self._thread.join()

    def serve(self, line: socket.socket, served: ProxyConnection) -> None:
        def begin() -> None:
            task = self._loop.create_task(_serve_line(line, served))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(begin)


async def _serve_line(line: socket.socket, served: ProxyConnection) -> None:
    with line:
        line.setblocking(False)
        listener = await _listener(line)
        if listener is None:
            return
        running: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            running.add(task)
            try:
                if len(running) <= _MOST_CONNECTIONS:
                    await served.serve(reader, writer)
            finally:
                running.discard(task)
                writer.close()

        server = await asyncio.start_server(serve, sock=listener)
        try:
            await _readable(line)
        finally:
            server.close()
            for task in tuple(running):
                task.cancel()


async def _listener(line: socket.socket) -> socket.socket | None:
    await _readable(line)
    try:
        _, descriptors, _, _ = socket.recv_fds(line, 1, 1)
    except OSError:
        return None
    for descriptor in descriptors:
        found = socket.socket(fileno=descriptor)
        if found.family == socket.AF_INET and found.getsockname()[0] == "127.0.0.1":
            found.setblocking(False)
            return found
        found.close()
    return None


async def _readable(line: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(line, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(line)
