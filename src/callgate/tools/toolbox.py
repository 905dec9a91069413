"""A toolbox: tools that are found by name or alias."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from callgate.core.ports import Target, Tool, ToolSource, Unknown
from callgate.tools.tool import tool
from callgate.tools.tool_names import CloseNames
from callgate.words.errors import ToolDefinitionError, UsageError

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
