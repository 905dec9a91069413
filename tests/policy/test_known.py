"""What is known of tools by name: locks and effects from the arguments, and stand-ins that never run."""

from typing import Any

import pytest

from callgate.policy.known import FOLDER_READERS, NETWORK, locks_of, patched, stand_in
from callgate.testing import PlainRun, run_virtual
from callgate.words.arguments import Accepted, Rejected
from callgate.words.errors import ToolFailure
from callgate.words.traits import Locks, Traits, exclusive, reads, shared, writes


@pytest.mark.parametrize("name", ["AstEdit", "AstGrep", "Glob", "Grep", "LS", "Read"])
def test_a_reader_reads_the_path_in_its_arguments(name: str) -> None:
    assert stand_in(name).traits({"file_path": "a", "path": "b"}) == Traits("none", reads("a", "b"))
    assert stand_in(name).traits({"path": 3}).declared_locks == (reads(".") if name in FOLDER_READERS else None)


@pytest.mark.parametrize("name", ["ApplyPatch", "Edit", "MultiEdit", "NotebookEdit", "Write"])
def test_a_writer_writes_the_path_in_its_arguments_and_shows_it_first(name: str) -> None:
    tool = stand_in(name)
    assert tool.previews
    assert tool.traits({"notebook_path": "a.ipynb"}) == Traits("mutating", writes("a.ipynb"))
    assert tool.traits({"content": "a"}) == Traits("mutating", exclusive)


def test_only_a_patch_is_looked_into_for_paths() -> None:
    text = "--- a/x\n+++ b/x\n"
    for field in ("patch", "input", "diff"):
        assert locks_of("ApplyPatch", {field: text}) == writes("x")
        assert locks_of("Write", {field: text, "path": "y"}) == writes("y")
    assert locks_of("ApplyPatch", {"patch": 3}) is None
    assert locks_of("Deploy", {"path": "x"}) is None


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("name", "traits"),
    [
        *((name, Traits("none", shared)) for name in sorted(NETWORK)),
        *((name, Traits("idempotent", own_state=True)) for name in ("TodoWrite", "TaskCreate", "TaskUpdate")),
        *(
            (name, Traits("none", shared))
            for name in ("TaskList", "TaskGet", "TaskOutput", "EnterPlanMode", "Skill", "Sleep", "SearchExtraTools")
        ),
        *((name, Traits("none", shared, requires_interaction=True)) for name in ("AskUserQuestion", "ExitPlanMode")),
        ("Agent", Traits()),
        ("mcp__db__query", Traits()),
        ("Whatever", Traits()),
    ],
)
def test_other_tools_have_the_traits_of_their_name(name: str, traits: Traits) -> None:
    assert stand_in(name).traits({"path": "x"}) == traits
    assert not stand_in(name).previews


def test_the_effects_of_a_command_are_those_of_its_analysis() -> None:
    assert stand_in("Bash").traits({"command": "ls"}) == Traits("none", cascade=True)
    assert stand_in("Bash").traits({"command": "touch x"}).effects == "mutating"
    assert stand_in("Bash").traits({"command": ["ls"]}).effects == "mutating"


def test_a_stand_in_takes_any_object_and_nothing_else() -> None:
    tool = stand_in("Read")
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

    run_virtual(main(stand_in("Edit").run))
    run_virtual(main(stand_in("Edit").preview))


def test_the_locks_of_a_path_are_of_the_kind_paths() -> None:
    assert locks_of("Read", {"path": "x"}) == Locks("paths", ("x",))
