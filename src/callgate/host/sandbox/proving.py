"""The proof that a sandbox holds on this machine: every attack is tried outside first, then inside.

An attack that does not even succeed outside proves nothing and counts as untried, with the reason. A sandbox is in
force if no attack got out, the most important ones were really tried, and a command can work inside.
"""

import subprocess
from dataclasses import replace
from pathlib import Path

from callgate.host.sandbox.arena import Arena, HostRules, Said
from callgate.host.sandbox.proof import AttackOutcome, Proof
from callgate.host.sandbox.sandbox import Sandbox, SandboxRefused
from callgate.words.noun import noun


def prove(sandbox: Sandbox, folder: Path, rules: HostRules, *, control: "Control | None" = None) -> Proof:
    """Tries all attacks on the sandbox, in a new folder in ``folder`` that is removed afterwards. Blocks for about a
    second. A sandbox with a network of its own is tried with a proxy, whose rules ``rules`` makes. ``control`` is the
    outcome without a sandbox, where it is known already."""
    try:
        outside = control or try_outside(folder, rules)
        with Arena(folder, rules) as arena:
            line = arena.proxy.line(lambda decision: None) if sandbox.has_network else None
            wrapped = sandbox.wrap(arena.command(), arena.profile(), line)
            said, fault = arena.run(wrapped)
            inside = arena.succeeded(said)
            if not fault and not arena.worked():
                fault = "a command inside cannot write in the workspace"
            if not fault and line is not None and not arena.was_reached:
                fault = "a command inside cannot reach a host that is allowed"
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


def try_outside(folder: Path, rules: HostRules) -> Control:
    with Arena(folder, rules) as arena:
        said, fault = arena.run(replace(arena.command(), pass_fds=(arena.leftover, arena.line)))
        if fault:
            raise OSError(fault)
        return Control(said, arena.succeeded(said))
