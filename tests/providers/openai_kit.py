"""What the tests of OpenAI's two APIs share: fixtures as events, and a strict fold of model events into a message."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any

from callgate.providers.family import Family, ModelFacts, ServerEvent
from callgate.words.errors import ModelError
from callgate.words.messages import CallPart, Message, Opaque, Part, Text, Thinking
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    OpaqueData,
    PartEnded,
    PartStarted,
    Request,
    TextDelta,
    ThinkingDelta,
)

DATA = Path(__file__).parents[1] / "data" / "providers"


def fixture(family: str, name: str) -> list[ServerEvent]:
    return [*server_events((DATA / family / f"{name}.sse").read_text(encoding="utf-8"))]


def names(family: str) -> list[str]:
    return sorted(path.stem for path in (DATA / family).glob("*.sse"))


def server_events(text: str) -> Iterator[ServerEvent]:
    for block in text.split("\n\n"):
        fields = [line.partition(": ") for line in block.splitlines() if not line.startswith(":")]
        data = [value for name, _, value in fields if name == "data"]
        if data:
            yield ServerEvent(next((value for name, _, value in fields if name == "event"), ""), "\n".join(data))


@dataclass
class Told:
    """A stream as far as it came. ``closed`` are the parts that ended, by index."""

    started: MessageStarted | None = None
    ended: MessageEnded | None = None
    error: ModelError | None = None
    kinds: dict[int, PartStarted] = field(default_factory=dict[int, PartStarted])
    texts: dict[int, str] = field(default_factory=dict[int, str])
    kept: dict[int, Opaque] = field(default_factory=dict[int, Opaque])
    closed: list[int] = field(default_factory=list[int])

    @property
    def stop(self) -> str:
        return "" if self.ended is None else self.ended.stop_reason

    def parts(self, kind: str) -> list[str]:
        return [self.texts[index] for index, start in self.kinds.items() if start.kind == kind]

    def calls(self) -> list[tuple[str, str, str, bool]]:
        """Id, name, arguments, and whether the call is complete."""
        found = [(index, start) for index, start in self.kinds.items() if start.kind == "tool_call"]
        return [(start.id, start.name, self.texts[index], index in self.closed) for index, start in found]

    def message(self) -> Message:
        """The message as a session has it on record."""
        parts: list[Part] = []
        for index, start in self.kinds.items():
            text = self.texts[index]
            if start.kind == "tool_call":
                parts.append(CallPart(start.id, start.name, loads(text or "{}"), None, self.kept.get(index)))
            elif start.kind == "opaque":
                parts += [self.kept[index]] if index in self.kept else []
            elif text:
                parts.append(Text(text) if start.kind == "text" else Thinking(text))
        assert self.started is not None
        return Message("m", "assistant", tuple(parts), self.started.model)


def fold(events: Iterable[ModelEvent | ModelError]) -> Told:
    """Holds the events to the promises of ``words/model.py``."""
    told = Told()
    for event in events:
        assert told.ended is None, f"{event} after the end"
        assert told.error is None, f"{event} after an error"
        match event:
            case ModelError():
                told.error = event
            case MessageStarted():
                assert told.started is None
                told.started = event
            case PartStarted(index):
                assert index not in told.kinds
                told.kinds[index], told.texts[index] = event, ""
            case TextDelta(index, text) | ThinkingDelta(index, text) | ArgumentsDelta(index, text):
                wanted = {TextDelta: "text", ThinkingDelta: "thinking", ArgumentsDelta: "tool_call"}[type(event)]
                assert told.kinds[index].kind == wanted
                assert index not in told.closed
                assert type(text) is str
                told.texts[index] += text
            case OpaqueData(index, provider, data):
                assert told.kinds[index].kind in ("opaque", "tool_call")
                assert index not in told.closed
                assert index not in told.kept
                told.kept[index] = Opaque(provider, data)
            case PartEnded(index):
                assert index in told.kinds
                assert index not in told.closed
                told.closed.append(index)
            case MessageEnded():
                told.ended = event
            case _:
                raise AssertionError(event)
    return told


def parse(family: Family, events: Sequence[ServerEvent]) -> Told:
    parser = family.parser()
    out = [one for event in events for one in parser.feed(event)]
    return fold([*out, *parser.end()])


def body_of(family: Family, request: Request, facts: ModelFacts) -> dict[str, Any]:
    return loads(family.post(request, facts, None)[0].body)
