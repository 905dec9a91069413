"""Sessions without a model, for programs that call tools."""

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
