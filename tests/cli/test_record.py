"""``callgate record`` as a person calls it, on a server of the test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.providers.catalogue import Catalogue
from tests.providers.servers import Answer, Call, Reply, Say, serving, writer

CALLGATE = [sys.executable, "-m", "callgate"]


def ran(tmp_path: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    own = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return subprocess.run(
        [*CALLGATE, *words], cwd=home, env={**own, "HOME": str(home), **environ}, capture_output=True, text=True
    )


@pytest.mark.spec("PRV-4")
def test_a_command_is_recorded_without_its_key(tmp_path: Path) -> None:
    wire = writer("openai-chat")
    replies = [Reply.of(wire, Answer((Say("ok"),)))] * 8
    with serving(*replies) as server:
        tape = tmp_path / "tape"
        done = ran(
            tmp_path,
            "record",
            str(tape),
            "--",
            "auth",
            "test",
            "ollama/tiny",
            OLLAMA_HOST=server.url,
            OLLAMA_API_KEY="sk-own-key-1",
        )
        assert server.requests, done.stderr
    files = sorted(tape.iterdir())
    assert len(files) == sum(each.target.endswith("completions") for each in server.requests)
    written = "".join(file.read_text("utf-8") for file in files)
    assert json.loads(written.splitlines()[0])["model"] == "ollama/tiny"
    assert "sk-own-key-1" not in written


def test_a_command_has_to_be_said(tmp_path: Path) -> None:
    done = ran(tmp_path, "record", "tape")
    assert done.returncode == 2
    assert "the command is missing: callgate record FOLDER -- COMMAND" in done.stderr


def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    assert ran(tmp_path, "record", "tape", "--", "xyz").returncode == 2
    assert ran(tmp_path, "record", "tape", "--", "--version").returncode == 0


@pytest.mark.slow
@pytest.mark.spec("PRV-4")
@pytest.mark.parametrize("family", ["anthropic", "openai", "gemini"])
def test_a_recorded_run_is_served_back_without_the_network(tmp_path: Path, family: str) -> None:
    wire, tape = writer(family), tmp_path / "tape"
    file = tmp_path / "home" / "a.txt"
    file.parent.mkdir()
    file.write_text("hello")
    looks = Answer((Say("I look."), Call("c1", "Read", json.dumps({"path": str(file)}))))
    row = Catalogue().vendors[family]
    answers = [looks, *[Answer((Say("It says hello."),))] * 3]
    with serving(*(Reply.of(wire, answer) for answer in answers)) as server:
        environ = {row.base_variable: server.url, row.key_variables[0]: "sk-test-own-key-0123456789"}
        asked = ("-p", "what is in a.txt?", "--model")
        live = ran(tmp_path, "record", str(tape), "--", *asked, f"{family}/some-model", **environ)
        assert live.stdout == "It says hello.\n", live.stderr
        assert server.connections == 1
    again = ran(tmp_path, *asked, f"replay/{tape}")
    assert (again.returncode, again.stdout) == (live.returncode, live.stdout), again.stderr
    assert "sk-test-own-key" not in "".join(each.read_text("utf-8") for each in tape.iterdir())
