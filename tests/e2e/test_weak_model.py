"""Qwen2.5-Coder-1.5B on llama.cpp's server, used through ``callgate -p``.

The model writes its calls as text. It is fetched by ``make weak-model``, or CALLGATE_TEST_GGUF names another GGUF file.
Sampling is off, so that the same answers are expected; the texts of answers are checked for one word alone.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from callgate.assembly.agent import SMALL_TOOLS
from callgate.words.endings import ENDINGS
from tests.e2e.small_server import serving

MODEL = Path(os.environ.get("CALLGATE_TEST_GGUF") or Path(sys.prefix) / "weak-model.gguf")
WINDOW = 8_192
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),
    pytest.mark.skipif(
        not MODEL.exists() or find_spec("xllamacpp") is None,
        reason="`make weak-model` fetches the model (1.1 GB); CALLGATE_TEST_GGUF names another GGUF file",
    ),
]
SETTINGS = """
[models]
default = "llamacpp/qwen"
[models.options."llamacpp/qwen"]
temperature = 0
[providers.llamacpp]
base_url = "{address}/v1"
idle_timeout = 900
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(str(MODEL), WINDOW) as found:
        yield found


class Workplace:
    """A folder with a few files, and the settings for the server."""

    def __init__(self, folder: Path, address: str) -> None:
        self.root, self.home = folder / "work", folder / "home"
        settings = self.home / ".config" / "callgate" / "settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS.format(address=address))
        self.root.mkdir()
        (self.root / "notes.txt").write_text(
            "Meeting notes\nThe launch code word is BLUEBIRD.\nNext meeting: Monday.\n"
        )
        (self.root / "config.ini").write_text("[server]\nhost = localhost\nport = 8080\n")

    def callgate(self, *args: str) -> "subprocess.CompletedProcess[str]":
        environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        command = [sys.executable, "-m", "callgate", *args]
        return subprocess.run(command, cwd=self.root, env=environ, capture_output=True, text=True, check=False)

    def events(self, prompt: str, *args: str) -> tuple[int, list[dict[str, Any]]]:
        """Return the exit code and the events of a run."""
        done = self.callgate("-p", prompt, "--output-format", "stream-json", *args)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def workplace(tmp_path: Path, address: str) -> Workplace:
    return Workplace(tmp_path, address)


def of(kind: str, events: "list[dict[str, Any]]") -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


@pytest.mark.spec("PRV-17")
def test_doctor_reports_the_window_that_the_server_has(workplace: Workplace) -> None:
    found = workplace.callgate("doctor").stdout
    assert f"{WINDOW:,} tokens of context, reported by the server" in found
    assert "short prompt" in found


@pytest.mark.spec("PRV-16", "PRV-17")
def test_a_file_is_read_by_a_real_call_and_the_answer_is_from_the_file(workplace: Workplace) -> None:
    code, events = workplace.events("Read the file notes.txt and tell me the launch code word.")
    assert {tool for event in of("start", events) for tool in event["tools"]} == set(SMALL_TOOLS)
    (ended,) = of("RunEnded", events)
    assert (ended["reason"], code) == ("done", 0)
    read = [event for event in of("CallArrived", events) if event["name"] == "Read"]
    assert read
    assert read[0]["from_text"]
    assert [event["result"]["code"] for event in of("CallSettled", events)][:1] == ["ok"]
    answers = [event["message"] for event in of("MessageAdded", events) if event["message"]["role"] == "assistant"]
    assert "BLUEBIRD" in json.dumps(answers[-1])
    first = answers[0]["usage"]
    assert first["input"] + first["cache_read"] < WINDOW // 4, "the prompt fits, with room for the work"


@pytest.mark.spec("PRV-16")
@pytest.mark.parametrize(
    "prompt",
    [
        "Read the file nots.txt and tell me what it says.",
        "What is the capital of France? Answer with one word.",
        "In config.ini change port = 8080 to port = 9090.",
    ],
)
def test_the_exit_code_and_the_files_agree_with_the_end_of_the_run(prompt: str, workplace: Workplace) -> None:
    code, events = workplace.events(prompt, "--max-turns", "6")
    (ended,) = of("RunEnded", events) or [{"reason": "paused"}]
    assert code == (ENDINGS[ended["reason"]].exit_code if ended["reason"] != "paused" else 3)
    settled = {event["call_id"]: event["result"]["code"] for event in of("CallSettled", events)}
    changes = [each for each in of("CallArrived", events) if each["name"] in ("Edit", "Write", "Bash")]
    if not any(settled.get(each["call_id"]) == "ok" for each in changes):
        assert "8080" in (workplace.root / "config.ini").read_text()
