"""Finds the tools of a module: every public ``@tool`` at its top level, and the value of ``tools``.

``tools`` is a factory, plain or async, that receives the API and returns or yields tools. Plain functions among them
become tools.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest
from inspect import isawaitable, signature, unwrap
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard, cast

from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Tool
from callgate.host.paths import Resolver
from callgate.tools.custom.tool_files import Layer, Problem, blamed
from callgate.tools.staging import Callback, Callbacks, stage
from callgate.tools.tool import tool
from callgate.tools.tool_names import check_aliases, check_name
from callgate.tools.toolbox import Named
from callgate.words.changes import ChangeSet, Content, FileChange, Stored
from callgate.words.errors import ToolDefinitionError, ToolFailure
from callgate.words.model import ToolSpec
from callgate.words.noun import noun

LARGE = 1_000_000
"""The largest content in bytes that is kept in memory."""


class Api:
    """The API for a factory of custom tools. ``root`` is the workspace."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    def push_pending_action(
        self,
        *,
        label: str,
        apply: Callback,
        reject: Callback | None = None,
        details: Any = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stage an action and return its id. ``apply(reason, extra)`` performs the action; ``reject(reason, extra)`` is
        called if it is discarded.

        The action is lost when the process ends. Use ``push_changes`` for changes that must survive.
        """
        return stage(label, Callbacks(apply, reject), source_tool_name=source_tool_name, details=details)

    def push_changes(
        self,
        label: str,
        files: Iterable[FileChange],
        *,
        count: int | None = None,
        details: Any = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stage changes to files and return the id of the action. Exactly the displayed changes are applied, even after
        a restart."""
        changes = ChangeSet(label, tuple(files), source_tool_name, count=count)
        return stage(label, changes, source_tool_name=source_tool_name, details=details)

    def content(self, path: str) -> Content:
        """Return the content of a file in the workspace for a FileChange: its bytes, or for a large file its hash and
        path. Raise ToolFailure if the file cannot be read. Blocks."""
        place = Resolver(self.root).resolve_path(path)
        if place.fault is not None or not place.inside:
            raise ToolFailure(f"{path}: {place.fault or f'lies outside the workspace {self.root}'}")
        if place.kind != "file":
            raise ToolFailure(f"{path}: {'the file does not exist' if place.kind == 'missing' else 'is not a file'}")
        try:
            with open(place.resolved, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size <= LARGE:
                    return file.read()
                return Stored(file_digest(file, "sha256").hexdigest(), size, place.resolved)
        except OSError as error:
            raise ToolFailure(f"{path} cannot be read: {error.strerror or error}") from error


FACTORY = "tools"
_NEEDED = ("aliases", "previews", "read", "traits", "preview", "run")


class CustomTool(Named):
    """A custom tool, with the file that defines it. It may stage actions while it runs."""

    def __init__(self, inner: Tool, file: str, line: int | None, layer: Layer) -> None:
        super().__init__(inner, inner.spec.name, inner.aliases)
        self.file = file
        self.line = line
        self.layer: Layer = layer

    def __repr__(self) -> str:
        return f"<tool {self.spec.name} of {self.file}>"

    @property
    def facts(self) -> ToolFacts:
        return replace(super().facts, stages=True)


@noun
class Offer:
    """The tools of one file or entry point, and the problems found in it."""

    tools: tuple[CustomTool, ...] = ()
    problems: tuple[Problem, ...] = ()


class BadOffer(ToolDefinitionError):
    """A module offers an object that is not a valid tool. ``about`` is the object."""

    def __init__(self, text: str, about: object = None) -> None:
        super().__init__(text)
        self.about = about


def offered(module: ModuleType, api: Api) -> list[object]:
    """Return the objects that a module offers as tools, each once and unchecked. The factory is called; its exceptions
    are raised."""
    values = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    made = values.pop(FACTORY, None)
    found: list[object] = [value for value in values.values() if is_tool(value)]
    if made is not None and not isinstance(made, ModuleType):
        found += made_by(made, api)
    if not found:
        raise BadOffer("no tool is defined: mark a function with @tool, or define tools(api)", made)
    return list({id(each): each for each in found}.values())


def made_by(value: Any, api: Api) -> list[object]:
    """Return the tools of a value, which is a tool, a sequence of tools or a factory."""
    if is_tool(value):
        return [value]
    if not callable(value):
        return list(_several(value, None))
    _check_factory(value)
    made = value(api)
    if isawaitable(made) or isinstance(made, AsyncIterator):
        made = asyncio.run(_awaited(made))
    return [made] if is_tool(made) or callable(made) else list(_several(made, value))


def taken_in(found: Iterable[object], file: str, layer: Layer) -> Offer:
    """Convert offered objects to tools. Objects that cannot be converted become problems."""
    tools: list[CustomTool] = []
    problems: list[Problem] = []
    for each in found:
        line = line_of(each, file)
        try:
            inner = each if is_tool(each) else tool(_function(each))
            _check(inner)
            tools.append(CustomTool(inner, file, line, layer))
        except Exception as error:
            at = blamed(error, file, layer)
            problems.append(Problem(file, at.line or line, at.text, layer))
    return Offer(tuple(tools), tuple(problems))


def is_tool(value: object) -> TypeGuard[Tool]:
    """Return True if an object has the attributes of a tool, and is not a class. Never raises."""
    with suppress(Exception):
        return not isinstance(value, type) and isinstance(getattr(value, "spec", None), ToolSpec)
    return False


async def _awaited(made: Any) -> Any:
    if isinstance(made, AsyncIterator):
        return [each async for each in cast("AsyncIterator[Any]", made)]
    return await made


def _several(value: Any, about: object) -> Iterator[object]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        kind = "nothing" if value is None else f"a {type(cast(object, value)).__name__}"
        raise BadOffer(f"the result is {kind}, but must be a tool or a list of tools", about)
    return iter(cast("Iterable[object]", value))


def _check_factory(factory: Callable[..., Any]) -> None:
    try:
        signature(factory).bind(None)
    except TypeError:
        raise BadOffer("the factory must take one parameter, the API", factory) from None
    except ValueError:  # its parameters are unknown
        return


def _function(value: object) -> Callable[..., Any]:
    if isinstance(value, type):
        raise ToolDefinitionError(f"the class {value.__name__} is not a tool: use an object of the class")
    if not callable(value):
        kind = type(value).__name__
        raise ToolDefinitionError(f"the result contains a {kind}, which is neither a tool nor a function")
    return value


def _check(inner: Tool) -> None:
    """Check a tool that was not made by ``@tool``. Raise ToolDefinitionError if it is invalid."""
    name = check_name(inner.spec.name)
    missing = ", ".join(each for each in _NEEDED if not hasattr(inner, each))
    if missing:
        raise ToolDefinitionError(f"tool {name!r} is incomplete: {missing} is missing")
    check_aliases(name, inner.aliases)
    if any(each.startswith("mcp__") for each in (name, *inner.aliases)):
        raise ToolDefinitionError(f"tool {name!r}: names that begin with mcp__ are reserved for tools of MCP servers")


def line_of(value: object, file: str) -> int | None:
    """Return the line number at which the function begins if it is defined in this file, otherwise None."""
    with suppress(Exception):
        code = unwrap(cast("Callable[..., Any]", value)).__code__
        return code.co_firstlineno if code.co_filename == file else None
    return None
