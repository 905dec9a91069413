"""Imports inside Callgate point one way: words ← core ← conversation ← layer 2 ← session ← assembly ← interfaces."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.tree import SRC

# The whole rule. Left: a part of src/callgate. Right: what it may import besides itself; "core.ports" allows that
# module and what is below it, "" the front door `callgate` itself. Lazy and type-only imports count like all others.
ROOM = ("words", "formats", "core.capabilities", "core.ports", "core.lanes", "core.locks", "conversation.ports")
# A feature adds to sessions through the interface of features, and puts reminders on record.
FEATURE = (
    *ROOM,
    "conversation.feature",
    "conversation.ledger",
    "conversation.record",
    "conversation.reminders",
    "host",
    "tools",
)
ROOMS = {
    "host": ROOM,
    # The file of keys is read and written as all private files are; local servers are asked by the one HTTP client.
    "providers": (*ROOM, "host.files", "host.host_addresses", "host.http_client"),
    # Effects and locks of Bash come from the reading of its command that the gate uses too.
    "tools": (*ROOM, "changes", "host", "policy", "shell"),
    # A person's resolve runs through an executor of its own. An undo is a notice.
    "staging": (*FEATURE, "conversation.person_calls", "core.executor", "changes", "notices"),
    "notices": FEATURE,
    # Summaries count and cut messages as the log stores them, and show files as they are now.
    "compaction": (
        *FEATURE,
        "conversation.allowance",
        "conversation.view",
        "changes",
        "prompt",
        "staging",
        "transcript",
    ),
    "prompt": (*ROOM, "host.files"),
    "search": FEATURE,
    "shell": ("words",),
    "policy": (*ROOM, "host", "shell"),
    "changes": (*ROOM, "host"),
    # A copy goes on from the numbers of the fold; an export pairs calls and results as a request does.
    "transcript": (*ROOM, "conversation.chain", "conversation.ledger", "conversation.view", "host"),
    "tracing": ROOM,
    # A login asks no host near this machine; which those are is one table.
    "mcp": (*FEATURE, "notices", "policy.hosts"),
}
# Beside the rooms: settings, which rooms do not read; and what the administrative commands need of the rooms.
CONFIG = (*ROOM, "host", "policy", "transcript")
SESSION = ("words", "formats", "core", "conversation", *ROOMS)
ASSEMBLY = (*SESSION, "config", "session")
DOOR = ("", "words", "formats", "config", "session", "assembly")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "_version": (),
    "features": ("conversation", "assembly", "compaction", "mcp", "notices", "search", "staging"),
    "words": (),
    "formats": ("words",),
    "core": ("words",),
    "conversation": ("words", "core"),
    **ROOMS,
    "config": CONFIG,
    "session": SESSION,
    "assembly": ASSEMBLY,
    "": (*ASSEMBLY, "assembly"),
    "admin": (*ASSEMBLY, "assembly"),
    # `callgate tools` works on tools and their index themselves, the other commands through admin.
    "cli": (*DOOR, "admin", "search", "tools", "tui", "web", "mcp_server"),
    # Its questions carry the diff of a change as the room of changes draws it.
    "mcp_server": (*DOOR, "changes.diff"),
    # Lists of sessions, checks of the machine and settings come through admin, as for commands. Timers are those of the
    # session's clock, and so manual in tests. /context draws the counted use of the window.
    "tui": (*DOOR, "admin", "core.ports", "prompt.environment_facts", "transcript.token_count"),
    "web": DOOR,
    "__main__": ("cli",),
    "testing": ("words", "formats", "core", "conversation", *ROOMS),
}
# Single modules that may do more than their part may.
EXCEPTIONS = {
    "tools.custom": ("config",),
    # The only users of a part of layer 2 among the interfaces; what two interfaces share is in admin.
    "cli.answer_command": ("transcript",),
    "cli.sandbox_commands": ("host", "policy.sandbox_policy", "policy.sandbox_proofs"),
    "cli.session_log": ("transcript",),
    "tui.commands.custom_prompts": ("policy.trust", "tools.front_matter", "tools.skills"),
    "tui.commands.slash_program": ("host.environment",),  # programs outside the workspace
    "tui.composer.prompt_history": ("transcript",),
    "tui.composer.local_files": ("host.environment", "host.files", "tools.files", "tools.ripgrep"),
}
# Everybody may ask for the version.
FOR_ALL = ("_version",)
# These use the standard library alone; words knows nothing of waiting either.
STDLIB_ONLY = ("_version", "words", "core", "conversation", "")
FORBIDDEN = {"words": ("asyncio", "threading", "concurrent", "selectors")}
NO_ASYNC = ("words",)
# For type checkers alone: a TypeVar with a default, which the standard library has from Python 3.13 on.
TYPES_ONLY = {"callgate.core.ports": "typing_extensions", "callgate.core.record": "typing_extensions"}


@dataclass(frozen=True)
class Import:
    """One imported module, and where it is said."""

    path: Path
    line: int
    importer: str
    target: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.importer} imports {self.target}"


def module_name(src: Path, path: Path) -> str:
    parts = path.relative_to(src).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """`callgate.core.gate` → `core`; the front door itself → an empty string."""
    return [*module.split("."), ""][1]


def below(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def imports(src: Path, path: Path) -> Iterator[Import]:
    """Every import of one file, wherever it stands, relative and constant dynamic ones resolved."""
    importer = module_name(src, path)
    package = importer if path.name == "__init__.py" else importer.rpartition(".")[0]

    def is_module(name: str) -> bool:
        file = src.joinpath(*name.split("."))
        return file.is_dir() or file.with_suffix(".py").is_file()

    def absolute(name: str, level: int) -> str:
        base = package.split(".")[: len(package.split(".")) - level + 1]
        return ".".join([*base, *([name] if name else [])])

    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        match node:
            case ast.Import(names=names):
                targets = [alias.name for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                base = absolute(module or "", level) if level else module or ""
                full = [f"{base}.{alias.name}" for alias in names]
                targets = [name if below(base, "callgate") and is_module(name) else base for name in full]
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if (
                isinstance(func, ast.Name) and func.id in ("__import__", "import_module")
            ) or (isinstance(func, ast.Attribute) and func.attr == "import_module"):
                level = len(name) - len(name.lstrip("."))
                targets = [absolute(name[level:], level) if level else name]
            case _:
                continue
        for target in dict.fromkeys(targets):
            yield Import(path.relative_to(src.parent), node.lineno, importer, target)


def refusal(found: Import) -> str | None:
    """Why this import is not allowed, or None."""
    importer, target = part_of(found.importer), found.target
    if not below(target, "callgate"):
        top = target.partition(".")[0]
        if TYPES_ONLY.get(found.importer) == top:
            return None
        if importer in STDLIB_ONLY and top not in sys.stdlib_module_names:
            return "only the standard library may be used here"
        return f"{top} is not for {importer}" if top in FORBIDDEN.get(importer, ()) else None
    if importer == part_of(target):
        return None
    inner = target.removeprefix("callgate").removeprefix(".")
    if inner in FOR_ALL:
        return None
    if any(name.startswith("_") for name in inner.split(".")):
        return "a private module is for its own part only"
    allowed = MAY_IMPORT.get(importer, ())
    for module, more in EXCEPTIONS.items():
        if below(found.importer, f"callgate.{module}"):
            allowed = (*allowed, *more)
    if any(below(inner, name) if name else not inner for name in allowed):
        return None
    return f"{importer or 'the front door'} may import {', '.join(name or 'callgate' for name in allowed) or 'nothing'}"


def violations(src: Path) -> list[str]:
    faults: list[str] = []
    for path in sorted((src / "callgate").rglob("*.py")):
        part, shown = part_of(module_name(src, path)), path.relative_to(src.parent)
        if part not in MAY_IMPORT:
            faults.append(f"{shown}:1: {part} is not a part of the plan: give it a line in MAY_IMPORT")
            continue
        faults += [f"{found} ({why})" for found in imports(src, path) if (why := refusal(found))]
        if part in NO_ASYNC:
            waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
            tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            faults += [f"{shown}:{node.lineno}: async code in {part}" for node in tree if isinstance(node, waiting)]
    return faults


@pytest.mark.spec("TRN-5")
def test_the_loop_imports_words_core_and_conversation_alone_and_fits_on_a_screen() -> None:
    loop = SRC / "callgate" / "conversation" / "loop.py"
    inside = [found.target for found in imports(SRC, loop) if below(found.target, "callgate")]
    assert inside
    assert all(
        below(target, "callgate.core") or below(target, "callgate.conversation") or below(target, "callgate.words")
        for target in inside
    )
    tree = ast.parse(loop.read_text(encoding="utf-8"))
    run = next(node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef) and node.name == "run")
    assert (run.end_lineno or 0) - run.lineno < 40


@pytest.mark.parametrize("module", ["core.executor"])
def test_the_executor_loads_words_and_core_alone(module: str) -> None:
    found: set[str] = set()
    left = [f"callgate.{module}"]
    while left:
        name = left.pop()
        found.add(name)
        path = SRC.joinpath(*name.split(".")).with_suffix(".py")
        inside = {each.target for each in imports(SRC, path) if below(each.target, "callgate")}
        left += inside - found - set(left)
    assert "callgate.core.engine" in found
    assert {part_of(name) for name in found} == {"core", "words"}


def test_imports_point_one_way() -> None:
    assert list((SRC / "callgate").rglob("*.py")), "there is no source to check"
    faults = violations(SRC)
    assert not faults, "imports against the plan:\n" + "\n".join(faults)


TREE = {
    "__init__.py": "",
    "words/__init__.py": "",
    "words/calls.py": "",
    "core/__init__.py": "",
    "core/ports.py": "",
    "core/gate.py": "",
    "tools/__init__.py": "",
    "tools/_private.py": "",
    "policy/__init__.py": "",
    "session.py": "",
    "assembly.py": "",
    "cli/__init__.py": "",
    "testing/__init__.py": "",
}


def tree_with(folder: Path, file: str, text: str) -> Path:
    for name, content in {**TREE, file: text}.items():
        path = folder / "src/callgate" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder / "src"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("words/a.py", "from callgate.core import ports"),
        ("words/a.py", "from ..core.ports import Model"),
        ("words/a.py", "import asyncio.locks"),
        ("words/a.py", "async def wait(): ..."),
        ("words/a.py", "import pydantic"),
        ("core/a.py", "def f():\n    from callgate.tools import tool"),
        ("core/a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import callgate.session"),
        ("core/a.py", "import importlib\nimportlib.import_module('callgate.tools')"),
        ("core/a.py", "import importlib\nimportlib.import_module('..tools', __package__)"),
        ("core/a.py", "import callgate"),
        ("core/a.py", "from .. import tools"),
        ("core/__init__.py", "from ..tools import x"),
        ("core/a.py", "from pydantic_core import from_json"),
        ("tools/a.py", "from callgate.core.gate import Gate"),
        ("tools/a.py", "from callgate.core import gate"),
        ("tools/a.py", "from callgate.core import Gate"),
        ("tools/a.py", "from callgate.core import *"),
        ("tools/a.py", "from callgate import tool"),
        ("policy/a.py", "import callgate.tools"),
        ("host/a.py", "from callgate.testing import ManualClock"),
        ("session.py", "from callgate.cli import main"),
        ("session.py", "from callgate.assembly import Session"),
        ("assembly.py", "import callgate"),
        ("cli/a.py", "from callgate.core import ports"),
        ("cli/a.py", "from callgate import policy"),
        ("cli/a.py", "from callgate.testing import ScriptedModel"),
        ("testing/a.py", "from callgate.tools._private import x"),
        ("testing/a.py", "from callgate.tools import _private"),
        ("testing/a.py", "import callgate.session"),
        ("testing/a.py", "import callgate.cli"),
        ("__init__.py", "from callgate.testing import ScriptedModel"),
        ("__init__.py", "import pydantic"),
        ("utils.py", ""),
    ],
)
def test_an_import_against_the_plan_is_reported_once_with_its_place(tmp_path: Path, file: str, text: str) -> None:
    faults = violations(tree_with(tmp_path, file, text))
    assert len(faults) == 1
    assert faults[0].startswith(f"src/callgate/{file}:{max(1, len(text.splitlines()))}: ")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("words/a.py", "import json\nfrom . import calls\nfrom .calls import x"),
        ("core/a.py", "import asyncio\nfrom ..words.calls import x\nfrom . import ports, gate"),
        ("tools/a.py", "import pydantic\nfrom ..core import ports\nfrom ..policy import x\nfrom . import _private"),
        ("session.py", "from .core.gate import Gate\nfrom . import tools\nfrom callgate._version import __version__"),
        ("cli/a.py", "import callgate\nfrom callgate import Session\nfrom callgate import Session"),
        ("cli/sandbox_commands.py", "from callgate.host.ports import Command"),
        ("testing/a.py", "from callgate.core.gate import Gate\nfrom callgate.tools import tool"),
        ("__init__.py", "from .session import Session\nfrom . import words"),
        ("__main__.py", "from callgate.cli import main"),
    ],
)
def test_an_import_of_the_plan_is_allowed(tmp_path: Path, file: str, text: str) -> None:
    assert violations(tree_with(tmp_path, file, text)) == []
