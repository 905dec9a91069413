"""The sample shop that all plays work on: its files, the tools, the rules and the store of its sessions."""

import asyncio
import os
import shlex
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from callgate import (
    Allow,
    Ask,
    ChangeSet,
    Check,
    DecisionGate,
    FileChange,
    Run,
    Store,
    ToolFailure,
    reads,
    tool,
    writes,
)

Files = Mapping[str, bytes]

FILES: Mapping[str, str] = {
    "prices.py": 'CURRENCY = "USD"\nPRICES = {"tea": 3, "cake": 4}\n',
    "cart.py": (
        "from prices import CURRENCY, PRICES\n\n\ndef total(items):\n    # a price in dollars\n"
        '    return f"{sum(PRICES[item] for item in items)} {CURRENCY}"\n'
    ),
    "README.md": "# Shop\n\nAll prices are in USD.\n",
    "settings.toml": '[shop]\ncurrency = "USD"\nopen = false\n',
    "checks.py": (
        'from cart import total\n\nfound = total(["tea", "cake"])\n'
        'if found != "7 USD":\n    raise SystemExit(f"expected 7 USD, found {found}")\n'
    ),
    "build.py": 'import time\n\nprint("building", flush=True)\ntime.sleep(15)\nprint("built")\n',
}
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has one way only
FIRST_READS = {"prices.py": 1.0, "cart.py": 0.7, "README.md": 0.4}
"""The files that the first message reads, and the seconds each read takes."""
GUARDED = "settings.toml"  # the rules ask a person before it is changed
DEPLOYED = "deployed.txt"  # ``deploy`` adds a line to it
UPLOADS = "uploads"  # ``upload`` adds a line for each attempt to the file of its key in this folder


def make_files() -> None:
    """Writes the sample files into the current folder."""
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8", newline="\n")


def files_now() -> Files:
    """The content of every file below the current folder."""
    return {path.as_posix(): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def add_line(path: Path, line: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def store(play: str) -> Store:
    """The sessions of one play, kept beside the folder of the shop."""
    return Store(Path.cwd(), Path.cwd().parent / play)


def rules() -> DecisionGate:
    """Allows everything except calls on the guarded file; a real session asks far more often."""
    ask, allow = Ask("rule: guarded", f"only a person may have {GUARDED} changed"), Allow("rule: demo")
    guarded = Check(ask.by, lambda case: ask if case.arguments.get("path") == GUARDED else None)
    return DecisionGate((guarded, Check(allow.by, lambda case: allow)))


class Shop:
    """Tools on real files and processes. ``speed`` divides all durations."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self.processes: list[Process] = []
        self._reads = 0
        self._all_reading = asyncio.Event()

    async def spend(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)

    def tools(self):
        """``read``, ``edit``, ``run``, ``deploy`` and ``upload``."""

        @tool(effects="none", reads="path")
        async def read(path: str) -> str:
            """Read a text file."""
            await self._read_slowly(path)
            return await asyncio.to_thread(Path(path).read_text, "utf-8")

        @tool(writes="path", preview=_replaced)
        async def edit(path: str, old: str, new: str) -> None:
            """Replace the first occurrence of a text in a file."""
            await self.spend(0.5)  # the previewed change is applied already; a formatter could run here

        # A command has unknown effects; both commands of the script only read the folder.
        @tool(command="command", cascade=True, locks=reads(), timeout=10)
        async def run(command: str) -> str:
            """Run a Python file."""
            return await self._run(shlex.split(command)[1:])

        @tool(locks=writes(DEPLOYED))
        async def deploy(target: str, run: Run) -> str:
            """Put something online, again with every call."""
            return await self._send(Path(DEPLOYED), target, run)

        @tool(effects="idempotent", locks=lambda a: writes(f"{UPLOADS}/{a.path}"))
        async def upload(path: str, run: Run) -> str:
            """Upload a file, once per key however often it is called."""
            return await self._send(Path(UPLOADS, run.idempotency_key.replace("/", "+")), f"attempt {run.attempt}", run)

        return read, edit, run, deploy, upload

    async def _read_slowly(self, path: str) -> None:
        """The first reads end after all of them have started, so that a busy machine shows the same. Reads that cannot
        overlap stop waiting after two seconds, and the claim fails."""
        self._reads += 1
        if self._reads == len(FIRST_READS):
            self._all_reading.set()
        await self.spend(FIRST_READS.get(path, 0.3))
        with suppress(TimeoutError):
            await asyncio.wait_for(self._all_reading.wait(), 2 if path in FIRST_READS else 0)

    async def _run(self, words: list[str]) -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-B", *words), stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True
        )
        self.processes.append(process)
        try:
            output, _ = await process.communicate()
        finally:
            code = await end(process)
        if code:
            raise ToolFailure(f"exit {code}: {output.decode(errors='replace').strip()}")
        return output.decode(errors="replace").strip()

    async def _send(self, path: Path, line: str, run: Run) -> str:
        """Adds a line to a file. The first attempt then waits for its process to be killed."""
        add_line(path, line)
        run.progress("sent")
        await (asyncio.Event().wait() if run.attempt == 1 else self.spend(0.3))
        return "done"


async def end(process: Process) -> int:
    """Kills the process if it runs, and gives its exit code."""
    if process.returncode is None:
        # Not process.kill(): it may collect the exit code itself, and asyncio complains that it finds none.
        with suppress(ProcessLookupError):
            os.kill(process.pid, KILL)
    return await process.wait()


def _replaced(path: str, old: str, new: str) -> ChangeSet:
    before = Path(path).read_bytes()
    if old.encode() not in before:
        raise ToolFailure(f"{path} does not contain {old!r}")
    return ChangeSet(f"edit {path}", (FileChange(path, before, before.replace(old.encode(), new.encode(), 1)),))
