"""What the tests of sessions with a gate share: settings with hooks, and a journal that outlives its program."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from callgate import Session
from callgate.assembly.settings import hooks_feature
from callgate.config import Config
from callgate.conversation.feature import Feature
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Maybe
from callgate.policy.entries import HookLine
from callgate.testing import PlainTool, ScriptedModel, call, say, turn
from callgate.words.decisions import Choice, Confirmation, Origin, Pattern
from callgate.words.errors import StateError
from callgate.words.events import Durable, Event
from tests.core.kit import virtual_host
from tests.flows.kit import Workspace
from tests.sessions import grouped_session

Hook = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]
SRC = Choice("src", Pattern("glob", "src/**", "path"))


class KeptJournal(MemoryJournal):
    """Outlives the program as far as a session can tell; ``left`` are answers of other programs."""

    def __init__(self, events: Iterable[Durable] = ()) -> None:
        super().__init__(events, session="kept")
        self.left: list[Confirmation] = []
        self.closed = False
        self.may_close = asyncio.Event()
        self.may_close.set()

    def append(self, event: Durable) -> None:
        if self.closed:
            raise StateError("the journal is closed")
        super().append(event)

    async def answers(self) -> Sequence[Confirmation]:
        return tuple(self.left)

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        gone = set(call_ids)
        self.left = [each for each in self.left if each.call_id not in gone]
        return None

    async def aclose(self) -> None:
        self.closed = True
        await self.may_close.wait()


def hooked(folder: Path, *events: str, **more: Any) -> Config:
    """Settings whose hooks are functions named like their events."""
    lines = tuple(HookLine(event, "python", event, Origin("user")) for event in events)
    return Config(folder, folder / "home", folder / "data", hooks=lines, own_data=False, **more)


def session_of(
    space: Workspace,
    config: Config,
    functions: dict[str, Hook],
    *turns: Any,
    tools: Sequence[PlainTool] = (),
    features: Sequence[Feature] = (),
    **more: Any,
) -> Session:
    toolbox = space.toolbox(*tools)
    model, hooks = ScriptedModel(*turns), hooks_feature(functions)
    return grouped_session(model, toolbox, host=virtual_host(), config=config, features=[hooks, *features], **more)


def stuck(begun: asyncio.Event, let_go: asyncio.Event, says: dict[str, Any] | None = None) -> Hook:
    async def wait(_told: dict[str, Any]) -> dict[str, Any] | None:
        begun.set()
        await let_go.wait()
        return says

    return wait


def of(events: Iterable[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


DONE = turn(say("Done."))
WRITES = turn(call("write", path="a.py"))
