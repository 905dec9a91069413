"""Edits of a conversation between turns: rewind, branch, snip and trim; and changes of recorded settings."""

from collections.abc import Iterable

from callgate.conversation.feature import OpenSession
from callgate.conversation.feature_set import FeatureSet
from callgate.conversation.ledger import Ledger
from callgate.transcript.compact import trimmed
from callgate.words.events import Durable, MetadataSet, ModeSet
from callgate.words.inputs import Branch, Rewind, SetMode, SetTags, SetTitle, Snip, Trim
from callgate.words.turns import Branched, Rewound, Snipped


class HistoryEdits:
    """The edits of one conversation. Each edit returns None, or the reason if the edit was not applied."""

    def __init__(self, opened: OpenSession, features: FeatureSet) -> None:
        self._record = opened.record
        self._now = opened.now
        self._journal = opened.journal
        self._features = features
        self._is_stale = False  # the ledger differs from the log and has to be rebuilt
        self._is_reading = False

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    def touched(self) -> None:
        """Mark the state as outdated if an input arrives while the log is being read."""
        self._is_stale = self._is_stale or self._is_reading

    def settle(self, sent: SetMode | SetTitle | SetTags | Snip | Trim) -> str | None:
        """Apply an edit that is also allowed during a turn. Return None, or the reason if the edit was not applied."""
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
            return (
                f"the history that the model sees has no message {unknown[0]!r}" if unknown else "message_ids is empty"
            )
        for each in message_ids:  # one event for each message, so that a rewind keeps or removes both
            self._record.write(Snipped(self._now(), (each,)))
        return None

    def _trim(self, sent: Trim) -> str | None:
        if sent.over < 1 or sent.keep < 0:
            return "over must be at least 1 character, keep at least 0 messages"
        view = self._ledger.view
        found = trimmed(view.messages, at=self._now(), over=sent.over, keep_last=sent.keep, done=view.replaced)
        for replaced in found:
            self._record.write(replaced)
        return None if found else "no result is longer than that"

    async def move(self, sent: Rewind | Branch) -> str | None:
        """Apply a Rewind or Branch input and rebuild the ledger. Return None, or the reason if the input is refused."""
        await self.read_again()
        message = next((each for each in self._ledger.messages if each.id == sent.message_id), None)
        message = message or await self._journal.recall(sent.message_id)
        if message is None:
            return f"there is no message {sent.message_id!r}"
        if isinstance(sent, Rewind) and message.role == "tool":
            return f"{message.id} contains results: a call and its result belong together, so use the message before it"
        if isinstance(sent, Branch) and message.calls:
            return (
                f"{message.id} contains calls: a call and its result belong together, so use the message with the "
                "results"
            )
        await self._features.moving()
        kind = Rewound if isinstance(sent, Rewind) else Branched
        self._record.write(kind(self._now(), message.id, self._ledger.counted))
        self._is_stale = True
        await self.read_again()
        return None

    async def read_again(self) -> None:
        """Rebuild the ledger from the live events of the log, if the ledger is outdated."""
        while self._is_stale:
            self._is_stale, self._is_reading = False, True
            try:
                self._record.ledger = self._folded(await self._journal.live())
            except BaseException:
                self._is_stale = True
                raise
            finally:
                self._is_reading = False

    def _folded(self, events: Iterable[Durable]) -> Ledger:
        ledger = Ledger(self._features.follow(events), context=self._features.context)
        self._features.folded(ledger)
        return ledger
