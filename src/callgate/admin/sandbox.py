"""The sandbox for the commands that prove it and run something in it. Everything here blocks."""

import os
import subprocess
from collections.abc import Callable

from callgate.config import Config, load_config
from callgate.host.environment import scrubbed
from callgate.host.ports import Command, HostDecision
from callgate.host.sandbox.proof import Proof
from callgate.host.sandbox.sandbox import BACKENDS, SandboxRefused
from callgate.policy.sandbox_policy import NO_HOSTS, Proofs, sandbox_in_force

__all__ = ["BACKENDS", "Proof", "prove_again", "run_inside"]

_BY_SHELL = ("/bin/sh", "-c", 'exec "$@"', "callgate sandbox run")
"""Starts the words behind it. Bubblewrap alone ends with 1 if there is no such program, as many programs do."""


def prove_again(*, every: bool) -> tuple[Proof, ...]:
    """Tries the sandboxes of this machine now, whatever is on record."""
    return _proofs(load_config()).prove(every=every)


def run_inside(argv: tuple[str, ...], say: Callable[[str], None]) -> int:
    """Runs a command in the sandbox of the current folder and gives its exit status, as a shell does: 127 if it is not
    found, 126 if it cannot be run. SandboxRefused without a sandbox. ``say`` is called, in any thread, with a line
    about each host that is refused."""

    def tell(decision: HostDecision) -> None:
        if not decision.allowed:
            say(f"the sandbox refuses {decision.host}: {decision.why}")

    config = load_config()
    proofs = _proofs(config)
    if proofs.kept() is None:
        proofs.prove()
    found = sandbox_in_force(config.data, config.root, config.home, config.rules, config.allow_hosts)
    if isinstance(found, str):
        raise SandboxRefused(f"no sandbox holds on this machine, so nothing was run: {found}")
    if config.allow_hosts and not found.hosts:
        say(NO_HOSTS)
    inside = found.wrap(Command((*_BY_SHELL, *argv), str(config.root), scrubbed(os.environ)), tell)
    with subprocess.Popen(inside.argv, cwd=inside.cwd, env=dict(inside.env), pass_fds=inside.handed_fds) as running:
        for number in inside.handed_fds:
            os.close(number)
        ended = running.wait()
    return ended if ended >= 0 else 128 - ended


def _proofs(config: Config) -> Proofs:
    if not config.own_data:
        raise SandboxRefused(f"{config.data} lies in the workspace, where a command could write the proof itself")
    return Proofs(config.data)
