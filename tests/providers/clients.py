"""The client's side in tests: models on a fake server, and what they stream."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from callgate.conversation.ports import Model
from callgate.providers.http_model import HttpModel
from callgate.providers.stream_parser import with_joined_deltas
from callgate.testing import ManualClock, settle
from callgate.words.errors import ModelError
from callgate.words.messages import Message, Text
from callgate.words.model import MessageEnded, ModelEvent, Request, TextDelta
from tests.providers.servers import FakeServer, WireWriter, writer

REQUEST = Request("", [Message("u1", "user", (Text("hi"),))])


@asynccontextmanager
async def model_on(
    server: FakeServer, wire: WireWriter | None = None, **more: Any
) -> AsyncIterator[tuple[HttpModel, ManualClock]]:
    wire, clock = wire or writer("plain"), more.pop("clock", ManualClock())
    given = {"key": wire.key, "base": server.url, **more}
    model = HttpModel(f"{wire.family.name}/{wire.facts.name}", wire.family, wire.facts, clock=clock, **given)
    try:
        yield model, clock
    finally:
        await model.aclose()


async def streamed(model: Model, request: Request = REQUEST) -> tuple[list[ModelEvent], ModelError | None]:
    """All events, with consecutive deltas joined, and the error that ended them. How the bytes of an answer arrive
    decides how many deltas it has."""
    events: list[ModelEvent] = []
    try:
        async for event in model.stream(request):
            events += (event,)
    except ModelError as error:
        return [*with_joined_deltas(events)], error
    return [*with_joined_deltas(events)], None


async def failed(model: Model, request: Request = REQUEST) -> ModelError:
    _, error = await streamed(model, request)
    assert error is not None, "it did not fail"
    return error


def text_of(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def is_whole(events: Sequence[ModelEvent]) -> bool:
    return bool(events) and isinstance(events[-1], MessageEnded)


async def waiting(clock: ManualClock) -> None:
    """Returns when somebody waits for the clock, and all else has come to rest."""
    while clock.next_timer is None:
        await settle()
    await settle()
