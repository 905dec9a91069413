"""What is pending survives the program, and what cannot is reported as lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Continue
from callgate.changes.history import ChangeHistory
from callgate.cli import main
from callgate.host.threads import in_thread
from callgate.testing import turn
from callgate.words.errors import JournalError
from callgate.words.events import ActionResolved, ActionStaged, CallSettled, Noted, RunEnded
from callgate.words.inputs import Resolve, Undo
from callgate.words.limits import LoopLimits
from tests.flows.gated import of
from tests.flows.keep import results
from tests.flows.pending.kit import (
    DONE,
    FIRST,
    SECOND,
    Bench,
    about,
    acting,
    apply,
    choices,
    discard,
    ends,
    every_change,
    model_of,
    really,
    refusals,
    sent,
    staging,
    texts,
    told,
)
from tests.history import faults

pytestmark = pytest.mark.spec("RES-12")
STAGES_ONLY: dict[str, Any] = {"limits": LoopLimits(max_turns=1)}
YES = Resolve("apply", "looks right")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def staged(bench: Bench, *calls: Any) -> None:
    """A program that stages this and ends."""
    async with await bench.kept(model_of(turn(*calls)), **STAGES_ONLY) as session:
        await sent(session, "go")
        assert len(session.pending) == len(calls)


@pytest.mark.parametrize("who", ["model", "person"])
@really
async def test_a_staged_change_is_applied_by_another_life_of_the_program(bench: Bench, who: str) -> None:
    bench.write("a.txt", "old")
    await staged(bench, staging())
    assert bench.states() == ["staged"]
    model = model_of(turn(apply())) if who == "model" else model_of()
    async with await bench.again(model) as again:
        (action,) = again.pending
        assert (action.id, action.label, action.summary) == (FIRST, "write a.txt", "1 file, +1 −1")
        events = await sent(again, YES if who == "person" else "go on")
        assert ends(events) == [("applied", who)]
        assert again.pending == ()
    assert bench.files() == {"a.txt": "new"}
    assert bench.states() == ["applied"]


@really
async def test_the_model_is_reminded_in_the_other_life_if_it_was_not_before(bench: Bench) -> None:
    await staged(bench, staging())
    model = model_of(turn(discard()))
    async with await bench.again(model) as again:
        await sent(again, "go on")
    assert len(about(model.requests[0], FIRST, "Pending")) == 1
    assert choices(model) == ["auto", "auto"]
    assert bench.states() == ["discarded"]


@really
async def test_a_stack_keeps_its_order_and_its_ids_and_the_next_one_gets_a_new_one(bench: Bench) -> None:
    await staged(bench, staging("a.txt"), staging("b.txt"))
    model = model_of(turn(staging("c.txt")), turn(apply()), turn(apply()), turn(apply()))
    async with await bench.again(model) as again:
        assert [each.id for each in again.pending] == [SECOND, FIRST]
        events = await sent(again, "go on")
        assert [event.action.id for event in of(events, ActionStaged)] == ["pending-action:Renamer:3"]
        assert [event.id[-1] for event in of(events, ActionResolved)] == ["3", "2", "1"]
    assert bench.files() == {"a.txt": "new", "b.txt": "new", "c.txt": "new"}


@pytest.mark.spec("CHG-2")
@really
async def test_a_file_that_changed_meanwhile_is_left_alone_and_the_action_stays_pending(bench: Bench) -> None:
    bench.write("a.txt", "old")
    await staged(bench, staging())
    bench.write("a.txt", "mine")
    model = model_of(turn(apply()), turn(discard("it is stale")))
    async with await bench.again(model) as again:
        events = await sent(again, "go on")
        failed, gone = of(events, CallSettled)
        assert failed.result.is_error
        assert "a.txt" in failed.result.text
        assert "mine" in failed.result.text, "it shows what differs"
        assert not gone.result.is_error
    assert len(about(model.requests[1], FIRST, "Pending")) == 2, "it is reminded of what is still pending"
    assert bench.files() == {"a.txt": "mine"}
    assert bench.states() == ["discarded"]


@pytest.mark.spec("CHG-2")
@really
async def test_what_could_not_be_applied_is_still_pending_after_one_more_restart(bench: Bench) -> None:
    bench.write("a.txt", "old")
    await staged(bench, staging())
    bench.write("a.txt", "mine")
    async with await bench.again(model_of()) as again:
        assert len(refusals(await sent(again, YES))) == 1
    assert bench.states() == ["staged"]
    bench.write("a.txt", "old")
    async with await bench.again(model_of()) as third:
        assert ends(await sent(third, YES)) == [("applied", "person")]
    assert bench.files() == {"a.txt": "new"}


@really
async def test_functions_end_with_their_program_and_are_reported_lost_with_their_label(bench: Bench) -> None:
    await staged(bench, acting("send the letter"))
    model = model_of(turn(apply()), DONE)
    async with await bench.again(model) as again:
        events = await sent(again, "go on")
        assert ends(events) == [("lost", "callgate")]
        (noted,) = of(events, Noted)
        assert noted.level == "warning"
        assert "send the letter" in noted.text
        assert again.pending == ()
        assert texts(events) == ["No pending action to resolve. Nothing to apply or discard."]
        await sent(again, "and?")
    assert [len(about(request, FIRST, "lost")) for request in model.requests] == [1] * len(model.requests)
    assert "send the letter" in told(model.requests[0])[0]
    assert bench.done == []
    third = model_of()
    async with await bench.again(third) as later:
        assert not of(await sent(later, "hello"), Noted)
    assert len(about(third.requests[0], FIRST, "lost")) == 1


@really
async def test_only_what_is_lost_is_lost(bench: Bench) -> None:
    await staged(bench, staging(), acting())
    async with await bench.again(model_of()) as again:
        events = await sent(again, YES)
        assert ends(events) == [("lost", "callgate"), ("applied", "person")]
    assert bench.files() == {"a.txt": "new"}


@really
async def test_a_change_whose_contents_are_gone_is_a_refusal_and_no_end_of_the_session(bench: Bench) -> None:
    await staged(bench, staging())
    next(bench.store.folder.rglob("*.pack")).unlink()
    model = model_of(turn(apply()), turn(discard()))
    async with await bench.again(model) as again:
        events = await sent(again, "go on")
        assert of(events, RunEnded)[-1].reason == "done"
        assert again.pending == ()
    assert bench.files() == {}


@really
async def test_a_change_whose_record_is_gone_is_reported_lost(bench: Bench) -> None:
    await staged(bench, staging())
    for file in bench.store.folder.rglob("changes/*"):
        file.unlink()
    model = model_of()
    async with await bench.again(model) as again:
        events = await sent(again, "go on")
        assert ends(events) == [("lost", "callgate")]
    assert "write a.txt" in told(model.requests[0])[0]


# ---- a crash in the middle ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marked", [True, False], ids=["its end was kept", "its end was not kept"])
@really
async def test_what_was_applied_right_before_a_crash_counts_as_applied(
    bench: Bench, marked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        if not marked:
            patch.setattr(ChangeHistory, "mark", unless_applied(ChangeHistory.mark))
        async with await bench.kept(model_of(turn(staging()), turn(apply()))) as session:
            await sent(session, "go")
    bench.crash(before="action_resolved")
    assert bench.states() == (["applied"] if marked else ["applying"])
    after = model_of()
    async with await bench.again(after) as again:
        assert [each.id for each in again.pending] == [FIRST]
        events = await sent(again, Continue())
        assert ends(events) == [("applied", "callgate")]
        assert again.pending == ()
        assert len(of(events, CallSettled)) == 1
    assert about(after.requests[0], FIRST, "applied") == [], "the result of the call says it, and nothing else"
    assert results(tuple(after.requests[0].messages))["call_2"].startswith("Applied: write a.txt")
    assert faults(list(after.requests[0].messages)) == []
    assert bench.states() == ["applied"]
    assert bench.files() == {"a.txt": "new"}


@really
async def test_what_was_not_applied_before_a_crash_is_still_pending(bench: Bench) -> None:
    """It was begun: the history says so, and the files say that nothing came of it."""
    model = model_of(turn(staging()), turn(apply()))
    async with await bench.kept(model) as session:
        await sent(session, "go")
    bench.crash(before="action_resolved")
    forget_last(bench)
    (bench.root / "a.txt").unlink()
    after = model_of(turn(apply("once more")))
    async with await bench.again(after) as again:
        events = await sent(again, Continue())
        assert ends(events) == [("applied", "model")]
    assert len(about(after.requests[0], FIRST, "Pending")) == 2
    assert bench.files() == {"a.txt": "new"}
    assert bench.states() == ["applied"]


@really
async def test_what_a_person_applied_right_before_a_crash_counts_as_applied(bench: Bench) -> None:
    async with await bench.kept(model_of(turn(staging())), **STAGES_ONLY) as session:
        await sent(session, "go")
        await sent(session, YES)
    bench.crash(before="action_resolved")
    after = model_of()
    async with await bench.again(after) as again:
        (refusal,) = refusals(await sent(again, YES))
        assert refusal == "No pending action to resolve. Nothing to apply or discard."
        await sent(again, "go on")
    assert len(about(after.requests[0], FIRST, "applied")) == 1
    assert bench.files() == {"a.txt": "new"}


@really
async def test_what_was_discarded_right_before_a_crash_counts_as_discarded(bench: Bench) -> None:
    async with await bench.kept(model_of(turn(staging()), turn(discard()))) as session:
        await sent(session, "go")
    bench.crash(before="action_resolved")
    async with await bench.again(model_of()) as again:
        events = await sent(again, Continue())
        assert ends(events)[0][0] == "discarded"
        assert again.pending == ()
    assert bench.states() == ["discarded"]


@pytest.mark.parametrize("where", ["before", "after"])
@really
async def test_what_was_being_staged_in_a_crash_is_pending_once(bench: Bench, where: str) -> None:
    """The call had not settled, and has no effects, so it runs again."""
    await staged(bench, staging())
    bench.crash(**{where: "action_staged"})
    async with await bench.again(model_of(), **STAGES_ONLY) as again:
        await sent(again, Continue())
        assert [each.label for each in again.pending] == ["write a.txt"]
        await sent(again, YES)
        assert again.pending == ()
    assert bench.files() == {"a.txt": "new"}
    assert sorted(bench.states()) in (["applied"], ["applied", "discarded"]), "nothing waits that nobody can resolve"


@really
async def test_a_question_about_it_is_asked_again_after_a_restart_and_a_yes_applies_it(bench: Bench) -> None:
    journal = await bench.store.create()
    async with bench.session(model_of(turn(staging()), turn(apply())), journal, mode="default") as session:
        await sent(session, "go")
        assert [question.tool for question in session.questions] == ["Edit"]
    async with await bench.again(model_of(), mode="default") as again:
        await sent(again, Continue())
        (question,) = again.questions
        assert [each.id for each in again.pending] == [FIRST]
        events = await sent(again, Answer(question.yes()))
        assert ends(events) == [("applied", "model")]
    assert bench.files() == {"a.txt": "new"}


@really
async def test_what_functions_were_asked_about_is_lost_and_the_call_says_so(bench: Bench) -> None:
    async with await bench.kept(model_of(turn(acting()), turn(apply())), mode="default") as session:
        await sent(session, "go")
        assert [question.tool for question in session.questions] == ["StageAct"]
    async with await bench.again(model_of(), mode="default") as again:
        events = await sent(again, Continue())
        if again.questions:
            events += await sent(again, Answer(again.questions[0].yes()))
        assert ends(events) == [("lost", "callgate")]
        (settled,) = of(events, CallSettled)
        assert settled.result.is_error
    assert bench.done == []


@really
async def test_a_crash_while_functions_apply_never_applies_twice(bench: Bench) -> None:
    model = model_of(turn(acting()), turn(apply()))
    async with await bench.kept(model) as session:
        await sent(session, "go")
    bench.crash(before="action_resolved")
    async with await bench.again(model_of()) as again:
        events = await sent(again, Continue())
        assert ends(events) == [("lost", "callgate")]
        (settled,) = of(events, CallSettled)
        assert settled.result.is_error
    assert bench.done == ["apply send it: it is right"], "and not a second time"


# ---- what is kept of it ---------------------------------------------------------------------------------------------


@really
async def test_undo_takes_back_what_was_applied_and_leaves_alone_what_is_only_staged(bench: Bench) -> None:
    model = model_of(turn(staging("a.txt"), staging("b.txt")), turn(apply()), DONE)
    async with await bench.kept(model, limits=LoopLimits(max_turns=2)) as session:
        await sent(session, "go")
        assert bench.states() == ["staged", "applied"]
        assert bench.files() == {"b.txt": "new"}
        noted = of(await sent(session, Undo("session")), Noted)
        assert [each.text for each in noted] == ["undone: write b.txt (1 file, +0 −1)"]
        assert bench.files() == {}
        assert [each.label for each in session.pending] == ["write a.txt"]
        assert refusals(await sent(session, Undo("session"))) == ["there is no change to undo"]
    assert bench.states()[:2] == ["staged", "reverted"]


@pytest.mark.parametrize("who", ["model", "person"])
@really
async def test_what_was_applied_is_taken_back_as_a_change_of_its_own(bench: Bench, who: str) -> None:
    """Two turns before it another call of the same session changed a file: that stays."""
    model = model_of(turn(staging("a.txt")), turn(apply()), turn(staging("b.txt")), turn(apply()))
    async with await bench.kept(model, limits=LoopLimits(max_turns=3)) as session:
        await sent(session, "go")
        if who == "person":
            await sent(session, YES)
        else:
            await sent(session, "go on")
        assert bench.files() == {"a.txt": "new", "b.txt": "new"}
        await sent(session, Undo("turn"))
    assert bench.files() == {"a.txt": "new"}


@really
async def test_the_list_of_changes_says_what_waits_what_was_applied_and_what_was_dropped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = turn(staging("a.txt"), staging("b.txt"), staging("c.txt"))
    async with await bench.kept(model_of(calls, turn(apply(), discard())), limits=LoopLimits(max_turns=2)) as session:
        await sent(session, "go")
    monkeypatch.setenv("CALLGATE_DATA_DIR", str(bench.store.data))
    monkeypatch.chdir(bench.root)
    assert await in_thread(lambda: main(["changes", "--json"])) == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted((each["label"], each["state"]) for each in listed) == [
        ("write a.txt", "staged"),
        ("write b.txt", "discarded"),
        ("write c.txt", "applied"),
    ]
    assert await in_thread(lambda: main(["undo", "session", "--yes"])) == 0
    assert bench.files() == {}
    async with await bench.again(model_of()) as again:
        assert [each.label for each in again.pending] == ["write a.txt"]
        assert ends(await sent(again, YES)) == [("applied", "person")]
    assert bench.files() == {"a.txt": "new"}


@really
async def test_a_staged_change_cannot_be_undone_by_its_number(bench: Bench) -> None:
    async with await bench.kept(model_of(turn(staging())), **STAGES_ONLY) as session:
        await sent(session, "go")
        assert refusals(await sent(session, Undo(change=1))) == ["there is no change to undo"]
        assert [each.id for each in session.pending] == [FIRST]


def unless_applied(mark: Any) -> Any:
    """A disk that is full by the time a change is applied."""

    def marks(self: ChangeHistory, kept: Any, state: str, **more: Any) -> Any:
        if state == "applied":
            raise JournalError("no space left on device")
        return mark(self, kept, state, **more)

    return marks


def forget_last(bench: Bench) -> None:
    """The last word about the only change never reached the disk."""
    (kept,) = every_change(bench.store)
    file = ChangeHistory(bench.store.folder).folder_of(kept.session) / f"{kept.number:04}.jsonl"
    *lines, _last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines))
