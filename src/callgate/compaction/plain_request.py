"""A single model request without tools, outside the conversation, for a summary, a title or a recap."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from callgate.conversation.allowance import Price
from callgate.conversation.ports import Model
from callgate.conversation.record import Record
from callgate.core.capabilities import close_stream
from callgate.core.ports import Clock
from callgate.words.errors import JournalError, StateError
from callgate.words.messages import Message, Spent, Text, Usage
from callgate.words.model import (
    MessageEnded,
    MessageStarted,
    Request,
    RequestLimits,
    RequestOptions,
    StopReason,
    TextDelta,
)
from callgate.words.noun import noun
from callgate.words.turns import AnswerUnused, AsidePurpose


@noun
class PlainAnswer:
    """The answer of a model to a plain request. ``stop`` is ``cut_off`` if the stream ended without MessageEnded."""

    text: str
    model: str
    stop: StopReason
    usage: Usage = Usage()


async def ask(
    model: Model,
    system: str,
    text: str,
    *,
    lost: Callable[[Usage], None],
    most: int | None = None,
    options: RequestOptions | None = None,
) -> PlainAnswer:
    """Send one text to a model and return the answer. Tool calls in the answer are ignored. Raise the errors of the
    model.

    lost  a callback for an error; it receives the tokens counted so far
    most  the maximum number of tokens of the answer
    """
    request = Request(
        system=system,
        messages=(Message("u1", "user", (Text(text),)),),
        limits=RequestLimits(max_output_tokens=most),
        options=options or RequestOptions(),
    )
    name, pieces, usage, stop = model.name, list[str](), Usage(), "cut_off"
    stream = model.stream(request)
    try:
        async for event in stream:
            match event:
                case MessageStarted():
                    name, usage = event.model or name, event.usage
                case TextDelta():
                    pieces.append(event.text)
                case MessageEnded():
                    stop, usage = event.stop_reason, usage + event.usage
                case _:
                    pass
    except BaseException:
        lost(usage)
        raise
    finally:
        await close_stream(stream)
    return PlainAnswer("".join(pieces), name, stop, usage)


def instructions(name: str) -> str:
    """Return the contents of a file of this package."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()


class UnusedAnswers:
    """A recorder for the costs of plain requests whose answers are not recorded."""

    def __init__(self, purpose: AsidePurpose, record: Record, clock: Clock, price: Price | None) -> None:
        self._purpose: AsidePurpose = purpose
        self._record = record
        self._clock = clock
        self._price = price

    def pay(self, model: str, usage: Usage) -> None:
        if usage == Usage():  # the server has counted nothing
            return
        spent = Spent(model, usage, None if self._price is None else self._price(model, usage))
        with suppress(StateError, JournalError):  # the session is being closed
            self._record.write(AnswerUnused(self._clock.now(), self._purpose, spent))
