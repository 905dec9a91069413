"""Searches while another program replaces folders and files by links: nothing outside the searched folder is shown."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.host.beneath import reading_ruleset
from callgate.host.local import LocalHost
from callgate.host.ports import Command, Process, Sink
from callgate.tools.builtin.ast_grep import ast_grep as ast_grep_tool
from callgate.tools.builtin.glob import glob as glob_tool
from callgate.tools.builtin.grep import grep as grep_tool
from callgate.tools.ripgrep import search_engine as engines
from callgate.tools.ripgrep import search_root
from callgate.tools.ripgrep.search_engine import VARIABLE, available_engine
from callgate.tools.structural import scan
from callgate.tools.structural.source_walk import Walked
from callgate.words.errors import ToolFailure
from tests.tools.fake_run import FakeRun

CANARY = "password-of-somebody-else"
LINES = {"pattern": "needle", "output_mode": "content"}
MULTILINE = {**LINES, "multiline": True, "context": 2}
COUNTS = {"pattern": "needle", "output_mode": "count"}
FILES = {"pattern": "needle", "output_mode": "files_with_matches"}

# tool, arguments, what is replaced (relative to the workspace), what it is replaced by (relative to its parent)
ROWS: list[tuple[str, dict[str, Any], str, str]] = [
    ("Grep", {**LINES, "path": "src"}, "src", "outside/src"),
    ("Grep", {**LINES, "path": "src/deep"}, "src", "outside/src"),
    ("Grep", {**LINES, "path": "src/deep"}, "src/deep", "outside/src/deep"),
    ("Grep", LINES, "src", "outside/src"),
    ("Grep", LINES, "src/deep", "outside/src/deep"),
    ("Grep", {**LINES, "path": "src/a.py"}, "src/a.py", "outside/src/a.py"),
    ("Grep", {**LINES, "path": "src/a.py"}, "src", "outside/src"),
    ("Grep", LINES, "src/a.py", "outside/src/a.py"),
    ("Grep", MULTILINE, "src/deep", "outside/src/deep"),
    ("Grep", {**LINES, "glob": "*.py", "type": "py"}, "src/deep", "outside/src/deep"),
    ("Grep", {**COUNTS, "path": "src"}, "src", "outside/src"),
    ("Grep", COUNTS, "src/deep", "outside/src/deep"),
    ("Grep", {**FILES, "path": "src"}, "src", "outside/src"),
    ("Grep", FILES, "src", "outside/src"),
    ("Grep", LINES, "src/deep", "work/private"),
    ("Grep", COUNTS, "src/deep", "work/private"),
    ("Glob", {"pattern": "*.py", "path": "src"}, "src", "outside/src"),
    ("Glob", {"pattern": "src/**/*.py"}, "src", "outside/src"),
    ("Glob", {"pattern": "**/*"}, "src/deep", "outside/src/deep"),
    ("Glob", {"pattern": "**/*"}, "src/deep", "work/private"),
]


class SwappingHost(LocalHost):
    """Replaces a path by a link after the search was checked, and before the search program is started."""

    def __init__(self, root: Path, swap: Callable[[], None]) -> None:
        super().__init__(root)
        self._swap = swap

    @property
    def processes(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self

    async def start(self, command: Command, out: Sink, err: Sink | None = None) -> Process:
        self._swap()
        return await super().processes.start(command, out, err)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace; the folder "outside", which has the same names with other contents; and an rg that follows links,
    like one that loses every race against a program that creates links."""
    for top, text in (("work/src", "needle inside"), ("outside/src", f"needle {CANARY}")):
        (tmp_path / top / "deep").mkdir(parents=True)
        for name in ("a.py", "deep/b.py"):
            (tmp_path / top / name).write_text(f"x = '{text}'\n")
    for name in ("outside/src/only.py", "outside/src/deep/only.py", "work/private/only.py", "work/private/b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"needle {CANARY}\n")
    (tmp_path / "work" / ".gitignore").write_text("/private/\n")
    (tmp_path / "tools" / "bin").mkdir(parents=True)
    (tmp_path / "tools" / "lib").mkdir()
    shutil.copy(available_engine({}).path, tmp_path / "tools" / "lib" / "rg")
    script = tmp_path / "tools" / "bin" / "rg"
    script.write_text(f'#!/bin/sh\nexec {tmp_path}/tools/lib/rg --follow "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    engines._find.cache_clear()  # pyright: ignore[reportPrivateUsage]
    return tmp_path / "work"


def searched(work: Path, name: str, arguments: dict[str, Any], replaced: str, by: str) -> str:
    def swap() -> None:
        place = work / replaced
        place.rename(place.with_name("moved"))
        place.symlink_to(work.parent / by)

    tool = {"Grep": grep_tool, "Glob": glob_tool}[name]()
    try:
        return asyncio.run(tool.run(arguments, FakeRun(host=SwappingHost(work, swap)))).text
    except ToolFailure as failure:
        return str(failure)
    finally:
        place = work / replaced
        place.unlink()
        place.with_name("moved").rename(place)


@pytest.mark.parametrize("landlock", [True, False])
@pytest.mark.parametrize("mode", ["packaged", "system", "builtin"])
@pytest.mark.spec("BLT-1", "GATE-3a")
def test_a_folder_that_becomes_a_link_leads_no_search_out(
    work: Path, mode: str, landlock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, mode)
    if not landlock:
        monkeypatch.setattr(search_root, "reading_ruleset", lambda _: None)
    bad: list[object] = []
    for row in ROWS:
        text = searched(work, *row)
        if CANARY in text or "only.py" in text:
            bad.append((row, text))
    assert not bad


@pytest.mark.parametrize("mode", ["packaged", "system", "builtin"])
def test_a_search_without_links_shows_the_same_under_restriction(
    work: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, mode)
    host = LocalHost(work)
    answers = [asyncio.run(grep_tool().run(each, FakeRun(host=host))).text for each in (LINES, COUNTS)]
    monkeypatch.setattr(search_root, "reading_ruleset", lambda _: None)
    assert answers == [asyncio.run(grep_tool().run(each, FakeRun(host=host))).text for each in (LINES, COUNTS)]
    assert "src/deep/b.py" in answers[0]
    assert "private" not in answers[0]


def test_a_file_that_changes_during_a_search_is_named_as_left_out(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_root, "reading_ruleset", lambda _: None)
    text = searched(work, "Grep", {**LINES, "path": "src/a.py"}, "src/a.py", "outside/src/a.py")
    assert "No matches." in text
    assert "they changed during the search: 1 file. Search again.]" in text


def test_a_structural_search_lists_no_folder_that_became_a_link(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.scandir
    moved = False

    def swapping(path: Any) -> Any:
        nonlocal moved
        if not moved and "deep" in os.listdir(path):
            moved = True
            found = list(listed(os.dup(path) if isinstance(path, int) else path))
            (work / "src" / "deep").rename(work / "moved")
            (work / "src" / "deep").symlink_to(work.parent / "outside" / "src" / "deep")
            return _Entries(found)
        return listed(path)

    monkeypatch.setattr(os, "scandir", swapping)
    seen: list[Walked] = []
    walk = scan.walk
    monkeypatch.setattr(scan, "walk", lambda *args: seen.append(walk(*args)) or seen[-1])
    text = asyncio.run(ast_grep_tool().run({"pattern": "x = $A"}, FakeRun(host=LocalHost(work)))).text
    assert moved
    assert CANARY not in text
    assert not [each for each in seen[0].files if "only.py" in each.path]


class _Entries(list[Any]):
    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_the_kernel_restricts_reading_to_the_given_folders(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    ruleset = reading_ruleset([descriptor])
    os.close(descriptor)
    if ruleset is None:
        pytest.skip("this kernel has no Landlock")
    (tmp_path / "inside").write_text("yes")
    (tmp_path.parent / "beside").write_text("no")
    pid = os.fork()
    if pid == 0:
        from ctypes import CDLL

        CDLL(None).prctl(38, 1, 0, 0, 0)
        code = CDLL(None).syscall(446, ruleset, 0)
        try:
            code |= 0 if (tmp_path / "inside").read_text() == "yes" else 2
            (tmp_path.parent / "beside").read_text()
            code |= 4
        except PermissionError:
            pass
        finally:
            os._exit(code)
    os.close(ruleset)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
