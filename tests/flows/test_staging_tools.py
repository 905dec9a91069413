"""The tools that stage, in whole sessions: AstEdit, and a custom tool that renames a batch of files."""

import asyncio
import shutil
from pathlib import Path

import pytest

from callgate import Answer, Prompt, Session, SessionLimits, Store
from callgate.testing import ScriptedModel, call, cut_off, say, turn
from callgate.tools.builtin.ast_edit import ast_edit
from callgate.tools.custom import Api, load_tools
from callgate.tools.custom.tool_files import ToolFolder
from callgate.words.inputs import Resolve, Undo
from callgate.words.limits import LoopLimits
from tests.flows.keep import results
from tests.house.tree import ROOT

OPS = [{"pattern": "print($A)", "rewrite": "log($A)"}]
APPLY = call("resolve", action="apply", reason="it is right")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("a.py", "b.py"):
        (root / name).write_text("print(1)\n# print(2)\n")
    return root


def files(root: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in sorted(root.iterdir()) if each.is_file()}


@pytest.mark.spec("AST-3")
@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "kept"])
def test_a_rewrite_is_shown_asked_about_as_an_edit_applied_and_taken_back(root: Path, kept: bool) -> None:
    async def main() -> None:
        before = files(root)
        model = ScriptedModel(turn(call("AstEdit", ops=OPS)), turn(APPLY), turn(say("done")))
        journal = await Store(root, root.parent / "data").create() if kept else None
        async with Session(model, [ast_edit()], host=root, journal=journal) as session:
            await session.send(Prompt("go"))
            (question,) = session.questions
            assert (question.tool, question.through) == ("Edit", "resolve")
            assert files(root) == before
            assert question.preview is not None
            shown = {change.path: change.after for change in question.preview.files}
            await session.send(Answer(question.yes()))
            assert {name: text.encode() for name, text in files(root).items()} == shown
            assert files(root)["a.py"] == "log(1)\n# print(2)\n"
            if kept:
                await session.send(Undo("call"))
                assert files(root) == before

    asyncio.run(main())


def test_a_rewrite_in_a_message_that_is_cut_off_is_not_staged(root: Path) -> None:
    async def main() -> None:
        model = ScriptedModel(turn(call("AstEdit", ops=OPS), cut_off()), turn(say("again?")))
        async with Session(model, [ast_edit()], host=root) as session:
            await session.send(Prompt("go"))
            assert session.pending == ()
            assert "Send the call again" in results(session.messages)["call_1"]

    asyncio.run(main())


@pytest.mark.spec("RES-12")
def test_a_rewrite_waits_over_a_restart_for_a_person(root: Path) -> None:
    async def main() -> None:
        store = Store(root, root.parent / "data")
        first = ScriptedModel(turn(call("AstEdit", ops=OPS)))
        once = LoopLimits(max_turns=1)
        async with Session(
            first, [ast_edit()], host=root, journal=await store.create(), limits=SessionLimits(run=once)
        ) as session:
            await session.send(Prompt("go"))
        second = ScriptedModel(turn(say("I see that you applied it.")))
        async with Session(second, [ast_edit()], host=root, journal=await store.open()) as session:
            (waiting,) = session.pending
            assert (waiting.source, waiting.paths) == ("AstEdit", ("a.py", "b.py"))
            await session.send(Resolve("apply", "looks right"))
            assert files(root)["b.py"] == "log(1)\n# print(2)\n"
            await session.send(Prompt("well?"))
        assert "The user applied the pending" in second.requests[0].messages[-1].text

    asyncio.run(main())


def test_a_custom_tool_stages_into_the_session_that_runs_it(root: Path, tmp_path: Path) -> None:
    """One load of the tool serves two sessions, each with a stack of its own."""

    async def main() -> None:
        place = tmp_path / "tools"
        place.mkdir()
        shutil.copy(ROOT / "examples" / "tools" / "batch_rename.py", place)
        loaded = await load_tools([ToolFolder(place, "user", trusted=True)], Api(root))
        assert loaded.problems == ()
        rename = call("batch_rename", pattern=r"\.py$", replacement=".txt")
        model = ScriptedModel(turn(rename), turn(APPLY), turn(say("done")))
        other = ScriptedModel(turn(say("hello")))
        async with (
            Session(model, loaded.tools, host=root, mode="accept_edits") as session,
            Session(other, loaded.tools, host=root) as beside,
        ):
            await beside.send(Prompt("hi"))
            await session.send(Prompt("go"))
            assert beside.pending == session.pending == ()
        assert sorted(files(root)) == ["a.txt", "b.txt"]
        told = results(session.messages)
        assert (
            "[Staged as pending-action:batch_rename:1: rename 2 files in . (2 files, 2 replacements" in told["call_1"]
        )
        assert told["call_2"].startswith("Applied: rename 2 files in .")

    asyncio.run(main())
