"""The real program in a process of its own, on a fake server of an OpenAI-compatible API."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from callgate import Store
from tests.cli.headless.kit import Ran
from tests.providers.servers import CUT, FakeServer, Reply, serving

KEY = "sk-fake-0123456789abcdefghij"


def says(text: str) -> Reply:
    """A message without calls."""
    return Reply([*_deltas({"content": text}), *_end("stop")])


def says_part(text: str) -> Reply:
    """A message that ends at the output limit."""
    return Reply([*_deltas({"content": text}), *_end("length")])


def calls(*wanted: tuple[str, Mapping[str, Any]], text: str = "", whole: bool = True, first: int = 1) -> Reply:
    """A message with calls ``call_1``, ``call_2`` and so on; if it is not ``whole``, the connection is cut at its
    end."""
    deltas: list[Mapping[str, Any]] = [{"content": text}] if text else []
    for index, (name, given) in enumerate(wanted):
        function = {"name": name, "arguments": json.dumps(given)}
        deltas.append({"tool_calls": [{"index": index, "id": f"call_{index + first}", "function": function}]})
    return Reply([*_deltas(*deltas), *(_end("tool_calls") if whole else [CUT])])


def refuses(status: int, message: str, **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "type": "error"}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([body], status=status, headers={"content-type": "application/json", **named})


def _deltas(*deltas: Mapping[str, Any]) -> list[bytes]:
    return [_chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in deltas]


def _end(reason: str) -> list[bytes]:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    return [_chunk(finish), _chunk({"choices": [], "usage": usage}), b"data: [DONE]\n\n"]


def _chunk(body: Mapping[str, Any]) -> bytes:
    return (
        b"data: "
        + json.dumps({"id": "m1", "object": "chat.completion.chunk", "model": "fake-1", **body}).encode()
        + b"\n\n"
    )


class Program:
    """``callgate -p`` as a person runs it: a home, a folder, a key, and a server that plays replies."""

    def __init__(self, folder: Path, server: FakeServer) -> None:
        self.home, self.work, self.server = folder / "home", folder / "work", server
        for each in (self.home / ".config/callgate", self.work):
            each.mkdir(parents=True, exist_ok=True)
        (self.home / ".config/callgate/settings.toml").write_text(
            f'[models]\ndefault = "fake/fake-1"\n'
            f'[providers.fake]\nfamily = "openai-chat"\nbase_url = "{server.url}"\nkey_variable = "FAKE_KEY"\n'
        )
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "FAKE_KEY": KEY}

    @property
    def store(self) -> Store:
        return Store(self.work, self.home / ".local/share/callgate")

    def start(self, *words: str, stdin: Any = subprocess.DEVNULL, **env: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "callgate", *words],
            cwd=self.work,
            env={**self.env, **env},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str, stdin: bytes | None = None, **env: str) -> Ran:
        process = self.start("-p", *words, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, **env)
        return ended(process, stdin)

    def run_shell(self, line: str) -> Ran:
        """A line for the shell, which can close streams and leave folders."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", line],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return ended(process)

    def answer(self, *words: str) -> Ran:
        return ended(self.start("answer", *words))

    @property
    def results(self) -> list[str]:
        """What the last request told the model of its calls, in order."""
        return [said["content"] for said in self.server.requests[-1].json["messages"] if said["role"] == "tool"]


def ended(process: subprocess.Popen[bytes], stdin: bytes | None = None) -> Ran:
    out, err = process.communicate(stdin, timeout=60)
    return Ran(process.returncode, out.decode(), err.decode())


@contextmanager
def program(folder: Path, *replies: Reply) -> Iterator[Program]:
    with serving(*replies) as server:
        yield Program(folder, server)


def read_until(process: subprocess.Popen[bytes], kind: str) -> dict[str, Any]:
    """Reads lines of ``stream-json`` up to the first event of this kind."""
    assert process.stdout is not None
    for line in process.stdout:
        found = json.loads(line)
        if found["type"] == kind:
            return found
    raise AssertionError(f"it ended without {kind}: {ended(process).err}")


class Alive:
    """A FIFO that a command holds open while any of its processes runs: its end is seen without waiting for a time."""

    COMMAND = "bash alive.sh"
    """The script opens the FIFO: in a command itself the gate would ask about it."""

    def __init__(self, work: Path) -> None:
        self._path = work / "alive"
        os.mkfifo(self._path)
        (work / "alive.sh").write_text("exec 3>alive; echo $$ >&3; sleep 1000; echo not reached\n")

    def __enter__(self) -> "Alive":
        self._stream = self._path.open("rb", buffering=0)  # waits for the command
        assert self._stream.read(1)
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def until_gone(self) -> None:
        while self._stream.read(100):
            continue
