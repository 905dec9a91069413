"""Modules of callgate import each other in one direction: no import cycles, lazy and type-only imports counted.

An import of ``callgate.x.y`` is no import of the package ``callgate.x``, although Python loads its ``__init__`` first.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.house.test_layers import imports, module_name
from tests.house.tree import SRC


def cycles(edges: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Return the strongly connected components with more than one node or with an edge to itself (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[tuple[str, ...]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in edges.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            component = tuple(sorted(stack[at:]))
            del stack[at:]
            if len(component) > 1 or node in edges.get(node, ()):
                found.append(component)

    for node in edges:
        if node not in index:
            visit(node)
    return sorted(found)


def import_edges(src: Path) -> dict[str, set[str]]:
    """Return the modules of the package that each of its modules imports, wherever the import stands."""
    files = {module_name(src, path): path for path in (src / "callgate").rglob("*.py")}
    return {name: {each.target for each in imports(src, path) if each.target in files} for name, path in files.items()}


def test_no_module_imports_itself_through_others() -> None:
    found = [", ".join(component) for component in cycles(import_edges(SRC))]
    assert not found, "import cycles:\n" + "\n".join(found)


def test_cycles_are_found_over_lazy_and_type_only_imports_and_not_over_packages(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from callgate.a import x",
        "a.py": "def f():\n    from callgate.b import y",
        "b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from callgate.p.c import z",
        "p/__init__.py": "from callgate.p.d import w",
        "p/c.py": "import importlib\nimportlib.import_module('callgate.a')",
        "p/d.py": "from callgate.p import c",
    }
    for name, text in files.items():
        path = tmp_path / "callgate" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert cycles(import_edges(tmp_path)) == [("callgate.a", "callgate.b", "callgate.p.c")]
    (tmp_path / "callgate/p/d.py").write_text("from callgate.p import w", encoding="utf-8")
    assert cycles(import_edges(tmp_path))[1:] == [("callgate.p", "callgate.p.d")]
