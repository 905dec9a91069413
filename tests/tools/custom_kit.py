"""Folders of custom tools, and a store that only notes what it is given."""

import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import dedent
from typing import Any

from callgate.core.ports import Host
from callgate.tools.custom import Api, LoadedTools, load_tools
from callgate.tools.custom.tool_files import PREFIX, Layer, ToolFolder
from callgate.tools.staging import PendingAction
from tests.tools.fake_run import FakeRun


class Noting:
    """A PendingStore."""

    def __init__(self) -> None:
        self.pushed: list[PendingAction] = []

    def push(self, action: PendingAction) -> str:
        self.pushed.append(action)
        return f"pending-action:{action.source_tool_name}:{len(self.pushed)}"


class Place:
    """A folder of tools in a workspace."""

    def __init__(self, root: Path, layer: Layer = "project") -> None:
        self.root = root
        self.layer: Layer = layer
        self.path = root / layer / "tools"
        self.path.mkdir(parents=True)

    def write(self, name: str, text: str | bytes) -> str:
        """Write a file of the folder; its path."""
        file = self.path / name
        file.write_bytes(text if isinstance(text, bytes) else dedent(text).lstrip("\n").encode())
        return str(file)

    def remove(self, name: str) -> None:
        (self.path / name).unlink()

    def folder(self, *, trusted: bool = True, contents: Iterable[str] | None = None) -> ToolFolder:
        return ToolFolder(self.path, self.layer, trusted, None if contents is None else frozenset(contents))

    def loaded(self, **options: Any) -> LoadedTools:
        return asyncio.run(load_tools([self.folder()], Api(self.root), **options))


def greeting(name: str, says: str = "hello") -> str:
    """The text of a file with one tool."""
    return f'from callgate import tool\n\n\n@tool\ndef {name}() -> str:\n    """Greet."""\n    return {says!r}\n'


def names(loaded: LoadedTools) -> list[str]:
    return [each.spec.name for each in loaded.tools]


def problems(loaded: LoadedTools) -> list[str]:
    return [str(each) for each in loaded.problems]


def said(loaded: LoadedTools, name: str, host: Host | None = None, **arguments: Any) -> str:
    """What a tool says when it is called."""
    (found,) = (each for each in loaded.tools if each.spec.name == name)
    run = FakeRun() if host is None else FakeRun(host=host)
    return asyncio.run(found.run(arguments, run)).text


def private_modules() -> set[str]:
    return {name for name in sys.modules if name.startswith(PREFIX)}
