"""Versions of a file as examples, and what git makes of them."""

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import strategies as st

Versions = tuple[bytes, bytes, bytes]
"""Base, ours, theirs."""

# No setting of the user or the machine may change what git does.
PLAIN = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_DIR": os.devnull}


def needs_git() -> None:
    if shutil.which("git") is None:
        if os.environ.get("CALLGATE_REQUIRE_TOOLS") == "1":
            pytest.fail("there is no git (CALLGATE_REQUIRE_TOOLS=1)")
        pytest.skip("there is no git to compare with")


def merged_by_git(cases: Sequence[Versions]) -> list[bytes | None]:
    """The output of ``git merge-file`` for each case, None where it has conflicts. One shell runs all of them."""
    loop = 'for case in *; do cd "$case"; git merge-file -p -q 1 0 2 >out; echo $? >code; cd ..; done'
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / str(number) for number in range(len(cases))]
        for folder, case in zip(folders, cases, strict=True):
            folder.mkdir()
            for number, data in enumerate(case):
                (folder / str(number)).write_bytes(data)
        subprocess.run(["sh", "-c", loop], cwd=name, env=PLAIN, check=True)
        outcomes = [(int((folder / "code").read_text()), (folder / "out").read_bytes()) for folder in folders]
    # Up to 127 it is the number of conflicts; above that an error of git's own.
    assert max(code for code, _ in outcomes) < 128
    return [None if code else output for code, output in outcomes]


def lines(data: bytes) -> list[bytes]:
    return BytesIO(data).readlines()


def joined(content: list[bytes], whole: bool) -> bytes:
    data = b"".join(content)
    return data if whole else data.removesuffix(b"\n")


@st.composite
def related(draw: st.DrawFn) -> Versions:
    """A base of few different lines, which is what makes alignments ambiguous, and two edited copies."""
    letters = [b"%d\n" % number for number in range(draw(st.integers(1, 12)))] + [b"0\r\n"] * draw(st.integers(0, 1))
    line = st.sampled_from([*letters, b"x\n", b"\n"])
    base = draw(st.lists(st.sampled_from(letters), max_size=40))

    def edited() -> list[bytes]:
        copy = list(base)
        for _ in range(draw(st.integers(0, 6))):
            at = draw(st.integers(0, len(copy)))
            source = draw(st.integers(0, len(copy)))
            moved = copy[source : source + draw(st.integers(0, 3))]
            added = draw(st.lists(line, max_size=3))
            copy[at : at + draw(st.integers(0, 3))] = moved or added
        return copy

    base_data, ours, theirs = (joined(content, draw(st.integers(0, 5)) > 0) for content in (base, edited(), edited()))
    return base_data, ours, theirs


def unrelated() -> st.SearchStrategy[Versions]:
    version = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=12).map(b"".join)
    return st.tuples(version, version, version)


def versions() -> st.SearchStrategy[Versions]:
    return st.one_of(related(), related(), related(), unrelated())


def edited_by_two(seed: int) -> Versions:
    """A file with many lines that repeat, as programs have them, and two copies with some edits each."""
    pick = random.Random(seed)
    usual = [b"}\n", b"\n", b"else:\n", b"    pass\n", b"    return\n"]

    def line(own: str) -> bytes:
        return pick.choice(usual) if pick.random() < 0.4 else f"{own} {pick.random():.3f}\n".encode()

    base = [line("line") for _ in range(pick.choice((30, 100, 400)))]

    def edited(edits: int) -> bytes:
        copy = list(base)
        for _ in range(edits):
            at = pick.randrange(len(copy))
            copy[at : at + pick.randrange(4)] = [line("new") for _ in range(pick.randrange(5))]
        return b"".join(copy)

    return b"".join(base), edited(pick.choice((1, 3, 8))), edited(pick.choice((1, 3)))


def numbered(count: int) -> list[bytes]:
    return [b"line %d\n" % number for number in range(count)]
