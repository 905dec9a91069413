"""People resolve what is pending, from any door; the model is told, once."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Prompt, QuestionAsked, Session
from callgate.config import Config
from callgate.host.threads import in_thread
from callgate.policy.entries import RuleLine
from callgate.policy.setting_rows import SettingValues
from callgate.testing import Latch, call, turn
from callgate.words.decisions import Origin
from callgate.words.events import ActionResolved, Event, InputRefused, RunEnded, StatusChanged
from callgate.words.inputs import Compact, Interrupt, Resolve, SetMode
from callgate.words.limits import LoopLimits
from callgate.words.traits import Traits, writes
from tests.flows.gated import of
from tests.flows.keep import until
from tests.flows.pending.kit import (
    DONE,
    FIRST,
    SECOND,
    Bench,
    about,
    acting,
    apply,
    choices,
    codes,
    discard,
    ends,
    model_of,
    really,
    refusals,
    sent,
    staging,
    told,
)
from tests.sessions import grouped_session, with_event

pytestmark = pytest.mark.spec("RES-11")
STAGES_ONLY: dict[str, Any] = {"limits": LoopLimits(max_turns=1)}
"""The run ends after the message that stages, so that something is pending between two runs."""
YES = Resolve("apply", "looks right")
NO = Resolve("discard", "not today")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "kept"])
@pytest.mark.parametrize("word", ["apply", "discard"])
@really
async def test_a_person_resolves_between_two_runs_and_the_model_is_told_exactly_once(
    bench: Bench, kept: bool, word: Any
) -> None:
    model = model_of(turn(staging()), turn(call("Touch", at="x")), DONE, DONE)
    session = await bench.kept(model, **STAGES_ONLY) if kept else bench.session(model, **STAGES_ONLY)
    async with session:
        await sent(session, "go")
        events = await sent(session, Resolve(word, "I looked at it"))
        ended = "applied" if word == "apply" else "discarded"
        assert ends(events) == [(ended, "person")]
        assert of(events, ActionResolved)[0].label == "write a.txt"
        assert session.pending == ()
        assert of(events, StatusChanged)[-1].status == "idle"
        for text in ("what now?", "go on", "and?"):
            await sent(session, text)
    assert bench.files() == ({"a.txt": "new"} if word == "apply" else {})
    said = [about(request, FIRST, f"The user {ended} the pending action") for request in model.requests]
    assert [len(texts) for texts in said] == [0, 1, 1, 1]
    assert "Reason: I looked at it" in said[-1][0]
    assert bench.done == ["touch x"], "nothing is skipped any more"
    if kept:
        assert bench.states() == [ended]


@really
async def test_the_model_is_told_once_also_across_a_restart(bench: Bench) -> None:
    async with await bench.kept(model_of(turn(staging())), **STAGES_ONLY) as session:
        await sent(session, "go")
        await sent(session, NO)
    models = [model_of(), model_of()]
    for model in models:
        async with await bench.again(model) as again:
            await sent(again, "go on")
    assert [len(about(model.requests[-1], FIRST, "The user discarded")) for model in models] == [1, 1]


@really
async def test_the_model_is_told_also_when_the_history_is_summed_up_before(bench: Bench) -> None:
    """The summary knows nothing of it: nobody had put it before the model yet."""
    model = model_of(turn(staging()))
    async with bench.session(model, summarize=lambda _history, _wish: "Summed up.", **STAGES_ONLY) as session:
        await sent(session, "go")
        await sent(session, YES)
        await sent(session, Compact())
        await sent(session, "go on")
    assert len(about(model.requests[-1], FIRST, "The user applied")) == 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(Resolve("apply", "  \n"), "the reason must not be blank", id="blank reason"),
        pytest.param(Resolve("discard", ""), "the reason must not be blank", id="empty reason"),
        pytest.param(Resolve("aply", "yes"), "action: 'aply' is not one of 'apply', 'discard'", id="no such word"),  # type: ignore[arg-type]
        pytest.param(Resolve("apply", "yes", id="nope"), "there is no pending action 'nope'", id="no such id"),
    ],
)
@really
async def test_what_makes_no_sense_is_refused_and_changes_nothing(bench: Bench, given: Resolve, why: str) -> None:
    async with bench.session(model_of(turn(staging())), **STAGES_ONLY) as session:
        await sent(session, "go")
        (refusal,) = refusals(await sent(session, given))
        assert why in refusal
        assert [each.id for each in session.pending] == [FIRST]
    assert bench.files() == {}


@pytest.mark.spec("RES-2")
@pytest.mark.parametrize("given", [YES, NO, Resolve("apply", "yes", id=FIRST)], ids=["apply", "discard", "by id"])
@really
async def test_nothing_is_pending_and_that_is_what_is_said(bench: Bench, given: Resolve) -> None:
    async with bench.session(model_of()) as session:
        refused = await sent(session, given)
        assert refusals(refused) == ["No pending action to resolve. Nothing to apply or discard."]
        assert of(refused, InputRefused)[0].input == "Resolve"
        assert session.status == "idle"


@pytest.mark.spec("RES-1")
@really
async def test_a_person_names_the_older_one(bench: Bench) -> None:
    async with bench.session(model_of(turn(staging("a.txt"), staging("b.txt"))), **STAGES_ONLY) as session:
        await sent(session, "go")
        await sent(session, Resolve("apply", "this one", id=FIRST))
        assert [each.id for each in session.pending] == [SECOND]
        await sent(session, NO)
        assert session.pending == ()
    assert bench.files() == {"a.txt": "new"}


@pytest.mark.spec("RES-3")
@really
async def test_functions_hear_a_persons_reason_and_extra(bench: Bench) -> None:
    async with bench.session(model_of(turn(acting("one"), acting("two"))), **STAGES_ONLY) as session:
        await sent(session, "go")
        await sent(session, Resolve("apply", "fine", extra={"to": "all"}))
        await sent(session, NO)
    assert bench.done == ["apply two: fine {'to': 'all'}", "reject one: not today"]


@pytest.mark.spec("RES-5")
@really
async def test_a_persons_apply_that_fails_is_told_to_the_person_and_stays_pending(bench: Bench) -> None:
    bench.fails = RuntimeError("no network")
    async with bench.session(model_of(turn(acting())), **STAGES_ONLY) as session:
        await sent(session, "go")
        events = await sent(session, YES)
        assert refusals(events) == ["Apply failed: no network"]
        assert ends(events) == []
        assert [each.id for each in session.pending] == [FIRST]
        bench.fails = None
        await sent(session, YES)
        assert session.pending == ()


@pytest.mark.spec("CHG-2")
@really
async def test_a_file_that_changed_meanwhile_is_not_written_over_by_a_person_either(bench: Bench) -> None:
    bench.write("a.txt", "old")
    async with await bench.kept(model_of(turn(staging())), **STAGES_ONLY) as session:
        await sent(session, "go")
        bench.write("a.txt", "mine")
        (refusal,) = refusals(await sent(session, YES))
        assert "a.txt" in refusal
        assert [each.id for each in session.pending] == [FIRST]
        assert bench.states() == ["staged"]
        bench.write("a.txt", "old")
        await sent(session, YES)
    assert bench.files() == {"a.txt": "new"}
    assert bench.states() == ["applied"]


@really
async def test_what_a_rule_denies_a_person_cannot_apply_but_discard(bench: Bench) -> None:
    lines = (RuleLine("deny", "Edit(/secrets/**)", Origin("user")),)
    config = Config(
        bench.root,
        bench.folder / "home",
        bench.folder / "data",
        SettingValues(mode="bypass"),
        rules=lines,
        own_data=False,
    )
    (bench.root / "secrets").mkdir()
    model = model_of(turn(staging("secrets/a.txt")))
    async with grouped_session(model, bench.tools(), config=config, **STAGES_ONLY) as session:
        await sent(session, "go")
        (refusal,) = refusals(await sent(session, YES))
        assert "Edit(/secrets/**)" in refusal
        assert [each.id for each in session.pending] == [FIRST]
        await sent(session, NO)
        assert session.pending == ()
    assert not (bench.root / "secrets/a.txt").exists()


@pytest.mark.parametrize("calls", [staging(), acting()], ids=["files", "functions"])
@really
async def test_in_plan_mode_a_person_cannot_apply_either_but_discard(bench: Bench, calls: Any) -> None:
    async with bench.session(model_of(turn(calls)), **STAGES_ONLY) as session:
        await sent(session, "go")
        session.post(SetMode("plan"))
        (refusal,) = refusals(await sent(session, YES))
        assert "plan mode" in refusal
        await sent(session, NO)
        assert session.pending == ()
    assert bench.files() == {}
    assert not any(each.startswith("apply") for each in bench.done)


@pytest.mark.parametrize("calls", [staging(), acting()], ids=["files", "functions"])
@really
async def test_a_persons_word_is_the_answer_to_what_the_model_would_be_asked_about(bench: Bench, calls: Any) -> None:
    async with bench.session(model_of(turn(calls)), mode="default", **STAGES_ONLY) as session:
        await sent(session, "go")
        events = await sent(session, YES)
        assert not of(events, QuestionAsked)
        assert ends(events) == [("applied", "person")]


# ---- while a turn is under way --------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["apply", "discard"])
@really
async def test_a_person_resolves_while_the_model_looks_around(bench: Bench, word: Any) -> None:
    model = model_of(turn(staging()), turn(call("Wait")), turn(call("Touch", at="x")), DONE)
    async with bench.session(model) as session:
        reply = session.send(Prompt("go"))
        await bench.wait.entered()
        heard = await resolved(session, Resolve(word, "I was faster"))
        assert heard.by == "person"
        bench.wait.open()
        events = await reply
        assert of(events, RunEnded)[-1].reason == "done"
    assert choices(model) == ["auto"] * 4, "there is nothing to be forced any more"
    assert [len(about(request, FIRST, "The user")) for request in model.requests] == [0, 0, 1, 1]
    assert bench.files() == ({"a.txt": "new"} if word == "apply" else {})
    assert bench.done == ["touch x"]


@really
async def test_a_person_resolves_what_the_message_under_way_has_staged(bench: Bench) -> None:
    model = model_of(turn(staging(), call("Wait")), DONE)
    async with bench.session(model) as session:
        reply = session.send(Prompt("go"))
        await bench.wait.entered()
        while not session.pending:  # it is staged when the message is whole
            await next_of(session)
        await resolved(session, YES)
        bench.wait.open()
        await reply
    assert bench.files() == {"a.txt": "new"}
    assert len(told(model.requests[1])) == 1
    assert about(model.requests[1], FIRST, "The user applied")


@pytest.mark.parametrize("given", [YES, NO, Resolve("discard", "no", id=FIRST)], ids=["apply", "discard", "by id"])
@really
async def test_what_the_model_is_asked_about_is_answered_and_not_resolved_beside_it(
    bench: Bench, given: Resolve
) -> None:
    model = model_of(turn(staging()), turn(apply()), DONE)
    async with bench.session(model, mode="default") as session:
        await sent(session, "go")
        (question,) = session.questions
        assert "the model is resolving write a.txt" in await refused(session, given)
        assert [each.id for each in session.pending] == [FIRST]
        events = await sent(session, Answer(question.yes()))
        assert ends(events) == [("applied", "model")]
    assert bench.files() == {"a.txt": "new"}
    assert not about(model.requests[-1], FIRST, "The user")


@really
async def test_whoever_sends_it_beside_an_open_question_hears_what_comes_of_it(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(apply()), DONE)
    async with bench.session(model, mode="default") as session:
        await sent(session, "go")
        assert session.questions
        assert len(refusals(await sent(session, NO))) == 1


@really
async def test_another_action_is_resolved_while_the_model_waits_for_an_answer(bench: Bench) -> None:
    model = model_of(turn(staging("a.txt"), staging("b.txt")), turn(apply()), turn(apply()), DONE)
    async with bench.session(model, mode="default") as session:
        await sent(session, "go")
        (question,) = session.questions
        await resolved(session, Resolve("discard", "no", id=FIRST))
        events = await sent(session, Answer(question.yes()))
        assert ends(events)[-1] == ("applied", "model")
        assert session.pending == ()
    assert bench.files() == {"b.txt": "new"}


@really
async def test_a_no_to_the_models_resolve_leaves_it_pending_for_a_person(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(apply()), turn(discard()), DONE)
    async with bench.session(model, mode="default", limits=LoopLimits(max_turns=2)) as session:
        await sent(session, "go")
        await sent(session, Answer(session.questions[0].no("I do it myself")))
        assert [each.id for each in session.pending] == [FIRST]
        await sent(session, YES)
    assert bench.files() == {"a.txt": "new"}


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "kept"])
@really
async def test_of_two_doors_that_disagree_only_one_has_its_way(bench: Bench, kept: bool) -> None:
    """The first has to wait for whoever reads the file; until then the second says the opposite."""
    reads_on = Latch("Hold", Traits("none", writes("a.txt")))
    model = model_of(turn(staging()), turn(call("Hold")), DONE)
    journal = await bench.store.create() if kept else None
    async with bench.session(model, journal, more=[reads_on]) as session:
        heard: list[Event] = []
        session.listen(with_event(heard.append))
        reply = session.send(Prompt("go"))
        await reads_on.entered()
        session.post(YES)
        for _ in range(50):
            await next_of(session)
        session.post(NO)
        for _ in range(50):
            await next_of(session)
        reads_on.open()
        await reply
    (resolved_as,) = of(heard, ActionResolved)
    assert len(refusals(heard)) == 1, "the other one is told that it came too late"
    assert bench.files() == ({"a.txt": "new"} if resolved_as.ended == "applied" else {})


@really
async def test_what_is_being_applied_right_now_cannot_be_discarded(bench: Bench) -> None:
    """The apply waits for another program that applies something in this workspace."""
    model = model_of(turn(staging()))
    async with await bench.kept(model, **STAGES_ONLY) as session:
        await sent(session, "go")
        heard: list[Event] = []
        session.listen(with_event(heard.append))
        with locked(bench.root):
            session.post(YES)
            await until(lambda: bench.states() == ["applying"])
            session.post(NO)
            for _ in range(50):
                await next_of(session)
        await until(lambda: session.status == "idle")
    assert bench.files() == {"a.txt": "new"}
    assert bench.states() == ["applied"]
    assert ends(heard) == [("applied", "person")]


@really
async def test_an_interrupt_stops_what_a_person_wanted_and_had_not_begun_and_it_stays_pending(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(call("Wait")))
    async with bench.session(model) as session:
        reply = session.send(Prompt("go"))
        await bench.wait.entered()
        session.post(YES)
        session.post(Interrupt())
        events = await reply
        assert refusals(events) == ["Interrupted by the user."]
        assert [each.id for each in session.pending] == [FIRST]
    assert bench.files() == {}


@really
async def test_a_skip_that_was_said_before_the_person_resolved_is_no_dead_end(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(call("Touch", at="x"), call("Wait")), turn(call("Touch", at="y")), DONE)
    async with bench.session(model) as session:
        reply = session.send(Prompt("go"))
        await bench.wait.entered()
        await resolved(session, NO)
        bench.wait.open()
        events = await reply
    assert "skipped" in codes(events)
    assert bench.done == ["touch y"]


async def resolved(session: Session, given: Resolve) -> ActionResolved:
    """Send it while something is under way, and wait for what comes of it."""
    reply = session.events()
    session.post(given)
    async for found in reply:
        if isinstance(found.event, ActionResolved):
            return found.event
        assert not isinstance(found.event, InputRefused), found.event.reason
    raise AssertionError("the session ended first")


async def refused(session: Session, given: Resolve) -> str:
    """Send it while something is under way, and wait for why it is not done."""
    reply = session.events()
    session.post(given)
    async for found in reply:
        assert not isinstance(found.event, ActionResolved)
        if isinstance(found.event, InputRefused):
            return found.event.reason
    raise AssertionError("the session ended first")


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Another program is at work there."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


async def next_of(_session: Session) -> None:
    """One step of everything else."""
    await in_thread(lambda: None)
