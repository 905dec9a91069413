"""Searches the deferred tools of a session. The index is updated when the tools change.

``find`` searches in a thread. ``find_now`` does not wait: it updates the index for a few changed tools, and returns
None while a thread builds the index. So neither the start of a session nor a request waits for the index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING

from callgate.core.capabilities import facts_of
from callgate.core.ports import Tool
from callgate.host.threads import in_thread
from callgate.words.model import ToolSpec

if TYPE_CHECKING:
    from callgate.search.tool_index import Hit, ToolIndex

INDEXED_AT_ONCE = 50
"""The most changes that are indexed on the event loop, which takes a few milliseconds."""


class ToolFinder:
    """Searches the deferred tools of one session. ``tools`` returns the current deferred tools and is called only on
    the event loop's thread."""

    def __init__(self, tools: Callable[[], Sequence[Tool]]) -> None:
        self._tools = tools
        self._lock = Lock()  # guards all fields below
        self._index: ToolIndex | None = None
        self._known: dict[str, ToolSpec] = {}  # the specs that are in the index
        self._seen: Sequence[Tool] = ()  # the tools at the last comparison

    async def find(self, query: str, k: int, required: Sequence[str] = ()) -> list[Hit]:
        """Return the tools that match a query best, in order. Word vectors are used too if they are installed."""
        tools = self._tools()
        return await in_thread(lambda: self._found(tools, query, k, required)) if tools else []

    def find_now(self, query: str, k: int) -> list[Hit] | None:
        """Return the tools that match a query best by their terms, or None while a thread builds the index."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            tools = self._tools()
            if len(self._new(tools)) + len(self._gone(tools)) <= INDEXED_AT_ONCE:
                return self._follow(tools).search(query, k, by_meaning=False)
        finally:
            self._lock.release()
        Thread(target=self._found, args=(tools, query, 1, ()), name="callgate-index", daemon=True).start()
        return None

    def _found(self, tools: Sequence[Tool], query: str, k: int, required: Sequence[str]) -> list[Hit]:
        with self._lock:
            return self._follow(tools).search(query, k, required=required)

    def _new(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Return the tools that are missing in the index or have a different definition there."""
        if tools is self._seen:
            return ()
        return [each for each in tools if self._known.get(each.spec.name) is not each.spec]

    def _gone(self, tools: Sequence[Tool]) -> Collection[str]:
        return () if tools is self._seen else self._known.keys() - {each.spec.name for each in tools}

    def _follow(self, tools: Sequence[Tool]) -> ToolIndex:
        from callgate.search.fields import ToolText  # loaded at the first search
        from callgate.search.tool_index import ToolIndex
        from callgate.search.vectors import tool_vectors

        if self._index is None:
            self._index = ToolIndex(tool_vectors())
        if tools is self._seen:
            return self._index
        for name in self._gone(tools):
            self._index.drop(name)
            del self._known[name]
        for each in self._new(tools):
            spec = self._known[each.spec.name] = each.spec
            text = ToolText(
                spec.name,
                spec.description,
                spec.parameters,
                hint=facts_of(each).search_hint,
            )
            with suppress(Exception):  # an unreadable schema: the tool is not found by search
                self._index.put(text)
        self._seen = tools
        return self._index
