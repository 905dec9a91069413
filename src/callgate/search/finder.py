"""The deferred tools of a session as an index that follows their changes.

A search that waits runs in a thread. One that does not wait indexes a few tools where it stands; with many of them, or
while a thread is at work, it finds nothing yet. So neither a start nor a request waits for an index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from contextlib import nullcontext, suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, cast

from callgate.core.capabilities import facts_of
from callgate.core.ports import Tool
from callgate.host.threads import in_thread
from callgate.words.model import ToolSpec

if TYPE_CHECKING:
    from callgate.search.fields import ToolText
    from callgate.search.tool_index import Hit, ToolIndex
    from callgate.search.vectors import ToolVectors

INDEXED_AT_ONCE = 50
"""Changes that are indexed at once, within a few milliseconds."""


class ToolFinder:
    """``tools`` gives the deferred tools as they are now; it is called on the loop's thread alone."""

    def __init__(self, tools: Callable[[], Sequence[Tool]]) -> None:
        self._tools = tools
        self._lock = Lock()  # of all below
        self._index: ToolIndex | None = None
        self._vectors: _WaitedFor | None = None
        self._known: dict[str, ToolSpec] = {}  # the specs that are in the index
        self._seen: Sequence[Tool] = ()  # the tools that it was last compared with

    async def find(self, query: str, k: int, required: Sequence[str] = ()) -> list[Hit]:
        """The best tools for a query, best first; by their meaning too, if the extra for that is installed."""
        tools = self._tools()
        return await in_thread(lambda: self._found(tools, query, k, required)) if tools else []

    def find_now(self, query: str, k: int) -> list[Hit] | None:
        """The best by their words alone; None if the index is not ready, which it is made to be in a thread."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            tools = self._tools()
            if len(self._new(tools)) + len(self._gone(tools)) <= INDEXED_AT_ONCE:
                return self._follow(tools).search(query, k)
        finally:
            self._lock.release()
        Thread(target=self._found, args=(tools, query, 1, ()), name="callgate-index", daemon=True).start()
        return None

    def _found(self, tools: Sequence[Tool], query: str, k: int, required: Sequence[str]) -> list[Hit]:
        with self._lock:
            index = self._follow(tools)
            with self._vectors or nullcontext():
                return index.search(query, k, required=required)

    def _new(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Those that are not in the index, or with another definition."""
        if tools is self._seen:
            return ()
        return [each for each in tools if self._known.get(each.spec.name) is not each.spec]

    def _gone(self, tools: Sequence[Tool]) -> Collection[str]:
        """The names in the index that there are not any more."""
        return () if tools is self._seen else self._known.keys() - {each.spec.name for each in tools}

    def _follow(self, tools: Sequence[Tool]) -> ToolIndex:
        from callgate.search.fields import ToolText  # with the first search, not with the start
        from callgate.search.tool_index import ToolIndex
        from callgate.search.vectors import tool_vectors

        if self._index is None:
            vectors = tool_vectors()
            self._vectors = None if vectors is None else _WaitedFor(vectors)
            self._index = ToolIndex(cast("ToolVectors | None", self._vectors))
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
            with suppress(Exception):  # a schema that cannot be read: the tool is called by its name alone
                self._index.put(text)
        self._seen = tools
        return self._index


class _WaitedFor:
    """Vectors that take part only inside ``with``: their first use loads numpy and a large table."""

    def __init__(self, vectors: ToolVectors) -> None:
        self._vectors = vectors
        self._counts = False
        self.put: Callable[[int, ToolText], None] = vectors.put
        self.drop: Callable[[int], None] = vectors.drop

    def __enter__(self) -> None:
        self._counts = True

    def __exit__(self, *exc: object) -> None:
        self._counts = False

    def mix(self, query: str, scores: dict[int, float], allowed: Container[int]) -> None:
        if self._counts:
            self._vectors.mix(query, scores, allowed)
