"""Files stay small: over 300 lines is reported, over 500 is two things."""

import ast
from collections.abc import Callable
from pathlib import Path

from tests.house.tree import PACKAGE, parsed, python_files, shown

LARGE = 300
TOO_LARGE = 500
# What the nouns and the corridor together are meant to have, in lines of code. Reported, not enforced.
ONE_SITTING = 3_300


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank nor comment nor docstring."""
    text = path.read_text(encoding="utf-8").splitlines()
    prose: set[int] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    numbered = enumerate(text, start=1)
    return sum(1 for number, line in numbered if number not in prose and line.strip() and line.strip()[0] != "#")


def test_no_source_file_is_two_things(record_property: Callable[[str, object], None]) -> None:
    sizes = {path: lines(path) for path in python_files("src")}
    assert sizes, "there is no source to measure"
    large = sorted((path for path in sizes if sizes[path] > LARGE), key=lambda path: -sizes[path])
    for path in large:
        record_property("report", f"{shown(path)}: {sizes[path]} lines, more than {LARGE}")
    too_large = [f"{shown(path)}: {sizes[path]} lines" for path in large if sizes[path] > TOO_LARGE]
    assert not too_large, f"over {TOO_LARGE} lines, so two things in one file:\n" + "\n".join(too_large)


def test_the_size_of_words_and_core_is_reported(record_property: Callable[[str, object], None]) -> None:
    files = [path for path in python_files("src") if path.relative_to(PACKAGE).parts[0] in ("words", "core")]
    assert files, "words and core are not there"
    total = sum(lines_of_code(path) for path in files)
    share = f"{total / ONE_SITTING:.0%} of one sitting ({ONE_SITTING})"
    record_property("report", f"words + core: {total} lines of code in {len(files)} files, {share}")
