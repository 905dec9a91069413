"""The interface of the room: what it offers, and what is loaded for it."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from callgate import shell


def test_every_name_that_type_checkers_see_is_found_in_its_module() -> None:
    tree = ast.parse(Path(shell.__file__).read_text(encoding="utf-8"))
    imported = [
        (node.module or "", each.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if each.asname
    ]
    assert len(imported) > 20
    wrong = [name for module, name in imported if getattr(shell, name) is not getattr(import_module(module), name)]
    assert wrong == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        shell.nothing_of_that_name  # noqa: B018  # pyright: ignore


def test_nothing_is_loaded_before_the_first_command_is_judged() -> None:
    code = (
        "import sys; from callgate import Session, tool; import callgate.policy.checks;"
        "import callgate.policy.question_reasons;"
        "print([name for name in sys.modules if name.startswith('callgate.shell.') or name.startswith('tree_sitter')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
