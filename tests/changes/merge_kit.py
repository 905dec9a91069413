"""Versions of a file as examples, what git makes of them, and a count of the work."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any

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


def by_git(command: str, cases: Sequence[Sequence[bytes]]) -> list[tuple[int, bytes]]:
    """The exit code and the output of a command of git for each case; its files are ``0``, ``1`` and so on. One shell
    for all of them saves much of the time."""
    loop = f'for case in *; do cd "$case"; git {command} >out; echo $? >code; cd ..; done'
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / str(number) for number in range(len(cases))]
        for folder, case in zip(folders, cases, strict=True):
            folder.mkdir()
            for number, data in enumerate(case):
                (folder / str(number)).write_bytes(data)
        subprocess.run(["sh", "-c", loop], cwd=name, env=PLAIN, check=True)
        return [(int((folder / "code").read_text()), (folder / "out").read_bytes()) for folder in folders]


def merged_by_git(cases: Sequence[Versions]) -> list[bytes | None]:
    """None where git has conflicts."""
    outcomes = by_git("merge-file -p -q 1 0 2", cases)
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


def long_versions(seed: int) -> Versions:
    """Hundreds of lines with hundreds of edits: beyond where the search stops looking for the shortest way."""
    pick = random.Random(seed)
    letters = [b"%d\n" % number for number in range(pick.choice((3, 30, 300, 1500)))]
    base = pick.choices(letters, k=pick.choice((600, 1500)))

    def edited(edits: int) -> list[bytes]:
        copy = list(base)
        for _ in range(edits):
            at = pick.randrange(len(copy))
            copy[at : at + pick.randrange(3)] = pick.choices([*letters, b"x\n"], k=pick.randrange(3))
        return copy

    ours, theirs = edited(pick.choice((10, 100, 400))), edited(pick.choice((1, 3)))
    if pick.random() < 0.5:
        start = pick.randrange(len(ours))
        part = ours[start:]
        pick.shuffle(part)
        ours[start:] = part
    return b"".join(base), b"".join(ours), b"".join(theirs)


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python run. (`tests.steps` counts calls; the loops that matter here make none.)"""
    count = 0

    def tick(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return tick

    before = sys.gettrace()
    sys.settrace(tick)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def numbered(count: int) -> list[bytes]:
    return [b"line %d\n" % number for number in range(count)]
