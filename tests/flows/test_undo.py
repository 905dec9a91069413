"""What calls did to files is kept and taken back, by a person and after a crash."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Session, Store, tool
from callgate.changes.history import History
from callgate.host.applying import apply_changes, replacing
from callgate.testing import ScriptedModel, Turn, call, say, turn
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.events import InputRefused, Noted
from callgate.words.inputs import Undo
from callgate.words.traits import writes
from tests.flows.keep import run


class Desk:
    """A workspace with a tool that edits files and shows it first."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.store = Store(self.root, folder / "data")

    async def session(self, *turns: Turn, journal: Any = None, **options: Any) -> tuple[Session, ScriptedModel]:
        def proposed(path: str, text: str) -> ChangeSet:
            file = self.root / path
            before = file.read_bytes() if file.exists() else None
            return ChangeSet(f"write {path}", (FileChange(path, before, text.encode()),))

        @tool(locks=lambda a: writes(a.path), preview=proposed)
        def write(path: str, text: str) -> None:
            """Write a file."""

        model = ScriptedModel(*turns)
        journal = journal or await self.store.create()
        return Session(model, [write], journal=journal, root=self.root, mode="bypass", **options), model

    @property
    def history(self) -> History:
        return History(self.store.folder)

    def files(self) -> dict[str, str]:
        return {file.name: file.read_text() for file in sorted(self.root.iterdir())}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def write(path: str, text: str) -> Any:
    return call("write", path=path, text=text)


@pytest.mark.spec("CHG-4")
def test_changes_of_a_call_a_turn_and_a_session_are_taken_back(desk: Desk) -> None:
    async def main() -> None:
        session, model = await desk.session(
            turn(write("a", "1"), write("b", "1")), turn(write("a", "2")), turn(say("done")), turn(say("I see"))
        )
        async with session:
            await session.send(Prompt("go"))
            assert desk.files() == {"a": "2", "b": "1"}
            assert sorted((kept.id, kept.tool, kept.state) for kept in desk.history.all(session.id)) == [
                ("a1/call_1", "write", "applied"),
                ("a1/call_2", "write", "applied"),
                ("a2/call_3", "write", "applied"),
            ]
            await session.send(Undo("call"))
            assert desk.files() == {"a": "1", "b": "1"}
            await session.send(Undo())
            assert desk.files() == {}
            await session.send(Prompt("what now?"))
            said = [message.text for message in model.requests[-1].messages]
        told = "The user took back these changes of yours: write a. The files are as they were before."
        assert f"<system-reminder>\n{told}\n</system-reminder>" in said

    run(main())


def test_a_whole_session_goes_back_and_forth(desk: Desk) -> None:
    async def main() -> None:
        (desk.root / "a").write_text("0")
        session, _ = await desk.session(turn(write("a", "1")), turn(write("a", "2")), turn(say("done")))
        async with session:
            await session.send(Prompt("go"))
            await session.send(Undo("session"))
            assert desk.files() == {"a": "0"}
            undone = desk.history.all(session.id)[0]
            assert (undone.tool, undone.state, undone.label) == ("undo", "applied", "undo 2 changes")
            refused = [e async for e in session.send(Undo()) if isinstance(e, InputRefused)]
            assert [each.reason for each in refused] == ["there is no change to take back"]
            await session.send(Undo(change=undone.number))
            assert desk.files() == {"a": "2"}

    run(main())


@pytest.mark.spec("CHG-4")
@pytest.mark.parametrize("partly", [False, True])
def test_a_conflict_takes_nothing_back_unless_the_rest_is_wanted(desk: Desk, partly: bool) -> None:
    async def main() -> None:
        session, _ = await desk.session(turn(write("a", "1"), write("b", "1")), turn(say("done")))
        async with session:
            await session.send(Prompt("go"))
            (desk.root / "a").write_text("mine")
            events = [event async for event in session.send(Undo(partly=partly))]
            conflict = "a: it was created by this change, and somebody has changed it since"
            if partly:
                assert desk.files() == {"a": "mine"}
                (noted,) = [event for event in events if isinstance(event, Noted)]
                assert noted.text.endswith(f"; not: {conflict}")
            else:
                assert desk.files() == {"a": "mine", "b": "1"}
                (refused,) = [event for event in events if isinstance(event, InputRefused)]
                assert refused.reason == f"nothing was taken back: {conflict}"

    run(main())


@pytest.mark.parametrize(
    ("kept", "scope", "why"),
    [
        (False, "turn", "the changes of this session are not kept: it has no journal, or a host of its own"),
        (True, "trun", "there is no scope 'trun'; there are call, turn, session"),
        (True, "turn", "there is no change to take back"),
    ],
)
def test_what_cannot_be_taken_back_is_said(desk: Desk, kept: bool, scope: Any, why: str) -> None:
    async def main() -> None:
        session = Session(ScriptedModel(), journal=await desk.store.create() if kept else None, root=desk.root)
        async with session:
            refused = [event async for event in session.send(Undo(scope)) if isinstance(event, InputRefused)]
            assert [event.reason for event in refused] == [why]

    run(main())


def test_what_a_crash_cut_short_is_finished_when_the_session_is_resumed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        pass

    def commit(self: replacing.Replacement) -> None:
        raise Died

    async def main() -> None:
        session, _ = await desk.session(turn(say("hello")))
        async with session:
            await session.send(Prompt("go"))
        changes = ChangeSet("write a", (FileChange("a", None, b"1"),), id="a2/call_1")
        kept = desk.history.save(changes, session.id, now=1.0, state="applying")
        with monkeypatch.context() as patch:
            patch.setattr(replacing.Replacement, "commit", commit)
            patch.setattr("callgate.host.applying.applying._Apply._discard", lambda self, folders, applied=False: None)
            with pytest.raises(Died):
                apply_changes(changes, desk.root, desk.store.folder / "applying", kept.name)
        assert not (desk.root / "a").exists()
        session, _ = await desk.session(turn(say("done")), journal=await desk.store.open())
        async with session:
            events = [event async for event in session.send(Prompt("go on"))]
        told = [event.text for event in events if isinstance(event, Noted)]
        assert told == ["write a was cut short when a program ended; it is finished now"]
        assert desk.files() == {"a": "1"}
        assert [kept.state for kept in desk.history.all()] == ["applied"]

    run(main())


def test_a_session_goes_on_where_it_cannot_be_seen_what_a_crash_cut_short(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        (desk.store.folder / "applying").mkdir(parents=True)
        session, _ = await desk.session(turn(say("hello")))
        with monkeypatch.context() as patch:
            patch.setattr("callgate.host.applying.recovering.left_in", broken)
            async with session:
                events = [event async for event in session.send(Prompt("go"))]
        told = [event.text for event in events if isinstance(event, Noted)]
        assert told == ["it could not be seen whether a change was cut short: OSError: [Errno 24] no room"]
        assert session.messages[-1].text == "hello"

    def broken(_folder: Path, _root: str) -> list[Any]:
        raise OSError(24, "no room")

    run(main())
