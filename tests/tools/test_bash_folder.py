"""Bash: only the working folder persists, however a command moves the shell."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate.tools.commands import command_call
from callgate.words.calls import Accepted
from tests.rows import rows
from tests.tools.bash_kit import Shell, shell
from tests.tools.fake_run import FakeRun

__all__ = ["shell"]


@pytest.mark.spec("BASH-1")
def test_only_the_working_folder_persists(shell: Shell) -> None:
    first = shell("cd sub; export SET=1; alias ll=ls; f() { :; }; set -x; umask 0")
    assert first.text.endswith(f"[The working folder is now {shell.host.root}/sub]")
    assert shell.context == {"working_folder": f"{shell.host.root}/sub"}
    second = shell('pwd; echo "[$SET]"; type ll f 2>/dev/null | wc -l; umask')
    assert second.text.split() == [f"{shell.host.root}/sub", "[]", "0", f"{os.umask(os.umask(0)):04o}"] or (
        second.text.split()[:3] == [f"{shell.host.root}/sub", "[]", "0"]
    )
    assert shell("cd ..").text.endswith(f"[The working folder is now {shell.host.root}]")
    assert shell.context == {"working_folder": None}


MOVING = [
    "cd sub",
    "pushd sub >/dev/null",
    "c''d sub",
    'c""d sub',
    "c\\d sub",
    "c\\\nd sub",
    "x=c; ${x}d sub",
    "$(printf cd) sub",
    "`printf cd` sub",
    "{cd,sub}",
    "c{d,} ; cd sub",
    "eval 'c''d sub'",
    "echo 'builtin cd sub' > script; . ./script",
    "echo 'builtin cd sub' > script; source ./script",
    "touch cd; c? sub",
    "touch cd; c* sub",
    "$'\\143d' sub",
    "true && command cd sub && true",
]


@pytest.mark.spec("BASH-1")
@rows("command", MOVING)
def test_a_command_that_moves_the_shell_is_noticed_however_it_is_written(tmp_path: Path, command: str) -> None:
    place = Path(tempfile.mkdtemp(dir=tmp_path))
    (place / "sub").mkdir()
    shell = Shell(place)
    shell(command)
    assert shell.context == {"working_folder": f"{shell.host.root}/sub"}


@rows("command", ["true", "make -j4 test", "git status", "pytest -q -x tests/unit", "echo 'a b' | wc -l", "ls -la src"])
def test_a_plain_command_is_run_as_it_is(command: str) -> None:
    assert command_call._stays(command)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.spec("BASH-1")
def test_the_working_folder_is_an_argument_of_the_call_and_a_place_that_is_judged(shell: Shell) -> None:
    shell("cd sub")
    read = shell.tool.read('{"command": "ls"}')
    assert isinstance(read, Accepted)
    assert read.arguments == {"command": "ls", "folder": f"{shell.host.root}/sub"}
    declared = shell.tool.traits(read.arguments).declared
    assert (declared.command, declared.folder) == ("ls", f"{shell.host.root}/sub")
    assert shell.tool.read(read.arguments) == read  # as after a restart
    assert "folder" not in shell.tool.spec.parameters["properties"]


def test_a_call_whose_folder_is_not_the_working_folder_any_more_is_not_run(shell: Shell) -> None:
    read = shell.tool.read({"command": "touch made"})
    assert isinstance(read, Accepted)
    run = FakeRun(host=shell.host, context={"working_folder": str(shell.host.root / "sub")})
    result = asyncio.run(shell.tool.run(read.arguments, run))
    assert (result.code, result.effects) == ("skipped", "none")
    assert not (shell.host.root / "made").exists()
    again = shell.tool.read({"command": "touch made"})
    assert isinstance(again, Accepted)
    assert not asyncio.run(shell.tool.run(again.arguments, run)).is_error
    assert (shell.host.root / "sub" / "made").exists()


def test_a_folder_that_is_gone_is_left_for_the_workspace(shell: Shell) -> None:
    shell("cd sub")
    (shell.host.root / "sub").rmdir()
    failed = shell("ls")
    assert failed.is_error
    assert "was removed or replaced" in failed.text
    assert shell("pwd").text == str(shell.host.root)


@pytest.mark.parametrize("command", ["cd sub; exit 3", "cd sub; false", "trap '' EXIT; cd sub", "cd sub; exec true"])
def test_a_command_may_end_in_any_way(shell: Shell, command: str) -> None:
    shell(command)
    assert shell.context in ({}, {"working_folder": f"{shell.host.root}/sub"})
    assert not shell("pwd").is_error


# ---- traits ---------------------------------------------------------------------------------------------------------


def _swapped(one: Path, other: Path) -> None:
    one.rename(one.with_name("kept"))
    other.rename(one)


def _linked(place: Path, target: Path | str) -> None:
    place.rename(place.with_name("kept"))
    place.symlink_to(target)


def _replaced_by_file(place: Path) -> None:
    place.rename(place.with_name("kept"))
    place.touch()


REPLACED: dict[str, Callable[[Path], object]] = {
    "a link to a folder outside": lambda root: _linked(root / "a/b", root.parent / "outside"),
    "a link to a folder inside": lambda root: _linked(root / "a/b", root / "evil"),
    "a relative link": lambda root: _linked(root / "a/b", "../evil"),
    "a link to itself, moved": lambda root: _linked(root / "a/b", "kept"),
    "a link to nothing": lambda root: _linked(root / "a/b", "none"),
    "a link in a loop": lambda root: _linked(root / "a/b", "b"),
    "a folder above is a link": lambda root: _linked(root / "a", root / "evil"),
    "a folder above is a link to itself, moved": lambda root: _linked(root / "a", "kept"),
    "another folder": lambda root: _swapped(root / "a/b", root / "evil/b"),
    "another folder above": lambda root: _swapped(root / "a", root / "evil"),
    "a folder from outside": lambda root: _swapped(root / "a/b", root.parent / "outside"),
    "a file": lambda root: _replaced_by_file(root / "a/b"),
    "nothing": lambda root: (root / "a/b").rename(root / "kept"),
}


@pytest.mark.parametrize("background", [False, True])
@rows("how", list(REPLACED))
def test_a_command_does_not_start_in_a_folder_that_was_replaced_after_the_judgement(
    how: str, background: bool, tmp_path: Path
) -> None:
    root = tmp_path / how.replace(" ", "-").replace(",", "") / "work"
    for name in ("a/b", "evil/b", "../outside"):
        (root / name).mkdir(parents=True, exist_ok=True)
    shell = Shell(root)
    shell("cd a/b")

    async def main() -> None:
        work = shell.begin("touch reached", run_in_background=background)  # it is read, and would be judged now
        REPLACED[how](root)
        result = await work
        assert "was removed or replaced" in result.text
        assert result.effects == "none"

    asyncio.run(main())
    assert [*root.parent.rglob("reached")] == []
    assert shell("pwd").text == str(root)


@rows("again", ["cd .. && rm -r build && mkdir build && cd build", "rm -r ../build; mkdir ../build"])
def test_after_a_folder_was_made_again_a_call_says_so_and_the_next_one_runs(again: str, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir(exist_ok=True)
    shell = Shell(tmp_path)
    shell("cd build")
    shell(again)
    assert "removed or replaced" in shell("pwd").text
    assert shell("cd build && pwd").text.startswith(str(tmp_path / "build"))
    assert shell("pwd").text == str(tmp_path / "build")
