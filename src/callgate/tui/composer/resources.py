"""Addresses of resources of MCP servers for completion: asked for beside the typing, kept, and asked again when old."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate.admin.servers import Server

OLD = 5.0
"""Seconds after which a server is asked again."""


class ResourceIndex:
    """``start`` runs a coroutine; ``changed`` is called when there are new addresses."""

    def __init__(self, start: Callable[[Coroutine[Any, Any, None]], object], changed: Callable[[], None]) -> None:
        self._start = start
        self._changed = changed
        self._known: dict[Server, tuple[float, Sequence[str]]] = {}
        self._asked: set[Server] = set()

    def addresses(self, server: Server) -> Sequence[str]:
        """Those that are known now; none while the server is asked for the first time."""
        at, found = self._known.get(server, (None, ()))
        if server not in self._asked and (at is None or monotonic() - at > OLD):
            self._asked.add(server)
            self._start(self._ask(server))
        return found

    async def _ask(self, server: Server) -> None:
        try:
            self._known[server] = (monotonic(), await server.requests.addresses())
        finally:
            self._asked.discard(server)
        self._changed()
