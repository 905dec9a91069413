"""What the tests of compaction share: a model with a small window, tools with long results, the port of the loop."""

from collections.abc import Mapping
from typing import Any

from callgate import Session
from callgate.compaction.compaction_feature import CompactionPart
from callgate.conversation.ports import Model
from callgate.core.ports import Run
from callgate.testing import MemoryHost, PlainTool, ScriptedModel, call, say, turn
from callgate.testing.script import Scene, ScriptedTurn, stop
from callgate.words.events import Event, Noted, RunEnded
from callgate.words.messages import Message, Usage
from callgate.words.model import Abilities, Request
from callgate.words.traits import Traits, shared
from callgate.words.turns import Compacted, ResultReplaced
from tests.sessions import grouped_session, with_event

SMALL = Abilities(context_tokens=16_000, output_tokens=4_000)
"""Compacted at 8,750 tokens of 12,000 that are usable."""
DONE = turn(say("Done."))
SUMMARY = turn(say("1. **Goal.** Tidy up."), stop("end", Usage(input=700, output=30)))


async def look(arguments: Mapping[str, Any], run: Run) -> str:
    return "x" * int(arguments["size"])


LOOK = PlainTool("Look", look, traits=Traits("none", shared))


def looks(*sizes: int) -> ScriptedTurn:
    return turn(*(call("Look", size=size) for size in sizes))


BIG = turn(say("w" * 25_000), call("Look", size=7_000))
"""After it the next request would pass the limit, and it is too long to be kept."""


def session_on(model: Model, **options: Any) -> Session:
    return grouped_session(model, [LOOK], **{"host": MemoryHost(), **options})


def scripted(*scenes: Scene, name: str = "scripted", abilities: Abilities = SMALL) -> ScriptedModel:
    return ScriptedModel(*scenes, name=name, abilities=abilities)


def port(session: Session) -> CompactionPart:
    """The part that the loop of this session uses."""
    found = session.part("compaction")
    assert isinstance(found, CompactionPart)
    return found


class Heard:
    """The events of a session that are about compaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._events: list[Event] = []
        session.listen(with_event(self._events.append, session.path))

    @property
    def events(self) -> list[Event]:
        self._session.controls.deliver()
        return self._events

    @property
    def boundaries(self) -> list[Compacted]:
        return [event for event in self.events if isinstance(event, Compacted)]

    @property
    def replaced(self) -> list[str]:
        return [event.call_id for event in self.events if isinstance(event, ResultReplaced)]

    @property
    def last_end(self) -> RunEnded:
        return [event for event in self.events if isinstance(event, RunEnded)][-1]

    @property
    def notes(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Noted)]


def ended(heard: Heard) -> list[str]:
    """The reasons of the runs that ended."""
    return [event.reason for event in heard.events if isinstance(event, RunEnded)]


def is_summary(request: Request) -> bool:
    return request.system.startswith("You write the summary")


def sent(messages: tuple[Message, ...] | list[Message]) -> list[str]:
    return [message.id for message in messages]
