"""The use of the context window: token counts, limits, and the number of messages that a compaction keeps."""

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
