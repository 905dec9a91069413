"""Programs in a terminal, in a workspace and a home of their own."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.terminal.driver import TerminalDriver

ROOT = Path(__file__).resolve().parents[2]
Play = Callable[..., TerminalDriver]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def play(tmp_path: Path, workspace: Path) -> Iterator[Play]:
    """Starts ``tests.terminal.scripted`` with a play; further words go to it, ``env`` adds variables."""
    with ExitStack() as stack:

        def start(
            name: str, *words: str, columns: int = 80, rows: int = 24, env: dict[str, str] | None = None
        ) -> TerminalDriver:
            home = tmp_path / "home"
            home.mkdir(exist_ok=True)
            given = {
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                # The screen of the tests cuts lines off when it becomes narrower, as xterm does.
                "XTERM_VERSION": "XTerm(390)",
                "CALLGATE_DATA_DIR": str(home / "data"),
                **(env or {}),
            }
            command = [sys.executable, "-m", "tests.terminal.scripted", name, *words]
            return stack.enter_context(TerminalDriver(command, cwd=workspace, env=given, columns=columns, rows=rows))

        yield start
