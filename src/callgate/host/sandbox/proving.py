"""The proof that a sandbox holds on this machine: every attack is tried outside first, then inside.

An attack that does not even succeed outside proves nothing and counts as untried, with the reason. A sandbox is in
force if no attack got out, the most important ones were really tried, and a command can work inside.
"""

import subprocess
from pathlib import Path
from typing import Literal

from callgate.host.sandbox.arena import Arena, Said
from callgate.host.sandbox.sandbox import Backend, Sandbox, SandboxRefused
from callgate.words.noun import noun

INDISPENSABLE = (
    "write_outside",
    "create_outside",
    "write_kept",
    "create_new",
    "read_secret",
    "connect_tcp",
    "connect_unix",
)
"""Attacks that succeed on any machine without a sandbox: a proof in which they are untried is none."""


@noun
class AttackOutcome:
    """An attack held off, one that got out, or one that says nothing here; ``why`` in the attack's own words."""

    name: str
    outcome: Literal["held", "escaped", "untried"]
    why: str = ""


@noun
class Proof:
    """The outcomes of all attacks on one kind of sandbox. ``fault`` says why it could not be tried at all."""

    backend: Backend
    outcomes: tuple[AttackOutcome, ...] = ()
    fault: str = ""

    @property
    def holds(self) -> bool:
        held = {each.name for each in self.outcomes if each.outcome == "held"}
        return not self.fault and not self.escaped and held.issuperset(INDISPENSABLE)

    @property
    def escaped(self) -> tuple[AttackOutcome, ...]:
        return tuple(each for each in self.outcomes if each.outcome == "escaped")

    @property
    def why_not(self) -> str:
        """The reason why it does not hold, in a sentence; empty if it does."""
        if self.fault or self.holds:
            return self.fault
        if self.escaped:
            return f"{len(self.escaped)} attacks got out: {', '.join(each.name for each in self.escaped[:5])}"
        tried = {each.name for each in self.outcomes if each.outcome == "held"}
        return f"not tried: {', '.join(name for name in INDISPENSABLE if name not in tried)}"


def prove(sandbox: Sandbox, folder: Path, *, control: "Control | None" = None) -> Proof:
    """Tries all attacks on the sandbox, in a new folder in ``folder`` that is removed afterwards. Blocks for about a
    second. ``control`` is the outcome without a sandbox, where it is known already."""
    try:
        outside = control or try_outside(folder)
        with Arena(folder) as arena:
            wrapped = sandbox.wrap(arena.command(), arena.profile())
            said, fault = arena.run(wrapped.argv, wrapped.env)
            inside = arena.succeeded(said)
            if not fault and not arena.worked():
                fault = "a command inside cannot write in the workspace"
    except (OSError, SandboxRefused, subprocess.SubprocessError) as error:
        return Proof(sandbox.backend, fault=f"the attacks could not be run: {error}")
    if fault:
        return Proof(sandbox.backend, fault=fault)
    return Proof(sandbox.backend, tuple(_judged(name, said, inside, outside) for name in outside.said))


def _judged(name: str, said: Said, inside: frozenset[str], outside: "Control") -> AttackOutcome:
    word, why = said.get(name, ("", "it did not say what happened"))
    if name in inside or not word:
        return AttackOutcome(name, "escaped", why)
    if name not in outside.succeeded:
        why = outside.said[name][1] or "it does not succeed here without a sandbox either"
        return AttackOutcome(name, "untried", why)
    return AttackOutcome(name, "held", why)


@noun
class Control:
    """The attacks without a sandbox: their words, and those that succeeded."""

    said: Said
    succeeded: frozenset[str]


def try_outside(folder: Path) -> Control:
    with Arena(folder) as arena:
        command = arena.command()
        said, fault = arena.run(command.argv, command.env, pass_fds=(arena.leftover,))
        if fault:
            raise OSError(fault)
        return Control(said, arena.succeeded(said))
