"""The log of a nested session is stored beside the log of the session around it, and opened again from there."""

import os
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Nesting, Prompt, QuestionAsked, Session, Store, tool
from callgate.admin.sessions import Archive
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.errors import JournalError, SessionLocked, UsageError
from callgate.words.events import CallSettled
from callgate.words.inputs import Close, Continue
from tests.flows.gated import of

pytestmark = pytest.mark.spec("AGT-6")
DONE = turn(say("Done."))


@tool(effects="mutating")
async def order(what: str) -> str:
    """Order something."""
    return f"ordered {what}"


def asks() -> ScriptedModel:
    return ScriptedModel(turn(call("order", what="tea")), DONE)


async def tree(tmp_path: Path) -> list[Session]:
    """Three sessions inside each other with messages, the deepest with an open question."""
    store = Store(tmp_path, tmp_path / "data")
    root = Session(ScriptedModel(DONE), host=tmp_path, journal=await store.create("root"))
    inner = Session(ScriptedModel(DONE), nesting=Nesting(root, "reviewer"))
    deepest = Session(asks(), [order], nesting=Nesting(inner, "helper"))
    for session in (root, inner, deepest):
        await session.send(Prompt("go"))
    return [root, inner, deepest]


async def closed(sessions: list[Session]) -> None:
    for session in reversed(sessions):
        await session.aclose()


def logs(tmp_path: Path) -> list[str]:
    (project,) = (tmp_path / "data" / "projects").iterdir()
    return sorted(str(log.relative_to(project)) for log in project.rglob("*.jsonl"))


async def test_a_nested_session_of_a_session_on_disk_has_a_log_of_its_own(tmp_path: Path) -> None:
    sessions = await tree(tmp_path)
    assert [session.controls.host for session in sessions] == [sessions[0].controls.host] * 3
    await closed(sessions)
    assert logs(tmp_path) == ["root.jsonl", "root/agents/reviewer.jsonl", "root/agents/reviewer/agents/helper.jsonl"]
    assert [each.session for each in Store(tmp_path, tmp_path / "data").list()] == ["root"]


async def test_a_nested_session_that_was_left_in_its_work_goes_on_when_it_is_opened_again(tmp_path: Path) -> None:
    await closed(await tree(tmp_path))
    store = Store(tmp_path, tmp_path / "data")
    root = Session(ScriptedModel(), host=tmp_path, journal=await store.open("root"))
    inner = Session(ScriptedModel(), nesting=Nesting(root), journal=await store.open("root/reviewer"))
    journal = await store.open("root/reviewer/helper")
    helper = Session(ScriptedModel(DONE), [order], nesting=Nesting(inner), journal=journal)
    assert (inner.path, helper.path, helper.status) == (("reviewer",), ("reviewer", "helper"), "paused")
    settled: list[Any] = []
    async for event in helper.send(Continue(), until="idle"):
        settled += of([event], CallSettled)
        if isinstance(event, QuestionAsked):
            assert event.question.path == helper.path
            root.post(Answer(event.question.yes()))
    assert [each.result.content[0].text for each in settled] == ["ordered tea"]
    with pytest.raises(SessionLocked):
        await store.open("root/reviewer")
    await closed([root, inner, helper])


async def test_only_sessions_on_record_are_opened_again_and_only_once(tmp_path: Path) -> None:
    root, inner, deepest = await tree(tmp_path)
    with pytest.raises(UsageError, match="no nested session 'other' is recorded"):
        Session(ScriptedModel(), nesting=Nesting(root, name="other"))
    with pytest.raises(UsageError, match="'reviewer' is already open"):
        Session(ScriptedModel(), nesting=Nesting(root, name="reviewer"))
    store = Store(tmp_path, tmp_path / "data")
    for which in ("root/other", "root/../root", "root/reviewer/other", "root/"):
        with pytest.raises(JournalError, match="no nested session"):
            await store.open(which)
    await closed([root, inner, deepest])


async def test_a_log_whose_name_a_crash_kept_from_the_record_is_not_written_to(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data")
    log = store.folder / "root" / "agents" / "reviewer.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"lost")
    root = Session(ScriptedModel(), host=tmp_path, journal=await store.create("root"))
    inner = Session(ScriptedModel(DONE), nesting=Nesting(root, "reviewer"))
    await inner.run("go")
    assert inner.path == ("reviewer-2",)
    await closed([root, inner])
    assert log.read_bytes() == b"lost"


async def test_nested_logs_are_shown_verified_exported_and_kept_as_long_as_they_are_used(tmp_path: Path) -> None:
    await closed(await tree(tmp_path))
    archive = Archive(tmp_path, tmp_path / "data")
    assert archive.show("root").agents == ("root/reviewer",)
    shown = archive.show("root/reviewer")
    assert shown.agents == ("root/reviewer/helper",)
    assert "Done." in shown.written_as("markdown")
    assert [each.tool for each in archive.show("root/reviewer/helper").questions] == ["order"]
    found = archive.verify("root")
    assert [(log.stem, verified.sound) for log, verified in found] == [
        ("root", True),
        ("reviewer", True),
        ("helper", True),
    ]
    log = archive.find("root")
    helper = archive.find("root/reviewer/helper")
    for each in (log, archive.find("root/reviewer")):
        os.utime(each, (1.0, 1.0))
    assert not archive.clean(3600.0, everywhere=False, dry_run=False).removed
    os.utime(helper, (1.0, 1.0))
    (helper.parent / "gone.draft").write_bytes(b"")
    assert [each.why for each in archive.clean(None, everywhere=False, dry_run=False).removed] == [
        "its session was removed"
    ]
    assert [each.session for each in archive.clean(3600.0, everywhere=False, dry_run=False).removed] == ["root"]
    assert logs(tmp_path) == []


async def test_a_session_is_not_removed_while_a_session_inside_it_is_open(tmp_path: Path) -> None:
    root, inner, deepest = await tree(tmp_path)
    await inner.send(Close())
    await root.aclose()
    assert [session.status for session in (inner, deepest)] == ["closed", "closed"]
    helper = await Store(tmp_path, tmp_path / "data").open("root/reviewer/helper")
    with pytest.raises(SessionLocked, match="helper"):
        Archive(tmp_path, tmp_path / "data").remove("root")
    await helper.aclose()
    Archive(tmp_path, tmp_path / "data").remove("root")
    assert logs(tmp_path) == []
