"""Values of options that name a file in an unusual form ask: ``@file`` is replaced by the words in the file, and some
formats and settings name a file."""

import shutil
import subprocess
from pathlib import Path

import pytest

from callgate.admin.workspace_policy import CallJudge, CallToJudge
from tests.rows import rows

RULES = ("Bash(pytest:*)", "Bash(python3 -m pytest:*)", "Bash(mypy:*)", "Bash(ruff check:*)", "Bash(ruff format:*)")
RULES += ("Bash(kubectl get:*)", "Bash(kubectl describe:*)")
COMMANDS = [
    "strings @opts",
    "strings -n @opts",
    "strings -an @opts text",
    "strings -t @opts text",
    "strings -e @opts text",
    "strings --bytes @opts text",
    "strings text -- @opts",
    "cat text | strings -n @opts",
    "timeout 5 strings -n @opts",
    "strings -n '@opts'",
    "strings -n @op*",
    "for f in @opts; do strings -n $f text; done",
    "pytest @opts",
    "pytest -k @opts",
    "pytest -m @opts tests",
    "python3 -m pytest -n @opts",
    "python3 -m pytest tests --tb @opts",
    "mypy @opts",
    "mypy --exclude @opts src",
    "mypy -p @opts",
    "ruff check @opts",
    "ruff check --select @opts",
    "ruff check src --exclude @opts",
    "ruff format --check --exclude @opts",
]
FORMATS = [
    "kubectl get pods -o go-template-file=.env",
    "kubectl get pods -o go-template-file=/root/.ssh/id_rsa",
    "kubectl get pods -ogo-template-file=../x",
    "kubectl get pods -o templatefile=.env",
    "kubectl get -o jsonpath-file=.env pods",
    "kubectl get pods -o=custom-columns-file=.env",
    "kubectl get pods --output=jsonpath-file=.env",
    "kubectl get pods --output custom-columns-file=.env",
    "kubectl describe pods -o jsonpath-file=.env",
    "ruff check --config \"cache-dir='/root/x'\" src",
    "ruff check --config=fix=true src",
    "ruff format --check --config 'cache-dir=\"../x\"' src",
    "ruff check --config ../ruff.toml src",
]
FREE = [
    *("strings text", "strings -n 8 text", "strings -a text", "pytest -k login", "ruff check --select E501 src"),
    *(
        "kubectl get pods -o json",
        "kubectl get pods -oyaml",
        "kubectl get pods --output=wide",
        "kubectl get all -o name",
    ),
    *("kubectl get pods -o 'jsonpath={.items[0].metadata.name}'", "kubectl get pods -o custom-columns=A:.spec.x"),
    "ruff check --config ruff.toml src",
]


def decision(command: str, root: Path) -> str:
    return (
        CallJudge(home=str(root.parent))
        .judge(CallToJudge("Bash", {"command": command}, RULES, root=str(root)))
        .decision
    )


@pytest.mark.spec("GATE-15")
@rows("command", [*COMMANDS, *FORMATS])
def test_a_value_that_names_a_file_in_an_unusual_form_asks(command: str, tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    (root / "opts").write_text("4 ../outside\n")
    assert decision(command, root) != "allow"


@rows("command", FREE)
def test_ordinary_values_are_covered_by_the_rule(command: str, tmp_path: Path) -> None:
    assert decision(command, tmp_path) == "allow"


@pytest.mark.skipif(shutil.which("strings") is None, reason="binutils is not installed")
def test_strings_really_reads_the_words_of_an_option_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("contents of another file\n")
    (tmp_path / "opts").write_text("4 outside\n")
    ran = subprocess.run(["strings", "-n", "@opts"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "contents of another file\n"
