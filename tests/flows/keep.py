"""What the tests of kept sessions share: a store in a temporary folder, and tools that wait until they are let go."""

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from callgate import Session, Store, Toolbox
from callgate.conversation.ports import Model
from callgate.core.ports import Run
from callgate.host.threads import in_thread
from callgate.testing import Latch, PlainTool
from callgate.transcript.disk_journal import DiskJournal
from callgate.words.messages import Message, ResultPart, Text
from callgate.words.traits import Traits, shared
from tests.sessions import grouped_session

_copies = count(1)


UNKNOWN = "Outcome unknown: the program ended while this call was running. Check before you repeat it."


class Keep:
    """A store in a temporary folder, and tools that wait until they are let go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder, folder / "data")
        self.held = Latch("held", Traits("mutating", shared))
        self.safe = Latch("safe", Traits("idempotent", shared))
        self.look = Latch("look", Traits("none", shared))
        self.ran: list[tuple[str, int, str]] = []

    async def note(self, arguments: Mapping[str, Any], run: Run) -> str:
        self.ran.append((str(arguments.get("what", "")), run.attempt, run.idempotency_key))
        return f"noted {arguments.get('what', '')}"

    def tools(self) -> Any:
        free = [PlainTool(name, self.note, traits=Traits(effects, shared)) for name, effects in EFFECTS.items()]
        return Toolbox(self.held, self.safe, self.look, *free)

    async def session(self, model: Model, journal: DiskJournal | None = None, **options: Any) -> Session:
        return grouped_session(model, self.tools(), journal=journal or await self.store.create(), **options)

    def crashed(self) -> "Keep":
        """The folder as a power cut would leave it right now."""
        copy = Keep(self.folder)
        data = self.folder / f"crashed{next(_copies)}"
        shutil.copytree(self.store.data, data)
        copy.store = Store(self.folder, data)
        return copy


EFFECTS: dict[str, Any] = {"note": "mutating", "key": "idempotent", "read": "none"}


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def results(messages: tuple[Message, ...]) -> dict[str, str]:
    parts = (part for message in messages for part in message.parts if isinstance(part, ResultPart))
    return {part.call_id: "".join(each.text for each in part.content if isinstance(each, Text)) for part in parts}


async def on_disk(journal: Any) -> None:
    waiting = journal.barrier()
    if waiting is not None:
        await waiting


async def until(holds: Callable[[], bool]) -> None:
    """For what another thread does: its file is the only sign of it."""
    while not holds():
        await in_thread(lambda: None)


async def opened(keep: Keep) -> DiskJournal:
    """A session that nobody closed keeps its lock for as long as the program runs: here it ends by a copy."""
    keep.store = keep.crashed().store
    return await keep.store.open()


SECRET = "sk-ant-api03-" + "aB3dE6gH9" * 10
