"""Files of tools that do not work: named by file and line, and the others load."""

import os
import traceback
from pathlib import Path

import pytest

from tests.tools.custom_kit import Place, greeting, names, private_modules, problems, said


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# ---- files that do not work ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param("x = 1\ny = (\n", 2, "SyntaxError: '(' was never closed", id="syntax"),
        pytest.param("x = 1\n  y = 2\n", 2, "IndentationError: unexpected indent", id="indent"),
        pytest.param("x = 1\ny = '\0'\n", 2, "SyntaxError: a Python file cannot contain null bytes", id="null"),
        pytest.param("# coding: nope\n", 1, "SyntaxError: unknown encoding: nope", id="encoding"),
        pytest.param("\n\nraise ValueError('größer')\n", 3, "ValueError: größer", id="raises"),
        pytest.param("import sys\nsys.exit(3)\n", 2, "SystemExit: 3", id="exit"),
        pytest.param("class Odd(BaseException): ...\n\nraise Odd('x')\n", 3, "Odd: x", id="base exception"),
        pytest.param("raise KeyboardInterrupt\n", 1, "KeyboardInterrupt", id="interrupt"),
        pytest.param("def f():\n    f()\nf()\n", 2, "RecursionError: maximum recursion depth exceeded", id="recursion"),
        pytest.param("import json\n\njson.loads('{')\n", 3, "JSONDecodeError: Expecting property name", id="elsewhere"),
        pytest.param(
            "import nowhere_at_all\n", 1, "ModuleNotFoundError: No module named 'nowhere_at_all'", id="import"
        ),
        pytest.param(
            "from .other import x\n",
            1,
            "ModuleNotFoundError: No module named '.other' (only files of this folder that begin with _ can be "
            "imported from it)",
            id="neighbour",
        ),
        pytest.param(
            "from callgate import tool\n\n@tool\ndef f(*rest): ...\n",
            3,
            "tool 'f': parameter 'rest' (*args)",
            id="args",
        ),
        pytest.param(
            "from callgate import tool\n@tool(name='a b')\ndef f(): ...\n",
            2,
            "'a b' is not a valid tool name",
            id="name",
        ),
        pytest.param("def f(): ...\n", None, "no tool is defined: mark a function with @tool", id="no tool"),
        pytest.param("", None, "no tool is defined", id="empty"),
        pytest.param("def tools(api): return []\n", 1, "no tool is defined", id="empty list"),
        pytest.param("\ndef tools(api):\n    1 / 0\n", 3, "ZeroDivisionError: division by zero", id="factory"),
        pytest.param("\nasync def tools(api):\n    1 / 0\n", 3, "ZeroDivisionError: division", id="async factory"),
        pytest.param("def tools(api):\n    raise SystemExit\n", 2, "SystemExit", id="factory exit"),
        pytest.param("\ndef tools(): ...\n", 2, "the factory must take one parameter, the API", id="no parameter"),
        pytest.param("\ndef tools(api): ...\n", 2, "the result is nothing, but must be a tool or a list", id="nothing"),
        pytest.param("\ndef tools(api): return 'x'\n", 2, "the result is a str, but must be a tool", id="text"),
        pytest.param("tools = max\n", None, "TypeError: 'Api' object is not iterable", id="builtin"),
        pytest.param("tools = 3\n", None, "the result is a int, but must be a tool", id="number"),
    ],
)
def test_a_broken_file_is_reported_by_name_and_line_and_the_others_load(
    place: Place, text: str, line: int | None, said: str
) -> None:
    file = place.write("broken.py", text.encode())
    place.write("a.py", greeting("before"))
    place.write("z.py", greeting("after"))
    before = private_modules()
    loaded = place.loaded()
    assert names(loaded) == ["before", "after"]
    (problem,) = loaded.problems
    assert (problem.file, problem.line, problem.layer) == (file, line, "project")
    assert problem.text.startswith(said)
    assert "callgate_custom_" not in problem.text
    assert len(private_modules() - before) == 2


def test_one_bad_tool_of_a_file_does_not_hinder_the_others(place: Place) -> None:
    file = place.write(
        "mixed.py",
        """
        from callgate import schema_tool, tool
        from callgate.words.model import ToolSpec

        def good() -> None: ...
        def bad(*rest) -> None: ...
        class Half:
            spec = ToolSpec("half", "", {})
        class Odd(Half):
            spec = ToolSpec("ö", "", {})
        def posing() -> None: ...

        tools = [bad, Half(), Odd(), 3, Half, tool(posing, name="mcp__db__query"), good]
        """,
    )
    loaded = place.loaded()
    assert names(loaded) == ["good"]
    assert [(each.line, each.text.split(":")[0]) for each in loaded.problems] == [
        (5, "tool 'bad'"),
        (None, "tool 'half' is incomplete"),
        (None, "'ö' is not a valid tool name"),
        (None, "the result contains a int, which is neither a tool nor a function"),
        (None, "the class Half is not a tool"),
        (10, "tool 'mcp__db__query'"),
    ]
    assert {each.file for each in loaded.problems} == {file}


def test_an_error_whose_message_raises_is_reported(place: Place) -> None:
    file = place.write("odd.py", "class Odd(Exception):\n    def __str__(self): 1 / 0\nraise Odd\n")
    assert problems(place.loaded()) == [f"{file}:3: Odd: (its message cannot be displayed)"]


def test_a_long_message_is_kept_short(place: Place) -> None:
    place.write("long.py", "raise ValueError('x\\n' * 100_000)\n")
    (problem,) = place.loaded().problems
    assert len(problem.text) < 600
    assert "\n" not in problem.text


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(lambda file: file.mkdir(), "it is not a regular file", id="folder"),
        pytest.param(os.mkfifo, "it is not a regular file", id="pipe"),
        pytest.param(lambda file: file.symlink_to("nowhere"), "it cannot be read: No such file", id="dangling"),
        pytest.param(lambda file: file.symlink_to("broken.py"), "it cannot be read: Too many levels", id="loop"),
        pytest.param(lambda file: file.write_bytes(b"#" * 1_048_577), "it has more than 1024 KiB", id="large"),
    ],
)
def test_what_cannot_be_read_is_reported_without_waiting_for_it(place: Place, make: object, said: str) -> None:
    make(place.path / "broken.py")  # pyright: ignore
    place.write("z.py", greeting("after"))
    loaded = place.loaded()
    assert names(loaded) == ["after"]
    (problem,) = loaded.problems
    assert (problem.file, problem.line) == (str(place.path / "broken.py"), None)
    assert problem.text.startswith(said)


def test_an_object_that_cannot_be_looked_at_is_no_tool(place: Place) -> None:
    odd = "class Odd:\n    def __getattr__(self, name): raise ValueError\nodd = Odd()\n"
    place.write("a.py", odd + greeting("greet"))
    loaded = place.loaded()
    assert (names(loaded), loaded.problems) == (["greet"], ())


def test_a_traceback_shows_the_line_even_if_the_file_is_gone(place: Place) -> None:
    place.write("a.py", "from callgate import tool\n@tool\ndef fail() -> None:\n    raise ValueError  # as it was\n")
    loaded = place.loaded()
    place.remove("a.py")
    with pytest.raises(ValueError) as caught:
        said(loaded, "fail")
    assert "raise ValueError  # as it was" in "".join(traceback.format_exception(caught.value))
