"""What a session does while no turn is under way: moves in the tree of messages, and what the model sees of them."""

# A summary comes from outside and may not keep to its type.
# pyright: reportUnnecessaryIsInstance=false

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import get_args

from callgate.core.ledger import Ledger
from callgate.core.ports import Journal
from callgate.core.record import Record
from callgate.transcript.compact import Summarize, kept_from, trimmed
from callgate.words.decisions import Mode
from callgate.words.errors import in_words
from callgate.words.events import Branched, Compacted, Durable, MetadataSet, ModeSet, Rewound, Snipped
from callgate.words.inputs import Branch, Compact, Rewind, SetMode, SetTags, SetTitle, Snip, Trim
from callgate.words.jsonable import plain_json

BeforeCompact = Callable[[str, str], Awaitable[str | None]]
"""Told ``PreCompact`` or ``PostCompact`` and the instructions or the summary; what it says before is why not to."""


class Between:
    """Each of its works answers why it could not be done, or None. ``fresh`` makes the state out of a log;
    ``leaving`` is called before the conversation goes on from another place."""

    def __init__(
        self,
        record: Record,
        journal: Journal,
        fresh: Callable[[Sequence[Durable]], Ledger],
        now: Callable[[], float],
        summarize: Summarize | None,
        hooked: BeforeCompact | None = None,
        *,
        leaving: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._record = record
        self._journal = journal
        self._fresh = fresh
        self._now = now
        self._summarize = summarize
        self._hooked = hooked
        self._leaving = leaving
        self._moved = False  # the state is not that of the log, which has to be read again
        self._reading = False
        self._summarizing: asyncio.Future[str] | None = None

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    def touched(self) -> None:
        """Something was sent in: it may be later than what is being read."""
        self._moved = self._moved or self._reading

    def interrupt(self) -> str | None:
        if self._summarizing is None:
            return "nothing is under way that could be interrupted"
        self._summarizing.cancel()
        return None

    def settle(self, sent: SetMode | SetTitle | SetTags | Snip | Trim) -> str | None:
        """What takes no time, and may be done while a turn is under way."""
        match sent:
            case SetMode():
                if sent.mode not in get_args(Mode):
                    return f"there is no mode {sent.mode!r}; there are {', '.join(get_args(Mode))}"
                self._record.write(ModeSet(self._now(), sent.mode))
            case SetTitle():
                self._record.write(MetadataSet(self._now(), "title", sent.title.strip() or None))
            case SetTags():
                if isinstance(sent.tags, str):
                    return "tags are a tuple of texts"
                self._record.write(MetadataSet(self._now(), "tags", list(sent.tags) or None))
            case Snip():
                return self._snip(sent.message_ids)
            case Trim():
                return self._trim(sent)
        return None

    def _snip(self, message_ids: tuple[str, ...]) -> str | None:
        known = {message.id for message in self._ledger.messages}
        unknown = [each for each in message_ids if each not in known]
        if unknown or not message_ids:
            return f"there is no message {unknown[0]!r} before the model" if unknown else "no message was named"
        for each in message_ids:  # on its own, so that it stays as long as its message does
            self._record.write(Snipped(self._now(), (each,)))
        return None

    def _trim(self, sent: Trim) -> str | None:
        if sent.over < 1 or sent.keep < 0:
            return "over is a number of characters, keep a number of messages"
        view = self._ledger.view
        found = trimmed(view.messages, at=self._now(), over=sent.over, keep_last=sent.keep, done=view.replaced)
        for replaced in found:
            self._record.write(replaced)
        return None if found else "no result is that long"

    async def move(self, sent: Rewind | Branch) -> str | None:
        """Another place in the tree of messages; then the log says what is live."""
        await self.read_again()
        message = next((each for each in self._ledger.messages if each.id == sent.message_id), None)
        message = message or await self._journal.recall(sent.message_id)
        if message is None:
            return f"there is no message {sent.message_id!r}"
        if isinstance(sent, Rewind) and message.role == "tool":
            return f"{message.id} holds results: a call and its result go together, so name the message before it"
        if isinstance(sent, Branch) and message.calls:
            return f"{message.id} has calls: a call and its result go together, so name the message with the results"
        if self._leaving is not None:
            await self._leaving()
        kind = Rewound if isinstance(sent, Rewind) else Branched
        self._record.write(kind(self._now(), message.id, self._ledger.counted))
        self._moved = True
        await self.read_again()
        return None

    async def read_again(self) -> None:
        """After a move the log says what is live, and with it what the state is."""
        while self._moved:
            self._moved, self._reading = False, True
            try:
                self._record.ledger = self._fresh(await self._journal.live())
            except BaseException:
                self._moved = True
                raise
            finally:
                self._reading = False

    async def compact(self, sent: Compact) -> str | None:
        await self.read_again()
        ledger = self._ledger
        if self._summarize is None:
            return "this session has no function that writes a summary: pass summarize"
        if sent.keep < 0:
            return "keep is a number of messages"
        if not ledger.messages:
            return "there is nothing to summarize"
        if ledger.open_turn is not None:
            return "a turn was left unfinished: send Continue first"
        if self._hooked is not None and (blocked := await self._hooked("PreCompact", sent.instructions)) is not None:
            return blocked
        try:
            written = self._summarize(ledger.history(), sent.instructions)
            if isawaitable(written):
                self._summarizing = asyncio.ensure_future(written)
                written = await self._summarizing
            summary = written
        except asyncio.CancelledError:
            return "it was interrupted"
        except Exception as error:
            return f"no summary was written: {in_words(error)}"
        finally:
            self._summarizing = None
        if not isinstance(summary, str) or not summary.strip():
            return f"summarize gave back {summary!r:.80}, wanted a text, so nothing was compacted"
        kept = kept_from(ledger.messages, sent.keep)
        running, context = ledger.running, plain_json(dict(ledger.context))
        counted, paused, untold = ledger.counted, ledger.paused, tuple(ledger.untold)
        self._record.write(Compacted(self._now(), summary, kept, "manual", running, context, counted, paused, untold))
        if self._hooked is not None:
            await self._hooked("PostCompact", summary)
        return None
