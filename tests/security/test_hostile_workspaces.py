"""In random hostile workspaces, what runs without a question starts no program of the workspace: with the real gate,
Bash, git and sandbox.

There is one exception: a rule plainly allows a program that runs files of the workspace (``EXEMPT``), on a machine
without a sandbox or with a rule on ``Outside``; the latter does not allow files that the session put in place.
``CALLGATE_ORACLE_COUNT`` and ``CALLGATE_ORACLE_SEED`` are for long runs.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from callgate import Answer, Prompt, Session, shell
from callgate.config import Config
from callgate.policy.entries import RuleLine
from callgate.policy.setting_rows import SettingValues
from callgate.testing import ScriptedModel, call, turn
from callgate.tools.builtin.bash import bash
from callgate.words.decisions import Origin
from callgate.words.events import CallSettled, QuestionAsked
from tests.flows.gated import DONE
from tests.flows.test_sandboxed_commands import prove
from tests.host.sandbox.kit import visible_folder
from tests.security.hostile_workspaces import NAMES, OUTSIDE, RULES, HostileWorkspace, commands, labels

SEED = int(os.environ.get("CALLGATE_ORACLE_SEED", "1"))
COUNT = int(os.environ.get("CALLGATE_ORACLE_COUNT", "40"))
SYSTEM = f"{os.path.dirname(sys.executable)}:/usr/local/bin:/usr/bin:/bin"
LENGTH = 14
MOST_MILLISECONDS = 20_000  # a command that waits for input must not hold up the run
# Programs that run files of the workspace, and what a rule for them allows outside a sandbox.
EXEMPT = {
    "make": {"make", "make+", "script", "script+"},
    "npm": {"npm", "npm+", "node", "script", "script+"},
    "npx": {"npm", "npm+", "node", "never+", "script", "script+"},
    "node": {"node"},
    "python3": {"python", "python+"},
    "sh": {"script", "script+"},
    "./run.sh": {"script", "script+"},
    "run.sh": {"script", "script+"},
    "git": {"git", "git+", "never+"},  # if the command changes something: hooks and filters
}


def exempt(command: str) -> set[str]:
    """Return the labels of programs that a command may run outside a sandbox if a rule allows the command."""
    analysis = shell.analyse(command)
    programs = shell.program_names(analysis)
    if shell.effects_of(analysis) == "none":  # make --version: a rule for make means the program that PATH finds
        return {f"name:{name}" for name, applies in programs.items() if applies}
    names = {run.name or "" for run in shell.find_inner_commands(analysis).runs}
    found = set[str]().union(*(EXEMPT.get(name, ()) for name in names))
    if "pytest" in command or "--workspace" in command:  # these load files of all folders of the project
        found |= {"never", "never+"}
    # They start other programs, which the PATH of the project may find in the workspace.
    return found | ({f"name:{name}" for name in NAMES} if any(programs.values()) else set())


class Found:
    def __init__(self) -> None:
        self.judged = self.ran = self.asked = 0
        self.wrong: list[str] = []


async def play(made: HostileWorkspace, config: Config, chosen: list[str], found: Found, *, inside: bool) -> None:
    """Run a session with one command for each message. Each question is answered with no. A session that ends after
    several refusals is followed by another one."""
    while chosen:
        chosen = chosen[await _session(made, config, chosen, found, inside=inside) :]


async def _session(made: HostileWorkspace, config: Config, chosen: list[str], found: Found, *, inside: bool) -> int:
    """Return the number of commands that were judged."""
    model = ScriptedModel(*(turn(call("Bash", command=each, timeout=MOST_MILLISECONDS)) for each in chosen), DONE)
    asked, at = False, -1
    async with Session(model, [bash()], config=config) as session:
        async for event in session.send(Prompt("go")):
            if isinstance(event, QuestionAsked):
                asked = True
                session.post(Answer(event.question.no()))
            elif isinstance(event, CallSettled):
                at += 1
                found.judged, found.asked = found.judged + 1, found.asked + asked
                found.ran += not asked
                ran = labels(made.canary)
                fine = set[str]() if asked else exempt(chosen[at])
                if inside:  # a rule on Outside allows what was there before the first session in the workspace
                    has_rule = any(rule.text.startswith("Outside") for rule in config.rules)
                    fine = {each for each in fine if each[-1] != "+"} if has_rule else set()
                if ran - fine:
                    found.wrong.append(f"{chosen[at]!r} ran {sorted(ran - fine)} in {made.planted}")
                asked = False
    return max(at + 1, 1)


@pytest.fixture
def canary() -> Iterator[Path]:
    with visible_folder() as folder:
        yield folder / "canary"


def config_of(made: HostileWorkspace, rules: list[str], *, inside: bool) -> Config:
    lines = tuple(RuleLine("allow", text, Origin("user")) for text in rules)
    config = Config(made.root, made.home, made.base / "data", rules=lines)
    if inside:
        prove(config)
        return config
    return replace(config, settings=SettingValues(sandbox_disabled=True))


@pytest.mark.chaos
@pytest.mark.spec("GATE-17", "GATE-18", "GATE-19", "GATE-20")
@pytest.mark.parametrize("inside", [False, True], ids=["without", "sandbox"])
@pytest.mark.timeout(max(900, COUNT * 30))
def test_no_program_of_a_hostile_workspace_runs_without_a_question(
    inside: bool, tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Found()
    for seed in range(SEED, SEED + COUNT):
        base = Path(os.path.realpath(tmp_path)) / str(seed)
        base.mkdir()
        made = HostileWorkspace(base, canary, seed, SYSTEM)
        chosen = Random(f"{seed} {inside}")
        rules = chosen.sample(RULES, chosen.choice((0, 12, len(RULES))))
        if inside and chosen.random() < 0.3:
            rules += chosen.sample(OUTSIDE, 2)
        listed = commands(chosen, LENGTH)
        with monkeypatch.context() as patched:
            for name, value in made.variables.items():
                patched.setenv(name, value)
            patched.setenv("npm_config_offline", "true")  # npx would try for minutes to reach its server
            patched.chdir(made.root)
            before = len(found.wrong)
            asyncio.run(play(made, config_of(made, rules, inside=inside), listed, found, inside=inside))
        found.wrong[before:] = [f"seed {seed}: {each}, {made.variables['PATH']}" for each in found.wrong[before:]]
    print(f"{found.judged} commands, {found.ran} ran without a question, {found.asked} asked")
    assert found.ran >= found.judged // 20
    assert not found.wrong, "\n".join(found.wrong)


def test_planted_programs_run_without_the_gate(tmp_path: Path, canary: Path) -> None:
    """A label that nothing reaches proves nothing."""
    found = set[str]()
    for seed in range(6):
        base = tmp_path / str(seed)
        base.mkdir()
        made = HostileWorkspace(Path(os.path.realpath(base)), canary, seed, SYSTEM)
        for command in (
            "ls; git status; cat a.txt",
            "make test",
            "npm test",
            "python3 run.py",
            "git commit -qam x",
            "sh run.sh",
            "make -C evil",
        ):
            subprocess.run(
                ["bash", "-c", command],
                cwd=made.root,
                env=made.variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            found |= {each.partition(":")[0] for each in labels(canary)}
    assert found >= {"make", "npm", "python", "git", "name", "script", "never"}
