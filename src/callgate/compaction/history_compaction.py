"""Keeps the history within the context window of the model: shortens old results, or replaces messages by a summary.

A compaction is started by the user (manual), by the number of tokens before a request (automatic), or after the
model refused a request as too long (reactive). The boundary is the only event of a compaction, so a crash before it
changes nothing.
"""

# The summary of a foreign function may have another type.
# pyright: reportUnnecessaryIsInstance=false

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from inspect import isawaitable
from operator import is_
from typing import TYPE_CHECKING, Literal

from callgate.compaction.restored_context import restored_text
from callgate.compaction.summaries import UnusedAnswers, WrittenSummary, summarized
from callgate.conversation.feature import OpenSession
from callgate.conversation.ledger import Ledger, boundary_parts
from callgate.conversation.ports import Model
from callgate.tools.files.read_marks import with_nothing_shown
from callgate.transcript.compact import kept_from, trimmed
from callgate.transcript.token_count import ContextUse, ShareKind, TokenCount, TokenMeter
from callgate.words.errors import in_words
from callgate.words.events import Noted
from callgate.words.inputs import Compact, Trim
from callgate.words.messages import Message, ResultPart
from callgate.words.model import ToolSpec
from callgate.words.plain import plain_json
from callgate.words.turns import Compacted, PhaseEnded, PhaseStarted, ResultReplaced
from callgate.words.window import ContextLimits, chars_of, context_limits, part_chars, spec_chars

if TYPE_CHECKING:
    from callgate.transcript.compact import Summarize

MOST_FAILURES = 3
"""Maximum number of consecutive failures. After them only the input Compact starts a compaction."""
INTERRUPTED = "the compaction was interrupted"

Trigger = Literal["manual", "automatic", "reactive"]


