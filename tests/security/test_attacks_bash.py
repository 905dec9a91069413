"""Attacks on the shell part of the gate, each judged by the whole gate. A row without a rule is about what is decided
when there are none: reading needs none."""

from pathlib import Path

import pytest

from tests.security.corpora import Workspace, rows_of, wrong


def test_every_attack_is_decided_as_its_row_accepts(tmp_path: Path) -> None:
    bad = wrong(rows_of("attacks_bash"), Workspace(tmp_path).judged)
    assert not bad, "\n".join(bad)


@pytest.mark.spec("GATE-14")
@pytest.mark.spec("GATE-15")
def test_what_a_careful_attacker_found_asks_and_the_ordinary_use_beside_it_passes(tmp_path: Path) -> None:
    rows = [row for row in rows_of("bash_found") if row["class"] != "cwd-argument"]  # judged with its other arguments
    bad = wrong(rows, Workspace(tmp_path).judged)
    assert not bad, "\n".join(bad)
