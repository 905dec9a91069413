"""A program that runs commands with Bash as a session does: which, folder, and what it needs for that."""

import asyncio
import resource
import sys
from pathlib import Path

from callgate.host.local import LocalHost
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin import builtin_tools
from callgate.tools.builtin.bash import bash
from callgate.transcript.store import Store
from tests.sessions import grouped_session
from tests.tools.fake_run import FakeRun


async def gigabyte(folder: Path) -> None:
    """Prints by how many kilobytes memory has grown, and the size of the artifact."""
    run = FakeRun(host=LocalHost(folder, folder / "data"))
    await bash().run({"command": "head -c 1000000 /dev/zero"}, run)  # all that is loaded once is loaded
    run.said.clear()
    run.on_progress = run.said.clear
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await bash().run({"command": "head -c 1000000000 /dev/zero", "timeout": 600_000}, run)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(grown, result.artifacts[0].size, len(result.text), flush=True)


async def talk(folder: Path, command: str, background: bool) -> None:
    """One call in a session that is kept; then waits to be killed."""
    begin = turn(call("Bash", command=command, run_in_background=background))
    journal = await Store(folder / "work", folder / "kept").create()
    tools = builtin_tools("Bash", "TaskOutput", "TaskStop")
    options = {"root": folder / "work", "mode": "bypass", "journal": journal}
    async with grouped_session(ScriptedModel(begin, turn(say("begun"))), tools, **options) as session:  # pyright: ignore
        async for event in session.send("go"):
            print(type(event).__name__, flush=True)
        print("rests", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    which, where, *more = sys.argv[1:]
    if which == "gigabyte":
        asyncio.run(gigabyte(Path(where)))
    else:
        asyncio.run(talk(Path(where), more[0], which == "background"))
