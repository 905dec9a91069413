"""The commands ``callgate sandbox``.

A command in the sandbox can write only in the workspace, reaches no network and cannot read keys and passwords. The
first command of a session tests whether the sandbox works on this machine.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence

from callgate.cli.command_rows import JSON, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.terminal import Line, Span, paragraph, signs_for
from callgate.cli.text_output import json_fields, out, put, put_json, put_text, say, text_width
from callgate.config import Config, load_config
from callgate.formats.display import counted
from callgate.host.environment import scrubbed
from callgate.host.ports import Command, HostDecision
from callgate.host.sandbox.sandbox import BACKENDS, Proof, SandboxRefused
from callgate.policy.sandbox_policy import workspace_sandbox
from callgate.policy.sandbox_proofs import Proofs

_BY_SHELL = ("/bin/sh", "-c", 'exec "$@"', "callgate sandbox run")
"""Starts the words behind it. Bubblewrap alone exits with 1 if there is no such program, as many programs do."""


def prove(every: bool, as_json: bool) -> int:
    """Run each attack first without and then inside the sandbox, in a temporary folder. The result is valid until
    this machine restarts, or bubblewrap, Python or Callgate change.

    exit codes: 0 if a sandbox is in force, otherwise 1
    """
    config = load_config()
    _check_data(config)
    proofs = Proofs(config.data).prove(every=every)
    best = next((proof for proof in proofs if proof.holds), None)
    if as_json:
        put_json({"in_force": None if best is None else best.backend, "proofs": [_as_json(each) for each in proofs]})
        return 1 if best is None else 0
    for proof in proofs:
        put(_lines(proof))
    if best is None:
        put_text("No sandbox is in force: you are asked before commands that do more than read.", "red")
        return 1
    put_text(f"In force: {best.backend}.", "green")
    return 0


def run(words: Sequence[str]) -> int:
    """Run a command as the agent runs its commands, with the current folder as the workspace. Environment variables
    whose names look like secrets are removed. Tests the sandbox first if necessary. If no sandbox is available,
    nothing is run.

    examples:
      callgate sandbox run -- make test

    exit codes: as the command; 127 if it is not found, 126 if it cannot be run, 1 if no sandbox works
    """
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise CommandMisuse("name a command: callgate sandbox run -- COMMAND")

    def report(decision: HostDecision) -> None:
        if not decision.allowed:
            say(f"the sandbox blocks {decision.host}: {decision.why}")

    config = load_config()
    _check_data(config)
    found = workspace_sandbox(config.data, config.root, config.home, config.rules, config.settings.sandbox_allow_hosts)
    note = found.test()
    if found.why_none:
        raise SandboxRefused(f"no sandbox works on this machine, so nothing was run: {found.why_none}")
    if note:
        say(note)
    inside = found.wrap(Command((*_BY_SHELL, *words), str(config.root), scrubbed(os.environ)), report)
    check = found.watch(shlex.join(words))
    with subprocess.Popen(inside.argv, cwd=inside.cwd, env=dict(inside.env), pass_fds=inside.handed_fds) as running:
        for number in inside.handed_fds:
            os.close(number)
        ended = running.wait()
    for line in check(True):
        say(line)
    return ended if ended >= 0 else 128 - ended


def _check_data(config: Config) -> None:
    if not config.own_data:
        raise SandboxRefused(f"{config.data} is in the workspace, where commands can write: set CALLGATE_DATA_DIR")


def _lines(proof: Proof) -> Iterator[Line]:
    signs = signs_for(out())
    mark, style = (signs.ok, "green") if proof.holds else (signs.bad, "red")
    yield (Span(f"{mark} {BACKENDS[proof.backend]}", style),)
    if proof.fault:
        yield from paragraph(proof.fault, text_width(), indent=2)
        return
    held = [each for each in proof.outcomes if each.outcome == "held"]
    untried = [each for each in proof.outcomes if each.outcome == "untried"]
    yield (Span(f"  {counted(len(held), 'attack')} blocked, {len(proof.escaped)} succeeded, {len(untried)} skipped"),)
    for each in proof.escaped:
        yield (Span(f"  {signs.bad} {each.name}", "red"), Span(f" {each.why}", "dim"))
    for each in untried:
        yield (Span(f"  {signs.waits} {each.name}: {each.why}", "dim"),)


def _as_json(proof: Proof) -> dict[str, object]:
    outcomes = [json_fields(each, "outcome", "why", attack="name") for each in proof.outcomes]
    return {**json_fields(proof, "backend", "holds", "why_not"), "attacks": outcomes}


COMMANDS = (
    CommandRow(
        "sandbox prove",
        prove,
        "run attacks inside the sandbox and report the results",
        (ArgumentRow("--all", "test every kind of sandbox, not only the best that works", "every"), JSON),
    ),
    CommandRow(
        "sandbox run",
        run,
        "run a command in the sandbox",
        (ArgumentRow("COMMAND...", "the program and its arguments, after --", "words"),),
    ),
)
