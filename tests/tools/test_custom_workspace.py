"""Custom tools of a workspace, from the settings to a session that runs one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Session, load_config
from callgate.cli import main
from callgate.policy.fingerprint import fingerprint
from callgate.policy.trust import Trust
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.custom import LoadedTools, custom_tools
from callgate.words.messages import ResultPart, Text

GREETING = '''from callgate import tool


@tool(effects="none")
def {name}() -> str:
    """Say something."""
    return "{text}"
'''


class Desk:
    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "root", folder / "home"
        self.root.mkdir()
        self.home.mkdir()

    def own(self, name: str, text: str) -> None:
        self._write(self.home / ".config" / "callgate" / "tools", name, text)

    def of_the_repository(self, name: str, text: str) -> None:
        self._write(self.root / ".callgate" / "tools", name, text)

    @staticmethod
    def _write(folder: Path, name: str, text: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(text if "\n" in text else GREETING.format(name=name, text=text))

    def trust(self) -> None:
        config = self.config()
        Trust(config.data).trust(config.root, fingerprint(config.root))

    def config(self, **more: Any) -> Any:
        return load_config(self.root, home=self.home, environ={"HOME": str(self.home)}, **more)

    def load(self, **more: Any) -> LoadedTools:
        return asyncio.run(custom_tools(self.config(**more)))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def names(loaded: LoadedTools) -> list[str]:
    return [tool.spec.name for tool in loaded.tools]


def test_what_a_person_wrote_counts_and_what_a_repository_brings_waits_for_trust(desk: Desk) -> None:
    desk.own("mine", "mine")
    desk.of_the_repository("theirs", "theirs")
    before = desk.load()
    assert names(before) == ["mine"]
    assert [Path(each.file).name for each in before.skipped] == ["tools"]
    desk.trust()
    assert names(desk.load()) == ["mine", "theirs"]


@pytest.mark.spec("TOOL-8")
def test_a_file_that_comes_after_the_yes_takes_the_trust_away(desk: Desk) -> None:
    desk.of_the_repository("theirs", "theirs")
    desk.trust()
    assert names(desk.load()) == ["theirs"]
    desk.of_the_repository("later", "later")
    after = desk.load()
    assert (names(after), [each.text for each in after.skipped]) == (
        [],
        ["not trusted, so 2 files of tools did not run: see callgate trust show"],
    )
    desk.trust()
    assert names(desk.load()) == ["later", "theirs"]


def test_a_folder_that_is_trusted_this_once_has_its_tools(desk: Desk) -> None:
    desk.of_the_repository("theirs", "theirs")
    assert names(desk.load(trust=True)) == ["theirs"]


def test_a_broken_file_is_named_with_its_line_and_the_others_load(desk: Desk) -> None:
    desk.own("good", "good")
    desk.own("bad", "x = 1\n\nraise ValueError('no')\n")
    loaded = desk.load()
    assert names(loaded) == ["good"]
    (problem,) = loaded.problems
    assert (Path(problem.file).name, problem.line) == ("bad.py", 3)
    assert "ValueError: no" in problem.text


def test_a_session_runs_a_tool_that_callgate_tools_new_wrote(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(desk.root)
    assert main(["tools", "new", "count_lines"]) == 0
    assert "wrote .callgate/tools/count_lines.py" in capsys.readouterr().out
    assert main(["tools", "new", "count_lines"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["tools", "new", "not a name"]) == 2
    desk.trust()
    (desk.root / "a.txt").write_text("1\n2\n")

    async def run() -> object:
        config = desk.config()
        loaded = await custom_tools(config)
        model = ScriptedModel(turn(call("count_lines", path="a.txt")), turn(say("done")))
        async with Session(model, loaded.tools, config=config) as session:
            await session.send(Prompt("how many?"))
            return session.messages[2].parts[0]

    assert asyncio.run(run()) == ResultPart("call_1", "count_lines", (Text("a.txt has 2 lines"),))
