"""The claims of the table of programs, executed: what needs no rule reads the workspace and does nothing else.

Each option of a free program is run in the jail before and behind its operands, with files, folders, links that lead
out and patterns as operands. The gate is asked first, without any rule; what it allows must have no effect, start no
program, and show nothing from outside or of the environment.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import pytest

from callgate.admin.workspace_policy import CallJudge, CallToJudge
from callgate.shell.programs.program_entries import Option
from callgate.shell.programs.program_table import grammar_of
from tests.security.oracle import Jail, free_programs, need_jail

SEED = 1
FEW = 250
# Without an end, or about the machine and not about files.
LEFT_OUT = frozenset(("tail", "sleep", "timeout", "stdbuf", "cd", "pushd", "chdir", "lsof", "ps", "docker"))
FIRST = {"grep": "e", "egrep": "e", "fgrep": "e", "rg": "e", "sed": "p", "jq": "-R .", "tr": "a b", "date": "+%F"}
OPERANDS = (
    *("a.txt", "a.txt b.txt", "src", ".", "link", "away", "away/kept.txt", "d1 d2", "d1/x.txt d2", "d2/kept.txt"),
    *("*.txt", "d2/*", "lin*", "l[i]nk", "src/*", "*", "d1/../link", ""),
)
FIND = ("-L", "-H", "-follow", "-exec cat {} +", "-fprint new", "-delete", "-printf '%p'", "-ls", "-newer link")


def examined() -> list[str]:
    return [name for name in free_programs() if name not in LEFT_OUT]


def spelled(option: Option) -> list[str]:
    if option.name == "-#":
        return ["-2"]
    if option.value == "none":
        return [option.name]
    joined = "=" if option.name.startswith("--") else ""
    values = ("1", "a.txt", "link") if option.kind == "read" else ("1", "a")
    ways = [f"{option.name}{joined}{value}" for value in values]
    return ways if option.value == "glued" else [*ways, *(f"{option.name} {value}" for value in values)]


def claims() -> Iterator[str]:
    """Every option of every free program, before and behind every kind of operand."""
    for name in examined():
        options = [way for option in grammar_of(name).table.values() for way in spelled(option)]
        options += list(FIND) if name == "find" else []
        first = FIRST.get(name, "")
        for option, operand in product(["", *options], OPERANDS):
            start = f"{name} {operand}" if name == "find" else f"{name} {option} {first}"
            yield f"{start} {option if name == 'find' else operand}".strip()
            yield f"{name} {first} {operand} {option}".strip()


def allowed(commands: list[str], root: Path) -> list[str]:
    bench = CallJudge(home=str(root.parent / "home"))
    return [
        each
        for each in commands
        if bench.judge(CallToJudge("Bash", {"command": each}, root=str(root))).decision == "allow"
    ]


@pytest.mark.spec("GATE-15")
@pytest.mark.parametrize("count", [pytest.param(FEW, id="few"), pytest.param(None, id="all", marks=pytest.mark.slow)])
@pytest.mark.timeout(1_800)
def test_what_needs_no_rule_only_reads_the_workspace(tmp_path: Path, count: int | None) -> None:
    need_jail()
    programs = examined()
    jail = Jail(tmp_path, programs, outside=True)
    every = list(dict.fromkeys(claims()))
    chosen = every if count is None else Random(SEED).sample(every, 3 * count)
    commands = allowed(chosen, tmp_path / "fresh" / "ws")[:count]
    assert len(programs) > 30
    assert len(commands) > len(chosen) // 10, "too few of the commands are allowed to prove anything"
    assert not (found := jail.findings(commands)), "\n".join(map(str, found))
