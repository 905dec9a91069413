"""Tool search of one session: its toolbox, and what the model is told of deferred tools between requests."""

from collections.abc import Callable, Sequence

from callgate.conversation.ports import Reminder
from callgate.conversation.record import Record
from callgate.core.ports import ToolSource
from callgate.search.announce import Announcements
from callgate.search.prefetch import Prefetch
from callgate.search.toolbox import SearchToolbox


class SessionSearch:
    """The port that turns use. ``mode`` is that of the settings; ``window`` gives the tokens of the model's context,
    ``hides`` says of a deferred tool's name, and of its server, that the model is not told about it."""

    def __init__(
        self,
        core: ToolSource,
        deferred: ToolSource,
        mode: str,
        window: Callable[[], int | None],
        record: Record,
        now: Callable[[], float],
        hides: Callable[[str, str], bool] | None = None,
    ) -> None:
        self.toolbox = SearchToolbox(core, deferred, mode, window, hides)
        self._announcements = Announcements(record)
        self._prefetch = Prefetch(record, self.toolbox.finder, now)

    def before_request(self) -> Sequence[Reminder]:
        self.toolbox.first_request()
        if self.toolbox.off:
            return ()
        deferred = self.toolbox.deferred()
        return (*self._announcements.due(deferred, self.toolbox.tools()), *self._prefetch.due(deferred))
