"""Every example of the documents runs and prints what it says it prints."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.kit import ROOT, examples, promised_output, unmarked

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNNER = str(Path(__file__).parent / "run_examples.py")
CASES = [(document, name, code) for document in DOCUMENTS for name, code in examples(document).items()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the examples run in forks")
def test_every_example_runs_and_prints_what_its_comments_say() -> None:
    codes = {f"{document.stem}-{name}": code for document, name, code in CASES}
    assert len(codes) > 15
    command = [sys.executable, "-W", "error", RUNNER]
    done = subprocess.run(command, input=json.dumps(codes), capture_output=True, text=True, check=True, timeout=300)
    ran: dict[str, tuple[int, str, str]] = json.loads(done.stdout)
    found: list[str] = []
    for name, (code, printed, errors) in ran.items():
        promised = promised_output(codes[name])
        shown = [line for line in printed.splitlines() if line in promised]
        if code or errors or shown != promised or not promised:
            found.append(f"{name}: exit {code}, promised {promised}, printed {printed!r}, errors {errors}")
    assert ran.keys() == codes.keys()
    assert not found, "\n".join(found)


def test_every_block_of_python_is_run_or_says_why_not() -> None:
    drawn = (ROOT / "docs/reference/api.md", ROOT / "docs/reference/testing.md")  # signatures
    found = [
        f"{document.name}:{line}" for document in DOCUMENTS if document not in drawn for line in unmarked(document)
    ]
    assert not found


def test_the_first_example_of_the_readme_is_a_whole_run_in_a_dozen_lines() -> None:
    first = examples(ROOT / "README.md")["first"]
    assert "run_sync" in first
    assert len(first.splitlines()) <= 12
