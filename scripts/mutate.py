"""Mutation testing of ``policy/`` and ``shell/``: small faults are put in one at a time, and the tests must find them.

    make mutate ARGS="--minutes 5 --only policy/hosts.py"

Own, and small, because neither of the usual tools fits: mutmut swaps functions for trampolines and so never touches
what stands outside of one, which here is most of the knowledge (tables of programs, options, names), and its copies of
methods do not survive a class that is made anew for its slots; cosmic-ray runs one fixed command for every mutant, so
a sample bounded by time, with the tests that belong to a module first, would have to be built around it all the same.

Each mutant meets the tests that come by its line, and if they are content, those that import its module. A line that
is only run when its module is imported, such as one of a table, meets those that import it, and then all the others.
"""

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
MUTATED = ("src/callgate/policy", "src/callgate/shell")
TESTS = ("tests/policy", "tests/shell", "tests/security")
COPIED = ("src", "tests", "scripts", "benchmarks", "pyproject.toml", "README.md", "docs")
LEFT_OUT = (
    *("test_execution_oracle.py", "test_table_oracle.py", "test_transcript_mutations.py", "test_tool_args.py"),
    *("test_tool_args_stream.py", "test_display.py"),
)  # minutes of processes that other tests stand in for
LONGEST = 300.0  # seconds for one look at one mutant
PROSE = frozenset(
    ("a", "an", "and", "are", "be", "for", "has", "is", "it", "no", "not", "of", "that", "the", "to", "which")
)

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}


Change = Callable[[ast.AST, Any], None]
"""Done to a copy of the tree and, in it, the twin of a node."""


@dataclass(frozen=True)
class Mutant:
    """``path`` is relative to the root. The fault is change number ``change`` of node number ``node``."""

    path: str
    line: int
    what: str
    node: int
    change: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"

    def text(self, original: str) -> str:
        """The whole file with the fault in it."""
        tree = ast.parse(original)
        twin = list(ast.walk(tree))[self.node]
        list(_changes(twin))[self.change][1](tree, twin)
        return ast.unparse(ast.fix_missing_locations(tree))


# ---- making them --------------------------------------------------------------------------------------------------


