"""A tool's preview: the author's second function, which says as data what the tool would change."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from callgate.core.ports import Run
from callgate.tools.calling import caller
from callgate.tools.signature import Signature, read_signature
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolDefinitionError


class Preview:
    """``names`` maps the parameters of the function to those of the tool."""

    def __init__(self, fn: Callable[..., Any], tool: str, run: str | None, names: Mapping[str, str]) -> None:
        self._tool = tool
        self._call = caller(fn)
        self._run = run
        self._names = names

    async def of(self, values: Mapping[str, Any], run: Run) -> ChangeSet:
        """The change for these arguments, signed with the tool's name unless the author signed it."""
        own = {theirs: values[ours] for theirs, ours in self._names.items() if ours in values}
        if self._run is not None:
            own[self._run] = run
        changes = await self._call(own, run)
        if not isinstance(changes, ChangeSet):
            kind = type(changes).__name__
            raise ToolDefinitionError(f"tool {self._tool!r}: its preview gave a {kind}, not a ChangeSet")
        return changes if changes.tool else replace(changes, tool=self._tool)


def read_preview(
    fn: Callable[..., Any] | None, tool: str, takes: Signature, scope: Mapping[str, Any], whole: str = ""
) -> Preview | None:
    """The preview of a tool that ``takes`` these parameters, of which ``whole`` may stand for all arguments."""
    if fn is None:
        return None
    wants = read_signature(fn, tool, scope)
    names = {single(wants, tool): whole} if whole else {each: each for each in wants.names}
    missing = ", ".join(name for name in names.values() if name not in takes.names)
    if missing:
        raise ToolDefinitionError(f"tool {tool!r}: its preview asks for {missing}, which the tool does not take")
    return Preview(fn, tool, wants.run, names)


def single(takes: Signature, tool: str) -> str:
    """The name of the only parameter."""
    if len(takes.names) != 1:
        taken = ", ".join(takes.names) or "nothing"
        raise ToolDefinitionError(f"tool {tool!r}: its function must take one dict of arguments, not {taken}")
    return takes.names[0]
