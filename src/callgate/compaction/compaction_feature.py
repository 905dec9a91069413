"""The feature ``compaction``: keeps the history within the context window of the model."""

from functools import cached_property
from typing import TYPE_CHECKING

from callgate.conversation.feature import Feature, FeaturePart, Handler, OpenSession
from callgate.conversation.ports import Model
from callgate.words.inputs import Compact

if TYPE_CHECKING:
    from callgate.compaction.history_compaction import HistoryCompaction
    from callgate.transcript.compact import Summarize

NAME = "compaction"


class CompactionPart(FeaturePart):
    """The compaction of one session. Its implementation is imported at the first use, or at the first request to a
    model with a known window size."""

    def __init__(self, opened: OpenSession, summarize: "Summarize | None", automatic: bool | None) -> None:
        self._opened = opened
        self._summarize = summarize
        is_on = opened.config is None or opened.config.settings.session_compact
        self.automatic = is_on if automatic is None else automatic
        self.inputs = {Compact: Handler(self._compact, "between")}

    @cached_property
    def history(self) -> "HistoryCompaction":
        from callgate.compaction.history_compaction import HistoryCompaction

        return HistoryCompaction(self._opened, self._summarize, automatic=self.automatic)

    async def make_room(self, model: Model) -> str | None:
        return None if model.abilities.context_tokens is None else await self.history.before_request(model)

    async def too_long(self, model: Model) -> bool:
        return await self.history.too_long(model)

    def interrupt(self, because: str) -> bool:
        return "history" in vars(self) and self.history.interrupt()

    async def _compact(self, sent: Compact) -> str | None:
        return await self.history.manual(sent)


def compaction_feature(summarize: "Summarize | None" = None, *, automatic: bool | None = None) -> Feature:
    """Return the feature that shortens old results and replaces old messages by a summary.

    summarize  a function that writes the summaries; None to ask a model
    automatic  True: compact before the window is full; False: compact only at a Compact input; None: use the setting
    """
    return Feature(NAME, lambda opened: CompactionPart(opened, summarize, automatic))
