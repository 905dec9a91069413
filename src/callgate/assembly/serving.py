"""Sessions in which another program calls tools, without a model."""

from collections.abc import Sequence
from dataclasses import replace

from callgate.assembly import Session
from callgate.assembly.agent import agent_tools
from callgate.assembly.options import NO_MODEL
from callgate.assembly.settings import denied_whole
from callgate.config import Config
from callgate.conversation.ports import Journal
from callgate.core.ports import Tool
from callgate.staging.feature import staging_feature
from callgate.staging.preview_first import PreviewFirst

OFFERED = (
    *("ApplyPatch", "AstEdit", "AstGrep", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read"),
    *("TaskOutput", "TaskStop", "WebFetch", "Write"),
)
"""The tools that are offered unless others are named: those about files, commands and pages. The others are about the
work of an agent, and the caller is one with tools of its own for that."""


async def served_tools(config: Config, names: Sequence[str] | None = None) -> tuple[list[Tool], Config]:
    """The tools of these names, those that ship and custom ones, without those that a rule denies as a whole, and the
    config with notes on those left out. UsageError for a name that there is not."""
    found, notes = await agent_tools(config, tuple(dict.fromkeys(OFFERED if names is None else names)))
    denied = denied_whole([config])
    found = [each for each in found if not denied(each.spec.name, "")]
    return found, replace(config, notes=(*config.notes, *notes))


def served_session(config: Config, tools: Sequence[Tool], journal: Journal | None = None) -> Session:
    """A session without a model, in which another program calls tools. Changes to files are staged, and resolved when
    the program says so."""
    return Session(
        NO_MODEL,
        [PreviewFirst(each) if each.previews else each for each in tools],
        config=replace(config, settings=replace(config.settings, session_title=False)),
        journal=journal,
        features=[staging_feature(resolved="whenever")],
    )
