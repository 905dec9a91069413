"""Edits of a conversation between turns: rewind, branch, compact, snip, trim; and settings on record."""

# A summary comes from outside and may not keep to its type.
# pyright: reportUnnecessaryIsInstance=false

import asyncio
from collections.abc import Iterable
from inspect import isawaitable

from callgate.core.ledger import Ledger
from callgate.session.parts import SessionParts
from callgate.tools.session_state import carried_over
from callgate.transcript.compact import kept_from, trimmed
from callgate.words.errors import in_words
from callgate.words.events import Branched, Compacted, Durable, MetadataSet, ModeSet, Rewound, Snipped
from callgate.words.inputs import Branch, Compact, Rewind, SetMode, SetTags, SetTitle, Snip, Trim
from callgate.words.plain import plain_json


class HistoryEdits:
    """Each edit gives None, or the reason why it was not done."""

    def __init__(self, parts: SessionParts) -> None:
        self._record = parts.equipment.record
        self._now = parts.equipment.host.clock.now
        self._journal = parts.journal
        self._context = parts.context
        self._remembered = parts.remembered
        self._summarize = parts.summarize
        self._hooks = parts.hooks
        self._staging = parts.staging
        self._moved = False  # the state is not that of the log, which has to be read again
        self._reading = False
        self._summarizing: asyncio.Future[str] | None = None

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    def touched(self) -> None:
        """Notes that an input arrived: a log that is being read now has to be read again."""
        self._moved = self._moved or self._reading

    def interrupt(self) -> str | None:
        if self._summarizing is None:
            return "nothing is under way that could be interrupted"
        self._summarizing.cancel()
        return None

    def settle(self, sent: SetMode | SetTitle | SetTags | Snip | Trim) -> str | None:
        """Edits that take no time and may be done while a turn is under way."""
        match sent:
            case SetMode():
                self._record.write(ModeSet(self._now(), sent.mode))
            case SetTitle():
                self._record.write(MetadataSet(self._now(), "title", sent.title.strip() or None))
            case SetTags():
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
        """Moves to another place in the tree of messages, then reads the live events from the log."""
        await self.read_again()
        message = next((each for each in self._ledger.messages if each.id == sent.message_id), None)
        message = message or await self._journal.recall(sent.message_id)
        if message is None:
            return f"there is no message {sent.message_id!r}"
        if isinstance(sent, Rewind) and message.role == "tool":
            return f"{message.id} holds results: a call and its result go together, so name the message before it"
        if isinstance(sent, Branch) and message.calls:
            return f"{message.id} has calls: a call and its result go together, so name the message with the results"
        await self._staging.stack.clear("the conversation went on from another place")
        kind = Rewound if isinstance(sent, Rewind) else Branched
        self._record.write(kind(self._now(), message.id, self._ledger.counted))
        self._moved = True
        await self.read_again()
        return None

    async def read_again(self) -> None:
        """Makes the ledger anew from the live events of the log, after a move."""
        while self._moved:
            self._moved, self._reading = False, True
            try:
                self._record.ledger = self._folded(await self._journal.live())
            except BaseException:
                self._moved = True
                raise
            finally:
                self._reading = False

    def _folded(self, events: Iterable[Durable]) -> Ledger:
        ledger = Ledger(self._staging.follow(events), context=self._context)
        if self._remembered is not None:
            self._remembered.apply_to(ledger)
        return ledger

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
        if self._hooks is not None:
            blocked = await self._hooks.compacting("PreCompact", sent.instructions)
            if blocked is not None:
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
        left = carried_over(ledger.context)
        summary = f"{summary}\n\n{left}" if left else summary
        kept = kept_from(ledger.messages, sent.keep)
        running, context = ledger.running, plain_json(dict(ledger.context))
        counted, paused, untold = ledger.counted, ledger.paused, self._staging.untold
        self._record.write(
            Compacted(
                at=self._now(),
                summary=summary,
                kept=kept,
                trigger="manual",
                running=running,
                context=context,
                counted=counted,
                paused=paused,
                untold=untold,
            )
        )
        if self._hooks is not None:
            await self._hooks.compacting("PostCompact", summary)
        return None
