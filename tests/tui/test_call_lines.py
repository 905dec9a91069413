"""The lines of calls: arguments, result and note in a few words, at 100 and 60 columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import tool
from callgate.testing import ScriptedModel
from callgate.tools.builtin import BUILTIN, builtin_tools
from callgate.tools.tool_names import face_of, unknown_face
from callgate.tui.blocks import CallBlock
from callgate.tui.render import Painter
from callgate.tui.theme import Theme
from callgate.words.calls import Display, Result, Status
from callgate.words.messages import Text
from tests.rows import rows
from tests.sessions import grouped_session
from tests.tools.test_faces import CALLS

MONO = Theme("mono", colours=False)
ROOT = "/home/ann/shop"


def text(*lines: str, **details: Any) -> Result:
    return Result((Text("\n".join(lines)),), details=details)


def failed(words: str, **details: Any) -> Result:
    return Result((Text(words),), is_error=True, code="tool_error", details=details)


@tool(effects="none")
def with_tax(net: float, rate: float = 0.19) -> float:
    """Add a tax."""
    return net * (1 + rate)


@tool
def greet(name: str) -> str:
    """Greet."""
    return name


TOOLS = {each.spec.name: each for each in (*builtin_tools(), with_tax, greet)}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")


def lines(name: str, arguments: dict[str, Any], result: Result | None, width: int = 100) -> list[str]:
    status = Status.EXECUTING if result is None else result.status
    call = CallBlock("c", name, arguments, status=status, result=result, joined=True, duration_ms=1200.0)

    def face(name: str, arguments: Any) -> Any:
        return face_of(TOOLS[name], arguments, ROOT) if name in TOOLS else unknown_face(name, arguments, ROOT)

    return Painter(MONO, width, face, root=ROOT).lines(call)


DIFF = Display("diff", "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n")
TASKS = Display("text", "[x] one\n[>] two\n[ ] three", "To do")
LINES: list[tuple[str, dict[str, Any], Result, str]] = [
    (
        "Read",
        {"file_path": f"{ROOT}/src/a.py"},
        text("x", lines=[1, 9], of=40),
        "Read(src/a.py)  done · 1.2 s · 9 lines of 40",
    ),
    ("Read", {"file_path": "n.ipynb"}, text("x", cells=[1, 3], of=3), "Read(n.ipynb)  done · 1.2 s · 3 cells"),
    ("Read", {"file_path": "a.pdf"}, text("x", pages=[2, 3], of=9), "Read(a.pdf)  done · 1.2 s · 2 pages of 9"),
    ("Read", {"file_path": "/home/ann/x"}, text("a", "b"), "Read(~/x)  done · 1.2 s · 2 lines"),
    (
        "Edit",
        {"file_path": f"{ROOT}/a.py", "old_string": "a", "new_string": "b"},
        Result((Text("Edited"),), (DIFF,)),
        "Edit(a.py)  done · 1.2 s · +1 −1",
    ),
    (
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "b"},
        Result((Text("Wrote"),), (DIFF,)),
        "Write(a.py)  done · 1.2 s · +1 −1",
    ),
    ("Bash", {"command": "make"}, text("one", "two", exit_code=0), "Bash(make)  done · 1.2 s · 2 lines"),
    ("Bash", {"command": "make"}, Result(details={"exit_code": 0}), "Bash(make)  done · 1.2 s · no output"),
    ("Bash", {"command": "make"}, failed("no\n[exit code 2]", exit_code=2), "Bash(make)  failed · 1.2 s · exit 2"),
    (
        "Grep",
        {"pattern": "def main", "path": f"{ROOT}/src"},
        text("x", matches=3, files=2),
        "Grep(def main)  in src  done · 1.2 s · 3 matches in 2 files",
    ),
    ("Glob", {"pattern": "*.py"}, text("x", files=3), "Glob(*.py)  done · 1.2 s · 3 files"),
    (
        "TodoWrite",
        {"todos": [{"content": "a", "status": "pending", "activeForm": "b"}]},
        Result((), (TASKS,)),
        "TodoWrite(list of 1)  done · 1.2 s · 1 of 3 done",
    ),
    ("Sleep", {"seconds": 2}, text("Waited."), "Sleep(2 s)  done · 1.2 s · Waited."),
    ("TaskStop", {"id": "b1"}, text("Stopped b1."), "TaskStop(b1)  done · 1.2 s · Stopped b1."),
    ("with_tax", {"net": 100, "rate": 0.19}, text("119.0"), "with_tax(net=100, rate=0.19)  done · 1.2 s · 119.0"),
    ("greet", {"name": "Ada"}, text("Hello, Ada"), "greet(Ada)  done · 1.2 s · Hello, Ada"),
    ("mcp__calc__add", {"a": 2, "b": 3}, text("5"), "mcp__calc__add(a=2, b=3)  done · 1.2 s · 5"),
    (
        "mcp__db__find",
        {"table": "users", "where": {"id": 7}, "limit": 5},
        text("a", "b"),
        'mcp__db__find(table=users, where={"id": 7}, limit=5)  done · 1.2 s · 2 lines',
    ),
    (
        "mcp__x__y",
        {"ids": list(range(40)), "deep": True},
        text("ok"),
        "mcp__x__y(ids=40 items, deep=true)  done · 1.2 s · ok",
    ),
    ("mcp__x__y", {"a": "one\ntwo", "b": None}, text("ok"), "mcp__x__y(a=one…, b=null)  done · 1.2 s · ok"),
    ("mcp__x__y", {}, text("ok"), "mcp__x__y  done · 1.2 s · ok"),
    ("mcp__fs__read", {"path": f"{ROOT}/a/b.py"}, text("ok"), "mcp__fs__read(a/b.py)  done · 1.2 s · ok"),
    (
        "mcp__fs__move",
        {"from": f"{ROOT}/a.py", "to": "/home/ann/b.py"},
        text("ok"),
        "mcp__fs__move(from=a.py, to=~/b.py)  done · 1.2 s · ok",
    ),
]


@rows("name, arguments, result, line", LINES)
def test_the_line_of_a_call_has_its_arguments_and_its_result(
    name: str, arguments: dict[str, Any], result: Result, line: str
) -> None:
    assert lines(name, arguments, result)[0][2:] == line
    assert len(lines(name, arguments, result, 60)[0]) <= 60


def test_every_built_in_tool_has_a_line_with_its_arguments() -> None:
    bare = [name for name in BUILTIN if "(" not in lines(name, CALLS[name][0], text("done"))[0]]
    assert bare == ["EnterPlanMode"]  # it has no arguments


@rows("name", ["greet", "with_tax", "mcp__calc__add"])
def test_a_result_on_the_line_is_not_repeated_below_and_a_longer_one_is_below(name: str) -> None:
    assert len(lines(name, {"n": 1}, text("short"))) == 1
    assert lines("greet", {"name": "Ada"}, text("one", "two"))[1:] == ["  one", "  two"]
    long = "a result of one line which is too long for the line of the call that has it " * 2
    assert len(lines("greet", {"name": "Ada"}, text(long))) > 1


@rows(
    "width, shown",
    [
        (100, "Bash(python -m pytest -q tests/shop -x --maxfail=3 -k total)  Run the tests  done · 1.2 s"),
        (80, "Bash(python -m pytest -q tests/shop -x --maxfail=3 -k total)  done · 1.2 s"),
        (60, "Bash(python -m pytest -q tests/shop -x --ma…  done · 1.2 s"),
    ],
)
def test_a_command_uses_the_width_and_its_description_is_beside_it_where_there_is_room(width: int, shown: str) -> None:
    command = {"command": "python -m pytest -q tests/shop -x --maxfail=3 -k total", "description": "Run the tests"}
    assert lines("Bash", command, text("ok", exit_code=0), width)[0][2:] == shown


@rows(
    "width, shown",
    [
        (100, "Read(src/shop/basket/models/discounts/seasonal.py)  done · 1.2 s · 120 lines of 500"),
        (60, "Read(src/…/seasonal.py)  done · 1.2 s · 120 lines of 500"),
        (40, "Read(src/…/seasonal.py)  done · 1.2 s"),
    ],
)
def test_a_long_path_is_shortened_in_the_middle_and_pushes_nothing_out(width: int, shown: str) -> None:
    result = text("x", lines=[1, 120], of=500)
    assert (
        lines("Read", {"file_path": f"{ROOT}/src/shop/basket/models/discounts/seasonal.py"}, result, width)[0][2:]
        == shown
    )


@rows(
    "name, arguments, result, shown",
    [
        (
            "Bash",
            {"command": "make"},
            text("Started in the background as bg-1.", task="bg-1"),
            "runs as bg-1",
        ),
        ("Bash", {"command": "make"}, text("It still runs, as bg-2.", task="bg-2"), "runs as bg-2"),
        ("AstEdit", {"ops": []}, replace(text("x", files=5), display=(DIFF,)), "+1 \u22121"),
        ("AstEdit", {"ops": []}, text("x", files=5), "5 files"),
    ],
)
def test_a_result_is_said_once(name: str, arguments: dict[str, Any], result: Result, shown: str) -> None:
    for width in (100, 60):
        line, *below = lines(name, arguments, result, width)
        assert line.endswith(shown)
        assert not any("background" in each for each in below)


def test_errors_of_tools_have_relative_paths_and_the_output_of_commands_is_unchanged() -> None:
    words = f"{ROOT}/src/a.py has not been read"
    assert lines("Edit", {"file_path": f"{ROOT}/src/a.py"}, failed(words))[1:] == ["  src/a.py has not been read"]
    assert lines("Bash", {"command": "x"}, failed(words, exit_code=1))[1:] == [f"  {words}"]


@rows(
    "kind, body",
    [
        ("text", "the body"),
        ("diff", "@@ -1 +1 @@\n-a\n+b\n"),
        ("table", {"columns": ["a"], "rows": [["b"]]}),
        ("tree", {"label": "a"}),
        ("image", {"media_type": "image/png", "path": "a.png"}),
        ("progress", {"current": 1, "total": 2}),
    ],
)
def test_the_title_of_every_display_is_drawn(kind: Any, body: Any) -> None:
    for result in (
        Result((Text("x"),), (Display(kind, body, "My own title"),)),
        Result((Text("x"),), (Display(kind, body, "My own title"),), is_error=True, code="tool_error"),
    ):
        shown = lines("greet", {"name": "Ada"}, result)
        assert "  My own title" in shown
        assert len(shown) > shown.index("  My own title") + 1
        assert (
            lines("mcp__x__y", {}, replace(result, display=(*result.display, *result.display))).count("  My own title")
            == 2
        )


def test_the_whole_conversation_has_titles_too() -> None:
    call = CallBlock("c", "greet", {"name": "Ada"}, status=Status.ERROR, joined=True)
    result = Result((Text("broke"),), (Display("text", "body", "My own title"),), is_error=True, code="tool_error")
    painter = Painter(MONO, 100, lambda name, arguments: unknown_face(name, arguments))
    shown = painter.lines(replace(call, result=result), expanded=True)
    assert shown[1:] == ["  name: Ada", "  broke", "  My own title", "  body"]


def test_the_approval_of_a_plan_is_drawn() -> None:
    result = Result((Text("go"),), (Display("text", "1. Fix it\n2. Test it", "Plan approved"),))
    assert lines("ExitPlanMode", {"plan": "1. Fix it\n2. Test it"}, result)[1:] == [
        "  Plan approved",
        "  1. Fix it",
        "  2. Test it",
    ]


def test_a_session_shows_paths_relative_to_its_workspace(tmp_path: Path) -> None:
    with grouped_session(ScriptedModel(), builtin_tools("Read"), root=tmp_path) as session:
        face = session.controls.face("Read", {"file_path": str(tmp_path / "src/a.py")})
    assert (face.line, face.path) == ("Read(src/a.py)", "src/a.py")


@tool(effects="none", title="Weather of a city")
def weather(city: str) -> str:
    """Tell the weather."""
    return city


@tool(title="Send a mail", command="line")
def mail(line: str, description: str = "") -> str:
    """Send a mail."""
    return line


@tool(reads="path", title="Count the lines of a file")
def count_lines(path: str) -> int:
    """Count lines."""
    return len(path)


@tool(title="Greet somebody")
def greet_all() -> str:
    """Greet."""
    return ""


@tool(title="Same name")
def same_name() -> str:
    """Do."""
    return ""


@rows(
    "name, arguments, line, note",
    [
        ("weather", {"city": "Oslo"}, "weather(Oslo)", "Weather of a city"),
        ("weather", {"city": 5}, "weather(city=5)", "Weather of a city"),
        ("mail", {"line": "x"}, "mail(x)", "Send a mail"),
        ("mail", {"line": "x", "description": "Tell Ann"}, "mail(x)", "Tell Ann"),
        ("count_lines", {"path": "a.py"}, "count_lines(a.py)", "Count the lines of a file"),
        ("greet_all", {}, "greet_all", "Greet somebody"),
        ("same_name", {}, "same_name", ""),
        ("greet", {"name": "Ada"}, "greet(Ada)", ""),
        ("Read", {"file_path": "a.py"}, "Read(a.py)", ""),
        ("Bash", {"command": "ls"}, "Bash(ls)", ""),
        ("TodoWrite", {"todos": []}, "TodoWrite(0 items)", ""),
        ("nope", {"a": 1}, "nope(a=1)", ""),
    ],
)
def test_the_title_of_a_tool_of_the_user_is_beside_the_call(
    tmp_path: Path, name: str, arguments: dict[str, Any], line: str, note: str
) -> None:
    own = (weather, mail, count_lines, greet_all, same_name, greet)
    with grouped_session(ScriptedModel(), (*builtin_tools(), *own), root=tmp_path) as session:
        face = session.controls.face(name, arguments)
    assert (face.line, face.note) == (line, note) or name == "TodoWrite"
    assert face.note == note


def test_the_title_of_a_tool_is_on_the_line_of_its_call() -> None:
    call = CallBlock("c", "weather", {"city": "Oslo"}, status=Status.SUCCESS, result=text("rain"), joined=True)
    painter = Painter(MONO, 100, lambda name, arguments: face_of(weather, arguments, shows_title=True))
    assert painter.lines(call) == ["\u2713 weather(Oslo)  Weather of a city  done \u00b7 rain"]


def test_text_of_models_cannot_leave_the_line() -> None:
    odd = {"command": "echo \x1b[31m\u202e hi", "description": "one\ntwo\x1b]0;x\x07"}
    (line, *_rest) = lines("Bash", odd, text("x", exit_code=0))
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert "two" not in line
