"""``callgate mcp serve`` as a process of its own."""

import asyncio
import os
import re
import select
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp import StdioServerParameters

COMMAND = (sys.executable, "-m", "callgate", "mcp", "serve")
_ADDRESS = re.compile(r"MCP at (http://\S+)")
_TOKEN = re.compile(r"Bearer (\S+)")


def environment(folder: Path) -> dict[str, str]:
    # In the sandbox the commands of the tests would run without a question.
    settings = folder / "home/.config/callgate/settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[sandbox]\ndisabled = true\n")
    found = {"CALLGATE_DATA_DIR": str(folder / "data"), "HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    for name in ("home", "work"):
        (folder / name).mkdir(exist_ok=True)
    return found


def over_stdio(folder: Path, *words: str) -> StdioServerParameters:
    env = environment(folder)
    return StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *words], env=env, cwd=folder / "work")


@dataclass(frozen=True)
class HttpAddress:
    url: str
    token: str
    process: Process

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@asynccontextmanager
async def over_http(folder: Path, *words: str, **more: str) -> AsyncGenerator[HttpAddress]:
    """A server on a free port; ended at the end with SIGTERM, as a person would."""
    env = {**environment(folder), **more}
    words = (*COMMAND, "--http", "--port", "0", *words)
    process = await asyncio.create_subprocess_exec(
        *words, cwd=folder / "work", env=env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    assert process.stderr is not None
    try:
        said = (await process.stderr.readline()).decode()
        address = _ADDRESS.search(said)
        assert address is not None, said
        token = _TOKEN.search((await process.stderr.readline()).decode())
        given = more.get("CALLGATE_MCP_TOKEN", "").strip()
        yield HttpAddress(address[1], given or (token[1] if token else ""), process)
    finally:
        if process.returncode is None:
            process.terminate()
        out, err = await process.communicate()
        assert (out, err, process.returncode) == (b"", b"", 0)


def wait_for_end(pid: int) -> None:
    """Waits until this process, which need not be a child, has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([handle], [], [])
    finally:
        os.close(handle)
