"""The subject a tool declares: names of arguments or functions of them, checked when the tool is made."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import pytest

from callgate import Run
from callgate.tools.tool import FunctionTool, schema_tool, tool
from callgate.words.declared import UNDECLARED, Declared, label_of
from callgate.words.errors import ToolDefinitionError, UndeclaredArgument
from callgate.words.traits import exclusive, reads, shared, workspace, writes

pytestmark = pytest.mark.spec("TOOL-9")


def made(fn: Callable[..., Any], **options: Any) -> FunctionTool[Any]:
    return tool(**options)(fn)


def run(command: str, cwd: Path = Path("."), env: dict[str, str] | None = None, argv: list[str] | None = None) -> str:
    return ""


def copy(source: Path, target: Path, also: list[Path] | None = None, note: str = "") -> str:
    return ""


def test_a_part_is_the_argument_that_it_names_or_what_a_function_gives() -> None:
    shell = made(run, command="command", folder="cwd", environment="env", label="command")
    found = shell.traits({"command": "ls", "env": {"A": "1"}}).declared
    assert (found.command, found.folder, found.environment, found.label) == ("ls", ".", {"A": "1"}, "ls")
    assert found.kinds == {"command", "folder", "environment", "label"}
    argv = made(run, command="argv").traits({"command": "", "argv": ["rm", "a b"]}).declared
    assert argv.command == "rm 'a b'"
    named = made(copy, reads=("source", "also"), writes=lambda a: a.target / "new")
    paths = named.traits({"source": "a", "target": "b", "also": ["c", "d"]}).declared
    assert (paths.reads, paths.writes) == (("a", "c", "d"), ("b/new",))
    fetch = schema_tool("get", "", {"properties": {"to": {"type": "string"}}}, lambda a: a, address="to", agent=None)
    assert fetch.traits({"to": "https://x.test"}).declared.address == "https://x.test"
    assert made(copy, agent=lambda a: "explore").traits({"source": "a", "target": "b"}).declared.agent == "explore"


def test_what_is_not_as_declared_is_a_fault_of_the_call() -> None:
    odd = schema_tool("odd", "", {"properties": {"x": {}}}, lambda a: a, command="x", environment="x", reads="x")
    for value in (3, {"a": 1}):
        assert odd.traits({"x": value}).declared.fault
    assert odd.traits({}).declared.fault is None


WRONG: Mapping[str, dict[str, Any]] = {
    "an argument it does not have": {"command": "line"},
    "one of two that it does not have": {"reads": ("command", "line")},
    "two commands": {"command": ("command", "cwd")},
    "no name at all": {"reads": ()},
    "something else": {"address": 3},
    "a function of nothing": {"reads": lambda: "x"},
    "a writer without effects": {"writes": "cwd", "effects": "none"},
}


def test_a_declaration_that_makes_no_sense_is_refused() -> None:
    passed = []
    for what, options in WRONG.items():
        try:
            made(run, **options)
        except ToolDefinitionError:
            continue
        passed.append(what)
    assert passed == []


def test_locks_follow_the_declared_paths_unless_they_are_given() -> None:
    arguments = {"source": "a", "target": "b"}
    both = {"reads": "source", "writes": "target"}
    assert made(copy, **both).traits(arguments).locks == reads("a") | writes("b")
    assert made(copy, **both, locks=exclusive).traits(arguments).locks == exclusive
    assert made(copy, reads="source", effects="none").traits(arguments).locks == reads("a")
    assert made(copy, reads="source").traits(arguments).locks == exclusive, "it may change anything"
    assert made(copy, reads=None, effects="none").traits(arguments).locks == workspace
    assert made(run, command="command", writes="cwd").traits({"command": "x"}).locks == exclusive


NOTED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"command": {"type": "string"}}, {}, "command"),
    ({"cmd": {"type": "string"}}, {}, "command"),
    ({"cmd": {"type": "array", "items": {"type": "string"}}}, {}, "command"),
    ({"url": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, {}, "address"),
    ({"path": {"type": "string"}}, {}, "reads"),
    ({"where": {"type": "string", "format": "path"}}, {}, "reads"),
    ({"file_path": {"type": "string"}}, {"locks": shared}, "reads"),
    ({"file_path": {"type": "string"}}, {"locks": lambda a: reads(a.file_path)}, ""),
    ({"file_path": {"type": "string"}}, {"locks": reads("x")}, ""),
    ({"command": {"type": "string"}}, {"command": "command"}, ""),
    ({"command": {"type": "string"}}, {"command": None}, ""),
    ({"command": {"enum": ["up", "down"], "type": "string"}}, {}, ""),
    ({"command": {"type": "integer"}}, {}, ""),
    ({"url": {"type": "string"}}, {"address": "url"}, ""),
    ({"path": {"type": "string"}}, {"writes": "path"}, ""),
    ({"path": {"type": "string"}}, {"reads": None}, ""),
    ({"text": {"type": "string"}}, {}, ""),
]


def test_an_argument_that_looks_like_a_part_and_is_not_declared_is_noted_when_the_tool_is_made() -> None:
    wrong: list[str] = []
    for properties, options, part in NOTED:
        with catch_warnings(record=True, action="always") as heard:
            schema_tool("odd", "", {"properties": properties}, lambda a: a, **options)
        found = [str(each.message) for each in heard if each.category is UndeclaredArgument]
        if bool(found) != bool(part) or not all(f"{part}=" in text for text in found):
            wrong.append(f"{properties} {options}: {found}")
    assert wrong == []


def test_the_note_stands_at_the_line_that_makes_the_tool() -> None:
    with pytest.warns(UndeclaredArgument, match="the argument 'url' is not declared") as found:

        @tool(effects="none")
        def fetch(url: str) -> str:
            return url

    assert [each.filename for each in found] == [__file__]
    assert fetch.undeclared


LABELS: list[tuple[Declared, dict[str, Any], str]] = [
    (Declared(label="the build"), {"description": "x", "command": "make"}, "T(the build)"),
    (Declared(command="make"), {"description": "Make it", "command": "make"}, "T(make)"),
    (Declared(reads=("a",), writes=("b",)), {}, "T(b)"),
    (Declared(reads=("a",)), {}, "T(a)"),
    (Declared(address="https://x.test"), {}, "T(https://x.test)"),
    (Declared(agent="explore"), {"prompt": "x", "type": "explore"}, "T(explore)"),
    (UNDECLARED, {"text": "only one"}, "T(only one)"),
    (UNDECLARED, {"a": "one", "b": "two"}, "T"),
    (UNDECLARED, {"n": 1}, "T"),
    (Declared(command="a\nb"), {}, "T(a…)"),
    (Declared(command="x" * 50), {}, f"T({'x' * 40}…)"),
]


@pytest.mark.spec("EXE-27")
def test_a_call_is_named_by_what_its_tool_declares_and_not_by_the_first_text() -> None:
    wrong = {wanted: found for declared, given, wanted in LABELS if (found := label_of("T", declared, given)) != wanted}
    assert wrong == {}


def _no_annotation(item, count=1):  # pyright: ignore
    """Order."""
    return f"{item} {count}"  # pyright: ignore


def _half(item: str, count=1) -> str:  # pyright: ignore
    """Order."""
    return f"{item} {count}"


def _annotated(item: str, run: Run, anything: Any = None) -> str:
    """Order."""
    return item


UNANNOTATED: list[tuple[Any, str | None]] = [
    (_no_annotation, "'item', 'count'"),
    (_half, "'count'"),
    (partial(_no_annotation, count=2), "'item'"),
    (lambda item: item, None),  # pyright: ignore
    (_annotated, None),
    (partial(_half, count=2), None),
    (lambda: "nothing", None),
]


def test_arguments_without_annotation_are_reported_where_the_tool_is_made() -> None:
    wrong: list[str] = []
    for fn, names in UNANNOTATED:
        with catch_warnings(record=True) as heard:
            simplefilter("always")
            tool(fn, name="act", description="Act.")
        texts = [str(each.message) for each in heard if each.category is UndeclaredArgument]
        if (names is None) is not (texts == []) or not all(f"no annotation for {names}" in text for text in texts):
            wrong.append(f"{fn}: {texts}")
    assert not wrong, "\n".join(wrong)
