"""The state of a session as properties. ``controls`` has the state that only interfaces use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.conversation.feature import FeaturePart, OpenSession
from callgate.conversation.feature_set import FeatureSet
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import Record
from callgate.core.ports import ToolSource
from callgate.staging.feature import NAME as STAGING
from callgate.staging.feature import RelaxedStaging
from callgate.words.calls import ToolCall
from callgate.words.events import PromptQueued
from callgate.words.messages import Message, Spent, Usage
from callgate.words.model import WantedEffort
from callgate.words.modes import Mode
from callgate.words.pending import Staged


class SessionView:
    """The state of a session, read from the ledger and the features at each access."""

    _record: Record
    _opened: OpenSession
    _toolbox: ToolSource
    _features: FeatureSet

    @property
    def title(self) -> str:
        return str(self._ledger.metadata.get("title") or "")

    @property
    def mode(self) -> Mode:
        return self._ledger.mode

    @property
    def effort(self) -> WantedEffort | None:
        """The effort that was set for this session; None if the settings and the model decide."""
        return self._ledger.effort

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._ledger.messages)

    @property
    def answer(self) -> str:
        """The text of the model in the current or last run since its last tool call. The parts of a message that was
        cut off and continued are joined."""
        return self._ledger.answer.text

    @property
    def waiting(self) -> tuple[PromptQueued, ...]:
        """The queued prompts, in the order of their delivery."""
        return tuple(self._ledger.waiting.values())

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the current turn."""
        return tuple(entry.snapshot() for entry in self._ledger.calls.values())

    @property
    def context(self) -> Mapping[str, Any]:
        return self._ledger.context

    @property
    def usage(self) -> Usage:
        return self._ledger.usage

    @property
    def costs(self) -> tuple[Spent, ...]:
        """Tokens and dollars by model for the whole session, including abandoned branches and earlier programs."""
        return tuple(self._ledger.costs.values())

    @property
    def cost(self) -> float:
        """The costs of the whole session in dollars; models without a known price are not included."""
        return self._ledger.cost

    # ---- tools and features --------------------------------------------------------------------------------------

    def part(self, name: str) -> FeaturePart | None:
        """Return the part of the feature with this name, or None if the session has no such feature."""
        return self._features.parts.get(name)

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(each.spec.name for each in self._toolbox.tools())

    @property
    def pending(self) -> tuple[Staged, ...]:
        """The pending actions, newest first."""
        staging = self._opened.part(STAGING, RelaxedStaging)
        return () if staging is None else staging.pending
