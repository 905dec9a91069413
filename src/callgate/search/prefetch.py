"""Suggestions of deferred tools that fit what was just said: each once a session, by name alone.

A suggestion stands where the model trusts what it reads, so nothing of a server's own texts is in it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from callgate.conversation.feature import Reminder
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import Record
from callgate.conversation.reminders import reminder
from callgate.core.ports import Tool
from callgate.search.announce import sayable
from callgate.search.finder import ToolFinder
from callgate.tools.builtin.shipped import ShippedTool
from callgate.words.events import MetadataSet

ABOUT = "suggested tools"
"""The subject of a suggestion, and the key under which the names are on record."""
MOST_SUGGESTED = 3
"""Tools that are suggested at once."""
REMEMBERED = 500
_QUERY = 2_000


class Prefetch:
    def __init__(self, record: Record, finder: ToolFinder, now: Callable[[], float]) -> None:
        self._record = record
        self._finder = finder
        self._now = now
        self._missed = ""  # said before the index was ready

    def due(self, deferred: Sequence[Tool]) -> Sequence[Reminder]:
        """The suggestion for the next request, if there is one."""
        query = f"{self._missed} {just_said(self._record.ledger)}".strip()[-_QUERY:]
        if not query or all(isinstance(each, ShippedTool) for each in deferred):
            return ()  # models know the tools that ship by their names, and the start does not wait for an index
        hits = self._finder.find_now(query, 2 * MOST_SUGGESTED)
        self._missed = query if hits is None else ""
        known = self._suggested()
        by_name = {each.spec.name: each for each in deferred}
        fitting = [hit.name for hit in hits or () if hit.name in by_name and fits(by_name[hit.name], query)]
        names = [name for name in fitting if name not in known and sayable(name)][:MOST_SUGGESTED]
        if not names:
            return ()
        self._record.write(MetadataSet(self._now(), ABOUT, [*known, *names][-REMEMBERED:]))
        text = Path(__file__).with_name("suggestion.md").read_text(encoding="utf-8").strip()
        return (Reminder(reminder("\n".join((text, *(f"- {name}" for name in names)))), ABOUT, "tools"),)

    def _suggested(self) -> list[str]:
        """The names that were suggested in this session, oldest first."""
        found = self._record.ledger.metadata.get(ABOUT)
        return [*map(str, cast("list[object]", found))] if isinstance(found, list | tuple) else []


def just_said(ledger: Ledger) -> str:
    """The words of a person since the model's last message; else those of the model in it."""
    said = "\n".join(message.text for message in ledger.unanswered)
    return said or next((message.text for message in reversed(ledger.messages) if message.role == "assistant"), "")


def fits(tool: Tool, query: str) -> bool:
    """True if the query has all words of the tool's own name, or two of its name, hint and first sentence. A ranking
    has a first place for every query, and most words that people say are about no tool at all."""
    from callgate.search.fields import ToolText, own_name  # with the first search, not with the start
    from callgate.search.query import FAINT, read_words
    from callgate.search.tokens import terms

    spec, hint = tool.spec, getattr(tool, "search_hint", "")
    asked = {term for term, weight in read_words(query).weights.items() if weight >= FAINT}
    server, name = own_name(ToolText(spec.name))
    named = set(terms(name))
    about = terms(f"{server} {hint} {spec.description.partition('. ')[0][:300]}")
    return bool(named) and (named <= asked or len(asked & {*named, *about}) >= 2)
