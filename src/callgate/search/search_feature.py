"""The feature ``search``: deferred tools, which the model finds by search."""

from collections.abc import Iterable

from callgate.conversation.feature import Feature, FeaturePart, OpenSession, Reminder
from callgate.core.ports import ToolSource
from callgate.search.search_reminders import Announcements, Prefetch
from callgate.search.search_toolbox import SearchToolbox
from callgate.tools.toolbox import Tools, as_toolbox
from callgate.words.model import Abilities

NAME = "search"


class SearchPart(FeaturePart):
    """Tool search in one session. ``box`` is set by ``toolbox``."""

    phase = "defer"
    box: SearchToolbox

    def __init__(self, opened: OpenSession, source: ToolSource, mode: str | None) -> None:
        self._opened = opened
        self._source = source
        self._mode = mode or ("on" if opened.config is None else opened.config.settings.tools_search)

    def shared(self) -> Feature:
        return search_feature(self._source, self._mode)

    def toolbox(self, inner: ToolSource) -> ToolSource:
        def window() -> int | None:
            return self._opened.equipment.model.abilities.context_tokens

        self.box = SearchToolbox(inner, self._source, self._mode, window, self._opened.hides)
        self._announcements = Announcements(self._opened.record)
        self._prefetch = Prefetch(self._opened.record, self.box.finder, self._opened.now)
        return self.box

    def before_request(self, abilities: Abilities) -> Iterable[Reminder]:
        self.box.first_request()
        if self.box.off:
            return ()
        deferred = self.box.deferred()
        return (*self._announcements.due(deferred, self.box.tools()), *self._prefetch.due(deferred))


def search_feature(tools: Tools, mode: str | None = None) -> Feature:
    """Return the feature that lets the model find tools by search.

    tools  the deferred tools, or a source of deferred tools that may change while the session runs
    mode   on, off, or a percentage of the context window, up to which all tools are loaded at once; None uses the
           setting
           ``tools.search``
    """
    source = as_toolbox(tools)
    return Feature(NAME, lambda opened: SearchPart(opened, source, mode))
