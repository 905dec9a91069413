"""What the tests of the session commands share: a folder with scripted sessions, and how commands are run in it."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from callgate import Answer, Prompt, QuestionAsked, Session, Store
from callgate.cli import main
from callgate.core.ports import Run
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, ScriptedModel, call, say, think, turn
from callgate.words.inputs import Input, Rewind, SetTitle
from callgate.words.traits import Traits, reads, writes
from tests.sessions import with_event

ESCAPE = "\x1b[31m\x1b]0;owned\x07"
LONG = "\n".join(f"row {n}" for n in range(50))
BAD = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
"""What no terminal should be sent."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Desk:
    """A workspace and a data folder of its own; commands run in it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.work, self.data = folder / "work", folder / "data"
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.setenv("CALLGATE_DATA_DIR", str(self.data))
        monkeypatch.delenv("COLUMNS", raising=False)
        self.go("work")

    @property
    def store(self) -> Store:
        return Store(self.work, self.data)

    def go(self, name: str) -> Path:
        """Into another folder."""
        self.work = self.work.parent / name
        self.work.mkdir(exist_ok=True)
        self._monkeypatch.chdir(self.work)
        return self.work

    def wide(self, columns: int) -> None:
        self._monkeypatch.setenv("COLUMNS", str(columns))

    def run(self, *words: str) -> Ran:
        self._capsys.readouterr()
        code = main(words)
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def good(self, *words: str) -> Ran:
        """Run what must work and say nothing on the side."""
        ran = self.run(*words)
        assert (ran.code, ran.err) == (0, "")
        return ran

    def session(self, title: str = "", prompt: str = "Look at both.", *more: Input, scene: Any = None) -> Path:
        """A session with calls of several outcomes; its log."""
        return asyncio.run(self._talk(title, prompt, more, scene))

    def unanswered(self) -> Path:
        """A session as it is found after a crash while a question was open."""

        async def main() -> Path:
            journal = await self.store.create()
            session = Session(
                ScriptedModel(turn(call("write", path="a.py"))), toolbox(), host=MemoryHost(), journal=journal
            )
            await session.send(Prompt("Write."))
            crashed = journal.path.read_bytes()
            await session.aclose()
            for path in journal.path.parent.glob(f"{journal.session}*"):
                path.unlink()
            journal.path.write_bytes(crashed)
            return journal.path

        return asyncio.run(main())

    async def _talk(self, title: str, prompt: str, more: tuple[Input, ...], scene: Any) -> Path:
        journal = await self.store.create()
        first = scene or turn(
            think("Let me see."),
            say(f"Reading {ESCAPE} both."),
            call("read", path="a.py"),
            call("write", path="no.py"),
            call("gone", x=1),
        )
        model = ScriptedModel(first, otherwise=turn(say("All is fine.")))
        async with Session(model, toolbox(), host=MemoryHost(), journal=journal) as session:
            session.listen(with_event(lambda event: _answer(session, event)))
            if title:
                await session.send(SetTitle(title))
            for sent in (Prompt(prompt), *more):
                await session.send(sent, until="idle")
        return journal.path

    def rewound(self) -> Path:
        """A session whose first prompt was taken back after its calls had run."""
        return self.session("", "First.", Rewind("u1"), Prompt("Second."))


def _answer(session: Session, event: object) -> None:
    if isinstance(event, QuestionAsked):
        question = event.question
        no = "no" in str(question.arguments.get("path"))
        session.post(Answer(question.no("not this one") if no else question.yes()))


async def _read(arguments: Mapping[str, Any], run: Run) -> str:
    return f"{ESCAPE}{LONG}"


async def _write(arguments: Mapping[str, Any], run: Run) -> str:
    return "written"


def toolbox() -> PlainToolbox:
    return PlainToolbox(
        PlainTool("read", _read, traits=lambda a: Traits("none", reads(a.get("path", ".")))),
        PlainTool("write", _write, traits=lambda a: Traits("mutating", writes(a.get("path", ".")))),
    )
