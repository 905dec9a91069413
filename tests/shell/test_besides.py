"""Places that no word of a command names as such."""

import pytest

from callgate.shell.analysis import analyse
from callgate.shell.besides import besides
from callgate.shell.programs.inner import inside


def found(command: str) -> list[tuple[str, str]]:
    return [place for run in inside(analyse(command)).runs for place in besides(run)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("mv a b", [("read", "a")]),
        ("gzip -c a", [("read", "a")]),
        ("gunzip a.txt.gz", [("read", "a.txt.gz"), ("write", "a.txt")]),
        ("bzip2 -d a.bz2", [("read", "a.bz2"), ("write", "a")]),
        ("rsync -a --delete a b", [("remove", "a"), ("remove", "b")]),
        ("rsync -a --delete-after a b", [("remove", "a"), ("remove", "b")]),
        ("tar cf x --remove-files a", [("remove", "a")]),
        ("ssh-add -q a", [("read", "a")]),
        ("vim -R +1 a", [("read", "a")]),
        ("git show HEAD:a/b", [("read", "a/b")]),
        ("git cat-file -p HEAD:a", [("read", "a")]),
        ("git config core.hooksPath x", [("write", ".git/config")]),
        ("git config set core.fsmonitor x", [("write", ".git/config")]),
        ("git config --global core.pager x", [("write", "~/.gitconfig")]),
        ("git config alias.p '!x'", [("write", ".git/config")]),
        ("git config filter.a.clean x", [("write", ".git/config")]),
        ("git -C sub config credential.helper x", [("write", ".git/config")]),
    ],
)
def test_what_comes_besides_is_seen(command: str, expected: list[tuple[str, str]]) -> None:
    assert found(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "cp a b",
        "rsync -a a b",
        "tar cf x a",
        "git",
        "git push origin HEAD:main",
        "git show HEAD",
        "git config user.name x",
        "git config alias.p push",
        "git config core.hooksPath",
        "git config --get core.pager x",
        "git config --unset core.pager x",
        "git log --format=a:b",
    ],
)
def test_what_does_not_is_not(command: str) -> None:
    assert found(command) == []
