"""A program that starts a shell command as Callgate does, and then waits to be killed: script, folder, how."""

import asyncio
import os
import sys
import warnings

from callgate.host.ports import Command
from callgate.host.processes import LocalProcesses


async def main(script: str, folder: str, how: str) -> None:
    process = await LocalProcesses().start(
        Command(("/bin/sh", "-c", script), folder, {"PATH": "/usr/bin:/bin"}), lambda data: None
    )
    if how == "outlives":
        process.outlive(output=f"{folder}/output", status=f"{folder}/status")
    if how == "forked":  # the fork holds all descriptors of this process open
        warnings.simplefilter("ignore")
        if os.fork() == 0:
            os.read(int(os.environ["HELD"]), 1)
            os._exit(0)
    print("started", flush=True)
    await process.gone()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
