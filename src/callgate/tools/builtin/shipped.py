"""The built-in tools for a program that must start fast: each tool is loaded at its first call.

A request needs only the specs of the tools, which ``specs`` stores as data. Making the tools imports pydantic, which
would take most of the startup time.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.core.capabilities import SessionFacts, ToolFacts, bind, facts_of
from callgate.tools.builtin import builtin_tools, prompt_text
from callgate.tools.builtin.specs import load_specs
from callgate.words.model import ToolSpec

if TYPE_CHECKING:
    from callgate.core.ports import Run, Tool
    from callgate.words.calls import Accepted, Rejected, Result
    from callgate.words.changes import ChangeSet
    from callgate.words.traits import Traits


def shipped_tools(names: Iterable[str], **made: "Callable[[], Tool]") -> "list[ShippedTool]":
    """Return the built-in tools with these names. ``made`` contains functions that make some of the tools with other
    settings; the specs of these tools are the default specs."""
    rows = load_specs()
    return [_shipped(name, rows[name], made.get(name)) for name in names]


def _shipped(name: str, row: Mapping[str, Any], make: "Callable[[], Tool] | None") -> "ShippedTool":
    spec = ToolSpec(name, prompt_text(row["prompt"]), row["parameters"])
    return ShippedTool(spec, row, make or (lambda: builtin_tools(name)[0]))


class ShippedTool:
    """A built-in tool that is loaded when more than its spec and its facts are needed."""

    def __init__(self, spec: ToolSpec, row: Mapping[str, Any], make: "Callable[[], Tool]") -> None:
        self.spec = spec
        self.aliases: tuple[str, ...] = tuple(row["aliases"])
        self.previews: bool = row["previews"]
        self._facts = ToolFacts(
            **row["facts"],
            general_traits=self._general_traits,
            for_plan_mode=self._for_plan_mode if row["plans"] else None,
        )
        self._session: SessionFacts | None = None
        self._make = make
        self._loaded: Tool | None = None

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def __copy__(self) -> "ShippedTool":
        """Return the tool for another session. The copy loads the tool anew."""
        copied = object.__new__(ShippedTool)
        plans = self._facts.for_plan_mode is not None
        vars(copied).update(vars(self), _session=None, _loaded=None)
        copied._facts = replace(
            self._facts,
            general_traits=copied._general_traits,
            for_plan_mode=copied._for_plan_mode if plans else None,
        )
        return copied

    def load(self) -> "Tool":
        """Return the loaded tool. May be called in any thread; loading a tool twice is harmless."""
        if self._loaded is None:
            made = self._make()
            if self._session is not None:
                bind(made, self._session)
            self._loaded = made
        return self._loaded

    @property
    def facts(self) -> ToolFacts:
        """The facts of the loaded tool, or the stored facts until the tool is loaded."""
        return self._facts if self._loaded is None else facts_of(self._loaded)

    def bind(self, facts: SessionFacts) -> None:
        self._session = facts
        if self._loaded is not None:
            bind(self._loaded, facts)

    def _general_traits(self) -> "Traits":
        tool = self.load()
        general = facts_of(tool).general_traits
        return tool.traits({}) if general is None else general()

    def _for_plan_mode(self, planning: Any) -> "Tool":
        make = facts_of(self.load()).for_plan_mode
        assert make is not None, "the stored row says that the tool is made for a plan mode"
        return make(planning)

    def read(self, raw: str | Mapping[str, Any]) -> "Accepted | Rejected":
        return self.load().read(raw)

    def traits(self, arguments: Mapping[str, Any]) -> "Traits":
        return self.load().traits(arguments)

    async def preview(self, arguments: Mapping[str, Any], run: "Run") -> "ChangeSet":
        return await self.load().preview(arguments, run)

    async def run(self, arguments: Mapping[str, Any], run: "Run") -> "Result":
        return await self.load().run(arguments, run)
