"""What is known of tools by their names alone: which work on files, and what a call of them would touch.

Real tools say this themselves. It is kept here for rules, which must know what the brackets of ``Grep(…)`` hold, and
for judging calls where the tools are not at hand (``callgate policy decide``).
"""

import json
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from callgate import shell
from callgate.core.ports import Run
from callgate.words.arguments import Accepted, Rejected
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure
from callgate.words.model import ToolSpec
from callgate.words.traits import Effects, Locks, Traits, exclusive, reads, shared, writes

SHELL = "Bash"
FETCH = "WebFetch"
AGENT = "Agent"
READERS = frozenset({"Read", "Glob", "Grep", "LS", "AstGrep", "AstEdit"})
WRITERS = frozenset({"Edit", "Write", "MultiEdit", "ApplyPatch", "NotebookEdit"})
NETWORK = frozenset({FETCH, "WebSearch"})
FOLDER_READERS = frozenset({"Glob", "Grep", "LS", "AstGrep", "AstEdit"})
"""Readers that read the whole workspace when no path is given. AstEdit only stages: its change is judged as an Edit."""

_OWN_STATE = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate"})
_WITHOUT_EFFECTS = frozenset(
    {"TaskList", "TaskGet", "TaskOutput", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill", "Sleep"}
    | {"SearchExtraTools"}
)
NAMES = READERS | WRITERS | NETWORK | _OWN_STATE | _WITHOUT_EFFECTS | {SHELL, AGENT}
"""Every tool that is well known."""

_INTERACTIVE = frozenset({"AskUserQuestion", "ExitPlanMode"})
_PATH_FIELDS = ("file_path", "path", "notebook_path")
_PATCH_FIELDS = ("patch", "input", "diff")
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |--- (?!/dev/null)(?:a/)?|\+\+\+ (?!/dev/null)(?:b/)?"
    r"|rename (?:from|to) |copy (?:from|to) )(?P<path>[^\t\r\n]+)",
    re.MULTILINE,
)


def meant_by(name: str) -> str | None:
    """The well-known tool that somebody may have meant who wrote another name."""
    if name in NAMES or name.startswith("mcp__"):
        return None
    small = {each.lower(): each for each in sorted(NAMES)}
    close = get_close_matches(name.lower(), small, n=1, cutoff=0.75)
    return small[close[0]] if close else None


def locks_of(name: str, arguments: Mapping[str, Any]) -> Locks | None:
    """What a call of a well-known file tool reads and writes; None for any other tool, and where no path is named."""
    if name not in READERS and name not in WRITERS:
        return None
    paths = [value for field in _PATH_FIELDS if isinstance(value := arguments.get(field), str)]
    listed = arguments.get("paths")
    if isinstance(listed, list):
        paths += [each for each in cast("list[object]", listed) if isinstance(each, str)]
    for field in _PATCH_FIELDS if name == "ApplyPatch" else ():
        if isinstance(text := arguments.get(field), str):
            paths += patched(text)
    if name in FOLDER_READERS and not paths:
        return reads()
    if not paths:
        return None
    return reads(*paths) if name in READERS else writes(*paths)


def patched(text: str) -> tuple[str, ...]:
    """The paths a patch names, in either of the common formats; the marks ``a/`` and ``b/`` are no folders."""
    found = [match["path"].strip() for match in _PATCHED.finditer(text)]
    return tuple(dict.fromkeys(found))


def known_traits(name: str, arguments: Mapping[str, Any]) -> Traits:
    """The traits a call of the well-known tool would have; of a name nobody knows, the most careful ones."""
    locks = locks_of(name, arguments)
    if name == SHELL:
        command = arguments.get("command")
        effects: Effects = shell.effects_of(shell.analyse(command)) if isinstance(command, str) else "mutating"
        return Traits(effects, cascade=True)
    if name in READERS:
        return Traits("none", locks)
    if name in WRITERS:
        return Traits("mutating", locks or exclusive)
    if name in NETWORK:
        return Traits("none", shared)
    if name in _OWN_STATE:
        return Traits("idempotent", own_state=True)
    if name in _WITHOUT_EFFECTS:
        return Traits("none", shared, requires_interaction=name in _INTERACTIVE)
    return Traits()


class StandIn:
    """A Tool that can be judged and never run."""

    def __init__(self, name: str) -> None:
        self.spec = ToolSpec(name, "A stand-in for judging.", {"type": "object"})
        self.aliases: Sequence[str] = ()
        self.previews = name in WRITERS

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        try:
            arguments: object = json.loads(raw) if isinstance(raw, str) else raw
        except (ValueError, RecursionError) as error:
            return Rejected((f"$: not JSON: {error}",))
        if not isinstance(arguments, Mapping):
            return Rejected((f"$: {type(arguments).__name__}, wanted an object",))
        return Accepted(dict(cast("Mapping[str, Any]", arguments)))

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return known_traits(self.spec.name, arguments)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        raise ToolFailure(f"{self.spec.name} is a stand-in and shows nothing")

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        raise ToolFailure(f"{self.spec.name} is a stand-in and runs nothing")


def stand_in(name: str) -> StandIn:
    return StandIn(name)
