"""No command tires the gate. Counted here; the time it takes is a row of the bench."""

from functools import partial

from benchmarks.bombs import BOMBS
from benchmarks.rows.decisions import case_of, gate
from callgate.shell.analysis import analyse
from tests.rows import rows
from tests.steps import steps

MOST = 400_000
"""About 40 ms of work."""


@rows("name", BOMBS)
def test_no_command_tires_the_gate(name: str) -> None:
    judge, case = gate(), case_of(BOMBS[name])()
    judge(case_of("git status; cat a; sed p a")())  # what is made once for all commands
    analyse.cache_clear()
    assert steps(partial(judge, case)) < MOST
