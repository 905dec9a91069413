"""Every behaviour of tests/behaviours.toml is tied to a test by its id, and no test names an id that is not there."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, dotted, parsed, python_files, shown

BEHAVIOURS = ROOT / "tests/behaviours.toml"


def behaviours() -> dict[str, str]:
    return tomllib.loads(BEHAVIOURS.read_text(encoding="utf-8"))["behaviours"]


def spec_calls(nodes: Iterable[ast.AST], names: set[str]) -> Iterator[ast.Call]:
    """Uses of the marker among these pieces of code."""
    for found in nodes:
        if isinstance(found, ast.Call) and dotted(found.func) in names:
            yield found


def attached(nodes: Iterable[ast.AST], names: set[str]) -> Iterator[ast.Call]:
    """Uses that tie a test: on a test or its class, in a pytestmark, or on a parameter set."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                ties: list[ast.AST] = list(node.decorator_list)
            case ast.ClassDef(name=name) if name.startswith("Test"):
                ties = list(node.decorator_list)
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                ties = [value]
            case ast.Call(func=func, keywords=keywords) if dotted(func) in ("pytest.param", "param"):
                ties = [keyword.value for keyword in keywords if keyword.arg == "marks"]
            case _:
                continue
        for tie in ties:
            yield from spec_calls(ast.walk(tie), names)


def ids_in(tree: ast.Module, where: str) -> tuple[dict[str, str], list[str]]:
    """The ids that a file's tests name, each with its place; and faults in how it names them."""
    names, nodes = {"pytest.mark.spec"}, list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Assign) and dotted(node.value) == "pytest.mark.spec":
            names |= {dotted(target) for target in node.targets}
    ties = list(attached(nodes, names))
    ids: dict[str, str] = {}
    faults = [f"{where}:{use.lineno}: not on a test" for use in spec_calls(nodes, names) if use not in ties]
    for tie in ties:
        if not tie.args or tie.keywords:
            faults.append(f"{where}:{tie.lineno}: names no id")
        for argument in tie.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                ids.setdefault(argument.value, f"{where}:{argument.lineno}")
            else:
                faults.append(f"{where}:{argument.lineno}: an id must be written out")
    return ids, faults


@pytest.fixture(scope="module")
def named() -> dict[str, str]:
    """Ids named by the tests of this repository, with one place each."""
    found: dict[str, str] = {}
    faults: list[str] = []
    for path in python_files("tests"):
        if not (path.name.startswith("test_") or path.name.endswith("_test.py")):
            continue
        ids, wrong = ids_in(parsed(path), shown(path))
        found = ids | found
        faults += wrong
    assert not faults, "marks that tie nothing:\n" + "\n".join(faults)
    return found


def test_every_behaviour_is_tied_to_a_test(named: dict[str, str]) -> None:
    missing = [f"{name}  {sentence}" for name, sentence in behaviours().items() if name not in named]
    assert not missing, f"{len(missing)} behaviours without a test:\n" + "\n".join(missing)


def test_every_id_on_a_test_is_a_behaviour(named: dict[str, str]) -> None:
    unknown = [f"{place}: {name}" for name, place in named.items() if name not in behaviours()]
    assert not unknown, f"ids that {shown(BEHAVIOURS)} does not have:\n" + "\n".join(unknown)


def test_every_behaviour_is_one_sentence() -> None:
    odd = [
        name
        for name, sentence in behaviours().items()
        if not re.fullmatch(r"[A-Z]+-\d+[a-z]?", name) or not re.fullmatch(r"[A-Z`][^\n]*[^.]\.", sentence)
    ]
    assert not odd, f"not an id with one sentence: {', '.join(odd)}"


def test_marks_are_found_wherever_pytest_takes_them(tmp_path: Path) -> None:
    text = """
import pytest
mark = pytest.mark.spec
pytestmark = [pytest.mark.slow, pytest.mark.spec("A-1")]
@pytest.mark.spec("A-2", "A-3")
def test_one(): ...
@mark("A-4")
class TestIt:
    pytestmark = mark("A-5")
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.spec("A-6"))])
    async def test_two(self, x): ...
"""
    ids, faults = ids_in(ast.parse(text), "t.py")
    assert sorted(ids) == ["A-1", "A-2", "A-3", "A-4", "A-5", "A-6"]
    assert faults == []
    assert ids["A-3"] == "t.py:5"


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.spec('A-1')\ndef helper(): ...",
        "unused = pytest.mark.spec('A-1')",
        "@pytest.mark.spec()\ndef test_it(): ...",
        "@pytest.mark.spec(NAME)\ndef test_it(): ...",
    ],
)
def test_a_mark_that_ties_nothing_is_a_fault(text: str) -> None:
    ids, faults = ids_in(ast.parse(text), "t.py")
    assert ids == {}
    assert len(faults) == 1
