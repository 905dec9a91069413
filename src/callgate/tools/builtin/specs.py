"""The specs of the built-in tools as data, so that a program can start without making the tools.

A wheel contains ``specs.json``, which ``scripts/hatch_build.py`` writes with ``specs_of_tools``. A checkout caches
the same data in ``__pycache__`` until a source file of a tool changes.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from json import dumps, loads
from pathlib import Path
from typing import Any

from callgate.core.capabilities import facts_of
from callgate.host.files import replace_file
from callgate.tools.builtin import builtin_tools
from callgate.words.errors import UsageError

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
    prompts = {file.name: file.read_text(encoding="utf-8").strip() for file in _FOLDER.glob("*.md")}
    rows: dict[str, Any] = {}
    for tool in builtin_tools():
        # The description of Skill continues with the skills of this machine.
        facts = facts_of(tool)
        fitting = [name for name, text in prompts.items() if tool.spec.description.startswith(text)]
        rows[tool.spec.name] = {
            "prompt": max(fitting, key=lambda name: len(prompts[name])),
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
