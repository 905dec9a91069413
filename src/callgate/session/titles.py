"""The title of a session, written by a model in the background after the first prompt."""

import re
from collections.abc import Callable
from functools import partial

from callgate.conversation.allowance import Price
from callgate.conversation.ports import Model
from callgate.conversation.record import Record
from callgate.core.ports import Clock, Timer
from callgate.session.asking import UnusedAnswers, ask, instructions
from callgate.session.tasks import TaskSet
from callgate.words.events import Event, MessageAdded, MetadataSet, RunEnded
from callgate.words.messages import Part, Spent, Text
from callgate.words.model import WHOLE, RequestOptions

_ATTEMPTS = 2
_PROMPT = 2_000
"""Characters of the prompt that the model is shown."""
_LONGEST = 80
_MOMENT = 2.0
"""Seconds between the end of a run and the request."""
_TOKENS = 300
_MARKS = re.compile(r"^(?:title\s*:)?[\s\"'`*#„“”«»]+|[\s\"'`*„“”«».]+$|^title\s*:\s*", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


class TitleWriter:
    """Writes the title once. It never blocks: the session works on meanwhile, and a session that closes does not wait
    for it. A title that a person gave or took away stays as it is.

    It begins with the first calls of the model, so that it is never before the request it is about, or a moment after
    the end of the run, so that a program that makes one run and ends asks for nothing. ``spare`` is false if the same
    model answers: it is not disturbed before the end.
    """

    def __init__(self, model: Model, record: Record, clock: Clock, *, spare: bool, price: Price | None = None) -> None:
        self._model = model
        self._price = price
        self._record = record
        self._clock = clock
        self._unused = UnusedAnswers("title", record, clock, price)
        self._spare = spare
        self._timer: Timer | None = None
        self._tasks = TaskSet()
        self._left = 0
        self._text = ""
        self._unlisten: Callable[[], None] | None = None

    def prompted(self, parts: tuple[Part, ...], *, first: bool) -> None:
        """A person said this; ``first``: in this session. Output of commands and text of hooks is not part of it."""
        text = "\n".join(part.text for part in parts if isinstance(part, Text)).strip()
        self._left = _ATTEMPTS if first else self._left
        if text and self._left and not self._tasks and "title" not in self._record.ledger.metadata:
            self._text = self._text or text[:_PROMPT]
            self._unlisten = self._unlisten or self._record.listen(self._hear)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._text = ""
        self._tasks.cancel()

    def _hear(self, event: Event) -> None:
        if isinstance(event, MessageAdded):
            if self._spare and event.message.role == "assistant" and event.message.calls:
                self._begin()
        elif isinstance(event, RunEnded) and event.reason == "done" and self._timer is None:
            self._timer = self._clock.call_later(_MOMENT, self._begin)

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._unlisten is not None:
            self._unlisten()
        text, self._text, self._timer, self._unlisten = self._text, "", None, None
        if text and "title" not in self._record.ledger.metadata:
            self._left -= 1
            self._tasks.start(self._write(text))

    async def _write(self, text: str) -> None:
        try:
            options = RequestOptions(thinking="off")
            lost = partial(self._unused.pay, self._model.name)
            answer = await ask(self._model, instructions("title.md"), text, lost=lost, most=_TOKENS, options=options)
        except Exception:  # a title is not worth a message: the next prompt may try again
            return
        title = title_of(answer.text) if answer.stop in WHOLE else ""
        if title and "title" not in self._record.ledger.metadata:
            self._left = 0
            cost = None if self._price is None else self._price(self._model.name, answer.usage)
            spent = Spent(self._model.name, answer.usage, cost)
            self._record.write(MetadataSet(self._clock.now(), "title", title, spent))
        else:
            self._unused.pay(self._model.name, answer.usage)


def title_of(text: str) -> str:
    """The first line that says something, without quotation marks; empty if there is none."""
    lines = (" ".join(_MARKS.sub("", _CONTROL.sub(" ", line)).split()) for line in text.splitlines())
    title = next(filter(None, lines), "")
    return title if len(title) <= _LONGEST else title[: _LONGEST - 1].rstrip() + "…"
