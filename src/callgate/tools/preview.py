"""A tool's preview: the author's second function, which says as data what the tool would change."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from callgate.core.ports import Run
from callgate.tools.calling import caller
from callgate.tools.signature import Signature
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolDefinitionError


class Preview:
    """``wanted`` maps the function's parameters to the names of the tool's own."""

    def __init__(
        self, fn: Callable[..., Any], tool: str, wants: Signature, wanted: Mapping[str, str], offered: tuple[str, ...]
    ) -> None:
        missing = ", ".join(name for name in wanted.values() if name not in offered)
        if missing:
            raise ToolDefinitionError(f"tool {tool!r}: its preview asks for {missing}, which the tool does not take")
        self._tool = tool
        self._call = caller(fn)
        self._run = wants.run
        self._wanted = wanted

    async def of(self, values: Mapping[str, Any], run: Run) -> ChangeSet:
        """The change for these arguments, signed with the tool's name unless the author signed it."""
        own = {theirs: values[ours] for theirs, ours in self._wanted.items() if ours in values}
        if self._run is not None:
            own[self._run] = run
        changes = await self._call(own, run)
        if not isinstance(changes, ChangeSet):
            kind = type(changes).__name__
            raise ToolDefinitionError(f"tool {self._tool!r}: its preview gave a {kind}, not a ChangeSet")
        return changes if changes.tool else replace(changes, tool=self._tool)
