"""The built-in tools for a program that must start fast: each tool is loaded at its first call.

A request needs only the specs of the tools, which are stored as data. Making the tools imports pydantic, which would
take most of the startup time. A wheel contains ``specs.json``, which ``scripts/hatch_build.py`` writes with
``specs_of_tools``. A checkout caches the same data in ``__pycache__`` until a source file of a tool changes.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.core.capabilities import SessionFacts, ToolFacts, bind, facts_of
from callgate.host.files import replace_file
from callgate.tools.builtin import builtin_tools, prompt_text
from callgate.words.errors import UsageError
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
    return [ShippedTool(name, rows[name], made.get(name)) for name in names]


class ShippedTool:
    """A built-in tool that is loaded when more than its spec and its facts are needed."""

    def __init__(self, name: str, row: Mapping[str, Any], make: "Callable[[], Tool] | None") -> None:
        self.spec = ToolSpec(name, prompt_text(name), row["parameters"])
        self.aliases: tuple[str, ...] = tuple(row["aliases"])
        self.previews: bool = row["previews"]
        self._row = row
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
        copied = ShippedTool(self.spec.name, self._row, self._make)
        copied.spec = self.spec
        return copied

    def load(self) -> "Tool":
        """Return the loaded tool. May be called in any thread; loading a tool twice is harmless."""
        if self._loaded is None:
            made = self._make() if self._make else builtin_tools(self.spec.name)[0]
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


FILE = "specs.json"
_STORED = ("title", "search_hint", "always_loaded", "stages", "takes_sandbox")

_FOLDER = Path(__file__).parent


def load_specs() -> dict[str, Any]:
    """Return the stored spec of each built-in tool, by tool name."""
    built = _FOLDER / FILE
    try:
        return loads(built.read_bytes())
    except FileNotFoundError:
        return cached_specs(_FOLDER / "__pycache__" / FILE)


def specs_of_tools() -> dict[str, Any]:
    """Make all built-in tools and return the spec of each tool as data. Slow, because it imports pydantic and all
    tools."""
    rows: dict[str, Any] = {}
    for tool in builtin_tools():
        facts = facts_of(tool)
        rows[tool.spec.name] = {
            "parameters": tool.spec.parameters,
            "aliases": list(tool.aliases),
            "previews": tool.previews,
            "facts": {name: getattr(facts, name) for name in _STORED},
            "plans": facts.for_plan_mode is not None,
        }
    return rows


def cached_specs(cache: Path) -> dict[str, Any]:
    """Return the cached specs. If a source file has changed, make the specs and store them first."""
    state = [*_source_state(_FOLDER.parent)]
    with suppress(OSError, ValueError, LookupError, TypeError):
        cached = loads(cache.read_bytes())
        if cached["sources"] == state:
            return cached["tools"]
    rows = specs_of_tools()
    with suppress(UsageError):  # a read-only checkout has no cache
        replace_file(cache, dumps({"sources": state, "tools": rows}).encode(), 0o644, folders=0o755)
    return rows


def _source_state(folder: Path) -> Iterator[list[Any]]:
    for top, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".md")):
                stat = os.stat(os.path.join(top, name))
                yield [os.path.relpath(os.path.join(top, name), folder), stat.st_size, stat.st_mtime_ns]


_LEFT_OUT = frozenset(("anyOf", "default", "minimum", "maximum", "minLength"))


def short_spec(spec: ToolSpec, parameters: Collection[str]) -> ToolSpec:
    """Return the definition with only the first sentence of the description and only these parameters. The tool
    still validates a call with its whole schema."""
    known: Mapping[str, Mapping[str, Any]] = spec.parameters["properties"]
    shown = {
        "type": "object",
        "properties": {name: _without_limits(known[name]) for name in parameters},
        "required": [name for name in parameters if known[name].get("default") is None],
        "additionalProperties": False,
    }
    first = re.split(r"(?<=\.)\s", spec.description, maxsplit=1)[0]
    return replace(spec, description=_without_examples(first), parameters=shown)


def _without_examples(text: str) -> str:
    """Return the text without examples, which a small model would use as values."""
    return text.partition("such as")[0].rstrip(" ,;:.")


def _without_limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without limits and defaults, and without ``null``."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    kept = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    kept["description"] = _without_examples(schema.get("description", ""))
    return {**(kinds[0] if kinds else {}), **kept}
