"""The table of well-known tools: what each declares of its arguments, and stand-ins that never run."""

from typing import Any

import pytest

from callgate.policy.well_known import TABLE, StandIn, patched
from callgate.testing import PlainRun, run_virtual
from callgate.words.calls import Accepted, Rejected
from callgate.words.declared import KINDS, Declared
from callgate.words.errors import ToolFailure
from callgate.words.traits import Locks, Traits, exclusive, reads, writes
from tests.rows import rows


def declared(name: str, arguments: dict[str, Any]) -> Declared:
    return StandIn(name).traits(arguments).declared


def test_every_row_of_the_table_is_whole() -> None:
    wrong: list[str] = []
    for name, row in TABLE.items():
        if row.content is not None and not row.argument:
            wrong.append(f"{name}: which argument do its rules speak of?")
        if row.kind and row.kind not in row.declares.kinds:
            wrong.append(f"{name}: its rules reach every tool with {row.kind}, which it does not declare itself")
        if unknown := row.declares.kinds - set(KINDS):
            wrong.append(f"{name}: {unknown} are no kinds")
        if row.previews != ("writes" in row.declares.kinds):
            wrong.append(f"{name}: a tool that writes files shows the change first, and no other")
        if row.traits.own_state and row.traits.effects == "none":
            wrong.append(f"{name}: it cannot change its own state and have no effects")
    assert wrong == []


READERS = {
    "Read": (),
    **dict.fromkeys(("AstEdit", "AstGrep", "Glob", "Grep", "LS"), (".",)),
}


def test_a_reader_reads_the_paths_in_its_arguments() -> None:
    wrong: list[str] = []
    for name, otherwise in READERS.items():
        found = StandIn(name).traits({"file_path": "a", "path": "b", "paths": ["c", 3]})
        if (found.effects, found.declared.reads, found.locks) != ("none", ("a", "b", "c"), reads("a", "b", "c")):
            wrong.append(f"{name} with paths: {found}")
        if declared(name, {"path": 3}).reads != otherwise:
            wrong.append(f"{name} without a path: {declared(name, {'path': 3})}")
    assert wrong == []


PATTERNS: dict[str, tuple[str, ...]] = {
    "~/.ssh/*": ("~/.ssh",),
    "/etc/*": ("/etc",),
    "/*": ("/",),
    "**/id_rsa": ("src/**/id_rsa",),
    "../x/**/*.py": ("src/../x",),
    ".env*": ("src/.env*",),
    "lib/**": ("src/lib",),
    "*.py": (),
    "**/*.py": (),
    "{a,b}": ("src/a", "src/b"),
}


@pytest.mark.spec("GATE-16")
def test_a_pattern_of_file_names_is_a_place_as_far_as_it_names_one() -> None:
    wrong = {
        f"{tool} {pattern}": found
        for pattern, wanted in PATTERNS.items()
        for tool, field in (("Glob", "pattern"), ("Grep", "glob"), ("AstGrep", "glob"), ("Grep", "include"))
        if (found := declared(tool, {"path": "src", field: pattern}).reads) != ("src", *wanted)
    }
    assert wrong == {}
    assert declared("Grep", {"pattern": "~/.ssh/*"}).reads == (".",), "what Grep looks for is no place"


def test_a_writer_writes_the_path_in_its_arguments_and_shows_it_first() -> None:
    wrong: list[str] = []
    for name in ("ApplyPatch", "Edit", "MultiEdit", "NotebookEdit", "Write"):
        tool = StandIn(name)
        found = tool.traits({"notebook_path": "a.ipynb"})
        if not tool.previews or found.declared.writes != ("a.ipynb",) or found.locks != writes("a.ipynb"):
            wrong.append(f"{name}: {found}")
        if tool.traits({"content": "a"}).locks != exclusive:
            wrong.append(f"{name} without a path is not exclusive")
    assert wrong == []


def test_only_a_patch_is_looked_into_for_paths() -> None:
    text = "--- a/x\n+++ b/x\n"
    for field in ("patch", "input", "diff"):
        assert declared("ApplyPatch", {field: text}).writes == ("x",)
        assert declared("Write", {field: text, "path": "y"}).writes == ("y",)
    assert declared("ApplyPatch", {"patch": 3}).writes == ()


@rows(
    ("text", "paths"),
    [
        (
            "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n",
            ("a.py", "b.py", "c.py"),
        ),
        ("*** Delete File: gone.py\n", ("gone.py",)),
        ("--- a/old.py\n+++ b/new.py\n@@\n", ("old.py", "new.py")),
        ("--- old.py\t2020-01-01\n+++ old.py\t2020-01-02\n", ("old.py",)),
        ("--- /dev/null\n+++ b/new.py\n", ("new.py",)),
        ("--- a/old.py\n+++ /dev/null\n", ("old.py",)),
        ("rename from a b.py\nrename to c.py\n", ("a b.py", "c.py")),
        ("copy from a.py\r\ncopy to c.py\r\n", ("a.py", "c.py")),
        (" *** Add File: not.py\n+--- nor/this\n", ()),
        ("--- b/x\n+++ a/x\n", ("b/x", "a/x")),
    ],
)
def test_a_patch_names_its_paths(text: str, paths: tuple[str, ...]) -> None:
    assert patched(text) == paths


@rows("name", ["mcp__db__query", "Whatever", "Deploy"])
def test_a_name_that_is_not_in_the_table_has_the_most_careful_traits(name: str) -> None:
    assert StandIn(name).traits({"path": "x", "command": "ls"}) == Traits()
    assert StandIn(name).traits({}).locks == Locks("exclusive")
    assert not StandIn(name).previews


def test_the_effects_of_a_command_are_those_of_its_analysis() -> None:
    found = StandIn("Bash").traits({"command": "ls", "cwd": "src", "env": {"LANG": "C"}})
    assert (found.effects, found.cascade) == ("none", True)
    assert (found.declared.command, found.declared.folder, found.declared.environment) == ("ls", "src", {"LANG": "C"})
    assert StandIn("Bash").traits({"command": "touch x"}).effects == "mutating"
    assert declared("Bash", {"command": ["touch", "a b"]}).command == "touch 'a b'"
    for bad in ({"command": 3}, {}, {"command": None}):
        assert StandIn("Bash").traits(bad).effects == "mutating"
        assert declared("Bash", bad).fault is not None


def test_an_agent_that_is_named_twice_is_not_known() -> None:
    assert declared("Agent", {"subagent_type": "explore"}).agent == "explore"
    assert declared("Agent", {}).agent == "general"
    assert declared("Agent", {"type": "explore", "agent": "deploy"}).fault is not None


def test_a_stand_in_takes_any_object_and_nothing_else() -> None:
    tool = StandIn("Read")
    assert tool.spec.name == "Read"
    assert tool.aliases == ()
    assert tool.read('{"path": "a"}') == Accepted({"path": "a"})
    assert tool.read({"path": "a"}) == Accepted({"path": "a"})
    assert isinstance(tool.read("[1]"), Rejected)
    assert isinstance(tool.read("{"), Rejected)


def test_a_stand_in_does_nothing() -> None:
    async def main(method: Any) -> None:
        with pytest.raises(ToolFailure):
            await method({}, PlainRun())

    run_virtual(main(StandIn("Edit").run))
    run_virtual(main(StandIn("Edit").preview))


def test_the_locks_of_a_path_are_of_the_kind_paths() -> None:
    assert StandIn("Read").traits({"path": "x"}).locks == Locks("paths", ("x",))
