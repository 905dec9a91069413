"""A wrapper for tools that change files. A call shows and stages the change; ``resolve`` applies the change."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from callgate.changes.diff import display
from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Run, Tool
from callgate.host.threads import in_thread
from callgate.tools.staging import stage
from callgate.tools.toolbox import Named
from callgate.words.calls import Result
from callgate.words.declared import Declared
from callgate.words.messages import Text
from callgate.words.pending import RESOLVE
from callgate.words.traits import Traits, reads

_SHOWS = f"The call changes no files yet: it returns the diff and an id. Call `{RESOLVE}` with that id to apply it."


class PreviewFirst(Named):
    """A tool that stages the preview of the wrapped tool. The gate checks the call as a read of the files, and its
    resolution as an edit."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(tool, tool.spec.name, tool.aliases)
        self.spec = replace(self.spec, description=f"{self.spec.description}\n\n{_SHOWS}")

    @property
    def previews(self) -> bool:
        return False

    @property
    def facts(self) -> ToolFacts:
        return replace(super().facts, stages=True, general_traits=lambda: Traits("none", declared_icon="edit"))

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        found = self.inner.traits(arguments)
        declared = _reading(found.declared)
        return replace(
            found, effects="none", declared=declared, declared_locks=reads(*declared.reads), declared_icon=found.icon
        )

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        changes = await self.inner.preview(arguments, run)
        root = run.host.normal(".")
        shown = await in_thread(partial(display, changes, root=root))  # long diffs are slow
        stage(changes.label, changes, source_tool_name=self.spec.name)
        return Result((Text(shown.body),), (shown,), details={"files": [change.path for change in changes.files]})


def _reading(declared: Declared) -> Declared:
    """Return a copy of the declaration in which the written files are declared as read files."""
    names = {kind: names for kind, names in declared.names.items() if kind != "writes"}
    named = (*declared.names.get("reads", ()), *declared.names.get("writes", ()))
    return replace(
        declared,
        kinds=(declared.kinds - {"writes"}) | {"reads"},
        ruled_out=declared.ruled_out - {"reads"},
        names={**names, "reads": named},
        reads=(*declared.reads, *declared.writes),
        writes=(),
    )
