"""Maps the names of well-known tools to their declarations.

A loaded tool declares its subject itself. The table is used for the syntax of rules (the content of ``Grep(…)`` is a
path), and for calls whose tools are not loaded (``callgate policy decide`` and ``explain``).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from posixpath import join
from typing import Any, Literal, cast

from callgate import shell
from callgate.core.capabilities import ToolFacts
from callgate.core.ports import Run
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.declared import Declaration, Given, Part
from callgate.words.errors import ToolFailure
from callgate.words.late_pattern import late_pattern
from callgate.words.model import ToolSpec
from callgate.words.noun import noun
from callgate.words.traits import Traits, shared

Content = Literal["command", "path", "address", "agent"]
"""The kind of content of a rule in parentheses, unless the content is ``name=value``."""

_GLOB = late_pattern(r"[*?[{]")
_BRACES = late_pattern(r"\{([^{}]*)\}")
_PATCHED = late_pattern(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |--- (?!/dev/null)(?:a/)?|\+\+\+ (?!/dev/null)(?:b/)?"
    r"|rename (?:from|to) |copy (?:from|to) )(?P<path>[^\t\r\n]+)",
    re.MULTILINE,
)


@noun
class WellKnown:
    """A row of the table: a tool that is known by its name.

    argument  the argument that receives a value given as a single text
    content   the kind of content that rules on the tool have
    kind      the part of a subject by which rules on the tool also apply to other tools
    """

    argument: str = ""
    content: Content | None = None
    kind: str = ""
    declares: Declaration = Declaration({})
    traits: Traits = Traits()
    previews: bool = False


def paths(given: Given) -> list[str]:
    """Return the paths in the arguments that file tools usually have."""
    values = vars(given)
    listed = values.get("paths")
    found: list[object] = [values.get(name) for name in ("file_path", "path", "notebook_path")]
    found += cast("list[object]", listed) if isinstance(listed, list) else []
    return [each for each in found if isinstance(each, str)]


def searched(given: Given) -> list[str]:
    """Return the folders to search and the literal folders in globs for file names. The default is the workspace."""
    folders = paths(given) or ["."]
    patterns = [vars(given).get(name) for name in ("glob", "include")]
    return [*folders, *(place for each in patterns if isinstance(each, str) for place in within(folders, each))]


def matched(given: Given) -> list[str]:
    pattern = vars(given).get("pattern")
    return [*searched(given), *(within(paths(given) or ["."], pattern) if isinstance(pattern, str) else ())]


def within(folders: Sequence[str], pattern: str) -> list[str]:
    """Return the literal folders of a glob for file names: ``src`` for ``src/**/*.py``."""
    inner = _BRACES.search(pattern)
    if inner is not None:
        if pattern.count("{") > 3 or pattern.count(",") > 60:
            return ["/"]  # too many alternatives
        before, after = pattern[: inner.start()], pattern[inner.end() :]
        return [place for each in inner[1].split(",") for place in within(folders, f"{before}{each}{after}")]
    parts = pattern.split("/")
    while parts and (not parts[-1] or _GLOB.match(parts[-1].lstrip("."))):
        parts.pop()
    named = "/".join(parts)
    if not named and not pattern.startswith("/"):
        return []
    if pattern.startswith(("/", "~")):
        return [named or "/"]
    return [join(folder, named) for folder in folders]


def patched(text: str) -> tuple[str, ...]:
    """Return the paths in a patch of either common format, without the prefixes ``a/`` and ``b/``."""
    return tuple(dict.fromkeys(match["path"].strip() for match in _PATCHED.finditer(text)))


def _patched_files(given: Given) -> list[str]:
    texts = [vars(given).get(name) for name in ("patch", "input", "diff")]
    return [*paths(given), *(path for text in texts if isinstance(text, str) for path in patched(text))]


def _agent(given: Given) -> list[str]:
    found = [vars(given).get(name) for name in ("type", "subagent_type", "agent")]
    return list(dict.fromkeys(each for each in found if isinstance(each, str))) or ["general"]


def _reader(argument: str, reads: Part, kind: str = "") -> WellKnown:
    return WellKnown(argument, "path", kind, Declaration({"reads": reads}), Traits("none"))


def _lister(reads: Part) -> WellKnown:
    """Return the row of a tool that reads only file names. It needs no question, because it does not show file
    contents."""
    return replace(_reader("path", reads), traits=Traits("none", needs_no_question=True))


def _writer(argument: str = "file_path", writes: Part = paths, kind: str = "") -> WellKnown:
    return WellKnown(argument, "path", kind, Declaration({"writes": writes}), Traits("mutating"), previews=True)


_QUIET = WellKnown(traits=Traits("none", shared))
_ASKING = WellKnown(traits=Traits("none", shared, requires_interaction=True))
_OWN_STATE = WellKnown(traits=Traits("idempotent", own_state=True))

_PARTS = Declaration({"command": "command", "folder": "cwd", "environment": "env"})
_COMMANDS = WellKnown("command", "command", "command", _PARTS, Traits("mutating", cascade=True))
OUTSIDE = "Outside"
"""The name in rules on commands that run outside the sandbox. No tool has this name."""

TABLE: Mapping[str, WellKnown] = {
    "Bash": _COMMANDS,
    OUTSIDE: _COMMANDS,
    "Read": _reader("file_path", paths, "reads"),
    "LS": _lister(searched),
    "Glob": _lister(matched),
    "Grep": _reader("path", searched),
    "AstGrep": _reader("path", searched),
    "AstEdit": _reader("path", searched),  # it only stages a change, which is judged as an Edit
    "Edit": _writer(kind="writes"),
    "Write": _writer(),
    "MultiEdit": _writer(),
    "ApplyPatch": _writer(writes=_patched_files),
    "NotebookEdit": _writer("notebook_path"),
    "WebFetch": WellKnown("url", "address", "address", Declaration({"address": "url"}), Traits("none", shared)),
    "WebSearch": WellKnown("query", declares=Declaration({"address": lambda given: ""}), traits=Traits("none", shared)),
    "Agent": WellKnown("type", "agent", "agent", Declaration({"agent": _agent})),
    **dict.fromkeys(("TodoWrite", "TaskCreate", "TaskUpdate"), _OWN_STATE),
    **dict.fromkeys(("AskUserQuestion", "ExitPlanMode"), _ASKING),
    **dict.fromkeys(("TaskList", "TaskGet", "TaskOutput", "EnterPlanMode", "Skill", "Sleep"), _QUIET),
    "SearchExtraTools": _QUIET,
}
_NOBODY = WellKnown()
COMMANDS, READING, WRITING, FETCHING, AGENTS = (
    next(name for name, row in TABLE.items() if row.kind == kind)
    for kind in ("command", "reads", "writes", "address", "agent")
)
"""Names of tools. Rules with these names apply to every tool that declares a part of the same kind."""


def known(name: str) -> WellKnown:
    """Return the row with this name. The row for an unknown name declares nothing and has the strictest traits."""
    return TABLE.get(name, _NOBODY)


def meant_by(name: str) -> str | None:
    """Return the well-known tool whose name is most similar to an unknown name; None if there is no similar name."""
    if name in TABLE or name.startswith("mcp__"):
        return None
    from difflib import get_close_matches  # only for an unknown name

    small = {each.lower(): each for each in sorted(TABLE)}
    close = get_close_matches(name.lower(), small, n=1, cutoff=0.75)
    return small[close[0]] if close else None


def known_traits(name: str, arguments: Mapping[str, Any]) -> Traits:
    """Return the traits and subject of a call of the well-known tool. A call of a command tool without a command has
    a fault."""
    row = known(name)
    if not row.declares.kinds:
        return row.traits
    declared = row.declares.of(Given(**arguments))
    if "command" not in declared.kinds:
        return replace(row.traits, declared=declared)
    if declared.command is None:
        return replace(row.traits, declared=replace(declared, fault=declared.fault or "the call has no command"))
    return replace(row.traits, effects=shell.effects_of(shell.analyse(declared.command)), declared=declared)


class StandIn:
    """A placeholder for a tool that can be judged but not run. ``sandbox`` is the sandbox of the real tool."""

    def __init__(self, name: str, sandbox: object = None) -> None:
        self.spec = ToolSpec(name, "A stand-in for judging.", {"type": "object"})
        self.aliases: Sequence[str] = ()
        self.previews = known(name).previews
        self.facts = ToolFacts(sandbox=sandbox, quiets_git=known(name).argument == "command")

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        try:
            arguments: object = json.loads(raw) if isinstance(raw, str) else raw
        except (ValueError, RecursionError) as error:
            return Rejected((f"$: not JSON: {error}",))
        if not isinstance(arguments, Mapping):
            return Rejected((f"$: {type(arguments).__name__} instead of an object",))
        return Accepted(dict(cast("Mapping[str, Any]", arguments)))

    def traits(self, arguments: Mapping[str, Any]) -> Traits:
        return known_traits(self.spec.name, arguments)

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        raise ToolFailure(f"{self.spec.name} is a placeholder that shows nothing")

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        raise ToolFailure(f"{self.spec.name} is a placeholder that runs nothing")
