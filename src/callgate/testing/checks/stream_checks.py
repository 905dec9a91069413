"""Conformance checks of Model."""

import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from typing import cast, get_args

from callgate.conversation.ports import Model
from callgate.testing.checks import promise, promise_kind
from callgate.words import model as m
from callgate.words.messages import Message, Text

_REASONS: tuple[str, ...] = get_args(m.StopReason)
_KINDS = ("text", "thinking", "tool_call", "opaque")
_DELTAS: dict[type, str] = {m.TextDelta: "text", m.ThinkingDelta: "thinking", m.ArgumentsDelta: "tool_call"}


async def check_model(make: Callable[[], Model], request: m.Request | None = None) -> None:
    """Check that a model meets the requirements of Model, with two streams of the request: the first is read to its
    end, the second is closed after its first event."""
    request = request or m.Request("", (Message("m1", "user", (Text("Hello"),)),))
    model = make()
    promise(model.name, "a model has a name")
    promise_kind(model.abilities, m.Abilities, text="a model says what it can do with Abilities")
    events = [event async for event in _stream(model, request)]
    check_events(events)
    promise(events, "a stream yields MessageStarted, parts and MessageEnded, not nothing")
    _check_arguments(events)
    stream = _stream(make(), request)
    promise(await anext(stream, None) is not None, "a stream yields the same message each time, not nothing")
    close = getattr(stream, "aclose", None)
    promise(close is not None, "a stream can be closed at any point: it needs aclose()")
    if close is not None:
        await close()
        promise(await anext(stream, None) is None, "a closed stream yields no more events")


def _stream(model: Model, request: m.Request) -> AsyncIterator[m.ModelEvent]:
    stream = model.stream(request)
    if isinstance(stream, Coroutine):
        stream.close()
    promise(hasattr(stream, "__aiter__"), "stream() returns an async iterator: write it as an async generator")
    return aiter(stream)


def _check_arguments(events: Sequence[m.ModelEvent]) -> None:
    ended = {each.index for each in events if isinstance(each, m.PartEnded)}
    calls = [each for each in events if isinstance(each, m.PartStarted) and each.kind == "tool_call"]
    for index, name in ((each.index, each.name) for each in calls if each.index in ended):
        text = "".join(each.text for each in events if isinstance(each, m.ArgumentsDelta) and each.index == index)
        try:
            found = json.loads(text or "{}")
        except ValueError as error:
            raise AssertionError(
                f"broken promise: the arguments of the call {name} are JSON, but {text[:80]!r}: {error}"
            ) from error
        promise(isinstance(found, dict), f"the arguments of the call {name} are a JSON object, not {text[:80]!r}")


def check_events(events: Iterable[m.ModelEvent]) -> None:
    """Check the order of the events of one message. An interrupted message may lack its last events."""
    parts: dict[int, str] = {}
    closed: set[int] = set()
    ids: set[str] = set()
    last: m.ModelEvent | None = None
    for event in events:
        promise(not isinstance(last, m.MessageEnded), f"no event follows MessageEnded, but {event}")
        match event:
            case m.MessageStarted():
                promise(last is None, "MessageStarted comes once")
            case m.PartStarted(index, kind, id, name):
                promise(kind in _KINDS, f"a part is {', '.join(_KINDS)}, not {kind!r}")
                promise(index not in parts, f"part {index} starts once")
                promise(index == len(parts), f"parts are numbered from 0 without gaps, but after {len(parts)}: {index}")
                parts[index] = kind
                if kind == "tool_call":
                    promise(id and name, f"the call in part {index} has an id and a name")
                    promise(id not in ids, f"the call id {id} is used once in a message")
                    ids.add(id)
            case m.PartEnded(index):
                promise(index in parts and index not in closed, f"part {index} ends once, after it started")
                closed.add(index)
            case m.MessageEnded(reason):
                promise(reason in _REASONS, f"the stop reason is one of {', '.join(_REASONS)}, not {reason!r}")
                whole = reason in m.WHOLE
                promise(not whole or closed == set(parts), f"all parts are closed before a message ends with {reason}")
                promise(reason != "end" or not ids, "a message with calls ends with tool_calls")
            case m.OpaqueData(index):
                kind = parts.get(index)
                promise(kind in ("opaque", "tool_call"), f"{event} belongs to an open opaque or tool_call part")
                promise(index not in closed, f"part {index} is closed before {event}")
            case m.ModelNoted():  # allowed anywhere, also before the message
                continue
            case _:
                kind = _DELTAS.get(type(event), "")
                promise(kind, f"a stream yields model events (callgate.words.model), not {type(event).__name__}")
                promise(
                    isinstance(cast(object, event.text), str),
                    f"the text of {type(event).__name__} is a str, not {event.text!r}",
                )
                promise(parts.get(event.index) == kind, f"{event} belongs to an open {kind} part")
                promise(event.index not in closed, f"part {event.index} is closed before {event}")
        promise(last is not None or isinstance(event, m.MessageStarted), f"MessageStarted comes first, not {event}")
        last = event
