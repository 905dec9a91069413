"""Attacks on the shell part of the gate, each judged by the whole gate. A row without a rule is about what is decided
when there are none: reading needs none."""

from pathlib import Path

import pytest

from tests.security.corpora import DATA, Row, Workspace, rows_of, wrong


def test_every_attack_is_decided_as_its_row_accepts(tmp_path: Path) -> None:
    bad = wrong(rows_of("attacks_bash"), Workspace(tmp_path).judged)
    assert not bad, "\n".join(bad)


@pytest.mark.spec("GATE-14")
@pytest.mark.spec("GATE-15")
def test_what_a_careful_attacker_found_asks_and_the_ordinary_use_beside_it_passes(tmp_path: Path) -> None:
    bad = wrong(rows_of("bash_found"), Workspace(tmp_path).judged)
    assert not bad, "\n".join(bad)


def lines(name: str) -> list[Row]:
    """Lines of ``command @ rule @ rule``, judged in the workspace with links that lead out."""
    text = (DATA.parent / "shell" / f"{name}.txt").read_text(encoding="utf-8")
    found = [line.split(" @ ") for line in text.strip().splitlines()]
    allow = "allow" if name == "gate_allows" else "ask"
    return [
        {
            "id": "",
            "rule": "",
            "list": "allow",
            "class": "",
            "world": "fuzz",
            "why": "",
            "accept": [allow],
            "command": command,
        }
        | {"extra": {"allow": [f"Bash({rule})" for rule in rules]}}
        for command, *rules in found
    ]


@pytest.mark.spec("GATE-15")
@pytest.mark.parametrize("name", ["gate_asks", "gate_allows"])
def test_further_rows_of_each_class_are_decided_as_listed(name: str, tmp_path: Path) -> None:
    """Option order, assignments, words handed on, unknown options, files really written, patterns, links, code."""
    bad = wrong(lines(name), Workspace(tmp_path).judged)
    assert not bad, "\n".join(bad)
