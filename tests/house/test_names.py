"""Names and sentences: one public class per name, nouns of many fields built by keyword, docstrings that begin with
their subject."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import dotted, parsed, python_files, shown

MANY_FIELDS = 5
RIDDLES = ("What", "Whether", "Who", "Whoever", "Which", "How", "Where", "Why", "When")


def classes(path: Path) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef))


def homes() -> dict[str, list[str]]:
    """The files of every public class, by its name."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in python_files("src"):
        for each in parsed(path).body:
            if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
                found[each.name].append(shown(path))
    return found


def test_no_two_public_classes_have_one_name() -> None:
    shared = {name: files for name, files in homes().items() if len(files) > 1}
    new = [f"{name}: {', '.join(files)}" for name, files in sorted(shared.items())]
    assert not new, "one name for two classes:\n" + "\n".join(new)


def fields(node: ast.ClassDef) -> int:
    return sum(isinstance(each, ast.AnnAssign) for each in node.body)


def is_noun(node: ast.ClassDef) -> bool:
    marks = (mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list)
    return any(dotted(mark) in ("noun", "dataclass", "dataclasses.dataclass") for mark in marks)


def test_a_noun_of_many_fields_is_built_with_keywords() -> None:
    files = python_files("src")
    wide = {each.name for path in files for each in classes(path) if is_noun(each) and fields(each) > MANY_FIELDS}
    assert len(wide) > 10, "the nouns are not found"
    found = [
        f"{shown(path)}:{node.lineno}: {dotted(node.func)} has {len(node.args)} arguments without a name"
        for path in files
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and dotted(node.func) in wide and len(node.args) > MANY_FIELDS
    ]
    assert not found, "name the arguments:\n" + "\n".join(found)


def test_a_docstring_begins_with_its_subject() -> None:
    found = [
        f"{shown(path)}:{node.body[0].lineno}: {text.splitlines()[0]}"
        for path in python_files("src")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node, clean=False))
        and text.split(maxsplit=1)[0].rstrip(",:;.") in RIDDLES
    ]
    assert not found, "say the subject first:\n" + "\n".join(found)
