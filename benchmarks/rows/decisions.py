"""What a decision about a shell command costs: over the corpus, and on commands made to be slow."""

import gc
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.bombs import BOMBS
from benchmarks.measure import Size
from benchmarks.report import Row
from callgate.assembly import DecisionGate
from callgate.core.ports import Case
from callgate.host.paths import Resolver
from callgate.policy.checks import standard_checks
from callgate.policy.entries import RuleLine
from callgate.policy.rules import Rulebook
from callgate.policy.well_known import StandIn
from callgate.shell.analysis import analyse
from callgate.words.decisions import Effect, Origin, arguments_hash

CORPUS = Path(__file__).parents[2] / "tests" / "data" / "security" / "bash_bypass.jsonl"
ROOT = "/srv/project"
HALF, MOST, WORST = 0.5, 5.0, 50.0
"""Limits in milliseconds: of the median, of 99 in a hundred, and of whatever anybody can think of."""

_RULES: dict[Effect, tuple[str, ...]] = {
    "allow": (
        *("Bash(git status:*)", "Bash(git log:*)", "Bash(git:*)", "Bash(cat:*)", "Bash(echo:*)", "Bash(find:*)"),
        *("Bash(npm run *)", "Bash(sed *)", "Bash(* --help)", "Edit(src/**)"),
    ),
    "deny": ("Bash(rm:*)", "Bash(git push:*)", "Read(.env)", "Bash(* --force *)", "Edit(**/secret/**)"),
}


def rows(size: Size) -> list[Row]:
    rounds = max(1, size.rounds // 3)
    commands = [json.loads(line)["command"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    taken = sorted(_best(commands, rounds))
    bombs = dict(zip(BOMBS, _best(list(BOMBS.values()), min(rounds, 3)), strict=True))
    slowest = max(bombs, key=lambda name: bombs[name])
    many = len(taken)
    return [
        Row("decision_half", f"decide about a command, median of {many}", "ms", taken[many // 2], limit=HALF),
        Row("decision_most", "decide about a command, 99 in 100", "ms", taken[many * 99 // 100], limit=MOST),
        Row("decision_corpus", "decide about the slowest command of the corpus", "ms", taken[-1], limit=WORST),
        Row("decision_worst", f"decide about the worst command ({slowest})", "ms", bombs[slowest], limit=WORST),
    ]


def _best(commands: Sequence[str], rounds: int) -> list[float]:
    """For each command the least of its rounds, in milliseconds of CPU: a shared machine only ever adds."""
    judge = gate()
    cases = [case_of(command) for command in commands]
    best = [float("inf")] * len(cases)
    for _ in range(rounds):
        analyse.cache_clear()  # a command is judged when it is seen for the first time
        gc.collect()
        for at, case in enumerate(cases):
            before = time.process_time_ns()
            judge(case())
            best[at] = min(best[at], (time.process_time_ns() - before) / 1e6)
    return best


def gate() -> Callable[[Case], object]:
    origin = Origin("user", "settings.toml", 1)
    lines = [RuleLine(effect, text, origin) for effect, texts in _RULES.items() for text in texts]
    return DecisionGate(standard_checks(Rulebook.of(lines, root=ROOT, home="/home/me"))).judge


def case_of(command: str) -> Callable[[], Case]:
    tool, arguments = StandIn("Bash"), {"command": command}
    place = Resolver(ROOT).resolve_path
    hashed = arguments_hash("Bash", arguments)
    traits = tool.traits(arguments)
    return partial(Case, "c1", tool, "Bash", arguments, hashed, traits, resolve_path=place)
