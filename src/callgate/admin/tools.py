"""The tools of this folder: those that ship, custom ones, and those that are not available."""

import asyncio
from importlib.util import find_spec
from typing import Literal

from callgate.config import Config
from callgate.tools.builtin import BUILTIN
from callgate.tools.builtin.shipped import shipped_tools
from callgate.tools.custom import custom_tools
from callgate.words.noun import noun

_NEEDS = {"AstEdit": ("ast_grep_py", "edit"), "AstGrep": ("ast_grep_py", "edit")}
"""Tools that cannot be called at all without a package: its module, and the extra that brings it."""


@noun
class ToolRow:
    """One tool, or a file of tools that is left out. ``what`` is the first sentence that a model reads about it,
    ``origin`` the file of a custom one, ``why`` the reason why it is not available."""

    name: str
    kind: Literal["core", "custom", "unavailable"]
    what: str = ""
    origin: str = ""
    why: str = ""


def list_tools(config: Config) -> list[ToolRow]:
    """Every tool, by kind and name. Files of custom tools are loaded as for a session: those of a folder that is not
    trusted are named and not run. Blocks."""
    rows = [_shipped(each.spec.name, each.spec.description) for each in shipped_tools(BUILTIN)]
    loaded = asyncio.run(custom_tools(config, taken=BUILTIN))
    for tool in loaded.tools:
        line = "" if tool.line is None else f":{tool.line}"
        rows.append(ToolRow(tool.spec.name, "custom", _sentence(tool.spec.description), f"{tool.file}{line}"))
    for each in loaded.problems:
        rows += [ToolRow(each.file, "unavailable", origin=each.layer, why=_at(each.line, each.text))]
    rows += [ToolRow(each.path, "unavailable", origin=each.layer, why=each.why) for each in loaded.skipped]
    kinds = ("core", "custom", "unavailable")
    return sorted(rows, key=lambda row: (kinds.index(row.kind), row.name))


def _shipped(name: str, description: str) -> ToolRow:
    what = _sentence(description)
    module, extra = _NEEDS.get(name, ("", ""))
    if module and find_spec(module) is None:
        return ToolRow(name, "unavailable", what, why=f"it needs a package: pip install 'callgate[{extra}]'")
    return ToolRow(name, "core", what)


def _sentence(text: str) -> str:
    """The first sentence, on one line."""
    joined = " ".join(text.partition("\n\n")[0].split())
    return joined.partition(". ")[0].rstrip(".:") + "."


def _at(line: int | None, text: str) -> str:
    return text if line is None else f"line {line}: {text}"
