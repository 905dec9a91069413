"""``callgate sandbox prove`` and ``run``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.host.sandbox.attacks import ATTACKS
from callgate.host.sandbox.sandbox import INDISPENSABLE, AttackOutcome, Proof
from callgate.policy import sandbox_proofs as sandboxing
from tests.cli.policy_kit import Person
from tests.host.sandbox.kit import best


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Person:
    return Person(tmp_path, monkeypatch, capsys)


def keep_proof(person: Person) -> None:
    """Puts on record that the best sandbox of this machine holds."""
    held = Proof(best(), tuple(AttackOutcome(name, "held") for name in INDISPENSABLE))
    kept = sandboxing.KeptProofs(1, sandboxing._key(), (held,))  # pyright: ignore[reportPrivateUsage]
    sandboxing.write_record(person.data / "sandbox" / "proof.json", sandboxing.to_json(kept))


def test_run_ends_as_a_shell_does(person: Person) -> None:
    keep_proof(person)
    (person.work / "notes.txt").write_text("text\n")
    for words, code in (
        (("true",), 0),
        (("sh", "-c", "exit 3"), 3),
        (("sh", "-c", 'test "$1" = "a  b"', "sh", "a  b"), 0),
        (("nosuch",), 127),
        (("./notes.txt",), 126),
        ((str(person.work),), 126),
    ):
        assert person.run("sandbox", "run", "--", *words).code == code, words


def test_run_needs_a_command(person: Person) -> None:
    ran = person.run("sandbox", "run", "--")
    assert ran.code == 2
    assert "name a command: callgate sandbox run -- COMMAND" in ran.err


def test_a_data_folder_in_the_workspace_is_no_place_for_a_proof(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLGATE_DATA_DIR", str(person.work / "data"))
    ran = person.run("sandbox", "run", "--", "true")
    assert ran.code == 1
    assert "is in the workspace, where commands can write: set CALLGATE_DATA_DIR" in ran.err


@pytest.mark.spec("GATE-13")
def test_explain_judges_a_command_as_a_session_does(person: Person) -> None:
    assert "ask" in person.run("policy", "explain", "Bash", "npm test").out
    keep_proof(person)
    said = person.run("policy", "explain", "Bash", "npm test").out
    assert "runs in the sandbox" in said
    person.user("[sandbox]\nauto_allow = false")
    assert "runs in the sandbox" not in person.run("policy", "explain", "Bash", "npm test").out


@pytest.mark.slow
@pytest.mark.spec("BLT-2")
def test_prove_says_what_held_and_run_runs_inside(person: Person) -> None:
    ran = person.run("sandbox", "prove", "--json")
    said = json.loads(ran.out)
    assert (ran.code == 0) == (said["in_force"] is not None)
    if said["in_force"] is None:
        assert all(proof["why_not"] for proof in said["proofs"])
        refused = person.run("sandbox", "run", "--", "true")
        assert (refused.code, "so nothing was run" in refused.err) == (1, True)
        return
    best = next(proof for proof in said["proofs"] if proof["holds"])
    assert {row["attack"] for row in best["attacks"]} == ATTACKS.keys()
    assert "In force: " in person.run("sandbox", "prove").out
    # In a process of its own: the command writes to the real standard output.
    # In a folder: Landlock alone lets nothing be created directly in the workspace, where places are reserved.
    (person.work / "src").mkdir()
    script = "echo $API_TOKEN- ; echo x > src/inside && echo x > ../outside"
    inside = subprocess.run(
        [sys.executable, "-m", "callgate", "sandbox", "run", "--", "sh", "-c", script],
        cwd=person.work,
        capture_output=True,
        text=True,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(person.home),
            "CALLGATE_DATA_DIR": str(person.data),
            "API_TOKEN": "x",
        },
        check=False,
    )
    assert inside.stdout == "-\n"
    assert (person.work / "src/inside").exists()
    assert not (person.work.parent / "outside").exists()
