"""A program that runs a batch with a journal and kills itself in a call: ``batch_program.py FOLDER CALL WHERE``."""

import asyncio
import os
import sys
from pathlib import Path

from callgate import Store, ToolCall, ToolCallRunner, shared, tool

folder, dies, where = Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def _die(name: str, at: str) -> None:
    if (name, at) == (dies, where):
        os._exit(9)


def _effect(name: str) -> None:
    _die(name, "before")
    with (folder / "effects").open("a") as file:
        file.write(f"{name}\n")
    _die(name, "after")


@tool(locks=shared)
def act(name: str) -> str:
    """Have an effect."""
    _effect(name)
    return f"acted {name}"


@tool(effects="idempotent", locks=shared)
def repeatable(name: str) -> str:
    """Have an effect that may be repeated."""
    _effect(name)
    return f"repeated {name}"


CALLS = [
    ToolCall("c1", "act", {"name": "one"}),
    ToolCall("c2", "act", {"name": "two"}),
    ToolCall("c3", "repeatable", {"name": "three"}),
    ToolCall("c4", "act", {"name": "four"}),
]


async def main() -> None:
    store = Store(folder, folder / "data")
    kept = folder / "id"
    journal = await (store.open(kept.read_text()) if kept.exists() else store.create())
    kept.write_text(journal.session)
    from callgate.words.limits import ExecutorSettings

    runner = ToolCallRunner(
        [act, repeatable], host=folder, mode="bypass", journal=journal, settings=ExecutorSettings(max_concurrency=1)
    )
    out = await runner.execute(CALLS)
    for call in sorted((*out.executed, *out.failed), key=lambda each: each.id):
        print(call.id, call.code, call.text.split(":")[0])
    await journal.aclose()


asyncio.run(main())
