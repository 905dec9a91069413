"""The use of a model's window by a session: counts, limits, and how much of a history may stay as it is."""

from collections.abc import Sequence
from dataclasses import replace
from operator import is_

from callgate.conversation.feature import OpenSession
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Model
from callgate.transcript.compact import kept_from
from callgate.transcript.token_count import ContextUse, ShareKind, TokenCount, TokenMeter
from callgate.words.messages import Message
from callgate.words.model import ToolSpec
from callgate.words.window import ContextLimits, chars_of, context_limits, spec_chars

TAIL_MESSAGES = 10
MOST_SHARE = 20_000
UNKNOWN = 10 * MOST_SHARE
"""Tokens for messages in a window of unknown size, for the shares of it alone."""


class ContextGauge:
    """Counts the next request of a session. ``fixed`` is its part that is no history: the system prompt and the tools,
    in characters."""

    def __init__(self, opened: OpenSession) -> None:
        self._opened = opened
        self._record = opened.record
        self.meter = TokenMeter()
        self._tool_chars: tuple[Sequence[ToolSpec], int] = ((), 0)

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    def limits(self, model: Model) -> ContextLimits | None:
        """None if the window of the model is not known. Where the system prompt and the tools take most of it, messages
        have half of the rest before they are compacted."""
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
        """The tokens of the next request: the history, and the growth that reminders and words typed meanwhile will
        bring."""
        count = self.meter.count(self._ledger.view, self.fixed)
        typed = sum(len(queued.text) for queued in self._ledger.waiting.values() if queued.steers)
        growth = self.meter.tokens(self._opened.features.due_chars + typed)
        return replace(count, estimated=count.estimated + growth)

    def use(self, model: Model) -> ContextUse:
        """The use of the window, kind by kind, for people."""
        count = self.count()
        shares = self.meter.shares(self._ledger.view, self._fixed_kinds(), count.total)
        return ContextUse(count, shares, self.limits(model))

    def _fixed_kinds(self) -> dict[ShareKind, int]:
        """The characters of the system prompt and of the tools, those from files and those about skills apart."""
        from callgate.prompt.prompt_part import enclosed_length  # both for people who ask alone
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
        """The characters of the system prompt and the tools, which seldom change."""
        specs = self._specs()
        known, chars = self._tool_chars
        if len(specs) != len(known) or not all(map(is_, specs, known)):
            chars = spec_chars(specs)
            self._tool_chars = specs, chars
        return len(self._opened.equipment.system) + chars

    def tail(self, model: Model) -> int:
        """The number of messages that stay as they are: what a person said last and was not answered; results that the
        model has not seen yet, up to a third of the space; and before that as much as ``share`` allows."""
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
        """A tail of at most so many messages, in which those that are added have at most ``room`` tokens; as it is if
        nothing would be left to sum up."""
        messages = self._ledger.messages
        best, fixed = tail, len(messages) - tail
        for keep in range(tail + 1, min(len(messages) - 1, most) + 1):
            covered = covered_by(messages, keep)
            if covered == 0 or self.meter.tokens(chars_of(messages[covered:fixed])) > room:
                break
            best = keep
        return best

    def share(self, model: Model) -> int:
        """The tokens that a tail may have, and so many again the files that are put back."""
        return min(MOST_SHARE, self._space(model) // 10)

    def _space(self, model: Model) -> int:
        """The tokens that there are for messages."""
        limits = self.limits(model)
        return UNKNOWN if limits is None else max(0, limits.usable - self.fixed_tokens)


def covered_by(messages: Sequence[Message], tail: int) -> int:
    """The number of messages before a tail of at least so many."""
    kept = kept_from(messages, tail)
    ids = (at for at, message in enumerate(messages) if message.id == kept)
    return len(messages) if kept is None else next(ids, len(messages))