def mutants(path: str) -> Iterator[Mutant]:
    """Every mutant of one file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    skipped = set(_not_code(tree))
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped:
            for at, (what, _) in enumerate(_changes(node)):
                yield Mutant(path, getattr(node, "lineno", 0), what, number, at)


def _not_code(tree: ast.AST) -> Iterator[int]:
    """Texts for people, and types: changing them changes nothing that a test should see."""
    for node in ast.walk(tree):
        dropped: list[ast.AST | None] = []
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                dropped = [node]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                dropped = [
                    node.returns,
                    *(each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg)),
                ]
            case ast.AnnAssign():
                dropped = [node.annotation]
            case ast.Raise(exc=ast.Call(args=said)):
                dropped = [*said]
            case ast.Assign(value=ast.Subscript() | ast.BinOp(op=ast.BitOr())):
                dropped = [node] if isinstance(node.targets[0], ast.Name) and node.targets[0].id[0].isupper() else []
            case ast.Import() | ast.ImportFrom() | ast.JoinedStr():
                dropped = [node]
            case _:
                pass
        for each in dropped:
            if each is not None:
                yield from map(id, ast.walk(each))


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """What can be done to this node: in words, and to its twin in a copy of the tree."""
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                if type(operator) in SWAPPED:
                    other = SWAPPED[type(operator)]
                    yield f"{_name(operator)} → {other.__name__}", _put("ops", at, other)
        case ast.BoolOp() | ast.BinOp(op=ast.Add() | ast.Sub()):
            other = SWAPPED[type(node.op)]
            yield f"{_name(node.op)} → {other.__name__}", _put("op", None, other)
        case ast.UnaryOp(op=ast.Not()):
            yield "not dropped", _replaced_by(lambda twin: twin.operand)
        case ast.Constant(value=bool(value)):
            yield f"{value} → {not value}", _set("value", not value)
        case ast.Constant(value=int(value)):
            yield f"{value} → {value + 1}", _set("value", value + 1)
        case ast.Constant(value=str(value)) if not _is_prose(value):
            lines = value.splitlines()
            for number, line in enumerate(lines):
                for what, changed in _changed_text(line):
                    yield what, _set("value", "\n".join([*lines[:number], changed, *lines[number + 1 :]]))
        case ast.Return(value=ast.expr()) if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield "returns None", _set("value", ast.Constant(None))
        case ast.If() | ast.IfExp():
            yield "condition always holds", _set("test", ast.Constant(True))
            yield "condition never holds", _set("test", ast.Constant(False))
        case ast.Break() | ast.Continue():
            yield f"{_name(node)} → {SWAPPED[type(node)].__name__}", _replaced_by(lambda twin: SWAPPED[type(twin)]())
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign() | ast.Raise():
            yield f"dropped: {ast.unparse(node)[:60]}", _replaced_by(lambda _: ast.Pass())
        case ast.Tuple(elts=[_, _, *_], ctx=ast.Load()) | ast.List(elts=[_, *_], ctx=ast.Load()) | ast.Set():
            for at, each in enumerate(node.elts):
                if not isinstance(each, ast.Starred):
                    yield f"without {ast.unparse(each)[:40]}", _without(at, "elts")
        case ast.Dict():
            for at, key in enumerate(node.keys):
                if key is not None:
                    yield f"without {ast.unparse(key)[:40]}", _without(at, "keys", "values")
        case _:
            pass


def _changed_text(line: str) -> Iterator[tuple[str, str]]:
    """A line of a text: a name is another one, a line of a table loses a word. Comments of tables are left alone."""
    words = line.split()
    if len(words) < 3:
        yield f"{line[:30]!r} → another text", f"{line}XX"
    elif words[0] != "#":
        indent = line[: len(line) - len(line.lstrip())]
        for at in sorted({0, len(words) // 2, len(words) - 1} - {at for at, word in enumerate(words) if word == "|"}):
            yield f"without the word {words[at]}", indent + " ".join(words[:at] + words[at + 1 :])


def _is_prose(text: str) -> bool:
    """Words for a person: what they say is not tested letter by letter."""
    words = text.split()
    return not PROSE.isdisjoint(words) and not any(word.startswith("-") for word in words)


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _put(field: str, at: int | None, kind: type[ast.AST]) -> Change:
    def change(_: ast.AST, twin: ast.AST) -> None:
        if at is None:
            setattr(twin, field, kind())
        else:
            getattr(twin, field)[at] = kind()

    return change


def _set(field: str, value: object) -> Change:
    return lambda _, twin: setattr(twin, field, value)


def _without(at: int, *fields: str) -> Change:
    def change(_: ast.AST, twin: ast.AST) -> None:
        for field in fields:
            del getattr(twin, field)[at]

    return change


def _replaced_by(made: Callable[[Any], ast.AST]) -> Change:
    def change(tree: ast.AST, twin: ast.AST) -> None:
        for parent in ast.walk(tree):
            for field, value in ast.iter_fields(parent):
                if value is twin:
                    setattr(parent, field, made(twin))
                elif isinstance(value, list) and any(each is twin for each in value):
                    value[next(at for at, each in enumerate(value) if each is twin)] = made(twin)

    return change


# ---- trying them --------------------------------------------------------------------------------------------------


class Bench:
    """A copy of the tree in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (ROOT / name).exists():
                shutil.copy2(ROOT / name, folder / name)
        compile_dir(folder / "src", quiet=2)

    def passes(self, tests: Sequence[str], seconds: float) -> bool:
        """Whether these tests are content with what is there."""
        listed = self._folder / "tests.txt"  # they may be more than a command line holds
        listed.write_text("\n".join(tests), encoding="utf-8")
        try:
            return self._pytest("-x", f"@{listed}", seconds=seconds).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def watched(self, jobs: int, tests: Sequence[str]) -> tuple[set[str], "Covering"]:
        """The files whose tests fail as they are, and which tests come by which lines."""
        words = [
            "-n",
            str(jobs),
            "--tb=no",
            "-rfE",
            "--durations=0",
            *(f"--cov={each}" for each in MUTATED),
            "--cov-context=test",
            "--cov-report=",
        ]
        try:
            told = self._pytest(*words, *tests, seconds=4 * LONGEST)
        except subprocess.TimeoutExpired:
            raise SystemExit("the tests as they are do not come to an end") from None
        found = set(re.findall(r"^(?:FAILED|ERROR) ([^\s:]+)", told.stdout, re.MULTILINE))
        if told.returncode not in (0, 1) and not found:
            raise SystemExit(f"the tests cannot be run: {told.stdout[-2000:]}{told.stderr[-2000:]}")
        took = {
            test: float(seconds) for seconds, test in re.findall(r"^([\d.]+)s call +(\S+)", told.stdout, re.MULTILINE)
        }
        return found, Covering(self._folder, took)

    def _pytest(self, *words: str, seconds: float) -> "subprocess.CompletedProcess[str]":
        usual = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
        usual += ["-m", "not slow and not chaos", "--hypothesis-seed=0"]
        usual += [f"--ignore-glob=*/{name}" for name in LEFT_OUT]
        environment = os.environ | {
            "PYTHONPATH": str(self._folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",  # a mutant of the same size in the same second would be taken for the last
            "HYPOTHESIS_PROFILE": "fast",
        }
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [*usual, *words], cwd=self._folder, env=environment, stdout=pipe, stderr=pipe, text=True, process_group=0
        ) as running:
            try:
                said, wrong = running.communicate(timeout=seconds)
            finally:  # a mutant may leave processes behind
                with suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
        return subprocess.CompletedProcess(usual, running.returncode, said, wrong)

    def survives(self, mutant: Mutant, looks: Sequence[Sequence[str]], end: float) -> bool | None:
        """None if there was no time to find out."""
        path = self._folder / mutant.path
        original = path.read_text(encoding="utf-8")
        Path(cache_from_source(str(path))).unlink(missing_ok=True)
        try:
            path.write_text(mutant.text(original), encoding="utf-8")
            for tests in filter(None, looks):
                if time.monotonic() > end:
                    return None
                if not self.passes(tests, LONGEST):
                    return False
            return True
        finally:
            path.write_text(original, encoding="utf-8")


