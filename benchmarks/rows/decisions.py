"""What a decision about a shell command costs: over the corpus, and on commands made to be slow."""

import gc
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.measure import Size
from benchmarks.report import Row
from callgate.core.ports import Case
from callgate.host.paths import Resolver
from callgate.policy.checks import standard_checks
from callgate.policy.known import stand_in
from callgate.policy.lines import RuleLine
from callgate.policy.rules import Rulebook
from callgate.policy.shell.analyse import analyse
from callgate.standalone import DecisionGate
from callgate.words.decisions import Effect, Origin, arguments_hash

CORPUS = Path(__file__).parents[2] / "tests" / "data" / "security" / "bash_bypass.jsonl"
ROOT = "/srv/project"
HALF, MOST, WORST = 0.5, 5.0, 50.0
"""Limits in milliseconds: of the median, of 99 in a hundred, and of whatever anybody can think of."""

_RULES: dict[Effect, tuple[str, ...]] = {
    "allow": ("Bash(git status:*)", "Bash(echo:*)", "Bash(find:*)", "Bash(npm run *)", "Edit(src/**)"),
    "deny": ("Bash(rm:*)", "Bash(git push:*)", "Read(.env)"),
}

BOMBS = {
    "braces": "echo " + "{a,b}" * 40,
    "nested braces": "echo " + "{a," * 2000 + "b" + "}" * 2000,
    "ranges": "echo {1..99999999}{1..99999999}",
    "globs": "rm " + "*/" * 3000 + "*",
    "stars": "npm run " + "a" * 4000 + " " + "*a" * 2000,
    "parentheses": "(" * 5000 + "rm x" + ")" * 4000,
    "substitutions": "echo " + "$(" * 3000 + "rm x" + ")" * 3000,
    "quotes": "echo " + "'\"" * 4500,
    "operators": "true; " * 1600 + "rm x",
    "pipes": "cat a | " * 1200 + "sh",
    "words": "echo " + "a " * 4990,
    "wrappers": "sudo env " * 1000 + "rm x",
    "inner shells": "sh -c '" * 1200 + "rm x" + "'" * 1200,
    "options": "find . " + "-name a -o " * 900 + "-print",
    "here-documents": "cat <<A; " * 900 + "\n" + "A\n" * 900,
    "escapes": "echo " + "\\a" * 4990,
    "dots": "cat " + "../" * 3300 + "etc/passwd",
    "too long": "echo " + "x" * 200_000,
    "too long and dense": "true && " * 25_000,
}


def rows(size: Size) -> list[Row]:
    rounds = max(3, size.rounds // 3)
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
    judge = _gate()
    cases = [_case(command) for command in commands]
    best = [float("inf")] * len(cases)
    for _ in range(rounds):
        analyse.cache_clear()  # a command is judged when it is seen for the first time
        gc.collect()
        for at, case in enumerate(cases):
            before = time.process_time_ns()
            judge(case())
            best[at] = min(best[at], (time.process_time_ns() - before) / 1e6)
    return best


def _gate() -> Callable[[Case], object]:
    origin = Origin("user", "settings.toml", 1)
    lines = [RuleLine(effect, text, origin) for effect, texts in _RULES.items() for text in texts]
    return DecisionGate(standard_checks(Rulebook.of(lines, root=ROOT, home="/home/me"))).judge


def _case(command: str) -> Callable[[], Case]:
    tool, arguments = stand_in("Bash"), {"command": command}
    place = Resolver(ROOT).place
    hashed = arguments_hash("Bash", arguments)
    traits = tool.traits(arguments)
    return partial(Case, "c1", tool, "Bash", arguments, hashed, traits, place=place)
