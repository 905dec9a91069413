"""The sandbox for the commands that prove it and run something in it. Everything here blocks."""

import os
import subprocess
import tempfile

from callgate.config import Config, load_config
from callgate.host.environment import scrubbed
from callgate.host.ports import Command
from callgate.host.sandbox.proof import Proof
from callgate.host.sandbox.sandbox import BACKENDS, SandboxRefused, private_folder
from callgate.policy.sandboxing import Proofs, profile_for

__all__ = ["BACKENDS", "Proof", "prove_again", "run_inside"]


def prove_again(*, every: bool) -> tuple[Proof, ...]:
    """Tries the sandboxes of this machine now, whatever is on record."""
    return _proofs(load_config()).prove(every=every)


def run_inside(argv: tuple[str, ...]) -> int:
    """Runs a command in the sandbox of the current folder and gives its exit status. SandboxRefused without one."""
    config = load_config()
    proofs = _proofs(config)
    sandbox = proofs.sandbox()
    if sandbox is None and proofs.kept() is None:
        proofs.prove()
        sandbox = proofs.sandbox()
    if sandbox is None:
        raise SandboxRefused(f"no sandbox holds on this machine, so nothing was run: {proofs.why_none()}")
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=private_folder(config.data)) as scratch:
        private = str(private_folder(config.data))
        profile = profile_for(str(config.root), str(config.home), private=private, scratch=os.path.realpath(scratch))
        inside = sandbox.wrap(Command(argv, str(config.root), scrubbed(os.environ)), profile)
        ended = subprocess.run(inside.argv, cwd=inside.cwd, env=dict(inside.env), check=False).returncode
    return ended if ended >= 0 else 128 - ended


def _proofs(config: Config) -> Proofs:
    if not config.own_data:
        raise SandboxRefused(f"{config.data} lies in the workspace, where a command could write the proof itself")
    return Proofs(config.data)
