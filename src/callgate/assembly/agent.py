"""The coding agent for a Config: a Session with all tools, the sandbox, skills, rules, hooks and custom tools.

    config = load_config()
    async with await agent_session(config, model, journal=await Store(config.root, config.data).create()) as session:
        …

Tools and skills of an untrusted repository are omitted, and a note reports them.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from time import time
from typing import TYPE_CHECKING, Any

from callgate.assembly import Session
from callgate.assembly.options import ModelSetup, ServerFlags, as_setup
from callgate.assembly.prompting import ENVIRONMENT, PromptFacts, PromptWishes, describe_environment, prompt_for
from callgate.config import Config
from callgate.conversation.feature import Feature
from callgate.conversation.ports import Journal, Model
from callgate.conversation.record import Record
from callgate.core.capabilities import facts_of
from callgate.core.ports import Tool, ToolSource
from callgate.host.threads import in_thread
from callgate.mcp import OWN_FILE, PROJECT_FILE
from callgate.policy.entries import SettingsFault
from callgate.policy.trust import Trusted
from callgate.tools.builtin import BUILTIN
from callgate.tools.builtin.shipped import ShippedTool, shipped_tools
from callgate.tools.skills import SKILL, SkillFolder, described, find_skills, skill_folders
from callgate.tools.toolbox import Merged, Toolbox
from callgate.words.decisions import Origin
from callgate.words.errors import UsageError
from callgate.words.events import AgentPath, CallArrived, Event, MetadataSet, TurnStarted

if TYPE_CHECKING:
    from callgate.mcp.server_list import ServerList
    from callgate.tools.custom.tool_files import Problem


BARE = ("Bash", "Edit", "Read")
"""The tools of an agent without project files, hooks, skills and custom tools."""

SMALL_WINDOW = 16_000
"""The size of a context window, in tokens, below which the agent has a short prompt and the tools ``SMALL_TOOLS``."""
SMALL_TOOLS: dict[str, tuple[str, ...]] = {
    "Bash": ("command",),
    "Edit": ("file_path", "old_string", "new_string"),
    "Glob": ("pattern",),
    "Grep": ("pattern", "output_mode"),
    "Read": ("file_path", "offset"),
    "Write": ("file_path", "content"),
}
"""The tools of an agent with a small context window, each with the parameters that are described to the model. A small
model writes every parameter that it sees, often with a wrong value. A call may contain the other parameters."""

FEW_CUSTOM = 20
"""Number of custom tools above which all custom tools without ``always_loaded`` are deferred."""

_AFTER_REQUEST = 0.05  # seconds that a request takes to be written and sent


async def agent_session(
    config: Config,
    model: Model | ModelSetup,
    *,
    journal: Journal | None = None,
    tools: Iterable[str] | None = None,
    deferred: ToolSource | None = None,
    bare: bool = False,
    wishes: PromptWishes | None = None,
    attended: bool = True,
    folders: Sequence[Path] = (),
    mcp: ServerFlags | None = None,
    features: Iterable[Feature] = (),
    **options: Any,
) -> Session:
    """Return a Session with the tools and the system prompt of a coding agent. Raise UsageError for an unknown tool.

    config    from load_config: the workspace, rules, hooks, limits and state of trust
    tools     the names of the built-in and custom tools for the model; default: all
    deferred  a source of further tools that the model finds by search. It may change while the session runs, for
              example for MCP servers. Built-in tools without `always_loaded`, and more than FEW_CUSTOM custom tools,
              are found by search as well
    bare      True for Bash, Edit and Read alone, without project files, hooks, skills and custom tools, to find the
              effect of a setting
    wishes    texts for the system prompt
    attended  True if a user is present and can answer questions
    folders   further folders of the user, named in the system prompt
    mcp       MCP servers of the command line, in addition to configured servers
    features  further features, in addition to features of installed packages (entry points ``callgate.features``)
    options   the other parameters of Session, such as ``limits``
    """
    wanted = None if tools is None else tuple(dict.fromkeys(tools))
    of_servers = None if wanted is None else [name for name in wanted if name.startswith("mcp__")]
    wanted = None if wanted is None else tuple(name for name in wanted if not name.startswith("mcp__"))
    is_small = is_small_window(as_setup(model).model)
    if is_small and wanted is None and not bare:
        wanted = tuple(SMALL_TOOLS)
    flags = mcp or ServerFlags()
    if bare:
        flags = replace(flags, strict=True)
    servers: ServerList | None = None
    known_servers: tuple[str, ...] = ()
    notes: list[SettingsFault] = []
    own: list[Feature] = []
    if bare:
        config = replace(config, hooks=(), settings=replace(config.settings, questions_notify=None))
        found: Sequence[Tool] = shipped_tools(_shipped_names(BARE if wanted is None else wanted))
    else:
        found, notes = await agent_tools(config, wanted)
        own, faults = await _features_of_packages(config)
        notes += faults
    if is_small:
        from callgate.tools.builtin.shipped import short_spec  # only for small windows

        for each in found:
            if isinstance(each, ShippedTool) and each.spec.name in SMALL_TOOLS:
                each.spec = short_spec(each.spec, SMALL_TOOLS[each.spec.name])
    now, names = time(), tuple(each.spec.name for each in found)
    facts = PromptFacts(tools=names, attended=attended, short=is_small)
    if of_servers != [] and _may_have_servers(config, flags):
        from callgate.assembly.servers import notes_of, server_configs, server_list  # only where there are any

        configured = await in_thread(partial(server_configs, config, flags))
        notes = [*notes, *notes_of(configured)]
        known_servers = tuple(each.name for each in configured.servers)
        if configured.servers:
            servers = server_list(config, configured, of_servers)
            deferred = servers if deferred is None else Merged(servers, deferred)
    if config.rules:
        from callgate.policy.rule_hints import name_notes  # only where there are any

        notes += name_notes(config.rules, {*BUILTIN, *names}, known_servers)
    config = replace(config, notes=(*config.notes, *notes), attended=attended)

    def system(record: Record) -> tuple[str, tuple[str, ...]]:
        """Return the system prompt and its notes. The description of the environment is recorded, so that a resumed
        session has the same prompt."""
        kept = record.ledger.metadata.get(ENVIRONMENT)
        environment = kept
        if not isinstance(environment, str):
            name = as_setup(model).model.name
            environment = describe_environment(config.root, model=name, now=now, added=folders)
            record.write(MetadataSet(now, ENVIRONMENT, environment))
        about = replace(facts, mode=record.ledger.mode, environment=environment)
        built = prompt_for(config, about, wishes, project=not bare)
        return built.text, built.notes

    extra = [] if wanted is not None else deferrable(found)
    if extra:
        deferred = Toolbox(*extra) if deferred is None else Merged(Toolbox(*extra), deferred)
    loaded = [each for each in found if each not in extra]
    if servers is not None:
        from callgate.mcp.mcp_feature import servers_feature

        own.append(servers_feature(servers))
    if deferred is not None:
        from callgate.search.search_feature import search_feature  # only where tools are deferred

        own.append(search_feature(deferred))
    session = Session(
        model, loaded, features=(*own, *features), config=config, journal=journal, system=system, **options
    )
    session.controls.folders = tuple(map(str, folders))
    if servers is not None:
        from callgate.assembly.servers import begin

        begin(servers, config, session, attended=attended)
    _load_during_first_request(session, [each for each in found if isinstance(each, ShippedTool)])
    return session


def is_small_window(model: Model) -> bool:
    """Return True if the agent needs a short prompt and few tools for the context window of the model."""
    return (model.abilities.context_tokens or SMALL_WINDOW) < SMALL_WINDOW


def _may_have_servers(config: Config, flags: ServerFlags) -> bool:
    """Return False if no MCP server can be configured. In this case the modules for servers are not imported."""
    own = () if config.folder is None else (config.folder / OWN_FILE,)
    return bool(flags.given) or (not flags.strict and any(file.exists() for file in (*own, config.root / PROJECT_FILE)))


def deferrable(found: Sequence[Tool]) -> list[Tool]:
    """Return the tools of an agent that the model finds by search."""
    few = sum(each.spec.name not in BUILTIN for each in found) <= FEW_CUSTOM
    found = [each for each in found if each.spec.name in BUILTIN or not few]
    return [each for each in found if not facts_of(each).always_loaded]


def _load_during_first_request(session: Session, tools: Sequence[ShippedTool]) -> None:
    """Load the tools in a thread after the first request is sent, so that the request and the first call are not
    delayed. After the first call, each remaining tool is loaded when it is called."""
    left = deque(tools)
    thread: Thread | None = None

    def load() -> None:
        with suppress(IndexError):  # a call has arrived in between
            while left:
                left.popleft().load()

    def on_event(path: AgentPath, number: int, event: Event) -> None:
        nonlocal thread
        if isinstance(event, CallArrived):
            left.clear()
            stop()
        elif isinstance(event, TurnStarted) and thread is None:
            thread = Thread(target=load, name="callgate-tools", daemon=True)
            session.controls.host.clock.call_later(_AFTER_REQUEST, thread.start)

    stop = session.listen(on_event)


async def agent_tools(config: Config, wanted: tuple[str, ...] | None) -> tuple[list[Tool], list[SettingsFault]]:
    """Return the wanted built-in and custom tools, and notes about omitted tools. Raise UsageError for an unknown
    tool."""
    custom, notes = await _custom(config)
    own = {each.spec.name: each for each in custom}
    unknown = [name for name in wanted or () if name not in BUILTIN and name not in own]
    if unknown:
        raise UsageError(_no_such(unknown, (*BUILTIN, *own)))
    names = [name for name in BUILTIN if wanted is None or name in wanted]
    folders = skill_folders(config.root, home=config.home, own=config.folder, project=isinstance(config.trust, Trusted))
    shipped = shipped_tools(names, Bash=partial(_bash_tool, config), Skill=partial(_skill_tool, folders))
    for each in shipped:
        if each.spec.name == SKILL:
            each.spec = replace(each.spec, description=described(each.spec.description, find_skills(folders)))
    return [*shipped, *(each for name, each in own.items() if wanted is None or name in wanted)], notes


def _bash_tool(config: Config) -> Tool:
    from callgate.tools.builtin.bash import bash

    return bash(background_after=config.settings.limits_background_after)


def _skill_tool(folders: Sequence[SkillFolder]) -> Tool:
    from callgate.tools.builtin.skill import skill

    return skill(folders)


def _shipped_names(names: Iterable[str]) -> list[str]:
    unknown = [name for name in names if name not in BUILTIN]
    if unknown:
        raise UsageError(_no_such(unknown, BUILTIN))
    return [*names]


async def _custom(config: Config) -> tuple[Sequence[Tool], list[SettingsFault]]:
    if not _has_custom(config):
        return (), []
    from callgate.tools.custom import custom_tools  # only where there are any

    loaded = await custom_tools(config, taken=BUILTIN)
    skipped = [SettingsFault(each.text, Origin(each.layer, each.file)) for each in loaded.skipped]
    return loaded.tools, [*map(_as_fault, loaded.problems), *skipped]


async def _features_of_packages(config: Config) -> tuple[list[Feature], list[SettingsFault]]:
    """Return the features of installed packages, and the faults of features that cannot be used."""
    if not _offers_entry_points("callgate.features"):
        return [], []
    from callgate.assembly.installed_features import installed_features  # only where there are any

    loaded = await installed_features(config)
    return [each.feature for each in loaded.features], [*map(_as_fault, loaded.problems)]


def _as_fault(report: Problem) -> SettingsFault:
    return SettingsFault(report.text, Origin(report.layer, report.file, report.line or 0))


def _has_custom(config: Config) -> bool:
    """Return True if a folder of tools exists, or an installed package may offer tools. This check is faster than
    loading the tools."""
    folders = [config.root / ".callgate", *(() if config.folder is None else (config.folder,))]
    return any((folder / "tools").is_dir() for folder in folders) or _offers_entry_points("callgate.tools")


def _offers_entry_points(group: str) -> bool:
    """Return True if a package on ``sys.path`` may have entry points of this group. Searching the
    ``entry_points.txt`` files is faster than ``importlib.metadata``, which parses them."""
    wanted = group.encode()
    for place in dict.fromkeys(sys.path):
        try:
            with os.scandir(place or ".") as entries:
                packages = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
        except NotADirectoryError:  # an archive of packages
            return True
        except OSError:
            continue
        for package in packages:
            try:
                if wanted in Path(package, "entry_points.txt").read_bytes():
                    return True
            except OSError:
                continue
    return False


def _no_such(unknown: Sequence[str], known: Iterable[str]) -> str:
    from callgate.tools.tool_names import close_names

    close = close_names(unknown[0], ((name, ()) for name in known), 1)
    hint = f"did you mean {close[0]}?" if close else f"the tools are {', '.join(known)}"
    return f"there is no tool {', '.join(unknown)}; {hint}"
