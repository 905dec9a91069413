"""The built-in tools for a program that has to start fast: each is loaded with its first call.

A request needs only what a model is told, and that is data: ``specs.json``, written by ``scripts/specs.py`` from the
tools themselves. Making the tools of it brings pydantic along and takes most of the time of a start.
"""

from collections.abc import Callable, Iterable, Mapping
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from callgate.tools.builtin import builtin_tools, prompt_text
from callgate.words.model import ToolSpec

if TYPE_CHECKING:
    from callgate.core.ports import Run, Tool
    from callgate.host.ports import Confinement
    from callgate.words.arguments import Accepted, Rejected
    from callgate.words.calls import Result
    from callgate.words.changes import ChangeSet
    from callgate.words.traits import Traits

FILE = "specs.json"
_BASH = "Bash"


def shipped_tools(names: Iterable[str], **made: "Callable[[], Tool]") -> "list[ShippedTool]":
    """The tools of these names. ``made`` are functions that make some of them in another way than by default; the
    description of such a tool is that of ``specs.json`` as far as it is there."""
    rows: dict[str, Any] = loads(Path(__file__).with_name(FILE).read_bytes())
    return [_shipped(name, rows[name], made.get(name)) for name in names]


def _shipped(name: str, row: Mapping[str, Any], make: "Callable[[], Tool] | None") -> "ShippedTool":
    spec = ToolSpec(name, prompt_text(row["prompt"]), row["parameters"])
    kind = ShippedBash if name == _BASH else ShippedTool
    return kind(spec, row, make or (lambda: builtin_tools(name)[0]))


class ShippedTool:
    """A Tool that is made of its module when it is first used for more than its spec."""

    def __init__(self, spec: ToolSpec, row: Mapping[str, Any], make: "Callable[[], Tool]") -> None:
        self.spec = spec
        self.aliases: tuple[str, ...] = tuple(row["aliases"])
        self.previews: bool = row["previews"]
        self.stages: bool = row["stages"]
        self._make = make
        self._loaded: Tool | None = None

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    def load(self) -> "Tool":
        """Makes the tool, once. May be called in any thread: making one twice harms nothing."""
        if self._loaded is None:
            self._loaded = self._make()
        return self._loaded

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in (
            "take_sandbox",
            "follow_context",
        ):  # asked of every tool; only Bash has them
            raise AttributeError(name)
        return getattr(self.load(), name)

    def read(self, raw: str | Mapping[str, Any]) -> "Accepted | Rejected":
        return self.load().read(raw)

    def traits(self, arguments: Mapping[str, Any]) -> "Traits":
        return self.load().traits(arguments)

    async def preview(self, arguments: Mapping[str, Any], run: "Run") -> "ChangeSet":
        return await self.load().preview(arguments, run)

    async def run(self, arguments: Mapping[str, Any], run: "Run") -> "Result":
        return await self.load().run(arguments, run)


class ShippedBash(ShippedTool):
    """Bash keeps what a session gives it until it is made."""

    _sandbox: "Confinement | None" = None
    _context: Callable[[], Mapping[str, Any]] | None = None

    def take_sandbox(self, sandbox: "Confinement") -> None:
        self._sandbox = sandbox

    def follow_context(self, context: Callable[[], Mapping[str, Any]]) -> None:
        self._context = context

    def load(self) -> "Tool":
        if self._loaded is None:
            made = cast(Any, self._make())
            if self._sandbox is not None:
                made.take_sandbox(self._sandbox)
            if self._context is not None:
                made.follow_context(self._context)
            self._loaded = made
        return cast("Tool", self._loaded)
