"""AstGrep as a model calls it: what it reads, and what it is told when something is off."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Session
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin.ast_grep import ast_grep
from callgate.words.events import CallSettled

pytest.importorskip("ast_grep_py", reason="callgate[edit] is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("print(1)\nprint(\n    2,\n)\n# print(3)\n")
    (tmp_path / "b.py").write_text("def f(x):\n    return print(x)\n")
    (tmp_path / "c.js").write_text("print(4)\n")
    return tmp_path


def called(root: Path, **arguments: Any) -> tuple[str, Any]:
    """What the model reads, and the result."""

    async def main() -> Any:
        model = ScriptedModel(turn(call("AstGrep", **arguments)), turn(say("done")))
        async with Session(model, [ast_grep()], host=root) as session:
            events = [event async for event in session.send(Prompt("go"))]
        (settled,) = [event for event in events if isinstance(event, CallSettled)]
        return settled.result

    result = asyncio.run(main())
    return result.text, result


def test_matches_have_their_places_and_are_counted(root: Path) -> None:
    text, result = called(root, pattern="print($A)", language="python")
    assert text.splitlines() == [
        "a.py:1:1: print(1)",
        "a.py:2:1: print(",
        "        2,",
        "    )",
        "b.py:2:12: print(x)",
        "3 matches in 2 files; 2 files read.",
    ]
    assert result.details["matches"] == 3
    assert result.display[0].title == "3 matches"
    assert result.display[0].body["rows"][0] == ["a.py:1", "print(1)"]


def test_what_is_not_shown_is_counted(root: Path) -> None:
    text, _ = called(root, pattern="print($A)", language="python", max_matches=1)
    assert "2 more not shown, from a.py on: narrow the search by paths or glob, or increase max_matches." in text
    (root / "long.py").write_text("f(\n" + "    1,\n" * 20 + ")\n")
    text, _ = called(root, pattern="f($$$A)", paths=["long.py"])
    assert "    … 16 more lines" in text


def test_paths_and_globs_narrow_it(root: Path) -> None:
    assert "1 match in 1 file; 1 file read." in called(root, pattern="print($A)", paths=["b.py"])[0]
    assert "1 match in 1 file; 1 file read." in called(root, pattern="print($A)", glob="*.js")[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"pattern": " "}, "The pattern is empty"),
        ({"pattern": "x", "language": "pyhton"}, "Unknown language 'pyhton'"),
        ({"pattern": "x", "paths": ["none"]}, "none"),
        ({"pattern": "x", "max_matches": 0}, "max_matches"),
    ],
)
def test_what_cannot_be_searched_is_an_error_that_says_why(root: Path, arguments: dict[str, Any], says: str) -> None:
    text, result = called(root, **arguments)
    assert result.is_error
    assert says in text


def test_a_path_outside_the_workspace_is_asked_about(root: Path) -> None:
    async def main() -> int:
        model = ScriptedModel(turn(call("AstGrep", pattern="x", paths=["/etc"])), turn(say("done")))
        async with Session(model, [ast_grep()], host=root) as session:
            await session.send(Prompt("go"))
            return len(session.questions)

    assert asyncio.run(main()) == 1


def test_files_that_were_left_out_are_named(root: Path) -> None:
    (root / "bad.py").write_bytes(b"print('\xff')\n")
    (root / "big.py").write_text("x = 1\n" * 300_000)
    text, _ = called(root, pattern="print($A)", language="python")
    assert "Omitted, too large: big.py" in text
    assert "Omitted, not text: bad.py" in text
