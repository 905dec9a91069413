"""Processes in memory that run scripted commands."""

import asyncio
import signal

from callgate.host.ports import Command, Sink
from callgate.words.noun import noun


@noun
class ScriptedCommand:
    """The behaviour of a command.

    waits     the command runs until it is stopped
    stubborn  only a kill stops the command
    echoes    the command first writes its input to its output
    fault     the error when the command is started
    """

    output: bytes = b""
    errors: bytes = b""
    code: int = 0
    waits: bool = False
    stubborn: bool = False
    echoes: bool = False
    fault: OSError | None = None


class MemoryProcesses:
    """Runs scripted commands in memory.

    scripts  the command by its last argument, which is the text given to a shell, or by the end of that text, because
             Bash sets a trap before it; other commands write nothing and exit with 0
    started  the commands that were started so far
    running  the processes that are still running
    """

    def __init__(self) -> None:
        self.scripts: dict[str, ScriptedCommand] = {}
        self.started: list[Command] = []
        self.running: list[MemoryProcess] = []

    async def start(self, command: Command, out: Sink, err: Sink | None = None) -> "MemoryProcess":
        text = command.argv[-1]
        keys = (key for key in self.scripts if text == key or text.endswith(f" EXIT; {key}"))
        script = self.scripts.get(next(keys, text), ScriptedCommand())
        if script.fault is not None:
            raise script.fault
        self.started.append(command)
        process = MemoryProcess(1000 + len(self.started), script, self.running)
        for sink, data in ((out, command.stdin if script.echoes else b""), (out, script.output), (err, script.errors)):
            if data:
                (sink or out)(data)
        if not script.waits:
            process.finish(script.code)
        return process


class MemoryProcess:
    """A simulated process for tests. It runs until the test calls ``finish``."""

    def __init__(self, pid: int, script: ScriptedCommand, running: "list[MemoryProcess]") -> None:
        self.pid = self.guard = pid
        self.returncode: int | None = None
        self.outlives: dict[str, str] | None = None
        self._script = script
        self._over = asyncio.Event()
        self._running = running
        running.append(self)

    @property
    def running(self) -> bool:
        return self.returncode is None

    def finish(self, code: int = 0) -> None:
        if self.returncode is None:
            self.returncode = code
            self._running.remove(self)
            self._over.set()

    async def ended(self) -> int:
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode

    async def gone(self) -> None:
        await self._over.wait()

    def terminate(self) -> None:
        if not self._script.stubborn:
            self.finish(-signal.SIGTERM)

    def kill(self) -> None:
        self.finish(-signal.SIGKILL)

    def outlive(self, *, output: str, status: str) -> None:
        self.outlives = {"output": output, "status": status}


class MemoryOutput:
    """An OutputFile in memory. Its bytes are also in the ``artifacts`` of the host."""

    fault = ""

    def __init__(self, path: str, artifacts: dict[str, bytes]) -> None:
        self.path = path
        self._artifacts = artifacts
        artifacts[path] = b""

    @property
    def size(self) -> int:
        return len(self._artifacts[self.path])

    def append(self, data: bytes) -> None:
        self._artifacts[self.path] += data

    def read(self, at: int, most: int) -> bytes:
        return self._artifacts[self.path][at : at + most]

    def finish(self) -> None: ...
