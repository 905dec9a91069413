"""The deferred tools of a session as an index that follows their changes.

A few tools are indexed where they are needed; many in a thread, so that neither a start nor a request waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from callgate.core.ports import Tool
from callgate.host.threads import in_thread
from callgate.words.model import ToolSpec

if TYPE_CHECKING:
    from callgate.search.index import Hit, ToolIndex

FEW = 50
"""Changes that are indexed at once, within a few milliseconds."""


class ToolFinder:
    """``tools`` gives the deferred tools as they are now. Used on the loop's thread alone."""

    def __init__(self, tools: Callable[[], Sequence[Tool]]) -> None:
        self._tools = tools
        self._index: ToolIndex | None = None
        self._known: dict[str, ToolSpec] = {}  # the specs that are in the index
        self._seen: Sequence[Tool] = ()  # the tools that it was last compared with
        self._work: Thread | None = None

    async def find(self, query: str, k: int, required: Sequence[str] = ()) -> list[Hit]:
        """The best tools for a query, best first; waits for the index."""
        while (found := self.find_now(query, k, required)) is None:
            assert self._work is not None
            await in_thread(self._work.join)
        return found

    def find_now(self, query: str, k: int, required: Sequence[str] = ()) -> list[Hit] | None:
        """The same; None if the index is not ready yet, which is then made so in a thread."""
        if self._work is not None and self._work.is_alive():
            return None
        tools = self._tools()
        if tools is self._seen and self._index is not None:
            return self._index.search(query, k, required=required)
        self._seen = tools
        gone = self._known.keys() - {each.spec.name for each in tools}
        new = [each for each in tools if self._known.get(each.spec.name) is not each.spec]
        if len(new) > FEW:
            self._work = Thread(target=self._follow, args=(gone, new), name="callgate-index", daemon=True)
            self._work.start()
            return None
        index = self._follow(gone, new)
        return index.search(query, k, required=required)

    def _follow(self, gone: set[str], new: Sequence[Tool]) -> ToolIndex:
        """Blocks. Never runs twice at the same time."""
        from callgate.search.index import ToolIndex, ToolText  # with the first search, not with the start

        index = self._index = ToolIndex() if self._index is None else self._index
        for name in gone:
            index.drop(name)
            del self._known[name]
        for each in new:
            spec = self._known[each.spec.name] = each.spec
            text = ToolText(
                spec.name,
                spec.description,
                spec.parameters,
                server_description=getattr(each, "server_description", ""),
                hint=getattr(each, "search_hint", ""),
            )
            with suppress(Exception):  # a schema that cannot be read: the tool is called by its name alone
                index.put(text)
        return index
