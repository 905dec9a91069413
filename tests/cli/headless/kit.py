"""What the tests of ``callgate -p`` share: a person with a home and a folder, and the program run in it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from callgate import Store
from callgate.cli.headless import headless
from callgate.cli.start_options import read_headless
from callgate.testing import ScriptedModel
from callgate.testing.script import Scene


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]

    @property
    def notices(self) -> list[str]:
        """Lines for people, without the one about the sandbox, which depends on the machine."""
        return [line for line in self.err.splitlines() if "no sandbox is active" not in line]


class Desk:
    """Runs the agent in this process, on a scripted model."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self._capfd = capfd
        monkeypatch.setenv("HOME", str(self.home))
        for name in ("CALLGATE_DATA_DIR", "CALLGATE_CONFIG_DIR", "CALLGATE_MODE", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(self.work)
        self.models: list[ScriptedModel] = []

    @property
    def store(self) -> Store:
        return Store(self.work, self.home / ".local/share/callgate")

    def run(self, words: Sequence[str], *scenes: Scene) -> Ran:
        self._capfd.readouterr()
        model = ScriptedModel(*scenes)
        self.models.append(model)
        code = headless(read_headless(["-p", *words]), model)
        out, err = self._capfd.readouterr()
        return Ran(code, out, err)

    def captured(self) -> str:
        return self._capfd.readouterr().out

    def settings(self, text: str) -> None:
        file = self.home / ".config/callgate/settings.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
