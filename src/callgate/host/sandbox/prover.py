"""Proves that a sandbox works on this machine: every attack runs without a sandbox first, then inside the sandbox.

An attack that fails without a sandbox proves nothing: its outcome is ``untried``, with the reason. A sandbox is
proven if no attack succeeded, the indispensable attacks were tried, and a command can work inside the sandbox.

The self-test runs a few attacks that succeed on every machine without a sandbox, so it runs them only inside the
sandbox.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from callgate.host.sandbox.arena import Arena, HostRules, Reports, SmallArena
from callgate.host.sandbox.proof import AttackOutcome, Proof
from callgate.host.sandbox.sandbox import Sandbox, SandboxRefused
from callgate.words.noun import noun


@noun
class Control:
    """The result of the attacks without a sandbox: their reports, and the names of the successful attacks."""

    reports: Reports
    succeeded: frozenset[str]


def try_outside(folder: Path, rules: HostRules, arenas: type[Arena] = Arena) -> Control:
    with arenas(folder, rules) as arena:
        reports, fault = arena.run(replace(arena.command(), pass_fds=tuple(arena.leftovers)))
        if fault:
            raise OSError(fault)
        return Control(reports, arena.succeeded(reports))


def prove(
    sandbox: Sandbox,
    folder: Path,
    rules: HostRules,
    *,
    control: Control | None = None,
    arenas: type[Arena] = Arena,
) -> Proof:
    """Run all attacks on the sandbox and return the outcomes. Blocks for about a second.

    folder   the parent of a new folder for the attacks, which is removed afterwards
    rules    a callback that returns the rules of the proxy, for a sandbox with a network of its own
    control  the result of the attacks without a sandbox; None to run them
    """
    try:
        control = control or try_outside(folder, rules, arenas)
        with arenas(folder, rules) as arena:
            proxy = arena.proxy if sandbox.has_network else None
            line = None if proxy is None else proxy.line(lambda decision: None)
            reports, fault = arena.run(sandbox.wrap(arena.command(), arena.profile(), line))
            inside = arena.succeeded(reports)
            if not fault and not arena.was_written:
                fault = "a command in the sandbox cannot write to the workspace"
            if not fault and line is not None and not arena.was_reached:
                fault = "a command in the sandbox cannot reach an allowed host"
    except (OSError, SandboxRefused, subprocess.SubprocessError) as error:
        fault = f"the escape tests could not run: {error}"
        return Proof(sandbox.backend, fault=fault)
    if fault:
        return Proof(sandbox.backend, fault=fault)
    return Proof(sandbox.backend, tuple(_outcome_of(name, reports, inside, control) for name in control.reports))


def self_test(sandbox: Sandbox, folder: Path) -> Proof:
    """Run the few attacks of the self-test on the sandbox and return the outcomes. Blocks for about 0.1 s."""
    names = SmallArena.names
    control = Control(dict.fromkeys(names, ("did", "")), frozenset(names))
    return prove(sandbox, folder, _no_rules, control=control, arenas=SmallArena)


def _no_rules(hosts: Sequence[str]) -> NoReturn:
    raise AssertionError("the self-test has no proxy")


def _outcome_of(name: str, reports: Reports, inside: frozenset[str], control: Control) -> AttackOutcome:
    outcome, why = reports.get(name, ("", "the escape test reported no result"))
    if name in inside or not outcome:
        return AttackOutcome(name, "escaped", why)
    if name not in control.succeeded:
        why = control.reports[name][1] or "the escape test fails on this machine without a sandbox too"
        return AttackOutcome(name, "untried", why)
    return AttackOutcome(name, "held", why)
