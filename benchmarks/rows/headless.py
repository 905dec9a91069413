"""``callgate -p`` as a process, on a server of our own: its start, and its own time around calls.

Times are the server's: it knows when a request came and when the last byte of a message was sent.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from benchmarks.measure import Size, spread
from benchmarks.report import Row

READS = 20
EARLY, LATE, AROUND = 5, 50, 5
"""The turns that are compared, and how many at each place."""

_STARTER = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
print("", os.wait4(child, 0)[2].ru_maxrss)
"""
"""A small program that starts another one and prints its peak: the peak that the system tells begins with that of the
process which started it, and this one is as large as the rows that ran before."""

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


_USAGE = b'data: {"id": "m", "choices": [], "usage": {"prompt_tokens": 9000, "completion_tokens": 50}}\n\n'


@dataclass
class Exchange:
    """One request: when it came, when the arguments of each call closed, when its answer was sent to its end."""

    came: float
    closed: dict[str, float] = field(default_factory=dict[str, float])
    sent: float = 0.0


class Server:
    """Answers one connection after the other: message n has ``sizes[n]`` calls of Read, the last one is text."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.exchanges: list[Exchange] = []
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        try:
            while True:
                connection, _ = self._socket.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with connection, connection.makefile("rb") as stream:
                    while (length := _length(stream)) is not None:
                        stream.read(length)
                        self._answer(connection)
        except OSError:  # closed, or the client is gone
            return

    def _answer(self, connection: socket.socket) -> None:
        exchange = Exchange(time.time())
        self.exchanges.append(exchange)
        number = len(self.exchanges)
        calls = self._sizes[number - 1] if number <= len(self._sizes) else 0
        connection.sendall(_HEAD)
        for index in range(calls):
            call_id = f"call_{number}_{index}"
            function = {"name": "Read", "arguments": json.dumps({"file_path": f"{(number + index) % READS}.txt"})}
            _send(connection, {"tool_calls": [{"index": index, "id": call_id, "function": function}]})
            exchange.closed[call_id] = time.time()
        if not calls:
            _send(connection, {"content": "Done."})
        exchange.sent = time.time()  # before the end: what follows may be read before it is noted
        _send(connection, {}, "tool_calls" if calls else "stop")
        _chunk(connection, _USAGE)
        _chunk(connection, b"data: [DONE]\n\n")
        connection.sendall(b"0\r\n\r\n")


def _length(stream: Any) -> int | None:
    """Of the body of the next request; None at the end of the connection."""
    length: int | None = None
    while (line := stream.readline().strip()) or length is None:
        if not line and length is None:
            return None
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return length


def _send(connection: socket.socket, delta: Mapping[str, Any], finish: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "m", "object": "chat.completion.chunk", "model": "bench", "choices": [choice]}
    _chunk(connection, b"data: " + json.dumps(body).encode() + b"\n\n")


def _chunk(connection: socket.socket, data: bytes) -> None:
    connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))


class Program:
    """A home and a folder for ``callgate -p``."""

    def __init__(self, folder: Path) -> None:
        self._home, self._work = folder / "home", folder / "work"
        (self._home / ".config/callgate").mkdir(parents=True)
        self._work.mkdir()
        for index in range(READS):
            (self._work / f"{index}.txt").write_text(f"file {index}\n" * 20)

    def start(self, server: Server, *words: str, starter: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        address = f"http://127.0.0.1:{server.port}"
        settings = f'[providers.bench]\nfamily = "openai-chat"\nbase_url = "{address}"\n'
        (self._home / ".config/callgate/settings.toml").write_text(f'models.default = "bench/bench"\n{settings}')
        env = {"HOME": str(self._home), "PATH": os.environ["PATH"]}
        asked = [*starter, sys.executable, "-m", "callgate", "-p", "Go.", *words]
        return subprocess.Popen(
            asked, cwd=self._work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )


def rows(size: Size) -> list[Row]:
    with TemporaryDirectory() as folder:
        program = Program(Path(folder))
        return [*_start(program, size.imports), *_work(program)]


def _start(program: Program, rounds: int) -> list[Row]:
    """The least of several starts: other work on the machine only adds to them."""
    starts: list[float] = []
    peaks: list[float] = []
    empty: list[float] = []
    for _ in range(rounds + 1):  # the first one writes the compiled modules
        server, begun = Server([0]), time.time()
        program.start(server).communicate()
        server.close()
        starts.append((server.exchanges[0].came - begun) * 1e3)
        _, out = _ran(program, [0], starter=(sys.executable, "-c", _STARTER))
        peaks.append(int(out.split()[-1]) / 1024)
        begun = time.time()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        empty.append((time.time() - begun) * 1e3)
    del starts[0], peaks[0], empty[0]
    work = "callgate -p: process start to first request, beside python -c pass"
    return [
        Row("headless_start", work, "ms", min(starts), min(empty), limit=250.0, spread=spread(starts)),
        Row("headless_memory", "  and its most memory", "MB", median(peaks), limit=80.0, spread=spread(peaks)),
    ]


def _work(program: Program) -> list[Row]:
    """Two sessions: ten messages with many reads, and one read a message."""
    reads = _gaps(_ran(program, [1, *[READS] * 10])[0])  # the first one loads what calls need
    gaps = _gaps(_ran(program, [1] * (LATE + AROUND + 1))[0])
    waits = _waits(*_ran(program, [1] * EARLY, "--output-format", "stream-json"))
    early, late = gaps[EARLY - 1 : EARLY - 1 + AROUND], gaps[LATE - 1 : LATE - 1 + AROUND]
    found = (
        ("call", "last byte of arguments to tool start", waits[1:], 10.0),
        ("reads", f"{READS} reads in one message: its end to the next request", reads[1:], 20.0),
        ("early", f"one read: own time of turn {EARLY}", early, 5.0),
        ("late", f"one read: own time of turn {LATE}", late, 5.0),
    )
    return [
        Row(f"headless_{name}", f"  {work}", "ms", median(times), limit=limit, spread=spread(times))
        for name, work, times, limit in found
    ]


def _ran(
    program: Program, sizes: Sequence[int], *words: str, starter: Sequence[str] = ()
) -> tuple[list[Exchange], bytes]:
    """The exchanges of a session, and its output."""
    server = Server(sizes)
    process = program.start(server, *words, starter=starter)
    out, _ = process.communicate()
    server.close()
    if process.returncode:
        raise RuntimeError(f"the run ended with {process.returncode}: {out.splitlines()[-1][:2_000]!r}")
    return server.exchanges, out


def _gaps(exchanges: Sequence[Exchange]) -> list[float]:
    """Milliseconds from the end of each message to the next request."""
    return [(after.came - before.sent) * 1e3 for before, after in pairwise(exchanges)]


def _waits(exchanges: Sequence[Exchange], out: bytes) -> list[float]:
    """Milliseconds from the last byte of arguments to the start of each call."""
    lines = [json.loads(line) for line in out.splitlines()]
    began = {line["call_id"]: float(line["at"]) for line in lines if line["type"] == "CallStarted"}
    return [(began[call_id] - closed) * 1e3 for each in exchanges for call_id, closed in each.closed.items()]
