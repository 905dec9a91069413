"""Bash: only the working folder persists, however a command moves the shell."""

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from callgate.tools.commands import command_call
from callgate.words.arguments import Accepted
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
    assert "is gone" in failed.text
    assert shell("pwd").text == str(shell.host.root)


@pytest.mark.parametrize("command", ["cd sub; exit 3", "cd sub; false", "trap '' EXIT; cd sub", "cd sub; exec true"])
def test_a_command_may_end_in_any_way(shell: Shell, command: str) -> None:
    shell(command)
    assert shell.context in ({}, {"working_folder": f"{shell.host.root}/sub"})
    assert not shell("pwd").is_error


# ---- traits ---------------------------------------------------------------------------------------------------------