class Covering:
    """Which tests come by a line after its module was imported."""

    def __init__(self, folder: Path, took: dict[str, float]) -> None:
        self._took = took
        data = CoverageData(str(folder / ".coverage"))
        data.read()
        self._lines: dict[tuple[str, int], list[str]] = {}
        for path in data.measured_files():
            for line, contexts in data.contexts_by_lineno(path).items():
                tests = {context.rpartition("|")[0] for context in contexts if context}
                self._lines[str(Path(path).relative_to(folder)), line] = sorted(tests)

    def of(self, mutant: Mutant) -> list[str]:
        """The quick ones first, and those in a random order: tests of one table stand together, and say the same."""
        tests = self._lines.get((mutant.path, mutant.line), [])
        mixed = random.Random(mutant.line).sample(tests, len(tests))
        return sorted(mixed, key=lambda test: self._took.get(test, 0.0))


def tests_of(module: str, tests: Sequence[str]) -> tuple[list[str], list[str]]:
    """The files that import the module, or are named after it, and all the others."""
    listed = [path for place in tests for path in (sorted((ROOT / place).rglob("test_*.py")) or [ROOT / place])]
    every = [path for path in listed if path.name not in LEFT_OUT]
    dotted = module.removeprefix("src/").removesuffix(".py").replace("/", ".")
    package, _, name = dotted.rpartition(".")
    said = re.compile(rf"{re.escape(dotted)}\b|from {re.escape(package)} import [^\n]*\b{name}\b")
    near = [path for path in every if path.stem == f"test_{name}" or said.search(path.read_text(encoding="utf-8"))]
    far = [path for path in every if path not in near]
    return [str(path.relative_to(ROOT)) for path in near], [str(path.relative_to(ROOT)) for path in far]


