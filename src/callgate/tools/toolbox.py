"""Toolboxes: tools that are found by name or alias, a tool under another name, and wrappers that filter or merge tools.

The tools of a toolbox may change (for example the tools of an MCP server), so a wrapper calls the inner toolbox each
time and caches nothing.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self, cast

from callgate.core.capabilities import SessionFacts, ToolFacts, bind, facts_of
from callgate.core.ports import Run, Target, Tool, ToolSource, Unknown
from callgate.tools.tool import tool
from callgate.tools.tool_names import CloseNames, check_name
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolDefinitionError, UsageError
from callgate.words.model import ToolSpec
from callgate.words.traits import Traits

Raw = str | Mapping[str, Any]


class Toolbox:
    """Tools in the given order; plain functions are converted to tools. No two tools share a name or an alias."""

    def __init__(self, *tools: Tool | Callable[..., Any]) -> None:
        self._tools = tuple(_as_tool(each) for each in tools)
        refuse_shared_names(self._tools)
        self._by_name = {name: each for each in self._tools for name in (each.spec.name, *each.aliases)}

    def tools(self) -> Sequence[Tool]:
        return self._tools

    def resolve(self, name: str, raw: Raw) -> Target | Unknown:
        found = self._by_name.get(name)
        if found is None:
            return unknown(name, self.tools)
        return Target(found, raw)


def unknown(name: str, tools: Callable[[], Iterable[Tool]], reason: str = "") -> Unknown:
    """Return an Unknown with the similar names. ``tools`` is called when the similar names are first accessed."""

    def known() -> Iterator[tuple[str, Iterable[str]]]:
        for each in tools():
            yield each.spec.name, each.aliases

    return Unknown(name, CloseNames(name, known()), reason)


def refuse_shared_names(tools: Iterable[Tool]) -> None:
    """Raise ToolDefinitionError if two tools share a name or an alias."""
    owners: dict[str, Tool] = {}
    for each in tools:
        for name in (each.spec.name, *each.aliases):
            other = owners.setdefault(name, each)
            if other is not each:
                both = f"{_origin(other)} and {_origin(each)}"
                raise ToolDefinitionError(f"two tools have the name {name!r}: {both}")


def _origin(each: Tool) -> str:
    written = getattr(each, "__qualname__", None)
    return f"{each.spec.name!r}" + (f" ({getattr(each, '__module__', '?')}.{written})" if written else "")


def _as_tool(each: Tool | Callable[..., Any]) -> Tool:
    if hasattr(each, "spec") and hasattr(each, "read"):
        return cast(Tool, each)
    return tool(cast("Callable[..., Any]", each))


Tools = ToolSource | Iterable[Tool | Callable[..., Any]]
"""A toolbox, or the tools and functions from which a toolbox is made."""


def as_toolbox(tools: Tools) -> ToolSource:
    if isinstance(tools, Iterable):
        return Toolbox(*tools)
    if not hasattr(tools, "resolve"):
        raise UsageError(f"pass a list of tools or a toolbox, not {type(tools).__name__}")
    return tools


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
