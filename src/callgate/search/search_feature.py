"""The feature ``search``: deferred tools, which the model finds by search, and reminders about them.

The announced names are parsed from the messages that are sent to the model. So a compaction, a rewind or a resumed
session needs no stored state: names that are no longer in the messages are announced again. A suggestion contains only
the name of a tool, because the model trusts reminders and a server writes the descriptions of its tools.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from callgate.conversation.feature import Feature, FeaturePart, OpenSession, Reminder
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import Record
from callgate.conversation.reminders import reminder
from callgate.core.capabilities import facts_of
from callgate.core.ports import Tool, ToolSource
from callgate.search.search_toolbox import SearchToolbox
from callgate.search.search_tools import ToolFinder
from callgate.tools.builtin.shipped import ShippedTool
from callgate.tools.toolbox import Tools, as_toolbox
from callgate.words.events import MetadataSet
from callgate.words.late_pattern import late_pattern
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


ANNOUNCED = "tools"
"""The subject of an announcement."""
MOST_CHARS = 20_000
"""The most characters of announced names; further tools are found only by search."""

SUGGESTED = "suggested tools"
"""The subject of a suggestion, and the key under which suggested names are recorded."""
MOST_SUGGESTED = 3
REMEMBERED = 500
_QUERY = 2_000

_NAME = late_pattern(r"[A-Za-z0-9_.:/-]{1,128}")
_ADDED, _REMOVED = "+ ", "- "


def sayable(name: str) -> bool:
    """Return True if a tool name may appear in a reminder. Tools with other names are found only by search."""
    return _NAME.fullmatch(name) is not None


class Announcements:
    def __init__(self, record: Record) -> None:
        self._record = record
        self._deferred: Sequence[Tool] | None = None  # the tools and the history at the last comparison
        self._state: Sequence[object] = ()

    def due(self, deferred: Sequence[Tool], loaded: Sequence[Tool] = ()) -> Sequence[Reminder]:
        """Return the announcement for the next request, or an empty sequence if the deferred tools have not changed.

        An announced tool is not reported as removed if it is ``loaded`` in a resumed session, or if a server that is
        still connecting may offer it.
        """
        ledger = self._record.ledger
        state = (ledger, ledger.view.changes, len(ledger.about))
        if deferred is self._deferred and state == self._state:
            return ()
        self._deferred, self._state = deferred, state
        told = self.told() - {each.spec.name for each in loaded}
        names = [each.spec.name for each in deferred]
        coming = tuple(prefix for each in deferred for prefix in facts_of(each).expects)
        removed = sorted(name for name in told.difference(names) if not name.startswith(coming))
        room = MOST_CHARS - sum(map(len, told)) + sum(map(len, removed))
        added: list[str] = []
        for name in sorted(name for name in names if name not in told and sayable(name)):
            if len(name) > room:
                break
            room -= len(name)
            added.append(name)
        if not added and not removed:
            return ()
        silent = len({*names}.difference(told, added))
        return (Reminder(_text(added, removed, silent, first=not told), ANNOUNCED, "tools"),)

    def told(self) -> set[str]:
        """Return the tool names that are announced in the messages of the next request."""
        ledger = self._record.ledger
        about = {message_id for message_id, subject in ledger.about.items() if subject == ANNOUNCED}
        told: set[str] = set()
        for message in ledger.history() if about else ():
            if message.id in about:
                for line in message.text.splitlines():
                    if line.startswith(_ADDED):
                        told.add(line.removeprefix(_ADDED))
                    elif line.startswith(_REMOVED):
                        told.discard(line.removeprefix(_REMOVED))
        return told


def _text(added: Iterable[str], removed: Iterable[str], silent: int, *, first: bool) -> str:
    texts = Path(__file__).with_name("announcement.md").read_text(encoding="utf-8").strip().split("\n\n")
    said, later, gone, more = texts
    parts: list[str] = []
    if added:
        parts.append("\n".join((said if first else later, *(f"{_ADDED}{name}" for name in added))))
        if silent:
            parts.append(more.format(silent))
    if removed:
        parts.append("\n".join((gone, *(f"{_REMOVED}{name}" for name in removed))))
    return reminder("\n\n".join(parts))


class Prefetch:
    def __init__(self, record: Record, finder: ToolFinder, now: Callable[[], float]) -> None:
        self._record = record
        self._finder = finder
        self._now = now
        self._missed = ""  # the text that was not searched because the index was not ready

    def due(self, deferred: Sequence[Tool]) -> Sequence[Reminder]:
        """Return the suggestion for the next request, or an empty sequence if no tool matches."""
        query = f"{self._missed} {just_said(self._record.ledger)}".strip()[-_QUERY:]
        if not query or all(isinstance(each, ShippedTool) for each in deferred):
            return ()  # models know the built-in tools by name, so no index is built for them
        hits = self._finder.find_now(query, 2 * MOST_SUGGESTED)
        self._missed = query if hits is None else ""
        known = self._suggested()
        by_name = {each.spec.name: each for each in deferred}
        fitting = [hit.name for hit in hits or () if hit.name in by_name and fits(by_name[hit.name], query)]
        names = [name for name in fitting if name not in known and sayable(name)][:MOST_SUGGESTED]
        if not names:
            return ()
        self._record.write(MetadataSet(self._now(), SUGGESTED, [*known, *names][-REMEMBERED:]))
        text = Path(__file__).with_name("suggestion.md").read_text(encoding="utf-8").strip()
        return (Reminder(reminder("\n".join((text, *(f"- {name}" for name in names)))), SUGGESTED, "tools"),)

    def _suggested(self) -> list[str]:
        found = self._record.ledger.metadata.get(SUGGESTED)
        return [*map(str, cast("list[object]", found))] if isinstance(found, list | tuple) else []


def just_said(ledger: Ledger) -> str:
    """Return the text of the user's messages after the last message of the model. If there are none, return the text
    of the model's last message."""
    said = "\n".join(message.text for message in ledger.unanswered)
    return said or next((message.text for message in reversed(ledger.messages) if message.role == "assistant"), "")


def fits(tool: Tool, query: str) -> bool:
    """Return True if the query contains all words of the tool's name, or at least two words of its name, server, hint
    and first sentence. The check is needed because a search always has a best result, even if no tool matches."""
    from callgate.search.fields import ToolText, own_name  # loaded at the first search
    from callgate.search.query import FAINT, read_words, terms

    spec, hint = tool.spec, facts_of(tool).search_hint
    asked = {term for term, weight in read_words(query).weights.items() if weight >= FAINT}
    server, name = own_name(ToolText(spec.name))
    named = set(terms(name))
    about = terms(f"{server} {hint} {spec.description.partition('. ')[0][:300]}")
    return bool(named) and (named <= asked or len(asked & {*named, *about}) >= 2)
