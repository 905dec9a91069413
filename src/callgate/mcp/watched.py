"""Resources that were read: the server is asked to tell of their changes, and each change is told once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from callgate.mcp.definitions import clean

if TYPE_CHECKING:
    from callgate.mcp.link import Link

MOST_WATCHED = 100
"""Resources of one server; changes of the others are not told."""


class WatchedResources:
    """Those of the server of this name. ``inform`` tells people and the model."""

    def __init__(self, server: str, inform: Callable[[str], None]) -> None:
        self._server = server
        self._inform = inform
        self._were_read: set[str] = set()

    async def add(self, uri: str, link: Link) -> None:
        """It was read just now."""
        if uri in self._were_read or len(self._were_read) < MOST_WATCHED:
            self._were_read.add(uri)
            await link.subscribe([uri])

    async def renew(self, link: Link) -> None:
        """After a new connection, which knows of none of them: what changed meanwhile is told if the server says it."""
        await link.subscribe(sorted(self._were_read))

    def changed(self, uri: str) -> None:
        """Told once for each time that it was read."""
        if uri in self._were_read:
            self._were_read.discard(uri)
            self._inform(f"the resource {clean(uri, 200)!r} of the MCP server {self._server} changed since it was read")
