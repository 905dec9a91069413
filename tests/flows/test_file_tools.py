"""The file tools in whole sessions: the diff in the question, undo, restart, and an agent that was not told to read."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Nesting, Prompt, Session, Store, tool
from callgate.changes.diff import unified
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin import builtin_tools
from callgate.words.events import QuestionAsked
from callgate.words.inputs import Rewind, Undo
from tests.flows.keep import results, run


class Desk:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        (self.root / "a.py").write_text("x = 1\n")
        self.store = Store(self.root, folder / "data")

    def session(self, model: ScriptedModel, journal: Any, mode: Any = "bypass") -> Session:
        tools = builtin_tools("Read", "Write", "Edit", "ApplyPatch")
        return Session(model, tools, journal=journal, host=self.root, mode=mode)

    @property
    def text(self) -> str:
        return (self.root / "a.py").read_text()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def edit(old: str, new: str) -> Any:
    return call("Edit", file_path="a.py", old_string=old, new_string=new)


@pytest.mark.spec("BLT-3", "BLT-19")
def test_a_read_counts_after_a_restart_and_an_edit_can_be_undone(desk: Desk) -> None:
    async def main() -> None:
        journal = await desk.store.create()
        async with desk.session(
            ScriptedModel(turn(call("Read", file_path="a.py")), turn(say("read"))), journal
        ) as first:
            await first.send(Prompt("read it"))
        again = await desk.store.open(first.id)
        model = ScriptedModel(turn(edit("1", "2"), edit("x", "y")), turn(say("done")))
        async with desk.session(model, again) as second:
            await second.send(Prompt("edit it"))
            assert desk.text == "y = 2\n"
            await second.send(Undo())
            assert desk.text == "x = 1\n"

    run(main())


@pytest.mark.spec("BLT-19")
def test_an_edit_of_an_unread_file_fails_without_a_question(desk: Desk) -> None:
    async def main() -> None:
        model = ScriptedModel(turn(edit("1", "2")), turn(say("I see")))
        async with desk.session(model, await desk.store.create(), mode="default") as session:
            events = [event async for event in session.send(Prompt("edit it"))]
            assert not [event for event in events if isinstance(event, QuestionAsked)]
            (said,) = results(session.messages).values()
        assert said.startswith("a.py exists and has not been read")
        assert desk.text == "x = 1\n"

    run(main())


@pytest.mark.spec("BLT-3")
def test_the_question_about_an_edit_shows_its_diff(desk: Desk) -> None:
    async def main() -> None:
        model = ScriptedModel(turn(call("Read", file_path="a.py")), turn(edit("1", "2")), turn(say("done")))
        async with desk.session(model, await desk.store.create(), mode="default") as session:
            events = [event async for event in session.send(Prompt("edit it"))]
            (asked,) = [event.question for event in events if isinstance(event, QuestionAsked)]
            assert asked.preview is not None
            assert "-x = 1\n+x = 2\n" in unified(asked.preview)
            assert desk.text == "x = 1\n"

    run(main())


@pytest.mark.spec("BLT-18")
def test_a_file_below_the_limits_of_read_reaches_the_model_whole(desk: Desk) -> None:
    async def main() -> None:
        (desk.root / "b.txt").write_text(f"{'x' * 40}\n" * 2000)  # more than any other tool may answer
        model = ScriptedModel(turn(call("Read", file_path="b.txt")), turn(say("read")))
        async with desk.session(model, await desk.store.create()) as session:
            await session.send(Prompt("read it"))
            (said,) = results(session.messages).values()
        assert said.endswith("2000\t" + "x" * 40)
        assert len(said) > 80_000

    run(main())


@pytest.mark.spec("BLT-19")
def test_a_rewind_takes_back_that_a_file_was_read(desk: Desk) -> None:
    async def main() -> None:
        model = ScriptedModel(
            turn(call("Read", file_path="a.py")), turn(say("read")), turn(edit("1", "2")), turn(say("no"))
        )
        async with desk.session(model, await desk.store.create()) as session:
            await session.send(Prompt("read it"))
            first = session.messages[0].id
            await session.send(Rewind(first))
            await session.send(Prompt("edit it"))
            (said,) = results(session.messages).values()
        assert said.startswith("a.py exists and has not been read")

    run(main())


@pytest.mark.spec("BLT-19")
def test_a_nested_session_has_to_read_for_itself(desk: Desk) -> None:
    said: list[str] = []

    @tool(effects="none")
    async def delegate() -> str:
        """Let another do it."""
        model = ScriptedModel(turn(edit("1", "2")), turn(say("no")))
        async with Session(model, builtin_tools("Edit"), nesting=Nesting(parent=outer[0]), mode="bypass") as child:
            await child.run("edit it")
            said.extend(results(child.messages).values())
        return "done"

    outer: list[Session] = []

    async def main() -> None:
        model = ScriptedModel(turn(call("Read", file_path="a.py")), turn(call("delegate")), turn(say("done")))
        tools = [*builtin_tools("Read"), delegate]
        async with Session(model, tools, journal=await desk.store.create(), host=desk.root, mode="bypass") as session:
            outer.append(session)
            await session.send(Prompt("go"))

    run(main())
    assert said == ["a.py exists and has not been read: Read all of it first, then try again."]
