"""Lists the tools of this folder: built-in tools, custom tools and unavailable tools."""

import asyncio
import re
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from typing import Literal

from callgate.assembly.agent import deferrable
from callgate.assembly.installed_features import installed_features
from callgate.assembly.models import model_source
from callgate.config import Config
from callgate.core.ports import Tool
from callgate.search.search_toolbox import SearchToolbox
from callgate.tools.builtin import BUILTIN
from callgate.tools.builtin.shipped import shipped_tools
from callgate.tools.custom import custom_tools
from callgate.tools.toolbox import Toolbox
from callgate.words.errors import UsageError
from callgate.words.noun import noun
from callgate.words.tool_search import SearchUse

_NEEDS = {"AstEdit": ("ast_grep_py", "edit"), "AstGrep": ("ast_grep_py", "edit")}
"""Tools that cannot be called at all without a package: its module, and the extra that brings it."""
_END = re.compile(r"\. |(?<=[。！？])")


@noun
class ToolRow:
    """One tool, a feature of an installed package, or a file of custom tools that cannot be used.

    what    the first sentence of the description
    origin  the file of a custom tool
    why     the reason why the tool is not available
    """

    name: str
    kind: Literal["core", "custom", "deferred", "feature", "unavailable"]
    what: str = ""
    origin: str = ""
    why: str = ""


@noun
class ToolList:
    """Every tool by kind and name, and the state of tool search. Tools of MCP servers are not included."""

    rows: tuple[ToolRow, ...]
    search: SearchUse


def list_tools(config: Config) -> ToolList:
    """Return the tools of a session in this folder. Custom tools are loaded; custom tools of an untrusted folder are
    listed without running them. Blocks."""
    shipped = shipped_tools(BUILTIN)
    loaded = asyncio.run(custom_tools(config, taken=BUILTIN))
    search = _search([*shipped, *loaded.tools], config)
    deferred = {each.spec.name for each in search.deferred()}
    own = {each.spec.name for each in loaded.tools}
    ours = [each.spec for each in (*search.tools(), *search.deferred()) if each.spec.name not in own]
    rows = [_shipped(each.name, each.description, deferred) for each in ours]
    for tool in loaded.tools:
        line = "" if tool.line is None else f":{tool.line}"
        kind = "deferred" if tool.spec.name in deferred else "custom"
        rows.append(ToolRow(tool.spec.name, kind, _sentence(tool.spec.description), f"{tool.file}{line}"))
    features = asyncio.run(installed_features(config))
    rows += [ToolRow(each.feature.name, "feature", origin=each.origin) for each in features.features]
    for each in (*loaded.problems, *features.problems):
        rows += [ToolRow(each.file, "unavailable", origin=each.layer, why=_at(each.line, each.text))]
    rows += [ToolRow(each.file, "unavailable", origin=each.layer, why=each.text) for each in loaded.skipped]
    kinds = ("core", "custom", "deferred", "feature", "unavailable")
    return ToolList(tuple(sorted(rows, key=lambda row: (kinds.index(row.kind), row.name))), search.use())


def shipped_search(config: Config) -> SearchUse:
    """Return the state of tool search for the built-in tools only, without loading custom tools."""
    return _search(shipped_tools(BUILTIN), config).use()


def _search(tools: Sequence[Tool], config: Config) -> SearchToolbox:
    extra = deferrable(tools)
    core = [each for each in tools if each not in extra]
    return SearchToolbox(Toolbox(*core), Toolbox(*extra), config.settings.tools_search, lambda: _window(config))


def _window(config: Config) -> int | None:
    """Return the context window of the configured model, or of the first default model."""
    catalogue = model_source(config).catalogue
    first = next(iter(catalogue.defaults.values()))[0]
    try:
        return catalogue.facts(catalogue.resolve(config.models.default or first)).context_tokens
    except UsageError:
        return None


def _shipped(name: str, description: str, deferred: Collection[str]) -> ToolRow:
    what = _sentence(description)
    module, extra = _NEEDS.get(name, ("", ""))
    if module and find_spec(module) is None:
        return ToolRow(name, "unavailable", what, why=f"it needs a package: pip install 'callgate[{extra}]'")
    return ToolRow(name, "deferred" if name in deferred else "core", what)


def _sentence(text: str) -> str:
    """Return the first sentence on one line."""
    joined = " ".join(text.partition("\n\n")[0].split())
    first = _END.split(joined, maxsplit=1)[0].rstrip(".:")
    return first if first.endswith(("。", "！", "？")) else f"{first}."


def _at(line: int | None, text: str) -> str:
    return text if line is None else f"line {line}: {text}"