class HistoryCompaction:
    """The compaction of one session.

    automatic  True to compact without an input of the user
    """

    def __init__(self, opened: OpenSession, summarize: "Summarize | None", *, automatic: bool) -> None:
        self._opened = opened
        self._record = opened.record
        self._clock = opened.host.clock
        self._now = opened.now
        self._summarize = summarize
        self._automatic = automatic
        self._gauge = ContextGauge(opened)
        self._unused = UnusedAnswers("summary", self._record, self._clock, opened.price)
        self._failures = 0
        self._warned = False
        self._summarizing: asyncio.Future[WrittenSummary | str] | None = None

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    def use(self) -> ContextUse:
        """Return the use of the context window by kind of content."""
        return self._gauge.use(self._opened.equipment.model)

    # ---- before and after requests ------------------------------------------------------------------------------

    async def before_request(self, model: Model) -> str | None:
        limits = self._gauge.limits(model)
        if limits is None:
            return None
        count = self._gauge.count()
        helps = self._gauge.fixed_tokens < limits.refusal and bool(self._ledger.messages)
        if count.total >= limits.automatic and self._on and helps:
            if not self._trim(limits, count.total):
                await self._by_itself(model, "automatic", limits)
            count = self._gauge.count()
        if count.total >= limits.refusal:
            return self._refusal(count, limits)
        self._warn(count, limits)
        return None

    async def too_long(self, model: Model) -> bool:
        return (
            self._on
            and bool(self._ledger.messages)
            and await self._by_itself(model, "reactive", self._gauge.limits(model))
        )

    @property
    def _on(self) -> bool:
        return self._automatic and self._failures < MOST_FAILURES

    async def _by_itself(self, model: Model, trigger: Trigger, limits: ContextLimits | None) -> bool:
        """Compact without an input of the user. Return True if a boundary was written."""
        reason = await self._compact(model, trigger, "", None)
        if reason == INTERRUPTED:
            return False
        after = self._gauge.count()
        if reason is None and (limits is None or after.total < limits.automatic):
            self._failures = 0
            return True
        self._failures += 1
        why = f"the history still has {after} tokens" if reason is None else reason
        text = f"the history could not be compacted: {why}"
        if self._failures >= MOST_FAILURES:
            text += f". After {MOST_FAILURES} failures in a row, automatic compaction stops: send Compact"
        self._record.write(Noted(self._now(), text, "warning"))
        return reason is None

    def _warn(self, count: TokenCount, limits: ContextLimits) -> None:
        """Write a note when the context window becomes nearly full. The note is repeated only after the use has
        fallen below the limit."""
        near = count.total >= limits.warning
        if near and not self._warned:
            then = f"automatic compaction at {limits.automatic:,}" if self._on else "automatic compaction is off"
            text = f"the context is nearly full: {count} of {limits.usable:,} tokens; {then}"
            self._record.write(Noted(self._now(), text, "info" if self._on else "warning"))
        self._warned = near

    def _refusal(self, count: TokenCount, limits: ContextLimits) -> str:
        fixed = self._gauge.fixed_tokens
        text = (
            f"The request would have {count} tokens, but only {limits.usable:,} fit into the context window of the "
            "model."
        )
        if fixed >= limits.refusal:
            rest = "choose a model with a larger window, or fewer tools"
            return f"{text} The system prompt and the tools alone use {fixed:,}: {rest}."
        return f"{text} Send Compact, Snip long messages, or choose a model with a larger window."

    # ---- short forms of old results -----------------------------------------------------------------------------

    def _trim(self, limits: ContextLimits, total: int) -> bool:
        """Shorten old results if this brings the history at least a tenth of the window below the limit. Return True
        if results were shortened."""
        view, how = self._ledger.view, Trim()
        found = trimmed(view.messages, at=self._now(), over=how.over, keep_last=how.keep, done=view.replaced)
        sizes = {
            (message.id, part.call_id): part_chars(part)
            for message in (view.messages if found else ())
            for part in reversed(message.parts)
            if isinstance(part, ResultPart)
        }
        saved = sum(sizes[each.message_id, each.call_id] - _chars(each) for each in found)
        if total - self._gauge.meter.tokens(saved) > limits.automatic - limits.usable // 10:
            return False
        for each in found:
            self._record.write(each)
        return True

    # ---- the boundary -------------------------------------------------------------------------------------------

    def interrupt(self) -> bool:
        """Cancel the request for a summary. Return False if there is no such request."""
        if self._summarizing is None:
            return False
        return self._summarizing.cancel()

    async def manual(self, sent: Compact) -> str | None:
        """Compact at the request of the user. Return None, or the reason if nothing was compacted."""
        if sent.keep < 0:
            return "keep must be a number of messages, at least 0"
        if not self._ledger.messages:
            return "there is nothing to summarize"
        if self._ledger.open_turn is not None:
            return "a turn is unfinished; send Continue first"
        reason = await self._compact(self._opened.equipment.model, "manual", sent.instructions, sent.keep)
        if reason is None:
            self._failures = 0
        return reason

    async def _compact(self, model: Model, trigger: Trigger, focus: str, keep: int | None) -> str | None:
        """Write a boundary. Return None, or the reason if no boundary was written.

        keep  the number of messages to keep; None to use ``ContextGauge.tail``
        """
        features = self._opened.features
        blocked = await features.compacting("PreCompact", focus, trigger)
        if blocked is not None:
            return blocked
        ledger, before = self._ledger, self._gauge.count()
        history, many = ledger.history(), len(ledger.messages)
        tail = self._gauge.tail(model) if keep is None else keep
        if trigger != "manual" and covered_by(ledger.messages, tail) == 0:
            return "even the last messages are too long"
        written = await self._summary(model, history, focus)
        if isinstance(written, str):
            return written
        tail += len(ledger.messages) - many  # added meanwhile, so not part of the summary
        boundary = await self._boundary(model, written, tail)
        boundary = replace(boundary, trigger=trigger, focus=focus, tokens_before=before.total)
        chars = self._gauge.fixed + chars_of(self._after(boundary))
        boundary = replace(boundary, tokens_after=self._gauge.meter.tokens(chars))
        if trigger != "manual" and chars >= self._gauge.fixed + chars_of(ledger.history()):
            if written.usage is not None:
                self._unused.pay(written.model, written.usage)
            return "the summary is not shorter than the messages that it would replace"
        self._record.write(boundary)
        self._warned = False
        await features.compacting("PostCompact", boundary.summary, trigger)
        return None

    async def _summary(self, model: Model, history: Sequence[Message], focus: str) -> WrittenSummary | str:
        """Return the summary, or the reason if no summary was written. Publish the duration."""
        clock, name = self._clock, "summary"
        began = clock.monotonic()
        self._record.publish(PhaseStarted(self._now(), name, "summary", model.name))
        try:
            self._summarizing = asyncio.ensure_future(self._written(model, history, focus))
            return await self._summarizing
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the caller was cancelled, not the summary
            return INTERRUPTED
        finally:
            self._summarizing = None
            took = max(clock.monotonic() - began, 0.0)
            self._record.publish(PhaseEnded(self._now(), name, "summary", model.name, took))

    async def _written(self, model: Model, history: Sequence[Message], focus: str) -> WrittenSummary | str:
        if self._summarize is None:
            found = await summarized(self._writers(model), history, focus, self._gauge.meter.per_token, self._unused)
            return f"no summary was written: {found}" if isinstance(found, str) else found
        try:
            text = self._summarize(history, focus)
            text = await text if isawaitable(text) else text
        except Exception as error:
            return f"no summary was written: {in_words(error)}"
        if not isinstance(text, str) or not text.strip():
            return f"summarize returned {text!r:.80} instead of a text, so the history was not compacted"
        return WrittenSummary(text)

    def _writers(self, model: Model) -> list[Model]:
        """Return the models to ask for a summary, in order: the cheaper model first, unless the history is too long
        for it."""
        cheap = self._opened.cheap
        if cheap is None or cheap is model:
            return [model]
        limits = self._gauge.limits(cheap)
        return [cheap, model] if limits is None or self._gauge.count().total < limits.usable else [model]

    async def _boundary(self, model: Model, written: WrittenSummary, tail: int) -> Compacted:
        ledger = self._ledger
        covered = covered_by(ledger.messages, tail)
        chars = round(self._gauge.share(model) * self._gauge.meter.per_token)
        restored = await restored_text(self._opened.host, ledger, covered, chars)
        counted, usage = ledger.counted, written.usage
        return Compacted(
            at=self._now(),
            summary=written.text,
            kept=kept_from(ledger.messages, tail),
            running=ledger.running,
            context=plain_json(with_nothing_shown(ledger.context)),
            counted=counted if usage is None else replace(counted, usage=counted.usage + usage),
            paused=ledger.paused,
            unreported=self._opened.features.unreported,
            restored=restored,
            covered=covered,
            model=written.model,
            usage=usage,
            cost=None if usage is None or self._opened.price is None else self._opened.price(written.model, usage),
            options=ledger.options,
            answer=ledger.answer.begun if ledger.running else "",
        )

    def _after(self, boundary: Compacted) -> list[Message]:
        """Return the messages of a request after the boundary."""
        tail = {message.id for message in self._ledger.messages[boundary.covered :]}
        kept = [message for message in self._ledger.history() if message.id in tail]
        return [Message("", "user", boundary_parts(boundary)), *kept]


