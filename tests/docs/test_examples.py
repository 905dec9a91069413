"""Every example of the documents runs and prints what it says it prints."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.kit import ROOT, examples, promised_output

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CASES = [(document, name, code) for document in DOCUMENTS for name, code in examples(document).items()]


@pytest.mark.parametrize(
    ("document", "code"),
    [pytest.param(document, code, id=f"{document.stem}-{name}") for document, name, code in CASES],
)
def test_an_example_runs_and_prints_what_its_comments_say(document: Path, code: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    printed = done.stdout.splitlines()
    promised = promised_output(code)
    assert promised, f"the example in {document.name} promises no output"
    assert [line for line in printed if line in promised] == promised


def test_the_first_example_of_the_readme_is_a_whole_run_in_a_dozen_lines() -> None:
    first = examples(ROOT / "README.md")["first"]
    assert "run_sync" in first
    assert len(first.splitlines()) <= 12
