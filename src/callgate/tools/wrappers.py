"""A tool under another name, and wrappers of toolboxes that filter or merge their tools.

The tools of a toolbox may change (for example the tools of an MCP server), so a wrapper calls the inner toolbox each
time and caches nothing.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

from callgate.core.capabilities import SessionFacts, ToolFacts, bind, facts_of
from callgate.core.ports import Run, Target, Tool, ToolSource, Unknown
from callgate.tools.tool_names import check_name
from callgate.tools.toolbox import Raw, refuse_shared_names, unknown
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.model import ToolSpec
from callgate.words.traits import Traits


class Named:
    """A tool under another name: ``Named(tool, "other")``."""

    def __init__(self, tool: Tool, name: str, aliases: Sequence[str] = ()) -> None:
        self.inner = tool
        self.spec: ToolSpec = replace(tool.spec, name=check_name(name))
        self.aliases = tuple(aliases)

    def __copy__(self) -> Self:
        """Return the tool for another session, with a copy of the inner tool."""
        copied = object.__new__(type(self))
        vars(copied).update(vars(self), inner=copy(self.inner))
        return copied

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}, {self.inner!r}>"

    @property
    def facts(self) -> ToolFacts:
        return facts_of(self.inner)

    def bind(self, facts: SessionFacts) -> None:
        bind(self.inner, facts)

    @property
    def previews(self) -> bool:
        return self.inner.previews

    def read(self, raw: Raw) -> Accepted | Rejected:
        return self.inner.read(raw)

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return self.inner.traits(arguments)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        changes = await self.inner.preview(arguments, run)
        return replace(changes, tool=self.spec.name) if changes.tool == self.inner.spec.name else changes

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        return await self.inner.run(arguments, run)


class Filtered:
    """The tools of a toolbox that a function accepts, or that have the given names. If the function fails, the tool is
    rejected."""

    def __init__(self, box: ToolSource, keep: Callable[[Tool], bool] | Collection[str]) -> None:
        self._box = box
        self._keep = keep

    def tools(self) -> Sequence[Tool]:
        return tuple(each for each in self._box.tools() if self._kept(each))

    def resolve(self, name: str, raw: Raw) -> Target | Unknown:
        found = self._box.resolve(name, raw)
        return found if isinstance(found, Target) and self._kept(found.tool) else unknown(name, self.tools)

    def _kept(self, tool: Tool) -> bool:
        if not callable(self._keep):
            return tool.spec.name in self._keep
        try:
            return bool(self._keep(tool))
        except Exception:
            return False


class Merged:
    """Several toolboxes as one. The constructor raises if they share names; if a name becomes shared later, the tool of
    the first toolbox is used. A name precedes an alias of any toolbox."""

    def __init__(self, *boxes: ToolSource) -> None:
        self._boxes = boxes
        refuse_shared_names([each for box in boxes for each in box.tools()])

    def tools(self) -> Sequence[Tool]:
        found: dict[str, Tool] = {}
        for box in self._boxes:
            for each in box.tools():
                found.setdefault(each.spec.name, each)
        return tuple(found.values())

    def resolve(self, name: str, raw: Raw) -> Target | Unknown:
        by_alias: Target | None = None
        reason = ""
        for box in self._boxes:
            found = box.resolve(name, raw)
            if isinstance(found, Unknown):
                reason = reason or found.reason
            elif found.tool.spec.name == name:
                return found
            else:
                by_alias = by_alias or found
        return by_alias or unknown(name, self.tools, reason)
