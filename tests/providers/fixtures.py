"""Fixtures of streams, and what parsers make of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from callgate.providers.family import ServerEvent, StreamParser
from callgate.testing.checks.port_checks import check_events
from callgate.words.errors import ModelError
from callgate.words.messages import CallPart, Message, Opaque, Part, Text, Thinking, Usage
from callgate.words.model import (
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    OpaqueData,
    PartStarted,
    TextDelta,
    ThinkingDelta,
)

DATA = Path(__file__).parents[1] / "data" / "providers"


def streamed(family: str, name: str) -> list[ServerEvent]:
    """The events of a fixture."""
    text = (DATA / family / f"{name}.sse").read_bytes().decode().replace("\r\n", "\n")
    found: list[ServerEvent] = []
    for block in filter(None, text.split("\n\n")):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append(ServerEvent(fields.get("event", ""), fields["data"]))
    return found


def parsed(parser: StreamParser, events: Iterable[ServerEvent]) -> tuple[list[ModelEvent], ModelError | None]:
    """Model events, and the error if there is one. Checks what every parser promises: the grammar of a message, and
    nothing behind an error."""
    out: list[ModelEvent | ModelError] = []
    for event in events:
        out += parser.feed(event)
    out += parser.end()
    error = out.pop() if out and isinstance(out[-1], ModelError) else None
    made = [event for event in out if not isinstance(event, ModelError)]
    assert len(made) == len(out), "something follows an error"
    check_events(made)
    assert isinstance(error, ModelError | None)
    return made, error


def usage_of(events: Sequence[ModelEvent]) -> Usage:
    """The usage that the loop counts."""
    total = Usage()
    for event in events:
        if isinstance(event, MessageStarted | MessageEnded):
            total += event.usage
    return total


def folded(events: Sequence[ModelEvent], message_id: str = "m1") -> Message:
    """The message of a stream, as the core's intake puts it together."""
    model = ""
    parts: dict[int, Part] = {}
    for event in events:
        match event:
            case MessageStarted():
                model = event.model
            case PartStarted(index, "text" | "opaque"):
                parts[index] = Text("")  # of an opaque part, its place
            case PartStarted(index, "thinking"):
                parts[index] = Thinking("")
            case PartStarted(index, "tool_call", call_id, name):
                parts[index] = CallPart(call_id, name, {}, "")
            case TextDelta(index, text) | ThinkingDelta(index, text) | ArgumentsDelta(index, text):
                parts[index] = _longer(parts[index], text, getattr(event, "signature", None))
            case OpaqueData(index, provider, data):
                kept, old = Opaque(provider, data), parts.get(index)
                call = isinstance(old, CallPart)
                parts[index] = CallPart(old.id, old.name, {}, old.raw_arguments, kept) if call else kept
            case _:
                pass
    return Message(message_id, "assistant", tuple(part for part in parts.values() if part != Text("")), model)


def _longer(part: Part, text: str, signature: str | None) -> Part:
    match part:
        case Text(old):
            return Text(old + text)
        case Thinking(old, signed):
            return Thinking(old + text, signature or signed)
        case CallPart():
            return CallPart(part.id, part.name, {}, (part.raw_arguments or "") + text, part.kept)
        case _:
            raise AssertionError(f"{part} takes no text")