def sample(seed: int, only: str) -> list[Mutant]:
    """All mutants there are, in a random order."""
    found: list[Mutant] = []
    for path in sorted(path for each in MUTATED for path in (ROOT / each).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if only in name:
            found += mutants(name)
    random.Random(seed).shuffle(found)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of policy/ and shell/.")
    parser.add_argument("--minutes", type=float, default=30.0, help="stop then (default 30)")
    parser.add_argument("--seed", type=int, default=1, help="which mutants are tried first")
    parser.add_argument("--only", default="", metavar="TEXT", help="only files with this in their path")
    parser.add_argument("--tests", nargs="*", default=TESTS, metavar="PATH", help="only these tests; fewer are quicker")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--least", type=float, default=0.0, metavar="PERCENT", help="fail below this score")
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="callgate-mutate-") as folder:
        benches: SimpleQueue[Bench] = SimpleQueue()
        for number in range(options.jobs):
            benches.put(Bench(Path(folder, str(number))))
        found = sample(options.seed, options.only)
        return _report(*_tried(found, options.tests, benches, options.jobs, end), options.least)


def _tried(
    found: list[Mutant], tests: Sequence[str], benches: "SimpleQueue[Bench]", jobs: int, end: float
) -> tuple[dict[str, int], dict[str, int], list[Mutant], set[str]]:
    """How many there are and how many were tried of each file, which survived, and whose tests fail as they are."""
    total: dict[str, int] = defaultdict(int)
    for mutant in found:
        total[mutant.path] += 1
    bench = benches.get()
    print(f"{len(found)} mutants of {len(total)} files; first the tests as they are", flush=True)
    broken, covering = bench.watched(jobs, tests)
    benches.put(bench)
    # Tests that fail as they are cannot find anything.
    near_and_far = {path: tests_of(path, tests) for path in total}
    looks = {
        path: [[file for file in files if file not in broken] for files in both] for path, both in near_and_far.items()
    }
    unready = {path for path in total if broken.intersection(near_and_far[path][0])}
    tried: dict[str, int] = defaultdict(int)
    survivors: list[Mutant] = []

    def attempt(mutant: Mutant) -> None:
        if mutant.path in unready or time.monotonic() > end:
            return
        mine = benches.get()
        try:
            near, far = looks[mutant.path]
            own = [test for test in covering.of(mutant) if test.partition("::")[0] not in broken]
            survived = mine.survives(mutant, [own, near] if own else [near, far], end)
        finally:
            benches.put(mine)
        if survived is not None:
            tried[mutant.path] += 1
        if survived:
            survivors.append(mutant)
            print(f"survived: {mutant}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(attempt, found))
    return total, tried, survivors, unready


def _report(
    total: dict[str, int], tried: dict[str, int], survivors: list[Mutant], unready: set[str], least: float
) -> int:
    print(f"\n{'file':50} {'mutants':>8} {'tried':>6} {'alive':>6} {'score':>6}")
    for path in sorted(total):
        alive = sum(each.path == path for each in survivors)
        score = "-" if not tried[path] else f"{100 * (1 - alive / tried[path]):.0f} %"
        note = "  its tests fail as they are" if path in unready else ""
        print(f"{path.removeprefix('src/callgate/'):50} {total[path]:8} {tried[path]:6} {alive:6} {score:>6}{note}")
    count = sum(tried.values())
    score = 100 * (1 - len(survivors) / count) if count else 0.0
    print(f"\n{count} of {sum(total.values())} mutants tried, {len(survivors)} survived: {score:.1f} %")
    for mutant in sorted(survivors, key=lambda each: (each.path, each.line)):
        print(f"  {mutant}")
    return int(score < least or bool(unready))


if __name__ == "__main__":
    sys.exit(main())
