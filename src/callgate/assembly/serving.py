"""Sessions without a model, for programs that call tools."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from callgate.assembly import Session
from callgate.assembly.agent import agent_tools
from callgate.assembly.options import NO_MODEL
from callgate.assembly.settings import denied_whole
from callgate.changes.diff import display
from callgate.config import Config
from callgate.conversation.ports import Journal
from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Run, Tool
from callgate.host.threads import in_thread
from callgate.staging.feature import staging_feature
from callgate.tools.staging import stage
from callgate.tools.toolbox import Named
from callgate.words.calls import Result
from callgate.words.declared import Declared
from callgate.words.messages import Text
from callgate.words.pending import RESOLVE
from callgate.words.traits import Traits, reads

OFFERED = (
    *("ApplyPatch", "AstEdit", "AstGrep", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read"),
    *("TaskOutput", "TaskStop", "WebFetch", "Write"),
)
"""The default tools: for files, commands and web pages. Tools for the work of an agent are not offered, because the
caller has its own."""


async def served_tools(config: Config, names: Sequence[str] | None = None) -> tuple[list[Tool], Config]:
    """Return the named built-in and custom tools, and the config with notes about omitted tools. A tool is omitted
    if a rule denies all its calls. Raise UsageError for an unknown name."""
    found, notes = await agent_tools(config, tuple(dict.fromkeys(OFFERED if names is None else names)))
    denied = denied_whole([config])
    found = [each for each in found if not denied(each.spec.name, "")]
    return found, replace(config, notes=(*config.notes, *notes))


def served_session(config: Config, tools: Sequence[Tool], journal: Journal | None = None) -> Session:
    """Return a session without a model, for a program that calls tools. Changes to files are staged until the
    program calls ``resolve``."""
    return Session(
        NO_MODEL,
        [PreviewFirst(each) if each.previews else each for each in tools],
        config=replace(config, settings=replace(config.settings, session_title=False)),
        journal=journal,
        features=[staging_feature(resolved="whenever")],
    )


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
