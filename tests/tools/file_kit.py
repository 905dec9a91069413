"""A workspace, and calls of the file tools in it as the engine makes them: preview, apply, run, context update."""

import asyncio
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from callgate.core.ports import Host, Tool
from callgate.host.local import LocalHost
from callgate.tools.builtin import builtin_tools
from callgate.words.calls import Accepted, Result
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from tests.tools.fake_run import FakeRun


@cache
def made(name: str) -> Tool:
    (tool,) = builtin_tools(name)
    return tool


class Workspace:
    """``context`` is what the record of a session would hold; each call is a message of its own."""

    def __init__(self, root: Path, host: Host | None = None) -> None:
        self.root = root
        self.host = host or LocalHost(root)
        self.context: dict[str, Any] = {}
        self.messages = 0
        self.changes: ChangeSet | None = None

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def bytes_of(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def call(self, name: str, *, message: str = "", released: bool = True, **arguments: Any) -> Result:
        """``released``: all calls before it have settled, so that its context update is on record."""
        tool = made(name)
        read = tool.read(arguments)
        assert isinstance(read, Accepted), read
        self.messages += 1
        run = FakeRun(host=self.host, context=dict(self.context), lineage=(message or f"m{self.messages}", "c1"))

        async def main() -> Result:
            if tool.previews:
                run.changes = await self.host.apply(await tool.preview(read.arguments, run))
                self.changes = run.changes
            return await tool.run(read.arguments, run)

        result = asyncio.run(main())
        update = result.context_update
        assert not callable(update)
        if released:
            self.context.update(update or {})
        return result

    def text(self, name: str, **arguments: Any) -> str:
        return self.call(name, **arguments).text

    def refused(self, name: str, **arguments: Any) -> str:
        with pytest.raises(ToolFailure) as caught:
            self.call(name, **arguments)
        return str(caught.value)
