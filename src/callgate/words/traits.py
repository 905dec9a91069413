"""The traits of a tool for one call: its effects, its locks, its subject, how long it may take."""

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
    """The paths a call reads and writes (each covers its subtree), or one of two wider scopes.

    ``shared`` conflicts only with ``exclusive``; ``exclusive`` conflicts with everything.
    Join declarations with ``|``: ``reads("src") | writes("out")``.
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
    """Locks for reading the given paths; with none, the whole workspace."""
    return Locks(reads=tuple(str(path) for path in paths) or (".",))


def writes(*paths: object) -> Locks:
    """Locks for writing the given paths; with none, the whole workspace."""
    return Locks(writes=tuple(str(path) for path in paths) or (".",))


shared = Locks("shared")
exclusive = Locks("exclusive")
workspace = reads()


@noun
class Traits:
    """A tool's traits, evaluated on the arguments of one call."""

    effects: Effects = "mutating"
    declared_locks: Locks | None = None
    timeout: float | None = None
    interrupt: OnSteer = "block"
    cascade: bool = False
    max_result_chars: int | None = None
    requires_interaction: bool = False
    asks: tuple[AskedField, ...] = ()
    """Fields that its question has beyond yes or no; the tool finds the answers in ``run.answers``."""
    choices_for_always: tuple[Choice, ...] | None = None
    """Choices of the tool's own for "always", besides exactly these arguments; None for those its subject gives."""
    own_state: bool = False
    """It changes the session's own state alone, such as its to-do list; plan mode allows that."""
    needs_no_question: bool = False
    """With these arguments it runs without a rule, where no deny or ask rule, no mode and no hard safety objects."""
    repeats: bool = False
    """It is meant to be called again with the same arguments, as a poller is: the loop guard lets it."""
    judged_as: str = ""
    """The name by which rules, modes, hooks and people know the call, where that is not the tool's own."""
    declared: Declared = UNDECLARED
    server: str = ""
    """The MCP server the tool belongs to, as the names of its tools spell it."""
    declared_icon: Icon | None = None
    failed: str = ""
    """A note for people: which traits could not be evaluated and so have their most careful value."""

    @property
    def locks(self) -> Locks:
        """The locks given; else those of the declared paths; else readers share the workspace and the rest are
        exclusive."""
        if self.declared_locks is not None:
            return self.declared_locks
        found = self.declared
        if found.writes or (found.reads and self.effects == "none"):
            return exclusive if found.command is not None else Locks(reads=found.reads, writes=found.writes)
        return workspace if self.effects == "none" else exclusive

    @property
    def icon(self) -> Icon:
        """The kind of icon that doors show: the one given; else by the declared subject; else by the effects."""
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


# Of several kinds of subject the first counts.
_ICON_OF: Mapping[str, Icon] = {
    "agent": "agent",
    "command": "run",
    "writes": "edit",
    "address": "fetch",
    "reads": "read",
}
