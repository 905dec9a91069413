"""The first start without a key and without a model: every door says the same ways on."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.driver import TerminalDriver

WAYS = ("callgate auth set anthropic", "callgate config set models.default ollama/NAME", "callgate demo")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A home without keys, on which no local server of this machine answers."""
    folder = tmp_path / "home" / ".config" / "callgate"
    folder.mkdir(parents=True)
    nowhere = (f'[providers.{name}]\nbase_url = "http://127.0.0.1:1/v1"\n' for name in ("llamacpp", "lmstudio", "vllm"))
    (folder / "settings.toml").write_text("".join(nowhere))
    (tmp_path / "work").mkdir()
    return {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "OLLAMA_HOST": "127.0.0.1:1"}


@pytest.mark.slow
def test_the_terminal_lists_the_ways_on_and_ends(tmp_path: Path, env: dict[str, str]) -> None:
    with TerminalDriver([sys.executable, "-m", "callgate"], cwd=tmp_path / "work", env=env, columns=80) as terminal:
        assert terminal.wait_for_exit() == 1
        assert terminal.faults == []
        shown = terminal.text
    assert "No model is set and no key was found. Ways to go on:" in shown
    assert [way for way in WAYS if f"      {way}\n" not in shown] == []
    assert "127.0.0.1:1" in shown


def test_a_headless_run_says_the_same_in_one_line(tmp_path: Path, env: dict[str, str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "callgate", "-p", "hi"],
        cwd=tmp_path / "work",
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("callgate: no model is set and no key was found: ")
    assert [way for way in WAYS if f"`{way}`" not in line] == []
