"""The traits of a call, such as effects, locks, subject and timeout."""

from collections.abc import Mapping
from typing import Literal, get_args

from callgate.words.decisions import AskedField, Choice
from callgate.words.declared import UNDECLARED, Declared
from callgate.words.noun import noun

Effects = Literal["none", "idempotent", "mutating"]
OnSteer = Literal["block", "cancel"]
Icon = Literal["read", "edit", "run", "fetch", "search", "think", "ask", "agent"]
ICONS: tuple[Icon, ...] = get_args(Icon)


@noun
class Locks:
    """The paths that a call reads and writes, each with all paths below it, or one of two wider scopes.

    ``shared`` conflicts only with ``exclusive``; ``exclusive`` conflicts with everything. Combine locks with ``|``:
    ``reads("src") | writes("out")``.
    """

    scope: Literal["paths", "shared", "exclusive"] = "paths"
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def __or__(self, other: "Locks") -> "Locks":
        for scope in ("exclusive", "paths"):
            if scope in (self.scope, other.scope):
                return Locks(scope, self.reads + other.reads, self.writes + other.writes)
        return self


def reads(*paths: object) -> Locks:
    """Return locks for reading the paths; without paths, the whole workspace."""
    return Locks(reads=tuple(str(path) for path in paths) or (".",))


def writes(*paths: object) -> Locks:
    """Return locks for writing the paths; without paths, the whole workspace."""
    return Locks(writes=tuple(str(path) for path in paths) or (".",))


shared = Locks("shared")
exclusive = Locks("exclusive")
workspace = reads()


@noun
class Traits:
    """The traits of a tool, evaluated for the arguments of one call."""

    effects: Effects = "mutating"
    declared_locks: Locks | None = None
    timeout: float | None = None
    interrupt: OnSteer = "block"
    cascade: bool = False
    max_result_chars: int | None = None
    requires_interaction: bool = False
    asks: tuple[AskedField, ...] = ()
    """The fields of the question about the call. The tool gets the answers in ``run.answers``."""
    choices_for_always: tuple[Choice, ...] | None = None
    """Scopes for "always" besides exactly these arguments; None for scopes that are derived from the subject."""
    own_state: bool = False
    """The call only changes state of the session, such as the to-do list. Plan mode allows this."""
    needs_no_question: bool = False
    """The call runs without a rule, unless a deny or ask rule, the mode or hard safety applies."""
    repeats: bool = False
    """Repeated calls with the same arguments are intended, as for polling. The loop guard allows them."""
    judged_as: str = ""
    """The name of the call for rules, modes, hooks and the user, if different from the name of the tool."""
    declared: Declared = UNDECLARED
    server: str = ""
    """The MCP server of the tool, as written in the names of its tools."""
    declared_icon: Icon | None = None
    failed: str = ""
    """A note for the user about traits that could not be evaluated and have their most restrictive value."""

    @property
    def locks(self) -> Locks:
        """The locks of the call: the declared locks, or else the locks of the declared paths. If neither is
        declared, a call without effects locks the workspace for reading, and any other call has exclusive locks."""
        if self.declared_locks is not None:
            return self.declared_locks
        found = self.declared
        if found.writes or (found.reads and self.effects == "none"):
            return exclusive if found.command is not None else Locks(reads=found.reads, writes=found.writes)
        return workspace if self.effects == "none" else exclusive

    @property
    def icon(self) -> Icon:
        """The icon of the call: the declared icon, otherwise an icon for its subject, otherwise an icon for its
        effects."""
        if self.declared_icon is not None:
            return self.declared_icon
        for kind, icon in _ICON_OF.items():
            if kind in self.declared.kinds:
                return icon
        if self.requires_interaction:
            return "ask"
        if self.own_state:
            return "think"
        return "read" if self.effects == "none" else "run"


# By the kind of subject; the first that a call has is used.
_ICON_OF: Mapping[str, Icon] = {
    "agent": "agent",
    "command": "run",
    "writes": "edit",
    "address": "fetch",
    "reads": "read",
}
