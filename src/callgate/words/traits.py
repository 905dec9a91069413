"""What a call touches, declared before it runs, and the values of a tool's traits for one call."""

from typing import Literal

from callgate.words.decisions import Choice
from callgate.words.noun import noun

Effects = Literal["none", "idempotent", "mutating"]
OnSteer = Literal["block", "cancel"]


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
    choices_for_always: tuple[Choice, ...] = ()
    own_state: bool = False
    """All it changes is the session's own: its to-do list, its plan. Plan mode lets that be."""
    judged_as: str = ""
    """The name by which rules, modes, hooks and people know what the call does, where that is not the tool's own."""

    @property
    def locks(self) -> Locks:
        """Declared locks, or the classic pair: readers share the workspace, anything else is alone."""
        if self.declared_locks is not None:
            return self.declared_locks
        return workspace if self.effects == "none" else exclusive
