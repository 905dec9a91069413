"""On whole trees of real code, searching and rewriting is what ast-grep's command line does."""

import shutil
import sysconfig
from pathlib import Path

import pytest

from callgate.tools.structural.scan import rewrite, search
from callgate.tools.structural.scan_types import Op, ScanLimits
from tests.tools.structural import engine

pytestmark = pytest.mark.slow

PACKAGES = ("asyncio", "collections", "concurrent", "email", "http", "importlib", "json", "logging", "unittest", "xml")
ALL = ScanLimits(matches=10**6, file_bytes=10**7, characters=10**6)
PYTHON = [
    ("self.$A = $B", "self.$A: Any = $B"),
    ("if $C: $$$BODY", "while $C:\n    $$$BODY"),
    ("$F($$$ARGS)", "call($F, $$$ARGS)"),
    ("def $NAME($$$PARAMS): $$$BODY", "def $NAME(\n    $$$PARAMS,\n) -> None:\n    $$$BODY"),
    ("raise $E($$$A)", "throw($E, $$$A)"),
    ("try: $$$A\nexcept $E: $$$B", "with suppress($E):\n    $$$A"),
    ("return $X", "yield $X"),
    ("$A if $B else $C", "($B and $A or $C)"),
    ("isinstance($A, $T)", "is_a($T, $A)"),
    ("lambda $$$A: $B", "(lambda $$$A: $B)"),
    ("[$A for $B in $C]", "list(\n    $A for $B in $C\n)"),
    ("'$A'", '"x"'),
    ("import $A", "import $A  # moved"),
    ("class $N($B): $$$X", "class $N($B, Generic):\n  $$$X"),
]
C = [
    ("typedef $$$A;", "using $$$A;"),
    ("#define $N $V", "#define MY_$N $V"),
    ("return $X;", "return ($X);"),
    ("if ($C) { $$$B }", "while ($C) {\n  $$$B\n}"),
]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("python")
    for name in PACKAGES:
        source = Path(sysconfig.get_path("stdlib")) / name
        shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = Path(sysconfig.get_path("include"))
    if not source.is_dir():
        pytest.skip("the headers of Python are not here")
    folder = tmp_path_factory.mktemp("headers") / "include"
    shutil.copytree(source, folder)
    return folder


@pytest.mark.parametrize(("pattern", "into"), PYTHON, ids=[pattern for pattern, _ in PYTHON])
async def test_the_standard_library(python: Path, tmp_path: Path, pattern: str, into: str) -> None:
    await compare(python, tmp_path, pattern, into, most_skipped=3)


@pytest.mark.parametrize(("pattern", "into"), C, ids=[pattern for pattern, _ in C])
async def test_the_headers_of_python(headers: Path, tmp_path: Path, pattern: str, into: str) -> None:
    await compare(headers, tmp_path, pattern, into, most_skipped=10_000)


async def compare(folder: Path, tmp_path: Path, pattern: str, into: str, *, most_skipped: int) -> None:
    found = await search(folder, pattern, limits=ALL)
    theirs = engine.matches(folder, pattern)
    assert [(each.path, each.line - 1, each.column - 1, each.text) for each in found.matches] == [
        (each["file"], each["range"]["start"]["line"], each["range"]["start"]["column"], each["text"])
        for each in theirs
    ]
    made = await rewrite(folder, [Op(pattern, into)], limits=ALL)
    assert sum(made.skipped.counts.values()) <= most_skipped
    skipped = {each.path for each in made.skipped.named}
    before = engine.contents(folder)
    ours = before | {change.path: change.after for change in made.changes.files}
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    after = engine.rewritten(copy, pattern, into)
    if sum(made.skipped.counts.values()) > len(made.skipped.named):  # some are counted and not named
        skipped = {path for path in before if ours[path] == before[path]}
    assert [path for path in before if path not in skipped and ours[path] != after[path]] == []
    assert any(ours[path] != before[path] for path in before)
