"""Calls as people see them: title, icon and one line."""

import re
from typing import Any

import pytest

from callgate import Result, Session, tool
from callgate.core.capabilities import facts_of
from callgate.staging.resolve import Resolution
from callgate.testing import ScriptedModel
from callgate.tools.builtin import BUILTIN, builtin_tools
from callgate.tools.tool_names import face_of, title_from
from callgate.tools.toolbox import Named
from callgate.words.errors import ToolDefinitionError, UsageError
from callgate.words.traits import ICONS, Traits

ASKED = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}
ENTRY = {"content": "Add it", "status": "in_progress", "activeForm": "Adding it"}
# A call of each built-in tool, with its icon and its line.
CALLS: dict[str, tuple[dict[str, Any], str, str]] = {
    "ApplyPatch": ({"patch": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"}, "edit", "ApplyPatch(a.py)"),
    "AskUserQuestion": ({"questions": [ASKED]}, "ask", "AskUserQuestion(Which colour?)"),
    "AstEdit": ({"ops": [{"pattern": "log($A)", "rewrite": "note($A)"}]}, "edit", "AstEdit(log($A))"),
    "AstGrep": ({"pattern": "print($A)", "language": "python"}, "search", "AstGrep(print($A))"),
    "Bash": ({"command": "make test"}, "run", "Bash(make test)"),
    "Edit": ({"file_path": "a.py", "old_string": "a", "new_string": "b"}, "edit", "Edit(a.py)"),
    "EnterPlanMode": ({}, "think", "EnterPlanMode"),
    "ExitPlanMode": ({"plan": "Fix it"}, "think", "ExitPlanMode(Fix it)"),
    "Glob": ({"pattern": "*.py", "path": "src"}, "search", "Glob(*.py)"),
    "Grep": ({"pattern": "def main", "path": "src"}, "search", "Grep(def main)"),
    "NotebookEdit": ({"notebook_path": "n.ipynb", "cell_id": "a"}, "edit", "NotebookEdit(n.ipynb)"),
    "Read": ({"file_path": "a.py"}, "read", "Read(a.py)"),
    "Skill": ({"skill": "release", "args": "1.0"}, "read", "Skill(release)"),
    "Sleep": ({"seconds": 2.5}, "think", "Sleep(2.5 s)"),
    "TaskOutput": ({"id": "b1"}, "read", "TaskOutput(b1)"),
    "TaskStop": ({"id": "b1"}, "run", "TaskStop(b1)"),
    "TodoWrite": ({"todos": [ENTRY]}, "think", "TodoWrite(Adding it)"),
    "WebFetch": ({"url": "https://example.com/a"}, "fetch", "WebFetch(https://example.com/a)"),
    "Write": ({"file_path": "a.py", "content": "a"}, "edit", "Write(a.py)"),
}


@pytest.mark.spec("BLT-4")
@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_tool_has_a_title_an_icon_and_a_line(name: str) -> None:
    (made,) = builtin_tools(name)
    arguments, icon, line = CALLS[name]
    face = face_of(made, arguments)
    assert (made.spec.name, face.icon, face.line) == (name, icon, line)
    assert re.fullmatch(r"[A-Z][^\n]{2,30}", face.title), face.title
    assert face.title != title_from(name) or face.title == name, "give it a title of its own"
    assert not made.traits(arguments).failed
    assert made.spec.description.strip()


def test_all_but_the_rarely_used_are_always_loaded() -> None:
    found = {made.spec.name for made in builtin_tools() if not facts_of(made).always_loaded}
    assert found == {"AstEdit", "AstGrep", "NotebookEdit", "Sleep", "WebFetch"}


def test_the_table_is_sorted_and_a_wrong_name_is_refused_with_the_right_ones() -> None:
    assert list(BUILTIN) == sorted(BUILTIN) == sorted(CALLS)
    assert [each.spec.name for each in builtin_tools()] == list(BUILTIN)
    with pytest.raises(UsageError, match=r"no built-in tool Nope; the built-in tools are A.*, ExitPlanMode"):
        builtin_tools("AstGrep", "Nope")
    with pytest.raises(UsageError, match=r"there is no built-in tool Raed; did you mean Read\?"):
        builtin_tools("Raed")


def test_resolve_has_all_three() -> None:
    face = face_of(Resolution(), {"action": "apply", "reason": "it is right"})
    assert (face.title, face.icon, face.line) == (
        "Apply or discard",
        "edit",
        "resolve(action=apply, reason=it is right)",
    )


def by_default(**options: Any) -> str:
    def it(path: str = "", line: str = "") -> None: ...

    parts = {"reads": None, "command": None, **options}
    return face_of(tool(it, **parts), {"path": "a", "line": "b"}).icon


ICON_ROWS: list[tuple[dict[str, Any], str]] = [
    ({}, "run"),
    ({"effects": "none"}, "read"),
    ({"effects": "none", "reads": "path"}, "read"),
    ({"writes": "path", "reads": "path"}, "edit"),
    ({"command": "line", "writes": "path"}, "run"),
    ({"address": "path"}, "fetch"),
    ({"agent": "path", "command": "line"}, "agent"),
    ({"effects": "idempotent", "own_state": True}, "think"),
    ({"requires_interaction": True}, "ask"),
    ({"icon": "search", "reads": "path"}, "search"),
    ({"icon": lambda a: "think" if a.line == "b" else "read"}, "think"),
]


def test_without_an_icon_it_goes_by_the_subject_and_the_effects() -> None:
    wrong = [(options, wanted) for options, wanted in ICON_ROWS if by_default(**options) != wanted]
    assert wrong == []
    assert {wanted for _, wanted in ICON_ROWS} == set(ICONS)


def test_an_icon_or_a_title_that_is_none_is_refused_where_the_tool_is_made() -> None:
    def it() -> None: ...

    with pytest.raises(ToolDefinitionError, match="icon must be one of read, edit"):
        tool(it, icon="banana")  # pyright: ignore
    with pytest.raises(ToolDefinitionError, match="title must be a str"):
        tool(it, title=3)  # pyright: ignore


def test_a_title_is_made_of_the_name() -> None:
    rows = {
        "WebFetch": "Web fetch",
        "read_file": "Read file",
        "LSP": "LSP",
        "HTTPGet2": "HTTP get 2",
        "mcp__github__create_issue": "github: Create issue",
        "mcp__odd": "Mcp odd",
        "_": "_",
    }
    assert {name: title_from(name) for name in rows} == rows


def test_a_tool_under_another_name_keeps_its_title() -> None:
    @tool(title="Say hello")
    def greet(name: str) -> str:
        return name

    face = face_of(Named(greet, "hello"), {"name": "Ada"})
    assert (face.title, face.line) == ("Say hello", "hello(Ada)")


def test_arguments_that_do_not_fit_still_have_a_face() -> None:
    class Broken:
        spec = builtin_tools("AstGrep")[0].spec
        aliases = ()

        def traits(self, arguments: Any) -> Traits:
            raise ValueError("no")

    assert face_of(Broken(), {"x": "y"}).line == "AstGrep(y)"  # pyright: ignore


def test_a_session_tells_doors_the_face_of_a_call_by_name_or_alias_known_or_not() -> None:
    @tool(title="Say hello", aliases=["hi"], effects="none")
    def greet(name: str) -> Result:
        return Result()

    with Session(ScriptedModel(), [greet]) as session:
        assert (
            session.controls.face("greet", {"name": "Ada"}).title
            == session.controls.face("hi", {"name": "Ada"}).title
            == "Say hello"
        )
        face = session.controls.face("mcp__s__gone", {"n": 1})
        assert (face.title, face.icon, face.line) == ("s: Gone", "run", "mcp__s__gone(n=1)")
