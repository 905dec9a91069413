"""Ignore files are read as git reads them."""

import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tools.ignore_files import IgnoreFile, parse_glob, parse_ignore, verdict
from tests.rows import rows

NAMES = st.text("ab.-", min_size=1, max_size=4).filter(lambda name: name not in (".", "..") and name != ".git")
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PIECES = ["a", "b", "*", "?", "**", "/", ".", "[ab]", "[!a]", "\\*", "-"]
LINES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
TABLE = [
    ("*.log", ["a.log", "x/a.log"], ["a.txt", "log"]),
    ("/build", ["build"], ["x/build"]),
    ("build/", [], ["build"]),
    ("doc/*.txt", ["doc/a.txt"], ["doc/x/a.txt", "x/doc/a.txt"]),
    ("doc/**/a", ["doc/a", "doc/x/a", "doc/x/y/a"], ["a", "doca"]),
    ("**/a/b", ["a/b", "x/a/b"], ["b", "a"]),
    ("a/**", ["a/b", "a/b/c"], ["a", "x/a/b"]),
    ("a**b", ["ab", "axb", "x/ab"], ["a/b"]),
    ("[a-c]x", ["ax", "cx"], ["dx"]),
    ("[!a-c]x", ["dx"], ["ax"]),
    ("[]a]x", ["]x", "ax"], ["bx"]),
    ("\\#x", ["#x"], ["x"]),
    ("\\!x", ["!x"], ["x"]),
    ("x\\ ", ["x "], ["x"]),
    ("x   ", ["x"], ["x   "]),
    ("#x", [], ["#x", "x"]),
    ("[x", [], ["[x", "x"]),
    ("x\\", [], ["x", "x\\"]),
    ("", [], ["x"]),
    ("/", [], ["x"]),
    ("//x", [], ["x"]),
    ("x//", [], ["x"]),
    ("x//y", [], ["x/y"]),
    ("**", ["a", "a/b"], []),
    ("***/a", ["a", "b/a"], ["b"]),
    ("ä?", ["äö"], ["ä"]),
]


@rows(("line", "hits", "misses"), TABLE, ids=[repr(row[0]) for row in TABLE])
def test_a_line_matches_as_the_manual_of_git_says(line: str, hits: list[str], misses: list[str]) -> None:
    file = parse_ignore(line)
    assert [path for path in hits if not verdict([file], path, folder=False)] == []
    assert [path for path in misses if verdict([file], path, folder=False)] == []


def test_the_last_line_that_matches_decides_and_the_innermost_file_before_others() -> None:
    outer = parse_ignore("*.js\n!keep.js\nkeep.js.bak\n")
    inner = parse_ignore("!*.js\r\n", "src")
    assert verdict([outer], "a.js", folder=False) is True
    assert verdict([outer], "keep.js", folder=False) is False
    assert verdict([outer, inner], "src/a.js", folder=False) is False
    assert verdict([outer], "a.py", folder=False) is None


def test_a_file_above_the_root_speaks_of_what_is_beneath_it() -> None:
    above = parse_ignore("/project/out\n", lead="project/")
    assert verdict([above], "out", folder=True) is True
    assert verdict([above], "x/out", folder=True) is None


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
@given(lines=st.lists(st.tuples(st.booleans(), LINES), min_size=1, max_size=5), paths=st.lists(PATHS, max_size=20))
def test_git_agrees(tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[bool, str]], paths: list[str]) -> None:
    folder = repository(tmp_path_factory)
    text = "".join(f"{'!' if negated else ''}{line}\n" for negated, line in lines)
    (folder / ".gitignore").write_text(text, encoding="utf-8")
    file = parse_ignore(text)
    whole = sorted({"/".join(path.split("/")[: depth + 1]) for path in paths for depth in range(len(path.split("/")))})
    ours = {path for path in whole if ignored(file, path)}
    assert ours == git_ignores(folder, whole)


def ignored(file: IgnoreFile, path: str) -> bool:
    """As the walk asks: a folder that is left out takes all beneath it along. All that is asked about is no folder."""
    parts = path.split("/")
    above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    return any(verdict([file], each, folder=True) for each in above) or bool(verdict([file], path, folder=False))


def repository(factory: pytest.TempPathFactory) -> Path:
    folder = factory.getbasetemp() / "repository-of-globs"
    if not folder.exists():
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def git_ignores(folder: Path, paths: Iterable[str]) -> set[str]:
    asked = ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"]
    given = "".join(f"{path}\0" for path in paths)
    ran = subprocess.run(asked, cwd=folder, input=given, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr
    return {path for path in ran.stdout.split("\0") if path}


def test_a_line_that_is_written_to_be_slow_is_not() -> None:
    before = time.process_time()
    for line in ("*a" * 40 + "b", "**/a/" * 40 + "b", "a*" * 40 + "/" + "*a" * 40 + "c"):
        glob = parse_glob(line)
        assert glob is not None
        assert not glob.matches("a" * 250)
        assert not glob.matches("/".join(["a"] * 200))
    assert time.process_time() - before < 5
