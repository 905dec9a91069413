"""What calls did to files is kept and taken back, by a person and after a crash."""

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from callgate import Continue, Prompt, Session, SessionLimits, Store, tool
from callgate.changes.history import ChangeHistory
from callgate.changes.history_host import HistoryHost
from callgate.host.applying.apply import apply_changes
from callgate.host.clock import LoopClock
from callgate.testing import ScriptedModel, ScriptedTurn, call, say, turn
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import JournalError
from callgate.words.events import CallSettled, InputRefused, Noted
from callgate.words.inputs import Undo
from callgate.words.traits import writes
from tests.crash.dying import dies_after
from tests.flows.keep import results, run
from tests.sessions import grouped_session


class Desk:
    """A workspace with a tool that edits files and shows it first."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.store = Store(self.root, folder / "data")

    async def session(self, *turns: ScriptedTurn, journal: Any = None, **options: Any) -> tuple[Session, ScriptedModel]:
        def proposed(path: str, text: str) -> ChangeSet:
            file = self.root / path
            before = file.read_bytes() if file.exists() else None
            return ChangeSet(f"write {path}", (FileChange(path, before, text.encode()),))

        @tool(locks=lambda a: writes(a.path), preview=proposed)
        def write(path: str, text: str) -> None:
            """Write a file."""

        model = ScriptedModel(*turns)
        journal = journal or await self.store.create()
        return grouped_session(model, [write], journal=journal, root=self.root, mode="bypass", **options), model

    @property
    def history(self) -> ChangeHistory:
        return ChangeHistory(self.store.folder)

    def host(self, session: str) -> HistoryHost:
        """As ``callgate undo`` has it, outside of the session."""
        return HistoryHost(self.history, session, self.root, journal=self.store.folder / "applying")

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
        told = "The user undid these changes of yours: write a. The files are as they were before."
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
            assert [each.reason for each in refused] == ["there is no change to undo"]
            await session.send(Undo(change=undone.number))
            assert desk.files() == {"a": "2"}
            states = [(kept.label, kept.state) for kept in desk.history.all(session.id)]
            assert states == [
                ("undo: undo 2 changes", "applied"),
                ("undo 2 changes", "reverted"),
                ("write a", "applied"),
                ("write a", "applied"),
            ]
            await session.send(Undo("session"))
            assert desk.files() == {"a": "0"}

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
            conflict = "a: the file was created by this change, and has changed since then"
            if partly:
                assert desk.files() == {"a": "mine"}
                (noted,) = [event for event in events if isinstance(event, Noted)]
                assert noted.text.endswith(f"; not undone: {conflict}")
            else:
                assert desk.files() == {"a": "mine", "b": "1"}
                (refused,) = [event for event in events if isinstance(event, InputRefused)]
                assert refused.reason == f"nothing was undone: {conflict}"

    run(main())


@pytest.mark.parametrize(
    ("kept", "scope", "why"),
    [
        (False, "turn", "the changes of this session are not stored: it has no journal, or a custom host"),
        (True, "trun", "scope: 'trun' is not one of 'call', 'turn', 'session'"),
        (True, "turn", "there is no change to undo"),
    ],
)
def test_what_cannot_be_taken_back_is_said(desk: Desk, kept: bool, scope: Any, why: str) -> None:
    async def main() -> None:
        session = Session(ScriptedModel(), journal=await desk.store.create() if kept else None, host=desk.root)
        async with session:
            refused = [event async for event in session.send(Undo(scope)) if isinstance(event, InputRefused)]
            assert [event.reason for event in refused] == [why]

    run(main())


def test_what_a_crash_cut_short_is_finished_when_the_session_is_resumed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        session, _ = await desk.session(turn(say("hello")))
        async with session:
            await session.send(Prompt("go"))
        changes = ChangeSet("write a", (FileChange("a", None, b"1"),), id="a2/call_1")
        kept = desk.history.save(changes, session.id, now=1.0, state="applying")
        with dies_after(0, monkeypatch):
            apply_changes(changes, desk.root, desk.store.folder / "applying", kept.name)
        assert not (desk.root / "a").exists()
        session, _ = await desk.session(turn(say("done")), journal=await desk.store.open())
        async with session:
            events = [event async for event in session.send(Prompt("go on"))]
        told = [event.text for event in events if isinstance(event, Noted)]
        assert told == ["write a was interrupted when Callgate ended and is now finished"]
        assert desk.files() == {"a": "1"}
        assert [kept.state for kept in desk.history.all(session.id)] == ["applied"]

    run(main())


def test_the_model_reads_that_the_files_of_a_call_are_changed_although_its_end_is_not_known(desk: Desk) -> None:
    async def main() -> None:
        copy = desk.root.parent / "as a kill left it"

        @tool(locks=writes("a"), preview=lambda: ChangeSet("write a", (FileChange("a", None, b"1"),)))
        def put() -> None:
            """Write a file."""
            shutil.copytree(desk.root.parent / "data", copy)

        model = ScriptedModel(turn(call("put")), turn(say("done")))
        async with Session(
            model,
            [put],
            journal=await desk.store.create(),
            host=desk.root,
            mode="bypass",
            limits=SessionLimits(rerun_safe=False),
        ) as session:
            await session.send(Prompt("go"))
        model = ScriptedModel(turn(say("done")))
        journal = await Store(desk.root, copy).open()
        async with Session(model, [put], journal=journal, host=desk.root, mode="bypass") as session:
            await session.send(Continue())
            told = list(results(session.messages).values())
        known = "All file changes in its preview were applied."
        unknown = "Outcome unknown: the program ended while this call was running."
        assert told == [f"{unknown} {known} Check before you repeat it."]

    run(main())


def test_a_session_goes_on_where_it_cannot_be_seen_what_a_crash_cut_short(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        (desk.store.folder / "applying").mkdir(parents=True)
        session, _ = await desk.session(turn(say("hello")))
        with monkeypatch.context() as patch:
            patch.setattr("callgate.host.applying.recovery.open_entries", broken)
            async with session:
                events = [event async for event in session.send(Prompt("go"))]
        told = [event.text for event in events if isinstance(event, Noted)]
        assert told == ["interrupted changes could not be checked: OSError: [Errno 24] no room"]
        assert session.messages[-1].text == "hello"

    def broken(_folder: Path, _root: str) -> list[Any]:
        raise OSError(24, "no room")

    run(main())


TOLD = (
    "<system-reminder>\nThe user undid these changes of yours: write a. The files are as they were before them.\n"
    "</system-reminder>"
)


@pytest.mark.spec("CHG-3", "CHG-4")
@pytest.mark.parametrize("commits", [0, 1])
def test_an_undo_that_is_killed_is_finished_on_the_next_start_and_the_model_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    async def main() -> None:
        session, _ = await desk.session(turn(write("a", "1")), turn(say("done")))
        async with session:
            await session.send(Prompt("go"))
        host = desk.host(session.id)
        with dies_after(commits, monkeypatch):
            await host.apply_undo(await host.undo(await host.changes()))
        session, model = await desk.session(turn(say("I see")), journal=await desk.store.open())
        async with session:
            await session.send(Prompt("what now?"))
        assert desk.files() == {}
        assert [(kept.tool, kept.state) for kept in desk.history.all(session.id)] == [
            ("undo", "applied"),
            ("write", "reverted"),
        ]
        assert [message.text for message in model.requests[-1].messages].count(TOLD) == 1

    run(main())


@pytest.mark.spec("CHG-4")
def test_an_undo_from_outside_is_told_to_the_model_once(desk: Desk) -> None:
    async def main() -> None:
        session, _ = await desk.session(turn(write("a", "1")), turn(say("done")))
        async with session:
            await session.send(Prompt("go"))
        host = desk.host(session.id)
        await host.apply_undo(await host.undo(await host.changes()))
        for _ in range(2):
            session, model = await desk.session(turn(say("I see")), journal=await desk.store.open())
            async with session:
                await session.send(Prompt("what now?"))
            assert [message.text for message in model.requests[-1].messages].count(TOLD) == 1

    run(main())


@pytest.mark.spec("CHG-4")
def test_the_last_change_is_taken_back_although_the_clock_went_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        (desk.root / "a").write_text("0")
        times = iter(range(2_000_000_000, 0, -1_000_000))
        session, _ = await desk.session(turn(write("a", "1")), turn(write("a", "2")), turn(say("done")))
        monkeypatch.setattr(LoopClock, "now", staticmethod(lambda: float(next(times))))
        async with session:
            await session.send(Prompt("go"))
            await session.send(Undo("call"))
            assert desk.files() == {"a": "1"}
            await session.send(Undo("session"))
            assert desk.files() == {"a": "0"}

    run(main())


@pytest.mark.spec("CHG-3")
def test_an_undo_removes_the_folders_that_its_change_made(desk: Desk) -> None:
    async def main() -> None:
        (desk.root / "mine").mkdir()
        session, _ = await desk.session(turn(write("mine/new/deep/a", "1"), write("other/b", "1")), turn(say("done")))
        async with session:
            await session.send(Prompt("go"))
            (desk.root / "other" / "c").write_text("mine")
            await session.send(Undo())
            assert sorted(each.name for each in desk.root.rglob("*")) == ["c", "mine", "other"]
            await session.send(Undo(change=3))
            assert (desk.root / "mine" / "new" / "deep" / "a").read_text() == "1"

    run(main())


@pytest.mark.spec("CHG-1")
def test_a_change_that_failed_half_way_has_unknown_effects_and_is_put_back_at_the_next_start(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def replace(source: Any, target: Any, **where: Any) -> None:
        if target in ("b", "a") and (target == "b" or str(source).endswith(".old")):
            raise OSError(errno.EIO, "Input/output error")
        real(source, target, **where)

    async def main() -> None:
        for name in "ab":
            (desk.root / name).write_text("0")

        def proposed() -> ChangeSet:
            return ChangeSet("both", tuple(FileChange(name, b"0", b"1") for name in "ab"))

        @tool(locks=lambda a: writes("a", "b"), preview=proposed)
        def both() -> None:
            """Change two files."""

        model = ScriptedModel(turn(call("both")), turn(say("done")))
        journal = await desk.store.create()
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace)
            async with Session(model, [both], journal=journal, host=desk.root, mode="bypass") as session:
                events = [event async for event in session.send(Prompt("go"))]
        (settled,) = (event for event in events if isinstance(event, CallSettled))
        assert settled.result.effects == "unknown"
        assert "could not restore a" in settled.result.text
        assert {name: desk.files()[name] for name in "ab"} == {"a": "1", "b": "0"}
        assert [kept.state for kept in desk.history.all(session.id)] == ["applying"]
        session, _ = await desk.session(turn(say("done")), journal=await desk.store.open())
        async with session:
            events = [event async for event in session.send(Prompt("go on"))]
        told = [event.text for event in events if isinstance(event, Noted)]
        assert told == ["both was interrupted when Callgate ended and is now undone"]
        assert desk.files() == {"a": "0", "b": "0"}
        assert [kept.state for kept in desk.history.all(session.id)] == ["discarded"]

    run(main())


@pytest.mark.spec("CHG-1")
def test_a_change_that_cannot_be_finished_is_said_at_every_start_until_it_can(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    async def start() -> list[str]:
        session, _ = await desk.session(turn(say("hello")), turn(say("again")), journal=await desk.store.open())
        async with session:
            told: list[Noted] = []
            for _ in range(2):
                told += [event async for event in session.send(Prompt("go on")) if isinstance(event, Noted)]
        return [event.text for event in told]

    async def main() -> None:
        session, _ = await desk.session(turn(say("hello")))
        async with session:
            await session.send(Prompt("go"))
        for name in "ab":
            (desk.root / name).write_text("0")
        with dies_after(1, monkeypatch):
            await desk.host(session.id).apply(ChangeSet("both", tuple(FileChange(name, b"0", b"1") for name in "ab")))
        for _ in range(2):
            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", refuses)
                (told,) = await start()
            assert told == (
                "both was interrupted when Callgate ended and is partly applied; it cannot be completed yet: "
                "Read-only file system"
            )
            assert [kept.state for kept in desk.history.all(session.id)] == ["applying"]
        assert await start() == ["both was interrupted when Callgate ended and is now finished"]
        assert desk.files() == {"a": "1", "b": "1"}
        assert [kept.state for kept in desk.history.all(session.id)] == ["applied"]

    run(main())


@pytest.mark.spec("CHG-4")
@pytest.mark.parametrize("error", [errno.EDQUOT, errno.ENOSPC, errno.EIO])
def test_an_undo_whose_notice_cannot_be_recorded_is_told_after_the_resume(
    desk: Desk, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        session, _ = await desk.session(turn(write("a", "1")), turn(say("done")))
        async with session:
            await session.send(Prompt("go"))

        def fails(*_: Any) -> int:
            raise OSError(error, os.strerror(error))

        undoing, _ = await desk.session(journal=await desk.store.open(session.id))
        with monkeypatch.context() as full:
            full.setattr(os, "pwrite", fails)
            with suppress(JournalError):
                await undoing.send(Undo())
            with suppress(JournalError):
                await undoing.aclose()
        assert desk.files() == {}
        again, model = await desk.session(turn(say("I see")), journal=await desk.store.open(session.id))
        async with again:
            await again.send(Prompt("what now?"))
            said = " ".join(message.text for message in model.requests[-1].messages)
            assert "The user undid these changes of yours: write a." in said
            assert all(kept.told for kept in desk.history.all(session.id) if kept.tool == "undo")

    run(main())
