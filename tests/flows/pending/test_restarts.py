"""Pending actions, previews and answers after a restart."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Continue, QuestionAsked, Session, tool
from callgate.testing import call, turn
from callgate.tools.staging import stage
from callgate.words.changes import ChangeSet, FileChange, Stored
from callgate.words.decisions import Question
from callgate.words.events import ActionStaged, Event
from callgate.words.inputs import Compact, Undo
from callgate.words.limits import LoopLimits
from callgate.words.traits import exclusive, writes
from tests.flows.gated import of
from tests.flows.keep import SECRET
from tests.flows.pending.kit import (
    FIRST,
    SECOND,
    Bench,
    apply,
    discard,
    ends,
    model_of,
    really,
    refusals,
    sent,
    staging,
    texts,
)

ONCE: dict[str, Any] = {"limits": LoopLimits(max_turns=1)}
"""The run ends after the message that stages, so that something is pending between two runs."""
KEY = f"x=1\nK={SECRET}\n"
"""A file with a secret in a line that nobody touches."""
OTHER = KEY.replace("x=1", "x=2")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def asked(events: list[Event]) -> list[Question]:
    return [event.question for event in of(events, QuestionAsked)]


def large(text: str) -> bytes:
    """Too much to be carried along."""
    return text.encode() * 1_500_000


# ---- what is on record of a preview has no secrets ------------------------------------------------------------------


def edits(bench: Bench) -> Any:
    """An ordinary tool that shows its change in the question. The secret is not among its arguments."""

    def proposed(path: str, old: str, new: str) -> ChangeSet:
        before = (bench.root / path).read_text()
        change = FileChange(path, before.encode(), before.replace(old, new).encode())
        return ChangeSet(f"edit {path}", (change,))

    @tool(name="Change", locks=lambda a: writes(a.path), preview=proposed)
    def change(path: str, old: str, new: str) -> None:
        """Change a line."""

    return change


EDIT = call("Change", path="a.txt", old="x=1", new="x=2")


async def answered_between_two_lives(bench: Bench, *turns: Any) -> Session:
    """The question stays open, a person says yes from another program, and the session is resumed."""
    async with await bench.kept(model_of(*turns), mode="default", more=[edits(bench)]) as session:
        await sent(session, "go")
        (question,) = session.questions
    bench.store.answer(bench.store.find(), question.yes())
    assert SECRET not in bench.store.find().read_text()
    return await bench.again(model_of(), mode="default", more=[edits(bench)])


@pytest.mark.spec("RES-12", "GATE-3b")
@pytest.mark.parametrize(
    ("before", "after"),
    [pytest.param("old", f"K={SECRET}\n", id="in what is new"), pytest.param(KEY, OTHER, id="in an untouched line")],
)
@really
async def test_a_staged_secret_is_applied_as_it_was_shown_and_not_as_it_is_on_record(
    bench: Bench, before: str, after: str
) -> None:
    bench.write("a.txt", before)
    resumed = await answered_between_two_lives(bench, turn(staging(text=after)), turn(apply()))
    async with resumed:
        events = await sent(resumed, Continue())
        assert (ends(events), asked(events)) == ([("applied", "model")], [])
        assert bench.files() == {"a.txt": after}
        assert not refusals(await sent(resumed, Undo("call")))
    assert bench.files() == {"a.txt": before}


@pytest.mark.spec("GATE-3b", "CHG-3")
@really
async def test_an_edit_beside_a_secret_that_was_allowed_in_another_life_leaves_the_secret_alone(bench: Bench) -> None:
    bench.write("a.txt", KEY)
    resumed = await answered_between_two_lives(bench, turn(EDIT))
    async with resumed:
        events = await sent(resumed, Continue())
        assert asked(events) == []
    assert bench.files() == {"a.txt": OTHER}


@pytest.mark.spec("RES-12", "GATE-3b")
@pytest.mark.parametrize(
    "scenes",
    [
        pytest.param([turn(EDIT)], id="an edit"),
        pytest.param([turn(staging(text=OTHER)), turn(apply())], id="a staged change"),
    ],
)
@really
async def test_a_yes_that_is_on_record_does_not_make_the_masked_preview_the_real_one(
    bench: Bench, scenes: list[Any]
) -> None:
    """The program dies right after the answer. (Another text in the file keeps the first life from applying it.)"""
    bench.write("a.txt", KEY)
    options: dict[str, Any] = {"mode": "default", "more": [edits(bench)]}
    async with await bench.kept(model_of(*scenes), limits=LoopLimits(max_turns=len(scenes)), **options) as session:
        await sent(session, "go")
        (question,) = session.questions
        bench.write("a.txt", "mine")
        await sent(session, Answer(question.yes()))
    assert bench.files() == {"a.txt": "mine"}
    bench.crash(after="question_answered")
    bench.write("a.txt", KEY)
    async with await bench.again(model_of(), **options) as resumed:
        assert asked(await sent(resumed, Continue())) == []
    assert bench.files() == {"a.txt": OTHER}


@pytest.mark.spec("GATE-3b", "GATE-5")
@really
async def test_a_preview_that_comes_to_something_else_is_asked_about_again(bench: Bench) -> None:
    bench.write("a.txt", KEY)
    resumed = await answered_between_two_lives(bench, turn(EDIT))
    mine = f"mine\n{KEY}"
    bench.write("a.txt", mine)
    async with resumed:
        (question,) = asked(await sent(resumed, Continue()))
        assert bench.files() == {"a.txt": mine}, "the yes was to something else"
        assert question.preview is not None
        assert question.preview.files[0].after == f"mine\n{OTHER}".encode()
        await sent(resumed, Answer(question.yes()))
    assert bench.files() == {"a.txt": f"mine\n{OTHER}"}


# ---- what a resolve was about ---------------------------------------------------------------------------------------


@pytest.mark.spec("RES-2", "RES-12")
@really
async def test_a_resolve_that_was_about_nothing_is_about_nothing_after_a_restart(bench: Bench) -> None:
    """It was allowed, since it did nothing; a person then says no to the other one, so something is pending again."""
    bench.write("a.txt", "old")

    @tool(name="Alone", effects="none", locks=exclusive)
    def alone() -> str:
        """Look, while nobody else does anything."""
        return "seen"

    model = model_of(turn(staging()), turn(apply("first"), call("Alone"), apply("second")))
    async with await bench.kept(model, mode="default", more=[alone]) as session:
        await sent(session, "go")
        (question,) = session.questions
    bench.store.answer(bench.store.find(), question.no())
    async with await bench.again(model_of(), mode="default", more=[alone]) as resumed:
        events = await sent(resumed, Continue())
        assert texts(events)[2] == "No pending action to resolve. Nothing to apply or discard."
        assert ("applied", "model") not in ends(events)
    assert bench.files() == {"a.txt": "old"}


# ---- ids ------------------------------------------------------------------------------------------------------------


def flaky(bench: Bench) -> Any:
    @tool(name="Flaky", effects="none", stages=True)
    def stages(path: str, fails: bool = False) -> str:
        """Stage, and fail then."""
        change = FileChange(path, (bench.root / path).read_bytes(), b"new")
        stage(f"write {path}", ChangeSet(f"write {path}", (change,)), source_tool_name="Renamer")
        if fails:
            raise ValueError("after all not")
        return "Shown."

    return stages


FAILS = turn(call("Flaky", path="a.txt", fails=True))
STAGES = turn(call("Flaky", path="a.txt"))
STAGES_ANOTHER = turn(call("Flaky", path="b.txt"))


@pytest.mark.spec("RES-1", "RES-12")
@really
async def test_ids_are_not_given_twice_when_some_were_for_nothing_before_the_restart(bench: Bench) -> None:
    bench.write("a.txt", "old")
    bench.write("b.txt", "old")
    more = {"more": [flaky(bench)]}
    async with await bench.kept(model_of(FAILS, STAGES), limits=LoopLimits(max_turns=2), **more) as session:
        await sent(session, "go")
        assert [each.id for each in session.pending] == [SECOND]
    async with await bench.again(model_of(STAGES_ANOTHER), **ONCE, **more) as again:
        await sent(again, "go on")
        labels = {each.id: each.label for each in again.pending}
        assert [*labels.values()] == ["write b.txt", "write a.txt"]
        assert labels[SECOND] == "write a.txt"
    assert bench.states() == ["staged", "staged"]


@pytest.mark.spec("RES-1", "GATE-3b")
@really
async def test_a_remembered_answer_for_one_action_does_not_reach_one_of_another_life(bench: Bench) -> None:
    bench.write("a.txt", "old")
    bench.write("b.txt", "old")
    options: dict[str, Any] = {"more": [flaky(bench)], "mode": "default"}
    async with await bench.kept(model_of(FAILS, STAGES, turn(apply("fine"))), **options) as session:
        await sent(session, "go")
        await sent(session, Answer(session.questions[0].always()))
    async with await bench.again(model_of(STAGES_ANOTHER, turn(apply("fine"))), **options) as again:
        assert len(asked(await sent(again, "go on"))) == 1
    assert bench.files() == {"a.txt": "new", "b.txt": "old"}


@pytest.mark.spec("RES-1", "RES-12")
@really
async def test_a_call_id_that_comes_again_after_a_summary_replaces_nothing_that_is_pending(bench: Bench) -> None:
    """The messages are gone, and with them what calls were called; what they staged is not."""
    summed: dict[str, Any] = {"summarize": lambda _history, _wish: "Summed up.", **ONCE}
    async with await bench.kept(model_of(turn(staging("a.txt"))), **summed) as session:
        await sent(session, "go")
        await sent(session, Compact(keep=0))
        assert session.messages == ()
    async with await bench.again(model_of(turn(staging("b.txt"))), **ONCE) as again:
        (staged,) = of(await sent(again, "go on"), ActionStaged)
        ((_, before),) = [(each.id, each.call_id) for each in again.pending if each.id == FIRST]
        assert staged.action.call_id == before
        assert [each.label for each in again.pending] == ["write b.txt", "write a.txt"]
    assert bench.states() == ["staged", "staged"]


# ---- large contents -------------------------------------------------------------------------------------------------


def copies(bench: Bench) -> Any:
    """Stages a copy of a file without carrying it along; then somebody saves the file."""
    source = bench.root / "source"

    @tool(name="Copy", effects="none", stages=True)
    def copy() -> str:
        """Stage a copy."""
        stored = Stored(sha256(large("A")).hexdigest(), len(large("A")), str(source))
        stage("copy", ChangeSet("copy", (FileChange("copy", None, stored),)), source_tool_name="Copy")
        source.write_bytes(large("B"))
        return "Shown."

    return copy


@pytest.mark.spec("RES-12", "CHG-3")
@really
async def test_a_large_content_that_changes_before_it_is_kept_is_not_staged(bench: Bench) -> None:
    (bench.root / "source").write_bytes(large("A"))
    more = [copies(bench)]
    async with await bench.kept(model_of(turn(call("Copy"))), more=more, **ONCE) as session:
        (text,) = texts(await sent(session, "go"))
        assert text.startswith("Nothing was staged: ")
        assert "source is damaged, or has changed since it was read" in text
        assert session.pending == ()
    assert bench.states() == []
    assert not [file for file in bench.store.folder.rglob("blobs/*") if file.is_file()], "and nothing is left of it"


@pytest.mark.spec("CHG-4")
@really
async def test_a_large_content_that_changed_does_not_spoil_what_is_kept_of_others(bench: Bench) -> None:
    """What is kept goes by its hash: who keeps the real one later finds it there."""
    source = bench.root / "source"
    source.write_bytes(large("A"))

    @tool(name="Remove", effects="none", stages=True)
    def remove() -> str:
        """Stage that the file goes."""
        source.write_bytes(large("A"))
        stage("remove", ChangeSet("remove", (FileChange("source", large("A"), None),)), source_tool_name="Remove")
        return "Shown."

    scenes = turn(call("Copy")), turn(discard()), turn(call("Remove")), turn(apply())
    more = [copies(bench), remove]
    async with await bench.kept(model_of(*scenes), more=more) as session:
        assert ends(await sent(session, "go"))[-1] == ("applied", "model")
        assert not source.exists()
        assert refusals(await sent(session, Undo("call"))) == []
    assert source.read_bytes() == large("A")
