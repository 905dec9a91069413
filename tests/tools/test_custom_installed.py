"""Tools of installed packages: entry points of the group callgate.tools."""

import asyncio
import site
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from callgate.testing import ManualClock
from callgate.tools.custom import Api, LoadedTools, load_tools
from callgate.tools.custom.tool_loader import Installed
from tests.tools.custom_kit import Place, greeting, names, problems, said


class Distribution:
    """An installed package on ``sys.path``; its modules are forgotten at the end of the test."""

    def __init__(self, folder: Path, name: str = "fake_tools") -> None:
        self.folder = folder
        self.name = name
        self.package = folder / name
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").write_text("")
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
        self._points = info / "entry_points.txt"

    def points(self, **points: str) -> None:
        lines = (f"{name} = {value}\n" for name, value in points.items())
        self._points.write_text("[callgate.tools]\n" + "".join(lines))

    def module(self, name: str, text: str) -> str:
        file = self.package / f"{name}.py"
        file.write_text(text)
        return str(file)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Distribution:
    made = Distribution(tmp_path / "site")
    monkeypatch.syspath_prepend(str(made.folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == made.name]:
        monkeypatch.delitem(sys.modules, name)
    return made


def loaded(root: Path, installed: Installed | None = None) -> LoadedTools:
    try:
        return asyncio.run(load_tools([], Api(root), installed=installed or Installed()))
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "fake_tools"]:
            del sys.modules[name]


def test_an_entry_point_is_a_module_a_tool_a_list_or_a_factory(tmp_path: Path, fake: Distribution) -> None:
    text = greeting("one") + "from callgate import tool\ndef two() -> str: return '2'\nmany = [two]\n"
    text += "def make(api):\n    def three() -> str: return api.root.name\n    return three\n"
    fake.module("whole", greeting("zero"))
    file = fake.module("parts", text)
    fake.points(a="fake_tools.whole", b="fake_tools.parts:one", c="fake_tools.parts:many", d="fake_tools.parts:make")
    found = loaded(tmp_path)
    assert (names(found), found.problems, found.skipped) == (["zero", "one", "two", "three"], (), ())
    assert said(found, "three") == tmp_path.name
    assert (found.tools[1].file, found.tools[1].line, found.tools[1].layer) == (file, 4, "installed")


def test_without_being_asked_for_they_do_not_count(tmp_path: Path, fake: Distribution) -> None:
    fake.module("whole", "raise SystemExit\n")
    fake.points(a="fake_tools.whole")
    assert asyncio.run(load_tools([], Api(tmp_path))) == LoadedTools()


def test_a_broken_one_is_reported_and_the_others_load(tmp_path: Path, fake: Distribution) -> None:
    syntax = fake.module("syntax", "x = 1\ny = (\n")
    raising = fake.module("raising", "import json\n\njson.loads('{')\n")
    leaving = fake.module("leaving", "import sys\nsys.exit(1)\n")
    defined = fake.module("defined", "from callgate import tool\n\n@tool\ndef f(*rest): ...\n")
    empty = fake.module("empty", "\n")
    wrong = fake.module("wrong", "\ndef make(): ...\n")
    fake.module("good", greeting("good"))
    fake.points(
        a="fake_tools.syntax",
        b="fake_tools.raising",
        c="fake_tools.leaving",
        d="fake_tools.defined",
        e="fake_tools.empty",
        f="fake_tools.wrong:make",
        g="fake_tools.nowhere",
        h="fake_tools.good:nothing",
        z="fake_tools.good",
    )
    found = loaded(tmp_path)
    assert names(found) == ["good"]
    told = problems(found)
    assert told[0] == f"{syntax}:2: entry point a of fake-tools: SyntaxError: '(' was never closed"
    assert told[1].startswith(f"{raising}:3: entry point b of fake-tools: JSONDecodeError: Expecting")
    assert told[2] == f"{leaving}:2: entry point c of fake-tools: SystemExit: 1"
    assert told[3].startswith(f"{defined}:3: entry point d of fake-tools: tool 'f': parameter 'rest'")
    assert told[4].startswith(f"{empty}: entry point e of fake-tools: no tool is defined")
    assert told[5] == f"{wrong}:2: entry point f of fake-tools: the factory must take one parameter, the API"
    assert told[6] == "entry point g of fake-tools: ModuleNotFoundError: No module named 'fake_tools.nowhere'"
    assert told[7].startswith("entry point h of fake-tools: AttributeError: ")
    assert len(told) == 8


def test_an_installed_tool_counts_after_ones_own_and_before_the_repositorys(tmp_path: Path, fake: Distribution) -> None:
    user, project = Place(tmp_path, "user"), Place(tmp_path, "project")
    fake.module("whole", greeting("greet", "installed") + greeting("other", "installed"))
    fake.points(a="fake_tools.whole")
    user.write("a.py", greeting("greet", "mine"))
    project.write("a.py", greeting("other", "theirs"))
    folders = [project.folder(), user.folder()]
    found = asyncio.run(load_tools(folders, Api(tmp_path), installed=Installed()))
    assert (said(found, "greet"), said(found, "other")) == ("mine", "installed")
    assert len(found.problems) == 2


@pytest.mark.parametrize("trusted", [False, True])
def test_what_a_workspace_brings_along_counts_only_with_trust(
    tmp_path: Path, fake: Distribution, trusted: bool
) -> None:
    fake.module("whole", greeting("greet"))
    fake.points(a="fake_tools.whole")
    found = loaded(tmp_path, Installed(tmp_path, trusted))
    assert names(found) == (["greet"] if trusted else [])
    skipped = [] if trusted else ["it is in the workspace, which is not trusted"]
    assert [each.text for each in found.skipped] == skipped


def test_an_environment_inside_the_workspace_that_the_program_runs_in_counts(
    tmp_path: Path, fake: Distribution, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.module("whole", greeting("greet"))
    fake.points(a="fake_tools.whole")
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(fake.folder)])
    assert names(loaded(tmp_path, Installed(tmp_path))) == ["greet"]


def test_one_that_never_ends_is_named(tmp_path: Path, fake: Distribution, monkeypatch: pytest.MonkeyPatch) -> None:
    signals = ModuleType("signals")
    started, released = vars(signals)["started"], vars(signals)["released"] = threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, "signals", signals)
    fake.module("endless", "import signals\nsignals.started.set()\nsignals.released.wait()\n")
    fake.points(a="fake_tools.endless")
    clock = ManualClock()

    async def main() -> LoadedTools:
        loading = asyncio.create_task(load_tools([], Api(tmp_path), installed=Installed(), clock=clock))
        await asyncio.to_thread(started.wait)
        clock.advance(10)
        return await loading

    assert problems(asyncio.run(main())) == [
        "entry point a of fake-tools: loading did not finish within 10 seconds, so the file is ignored; its code may "
        "run until the program ends"
    ]
    released.set()
