"""The built-in tools for a program that has to start fast: each is loaded with its first call.

A request needs only the specs of the tools, which ``specs`` stores as data. Making the tools imports pydantic and would
take most of the time of a start.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from callgate.tools.builtin import builtin_tools, prompt_text
from callgate.tools.builtin.specs import RECEIVERS, load_specs
from callgate.words.model import ToolSpec

if TYPE_CHECKING:
    from callgate.core.ports import Run, Tool
    from callgate.words.arguments import Accepted, Rejected
    from callgate.words.calls import Result
    from callgate.words.changes import ChangeSet
    from callgate.words.traits import Traits


def shipped_tools(names: Iterable[str], **made: "Callable[[], Tool]") -> "list[ShippedTool]":
    """Return the tools of these names. ``made`` has functions that make some of them with other settings; their specs
    stay the default ones."""
    rows = load_specs()
    return [_shipped(name, rows[name], made.get(name)) for name in names]


def _shipped(name: str, row: Mapping[str, Any], make: "Callable[[], Tool] | None") -> "ShippedTool":
    spec = ToolSpec(name, prompt_text(row["prompt"]), row["parameters"])
    return ShippedTool(spec, row, make or (lambda: builtin_tools(name)[0]))


class ShippedTool:
    """A Tool that is made of its module when it is first used for more than its spec and its place in a search."""

    server_description = ""
    expects: tuple[str, ...] = ()

    def __init__(self, spec: ToolSpec, row: Mapping[str, Any], make: "Callable[[], Tool]") -> None:
        self.spec = spec
        self.aliases: tuple[str, ...] = tuple(row["aliases"])
        self.previews: bool = row["previews"]
        self.stages: bool = row["stages"]
        self.search_hint: str = row["search_hint"]
        self.always_loaded: bool = row["always_loaded"]
        self._takes: tuple[str, ...] = tuple(row["takes"])
        self._given: dict[str, Any] = {}
        self._make = make
        self._loaded: Tool | None = None

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def load(self) -> "Tool":
        """Makes the tool, once. May be called in any thread: making one twice harms nothing."""
        if self._loaded is None:
            made = self._make()
            for name, value in self._given.items():
                getattr(made, name)(value)
            self._loaded = made
        return self._loaded

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name.startswith(RECEIVERS) and self._loaded is None:
            if name not in self._takes:
                raise AttributeError(name)
            return partial(self._given.__setitem__, name)
        return getattr(self.load(), name)

    def read(self, raw: str | Mapping[str, Any]) -> "Accepted | Rejected":
        return self.load().read(raw)

    def traits(self, arguments: Mapping[str, Any]) -> "Traits":
        return self.load().traits(arguments)

    async def preview(self, arguments: Mapping[str, Any], run: "Run") -> "ChangeSet":
        return await self.load().preview(arguments, run)

    async def run(self, arguments: Mapping[str, Any], run: "Run") -> "Result":
        return await self.load().run(arguments, run)