def _chars(replaced: ResultReplaced) -> int:
    return part_chars(ResultPart(replaced.call_id, "", replaced.content))


# ---- the use of the window -------------------------------------------------------------------------------------------


TAIL_MESSAGES = 10
MOST_SHARE = 20_000
UNKNOWN = 10 * MOST_SHARE
"""The assumed number of tokens for messages in a window of unknown size."""


class ContextGauge:
    """A token counter for one session. It counts the next request and the messages that a compaction keeps."""

    def __init__(self, opened: OpenSession) -> None:
        self._opened = opened
        self._record = opened.record
        self.meter = TokenMeter()
        self._tool_chars: tuple[Sequence[ToolSpec], int] = ((), 0)

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    def limits(self, model: Model) -> ContextLimits | None:
        """Return the token limits of the window, or None if the size of the window is unknown.

        If the system prompt and the tools fill most of the window, the limit for a compaction is raised, so that
        messages can fill half of the rest.
        """
        able = model.abilities
        if able.context_tokens is None:
            return None
        asked = self._opened.equipment.limits.max_output_tokens
        outputs = [each for each in (able.output_tokens, asked) if each is not None]
        limits, fixed = context_limits(able.context_tokens, min(outputs, default=None)), self.fixed_tokens
        automatic = max(limits.automatic, (fixed + limits.refusal) // 2)
        return replace(limits, automatic=automatic, warning=max(limits.warning, (fixed + automatic) // 2))

    @property
    def fixed_tokens(self) -> int:
        return self.meter.tokens(self.fixed)

    def count(self) -> TokenCount:
        """Return the number of tokens of the next request: the history, due reminders and queued messages."""
        count = self.meter.count(self._ledger.view, self.fixed)
        typed = sum(len(queued.text) for queued in self._ledger.waiting.values() if queued.steers)
        growth = self.meter.tokens(self._opened.features.due_chars + typed)
        return replace(count, estimated=count.estimated + growth)

    def use(self, model: Model) -> ContextUse:
        count = self.count()
        shares = self.meter.shares(self._ledger.view, self._fixed_kinds(), count.total)
        return ContextUse(count, shares, self.limits(model), model.abilities.context_from)

    def _fixed_kinds(self) -> dict[ShareKind, int]:
        """Return the number of characters of each: the system prompt, its instructions, the tools and the skills."""
        from callgate.prompt.system_prompt import enclosed_length  # loaded when a person asks for the use
        from callgate.tools.skills import SKILL

        system, specs = self._opened.equipment.system, self._specs()
        instructions = enclosed_length("instructions", system)
        skills = [each for each in specs if each.name == SKILL]
        return {
            "system": len(system) - instructions,
            "instructions": instructions,
            "tools": spec_chars(each for each in specs if each.name != SKILL),
            "skills": spec_chars(skills),
        }

    def _specs(self) -> Sequence[ToolSpec]:
        return [tool.spec for tool in self._opened.equipment.toolbox.tools()]

    @property
    def fixed(self) -> int:
        """The number of characters of the system prompt and the tools. The number for the tools is cached."""
        specs = self._specs()
        known, chars = self._tool_chars
        if len(specs) != len(known) or not all(map(is_, specs, known)):
            chars = spec_chars(specs)
            self._tool_chars = specs, chars
        return len(self._opened.equipment.system) + chars

    def tail(self, model: Model) -> int:
        """Return the number of messages at the end of the history that a compaction keeps.

        These are the unanswered prompts, results that the model has not received (up to a third of the space), and
        earlier messages with up to ``share`` tokens.
        """
        messages, space = self._ledger.messages, self._space(model)
        total = self.meter.tokens(chars_of(messages))
        best = 0
        for message in reversed(messages):
            if message.role != "user":
                break
            best += 1
        if best < len(messages) and messages[-1 - best].role == "tool":
            best = self._grown(best, best + 2, min(total // 2, space // 3))
        room = min(self.share(model), total // 4)
        return self._grown(best, best + TAIL_MESSAGES, room)

    def _grown(self, tail: int, most: int, room: int) -> int:
        """Return the largest number of kept messages, at least ``tail`` and at most ``most``. The additional
        messages have at most ``room`` tokens, and at least one message is left for the summary."""
        messages = self._ledger.messages
        best, fixed = tail, len(messages) - tail
        for keep in range(tail + 1, min(len(messages) - 1, most) + 1):
            covered = covered_by(messages, keep)
            if covered == 0 or self.meter.tokens(chars_of(messages[covered:fixed])) > room:
                break
            best = keep
        return best

    def share(self, model: Model) -> int:
        """Return the maximum number of tokens of the kept messages. The restored files have the same maximum."""
        return min(MOST_SHARE, self._space(model) // 10)

    def _space(self, model: Model) -> int:
        """Return the number of tokens of the window that messages may use."""
        limits = self.limits(model)
        return UNKNOWN if limits is None else max(0, limits.usable - self.fixed_tokens)


def covered_by(messages: Sequence[Message], tail: int) -> int:
    """Return the number of messages that a compaction replaces if it keeps at least ``tail`` messages."""
    kept = kept_from(messages, tail)
    ids = (at for at, message in enumerate(messages) if message.id == kept)
    return len(messages) if kept is None else next(ids, len(messages))
