"""The feature ``titles``: a model writes the title of a session in the background, after the first prompt."""

import re
from collections.abc import Callable
from functools import partial

from callgate.compaction.summaries import UnusedAnswers, ask, instructions
from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.conversation.ports import Model
from callgate.core.ports import Timer
from callgate.tools.staging import TaskSet
from callgate.words.events import Event, MessageAdded, MetadataSet, RunEnded
from callgate.words.messages import HOOK_ADDED, Spent, Text
from callgate.words.messages import Part as MessagePart
from callgate.words.model import WHOLE, RequestOptions

_ATTEMPTS = 2
_PROMPT = 2_000
"""The number of characters of the prompt in the request."""
_LONGEST = 80
_MOMENT = 2.0
"""Seconds between the end of a run and the request."""
_TOKENS = 300
_MARKS = re.compile(r"^(?:title\s*:)?[\s\"'`*#„“”«»]+|[\s\"'`*„“”«».]+$|^title\s*:\s*", re.IGNORECASE)
_BOLD = re.compile(r"\*\*|`")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


class TitleWriter(FeaturePart):
    """The part of a session that writes the title once, in the background. A title that the user set or removed is not
    replaced.

    A model other than the model of the session is asked at the first message with calls. The model of the session is
    asked two seconds after a run, so that a program with a single run sends no request for a title. ``close``
    cancels the request.
    """

    def __init__(self, opened: OpenSession, model: Model) -> None:
        self._opened = opened
        self._model = model
        self._price = opened.price
        self._record = opened.record
        self._clock = opened.host.clock
        self._unused = UnusedAnswers("title", self._record, self._clock, self._price)
        self._timer: Timer | None = None
        self._tasks = TaskSet()
        self._left = 0
        self._text = ""
        self._unlisten: Callable[[], None] | None = None

    async def prompted(self, parts: tuple[MessagePart, ...]) -> tuple[MessagePart, ...]:
        text = "\n".join(
            part.text for part in parts if isinstance(part, Text) and not part.text.startswith(HOOK_ADDED)
        ).strip()
        self._left = self._left if self._record.ledger.added else _ATTEMPTS
        if text and self._left and not self._tasks and "title" not in self._record.ledger.metadata:
            self._text = self._text or text[:_PROMPT]
            self._unlisten = self._unlisten or self._record.on_event(self._on_event)
        return parts

    @property
    def _is_other_model(self) -> bool:
        return self._model is not self._opened.equipment.model

    async def close(self, *, discard: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._text = ""
        self._tasks.cancel()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, MessageAdded):
            if self._is_other_model and event.message.role == "assistant" and event.message.calls:
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
        except Exception:  # not reported: the next prompt may try again
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
    """Return the first line that has text, shortened, without quotation marks and marks of Markdown; empty if there is
    none."""
    lines = (" ".join(_MARKS.sub("", _BOLD.sub("", _CONTROL.sub(" ", line))).split()) for line in text.splitlines())
    title = next(filter(None, lines), "")
    return title if len(title) <= _LONGEST else title[: _LONGEST - 1].rstrip() + "…"


def titles_feature(model: Model) -> Feature:
    """Return the feature that asks ``model`` for a title of the session."""
    return Feature("titles", lambda opened: TitleWriter(opened, model))
