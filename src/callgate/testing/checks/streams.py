"""Promises of a Model."""

from collections.abc import Callable, Iterable

from callgate.core.ports import Model
from callgate.testing.checks.promise import promise, promise_kind
from callgate.words.messages import Message, Text
from callgate.words.model import (
    Abilities,
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

_DELTAS = {TextDelta: "text", ThinkingDelta: "thinking", ArgumentsDelta: "tool_call"}


async def check_model(make: Callable[[], Model], request: Request | None = None) -> None:
    """Streams the request twice, on two models: once to the end, once closing the stream after its first event."""
    request = request or Request("", (Message("m1", "user", (Text("Hello"),)),))
    model = make()
    promise(model.name, "a model has a name")
    promise_kind(model.abilities, Abilities, text="a model says what it can do with Abilities")
    check_events([event async for event in model.stream(request)])
    stream = make().stream(request)
    await anext(stream)
    close = getattr(stream, "aclose", None)
    promise(close is not None, "a stream can be closed at any point: it needs aclose()")
    if close is not None:
        await close()
        promise(await anext(stream, None) is None, "a closed stream gives nothing more")


def check_events(events: Iterable[ModelEvent]) -> None:
    """The grammar of one message. A stream that was cut off keeps it too, up to where it ends."""
    parts: dict[int, str] = {}
    closed: set[int] = set()
    ids: set[str] = set()
    last: ModelEvent | None = None
    for event in events:
        promise(not isinstance(last, MessageEnded), f"nothing follows MessageEnded, but {event}")
        match event:
            case MessageStarted():
                promise(last is None, "MessageStarted comes once")
            case PartStarted(index, kind, id, name):
                promise(index not in parts, f"part {index} starts once")
                promise(index == len(parts), f"parts are numbered from 0 without gaps, but after {len(parts)}: {index}")
                parts[index] = kind
                if kind == "tool_call":
                    promise(id and name, f"the call in part {index} has an id and a name")
                    promise(id not in ids, f"the call id {id} is used once in a message")
                    ids.add(id)
            case PartEnded(index):
                promise(index in parts and index not in closed, f"part {index} ends once, after it started")
                closed.add(index)
            case MessageEnded(reason):
                whole = reason in ("end", "tool_calls")
                promise(not whole or closed == set(parts), f"all parts are closed before a message ends with {reason}")
                promise(reason != "end" or not ids, "a message with calls ends with tool_calls")
            case OpaqueData(index):
                kind = parts.get(index)
                promise(kind in ("opaque", "tool_call"), f"{event} belongs to an open opaque or tool_call part")
                promise(index not in closed, f"part {index} is closed before {event}")
            case _:
                kind = _DELTAS[type(event)]
                promise(parts.get(event.index) == kind, f"{event} belongs to an open {kind} part")
                promise(event.index not in closed, f"part {event.index} is closed before {event}")
        promise(last is not None or isinstance(event, MessageStarted), f"MessageStarted comes first, not {event}")
        last = event
