"""A minimal Tool, ToolSource and Run, to test the engine or a single tool."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from inspect import isawaitable
from types import MappingProxyType
from typing import Any

from callgate.core.ports import Host, Run, Target, Tool, Unknown
from callgate.testing.memory_host import MemoryHost
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.decisions import FieldAnswer
from callgate.words.errors import ToolFailure
from callgate.words.events import CallProgressed
from callgate.words.messages import Text
from callgate.words.model import ToolSpec
from callgate.words.traits import Traits

Arguments = Mapping[str, Any]
Body = Callable[[Arguments, Run], object]
"""Returns a value or Result, or an awaitable of one."""

Preview = Callable[[Arguments, Run], ChangeSet | Awaitable[ChangeSet]]

READER = Traits(effects="none")


class PlainTool:
    """A Tool that calls a function with ``(arguments, run)`` and accepts any JSON object."""

    def __init__(
        self,
        name: str,
        body: Body | None = None,
        *,
        traits: Traits | Callable[[Arguments], Traits] = READER,
        preview: Preview | None = None,
        aliases: Sequence[str] = (),
        description: str = "A tool for tests.",
    ) -> None:
        self.spec = ToolSpec(name, description, {"type": "object"})
        self._body = body or _nothing
        self._traits = traits
        self._preview = preview
        self.aliases: Sequence[str] = tuple(aliases)
        self.previews = preview is not None

    def read(self, raw: str | Arguments) -> Accepted | Rejected:
        try:
            arguments: Any = json.loads(raw) if isinstance(raw, str) else raw
        except (ValueError, RecursionError) as error:
            return Rejected((f"$: not JSON: {error}",))
        if not isinstance(arguments, Mapping):
            return Rejected((f"$: {type(arguments).__name__}, expected an object",))
        return Accepted(dict(arguments))  # pyright: ignore[reportUnknownArgumentType]

    def traits(self, arguments: Arguments) -> Traits:
        return self._traits if isinstance(self._traits, Traits) else self._traits(arguments)

    async def preview(self, arguments: Arguments, run: Run) -> ChangeSet:
        if self._preview is None:
            raise ToolFailure(f"{self.spec.name} has no preview")
        made = self._preview(deepcopy(arguments), run)
        return await made if isawaitable(made) else made

    async def run(self, arguments: Arguments, run: Run) -> Result:
        value = self._body(deepcopy(arguments), run)
        if isawaitable(value):
            value = await value
        if isinstance(value, Result):
            return value
        return Result((Text("" if value is None else str(value)),))


def _nothing(_arguments: Arguments, _run: Run) -> str:
    return "done"


class PlainToolbox:
    """A ToolSource with a fixed list of tools."""

    def __init__(self, *tools: Tool) -> None:
        self._tools = tools
        self._names = {name: tool for tool in tools for name in (*tool.aliases, tool.spec.name)}

    def tools(self) -> Sequence[Tool]:
        return self._tools

    def resolve(self, name: str, raw: str | Arguments) -> Target | Unknown:
        tool = self._names.get(name)
        return Unknown(name, tuple(get_close_matches(name, self._names))) if tool is None else Target(tool, raw)


class PlainRun:
    """The Run for a tool that a test calls directly. ``said`` has the progress messages; set ``cancelled`` to stop
    the tool."""

    def __init__(
        self,
        host: Host | None = None,
        *,
        call_id: str = "call_1",
        context: Arguments | None = None,
        deadline: float | None = None,
        changes: ChangeSet | None = None,
        deps: Any = None,
    ) -> None:
        self.deps = deps
        self.host: Host = host or MemoryHost()
        self.call_id = call_id
        self.answers: tuple[FieldAnswer, ...] = ()
        self.idempotency_key = f"test:{call_id}"
        self.attempt = 1
        self.context: Arguments = MappingProxyType(dict(context or {}))
        self.deadline = deadline
        self.cancelled = False
        self.changes = changes
        self.lineage = (call_id,)
        self.said: list[CallProgressed] = []

    def progress(self, text: str = "", *, current: float | None = None, total: float | None = None) -> None:
        self.said.append(CallProgressed(self.host.clock.now(), self.call_id, text, current, total))
