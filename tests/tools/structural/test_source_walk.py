"""Which files are looked at: as ast-grep's command line and git would have it, in one order, and never out of the
root."""

import os
import subprocess
from pathlib import Path

import pytest

from callgate.tools.structural.scan_types import language_named
from callgate.tools.structural.source_walk import Walked, walk
from callgate.words.errors import ToolFailure
from tests.rows import rows
from tests.tools.structural import engine

TREE = {
    "a.py": "x",
    "b.js": "x",
    "notes.txt": "x",
    "src/deep/c.py": "x",
    "src/d.py": "x",
    "src/gen/made.py": "x",
    "src/.gitignore": "gen/\n!keep.log.py\n",
    "src/keep.log.py": "x",
    "lost.log.py": "x",
    "out/e.py": "x",
    "out/sub/f.py": "x",
    "src/out.py": "x",
    ".gitignore": "# built\n/out/\n*.log.py\n",
    ".ignore": "skipped.py\n",
    "skipped.py": "x",
    ".hidden.py": "x",
    ".config/g.py": "x",
    "lib/.gitignore": "*\n!.gitignore\n!/h.py\n",
    "lib/h.py": "x",
    "lib/i.py": "x",
    "a-b/j.py": "x",
    "a/k.py": "x",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for name, text in TREE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def paths(walked: Walked) -> list[str]:
    return [file.path for file in walked.files]


def skipped(walked: Walked) -> dict[str, str]:
    return {each.path: each.kind for each in walked.skipped}


def test_the_walk_is_that_of_the_command_line(tree: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    theirs = [each["file"] for each in engine.matches(tree, "x")]
    assert theirs
    assert paths(walk(str(tree), ())) == theirs
    assert paths(walk(str(tree / "src"), ())) == [each["file"] for each in engine.matches(tree / "src", "x")]


def test_ignore_files_are_heeded_without_a_repository_too(tree: Path) -> None:
    walked = walk(str(tree), ())
    assert paths(walked) == [
        *("a/k.py", "a-b/j.py", "a.py", "b.js", "lib/h.py", "src/d.py", "src/deep/c.py", "src/keep.log.py"),
        "src/out.py",
    ]
    assert skipped(walked) == dict.fromkeys(("lib/i.py", "lost.log.py", "out/", "skipped.py", "src/gen/"), "ignored")


def test_those_above_the_root_are_heeded_up_to_the_top_of_the_repository(tree: Path) -> None:
    (tree.parent / ".gitignore").write_text("*.py\n", encoding="utf-8")
    assert "d.py" in paths(walk(str(tree / "src"), ()))
    (tree / ".git" / "info").mkdir(parents=True)
    (tree / ".git" / "info" / "exclude").write_text("/src/d.py\n", encoding="utf-8")
    assert paths(walk(str(tree / "src"), ())) == ["deep/c.py", "keep.log.py", "out.py"]


def test_what_is_named_is_looked_at_whatever_an_ignore_file_says(tree: Path) -> None:
    walked = walk(str(tree), ["out", "./.hidden.py", "lost.log.py", str(tree / "a.py")])
    assert paths(walked) == [".hidden.py", "a.py", "lost.log.py", "out/e.py", "out/sub/f.py"]


def test_a_file_named_twice_is_taken_once(tree: Path) -> None:
    assert paths(walk(str(tree), ["src/d.py", "src", "src/../src/d.py"])).count("src/d.py") == 1


def test_packages_of_others_are_left_out_unless_they_are_named(tree: Path) -> None:
    (tree / "node_modules" / "x").mkdir(parents=True)
    (tree / "node_modules" / "x" / "y.js").write_text("x", encoding="utf-8")
    walked = walk(str(tree), ())
    assert "node_modules/x/y.js" not in paths(walked)
    assert skipped(walked)["node_modules/"] == "ignored"
    assert paths(walk(str(tree), ["node_modules"])) == ["node_modules/x/y.js"]


def test_one_language_can_be_asked_for(tree: Path) -> None:
    assert paths(walk(str(tree), (), language_named("js"))) == ["b.js"]


def test_a_file_that_is_named_is_in_the_language_that_is_given(tree: Path) -> None:
    (walked,) = walk(str(tree), ["notes.txt"], language_named("ruby")).files
    assert (walked.path, walked.language) == ("notes.txt", "ruby")
    assert skipped(walk(str(tree), ["notes.txt"])) == {"notes.txt": "language"}


@rows(
    ("glob", "found"),
    [
        ("*.js", ["b.js"]),
        ("src/**", ["src/d.py", "src/deep/c.py", "src/keep.log.py", "src/out.py"]),
        ("src/*.py", ["src/d.py", "src/keep.log.py", "src/out.py"]),
        ("deep/", ["src/deep/c.py"]),
        ("./src/deep", ["src/deep/c.py"]),
        ("!*.py", ["b.js"]),
        ("out/**", []),
    ],
)
def test_a_glob_narrows_the_walk(tree: Path, glob: str, found: list[str]) -> None:
    assert paths(walk(str(tree), (), glob=glob)) == found


def test_a_glob_that_cannot_match_is_refused(tree: Path) -> None:
    with pytest.raises(ToolFailure, match=r"The glob '\[a' cannot match any file"):
        walk(str(tree), (), glob="[a")


def test_links_are_not_followed(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "z.py").write_text("x", encoding="utf-8")
    (tree / "a" / "away").symlink_to(outside)
    (tree / "a" / "z.py").symlink_to(outside / "z.py")
    (tree / "a" / "loop").symlink_to(tree)
    walked = walk(str(tree), ["a"])
    assert paths(walked) == ["a/k.py"]
    assert skipped(walked) == {"a/z.py": "link"}
    for path in ("a/away", "a/away/z.py", "a/z.py", "..", str(outside)):
        with pytest.raises(ToolFailure, match="is outside the workspace"):
            walk(str(tree), [path])
    # A link that is named and stays inside is what it leads to.
    (tree / "alias").symlink_to("src/deep")
    assert paths(walk(str(tree), ["alias"])) == ["src/deep/c.py"]


def test_a_path_that_is_not_there_is_refused_by_name(tree: Path) -> None:
    with pytest.raises(ToolFailure, match=r"gone\.py cannot be read: No such file"):
        walk(str(tree), ["gone.py"])
    os.mkfifo(tree / "pipe.py")
    with pytest.raises(ToolFailure, match=r"pipe\.py is neither a file nor a folder"):
        walk(str(tree), ["pipe.py"])
    assert "pipe.py" not in paths(walk(str(tree), ()))


def test_an_ignore_file_that_is_a_link_or_a_pipe_says_nothing(tree: Path) -> None:
    (tree / "a" / ".gitignore").symlink_to(tree / "lib" / ".gitignore")
    os.mkfifo(tree / "a-b" / ".gitignore")
    assert {"a/k.py", "a-b/j.py"} <= set(paths(walk(str(tree), ())))


def test_the_walk_stops_when_it_is_told_to(tree: Path) -> None:
    assert paths(walk(str(tree), (), stopped=lambda: True)) == []
