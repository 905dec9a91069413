"""Small rules that every file keeps."""

import ast
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, dotted, parsed, python_files, repository_files, shown

# Tests that may really sleep: file → why no event and no manual clock will do.
SLEEPS_ALLOWED: dict[str, str] = {
    "tests/host/test_torture.py": "daemons tell nobody of their end: /proc is looked at; cancels come at any moment",
}
# Code that is made of text: file → why that text is safe.
EVALUATES_ALLOWED = {"src/callgate/words/noun.py": "constructors, of the names of fields alone, as in dataclass"}
# This file names what it forbids.
THIS = Path(__file__).resolve()
PROSE = (".py", ".md", ".toml", ".sh", ".yml", ".yaml", "")
DATA = (".json", ".jsonl", ".txt")

Rule = Callable[[ast.AST], bool]


def calls(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in names


def uses_a_shell(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and any(
        keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
        for keyword in node.keywords
    )


def evaluates(node: ast.AST) -> bool:
    return calls(node, "eval", "exec", "builtins.eval", "builtins.exec")


def prints(node: ast.AST) -> bool:
    return calls(node, "print", "builtins.print")


def sleeps(node: ast.AST) -> bool:
    """A real wait of a written length; `sleep(0)` only lets others run."""
    return (
        isinstance(node, ast.Call)
        and dotted(node.func) in ("time.sleep", "asyncio.sleep", "sleep")
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
        and bool(node.args[0].value)
    )


def places(rule: Rule, word: str, files: list[Path]) -> list[str]:
    """Where the rule is broken; a file without the word is not parsed."""
    return [
        f"{shown(path)}:{node.lineno}"
        for path in files
        if word in path.read_text(encoding="utf-8")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.expr) and rule(node)
    ]


def texts(*suffixes: str) -> Iterator[tuple[Path, int, str]]:
    """Every line of the repository's files of these kinds, but for this file."""
    for path in repository_files():
        if path.suffix in suffixes and path != THIS:
            for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
                yield path, number, line


def test_nothing_is_run_through_a_shell_by_subprocess() -> None:
    found = places(uses_a_shell, "shell=", python_files("src", "tests", "scripts", "benchmarks"))
    assert not found, "shell=True:\n" + "\n".join(found)


def test_no_text_is_evaluated_as_code() -> None:
    files = python_files("src", "scripts", "benchmarks")
    files = [path for path in files if shown(path) not in EVALUATES_ALLOWED]
    found = [place for word in ("eval(", "exec(") for place in places(evaluates, word, files)]
    assert not found, "eval or exec:\n" + "\n".join(found)


def test_only_the_command_line_prints() -> None:
    doors = (ROOT / "src/callgate/cli", ROOT / "src/callgate/cli.py")
    files = [path for path in python_files("src") if not any(path.is_relative_to(door) for door in doors)]
    found = places(prints, "print(", files)
    assert not found, "print outside cli:\n" + "\n".join(found)


def test_no_test_sleeps() -> None:
    files = [path for path in python_files("tests") if shown(path) not in SLEEPS_ALLOWED]
    found = places(sleeps, "sleep(", files)
    assert not found, "wait for an event or move the manual clock instead of sleeping:\n" + "\n".join(found)
    gone = [name for name in SLEEPS_ALLOWED if not places(sleeps, "sleep(", [ROOT / name])]
    assert not gone, f"need no exception any more: {', '.join(gone)}"


def test_no_property_test_fixes_its_number_of_examples() -> None:
    """The profile has it; what is costly takes ``fewer`` in the fast one alone."""
    has_it = ("tests/conftest.py", "tests/profiles.py")
    files = [path for path in python_files("tests") if shown(path) not in has_it and path != THIS]
    found = [shown(path) for path in files if "max_examples=" in path.read_text(encoding="utf-8")]
    assert not found, "use tests/profiles.py instead of max_examples:\n" + "\n".join(found)


def test_every_source_file_says_what_it_is() -> None:
    found = [shown(path) for path in python_files("src") if not ast.get_docstring(parsed(path))]
    assert not found, "no module docstring:\n" + "\n".join(found)


def test_nothing_is_left_to_do_in_the_text() -> None:
    mark = re.compile(r"\b(TODO|FIXME|XXX)\b")
    found = [f"{shown(path)}:{n}: {line.strip()}" for path, n, line in texts(*PROSE) if mark.search(line)]
    assert not found, "open ends belong to the issue tracker:\n" + "\n".join(found)


def test_no_file_names_a_place_of_one_machine() -> None:
    fixed = re.compile(
        r"\.pyenv\b|/opt/wheels|\bindex-url\b[\s=]*https?://(?!evil\b)|pypi\.org/simple|(?i:c:\\+users\\+)"
    )
    # Where this tree and its neighbours lie: nobody else has them there.
    here = re.compile(rf"{re.escape(str(ROOT))}(?![\w-])")
    beside = re.compile(rf"{re.escape(str(ROOT.parent))}/([\w.-]+)")
    has_neighbours = len(ROOT.parent.parts) > 1 and ROOT.parent != Path(tempfile.gettempdir())

    def names_a_place(line: str) -> bool:
        if fixed.search(line) or (len(ROOT.parts) > 2 and here.search(line)):
            return True
        return has_neighbours and any((ROOT.parent / match[1]).exists() for match in beside.finditer(line))

    found = [
        f"{shown(path)}:{n}: {line.strip()[:160]}"
        for path, n, line in texts(*PROSE, *DATA)
        if names_a_place(line) and not path.is_relative_to(ROOT / "tests" / "data")  # corpora quote what they attack
    ]
    assert not found, "paths of one machine or addresses of a package index:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (uses_a_shell, "subprocess.run(x, shell=True)"),
        (uses_a_shell, "subprocess.run(x, shell=flag)"),
        (evaluates, "eval('1')"),
        (prints, "print()"),
        (sleeps, "time.sleep(0.1)"),
        (sleeps, "asyncio.sleep(1)"),
        (sleeps, "sleep(1)"),
    ],
)
def test_a_broken_rule_is_seen(rule: Rule, text: str) -> None:
    assert any(rule(node) for node in ast.walk(ast.parse(text)))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (uses_a_shell, "subprocess.run(x, shell=False)"),
        (evaluates, "asyncio.create_subprocess_exec('ls')"),
        (prints, "console.print()"),
        (sleeps, "asyncio.sleep(0)"),
        (sleeps, "clock.sleep(5)"),
    ],
)
def test_a_kept_rule_is_not_reported(rule: Rule, text: str) -> None:
    assert not any(rule(node) for node in ast.walk(ast.parse(text)))
