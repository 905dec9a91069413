"""A person with a home and a folder to work in, for the commands about policy and trust."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.cli import main
from callgate.policy.sandbox_proofs import Proofs
from tests.cli.session_kit import Ran


class Person:
    """Everything they have is in one temporary folder; commands run in ``work``."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self.work, self.data = folder / "home", folder / "work", folder / "data"
        self.config, self.managed = folder / "config", folder / "managed.toml"
        for made in (self.home, self.work, self.config):
            made.mkdir()
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.set("HOME", str(self.home))
        self.set("CALLGATE_CONFIG_DIR", str(self.config))
        self.set("CALLGATE_DATA_DIR", str(self.data))
        for name in ("COLUMNS", "CALLGATE_MODE", "CALLGATE_MAX_CONCURRENCY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("callgate.config.MANAGED", self.managed)
        monkeypatch.chdir(self.work)

    def set(self, name: str, value: str) -> None:
        self._monkeypatch.setenv(name, value)

    def has_no_sandbox(self) -> None:
        self._monkeypatch.setattr(Proofs, "test", lambda proofs: "none is meant to hold in this test")

    def user(self, text: str) -> Path:
        """Their own settings."""
        file = self.config / "settings.toml"
        file.write_text(text, encoding="utf-8")
        return file

    def project(self, text: str, name: str = "settings.toml") -> Path:
        """The settings that the folder brings along."""
        file = self.work / ".callgate" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def given(self, text: str | bytes, *, terminal: bool = False) -> None:
        """What standard input holds."""
        raw = text.encode() if isinstance(text, str) else text
        stream = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")
        if terminal:
            self.set("NO_COLOR", "1")
            self.set("COLUMNS", "200")
            self._monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
            self._monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        self._monkeypatch.setattr(sys, "stdin", stream)

    def run(self, *words: str) -> Ran:
        self._capsys.readouterr()
        code = main(words)
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def good(self, *words: str) -> Ran:
        """Run what must work and say nothing on the side."""
        ran = self.run(*words)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran

    def bad(self, code: int, *words: str) -> str:
        """Run what must fail with one line; the line."""
        ran = self.run(*words)
        assert (ran.code, ran.out) == (code, ""), ran
        (line,) = ran.err.splitlines()
        return line

    def decided(self, *calls: dict[str, Any] | str) -> tuple[int, list[dict[str, Any]]]:
        """The exit code and the answers of ``policy decide``."""
        lines = (call if isinstance(call, str) else json.dumps(call) for call in calls)
        self.given("".join(f"{line}\n" for line in lines))
        ran = self.run("policy", "decide", "--jsonl")
        assert ran.err == ""
        return ran.code, [json.loads(line) for line in ran.lines]
