"""Plan mode: the model presents a plan, and only a person's yes ends it."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Continue, Session
from callgate.testing import ScriptedModel, call, turn
from callgate.tools.builtin.plan import ACCEPT_EDITS, AFRESH, plan_tools, slug_of
from callgate.tools.builtin.sleep import sleep
from callgate.tools.session_state import plan_of
from callgate.words.decisions import FieldAnswer
from callgate.words.events import CallSettled, ModeSet, QuestionAsked
from callgate.words.inputs import Compact, Interrupt, Resolve, SetMode
from callgate.words.modes import Mode
from tests.flows.gated import of
from tests.flows.pending.kit import (
    DONE,
    Bench,
    acting,
    apply,
    codes,
    discard,
    ends,
    model_of,
    really,
    refusals,
    sent,
    staging,
    texts,
    told,
)

pytestmark = pytest.mark.spec("RES-7")
PLAN = "First look, then write a.txt."
ENTERS = turn(call("EnterPlanMode"))
EXITS = turn(call("ExitPlanMode", plan=PLAN))
PRESENTS = turn(apply("the plan stands", extra={"plan": PLAN}))
WAYS = pytest.mark.parametrize("presents", [EXITS, PRESENTS], ids=["ExitPlanMode", "resolve"])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def session_of(bench: Bench, model: ScriptedModel, mode: Mode | None = "bypass", **options: Any) -> Session:
    return bench.session(model, more=plan_tools(), mode=mode, **options)


@WAYS
@pytest.mark.parametrize("before", ["default", "accept_edits", "bypass", "dont_ask"])
@really
async def test_an_approved_plan_goes_back_to_the_mode_before(bench: Bench, presents: Any, before: Mode) -> None:
    model = model_of(ENTERS, turn(call("Look"), call("Touch", at="too early")), presents, DONE)
    async with session_of(bench, model, before) as session:
        await sent(session, "go")
        assert session.mode == "plan"
        (question,) = session.questions
        assert PLAN in str(question.arguments)
        assert question.tool == "ExitPlanMode"
        events = await sent(session, Answer(question.yes()))
        assert session.mode == before
        told = f"The plan is approved. Plan mode is off, the mode is {before} again: go ahead."
        assert texts(events)[-1].split("\n")[0] == told
    assert bench.done == ["look "], "nothing is changed in plan mode"


@WAYS
@really
async def test_a_no_keeps_plan_mode_and_its_note_reaches_the_model(bench: Bench, presents: Any) -> None:
    model = model_of(presents, turn(call("Touch")), DONE)
    async with session_of(bench, model, "plan") as session:
        await sent(session, "go")
        events = await sent(session, Answer(session.questions[0].no("leave the tests alone")))
        assert session.mode == "plan"
        assert not of(events, ModeSet)
        first, second = of(events, CallSettled)
        assert "leave the tests alone" in first.result.text
        assert second.result.code == "denied"
    assert "leave the tests alone" in str([message.parts for message in model.requests[1].messages])
    assert bench.done == []


@WAYS
@really
async def test_a_plan_needs_a_person_each_time(bench: Bench, presents: Any) -> None:
    """Neither an earlier yes nor an always stands for the next plan."""
    model = model_of(ENTERS, presents, ENTERS, presents, DONE)
    async with session_of(bench, model) as session:
        asked = 0
        await sent(session, "go")
        while session.questions:
            asked += 1
            question = session.questions[0]
            await sent(session, Answer(question.always() if question.choices else question.yes()))
    assert asked == 2


@pytest.mark.parametrize("extra", [None, {}, {"plan": "  "}, {"plan": 3}, {"other": "x"}], ids=str)
@really
async def test_without_a_plan_nobody_is_asked(bench: Bench, extra: Any) -> None:
    model = model_of(turn(apply("it stands", **({} if extra is None else {"extra": extra}))), DONE)
    async with session_of(bench, model, "plan") as session:
        events = await sent(session, "go")
        assert not of(events, QuestionAsked)
        (settled,) = of(events, CallSettled)
        assert settled.result.is_error
        assert "extra" in settled.result.text
        assert session.mode == "plan"


@really
async def test_a_discard_in_plan_mode_drops_the_plan_and_stays_there(bench: Bench) -> None:
    model = model_of(turn(discard("no good")), DONE)
    async with session_of(bench, model, "plan") as session:
        events = await sent(session, "go")
        assert session.mode == "plan"
    assert texts(events) == ["Discarded: the plan. Reason: no good"]


@pytest.mark.spec("RES-2")
@really
async def test_outside_plan_mode_there_is_no_standing_handler(bench: Bench) -> None:
    model = model_of(PRESENTS, EXITS, DONE)
    async with session_of(bench, model) as session:
        events = await sent(session, "go")
        assert not of(events, QuestionAsked)
    first, second = texts(events)
    assert first == "No pending action to resolve. Nothing to apply or discard."
    assert "Plan mode is not on" in second


@pytest.mark.parametrize("calls", [staging(), acting()], ids=["files", "functions"])
@really
async def test_with_something_pending_the_standing_handler_is_not_asked(bench: Bench, calls: Any) -> None:
    model = model_of(turn(calls), PRESENTS, turn(discard()), PRESENTS, DONE)
    async with session_of(bench, model, "plan") as session:
        events = await sent(session, "go")
        assert codes(events)[1] == "denied", "in plan mode nothing is applied"
        assert ends(events) == [("discarded", "model")]
        (question,) = session.questions
        await sent(session, Answer(question.yes()))
        assert session.mode == "default"
    assert bench.files() == {}


@pytest.mark.spec("RES-10")
@really
async def test_what_this_message_stages_does_not_become_a_plan(bench: Bench) -> None:
    model = model_of(turn(staging(), apply("both", extra={"plan": PLAN})), turn(discard()), DONE)
    async with session_of(bench, model, "plan") as session:
        await sent(session, "go")
        for question in session.questions:
            await sent(session, Answer(question.no()))
        assert session.mode == "plan"
        assert session.pending == ()


@really
async def test_what_was_staged_before_the_plan_can_be_applied_after_it(bench: Bench) -> None:
    model = model_of(turn(staging()), EXITS, turn(apply()), DONE)
    async with session_of(bench, model, "bypass") as session:
        session.post(SetMode("plan"))
        await sent(session, "go")
        await sent(session, Answer(session.questions[0].yes()))
        assert session.mode == "bypass"
    assert bench.files() == {"a.txt": "new"}


@WAYS
@really
async def test_a_plan_survives_a_restart_and_its_approval_still_goes_back_to_the_mode_before(
    bench: Bench, presents: Any
) -> None:
    model = model_of(ENTERS, presents)
    async with session_of(bench, model, "accept_edits", journal=await bench.store.create()) as session:
        await sent(session, "go")
        assert session.questions
    after = model_of()
    async with session_of(bench, after, None, journal=await bench.store.open()) as again:
        assert again.mode == "plan"
        await sent(again, Continue())
        (question,) = again.questions
        assert PLAN in str(question.arguments)
        await sent(again, Answer(question.yes()))
        assert again.mode == "accept_edits"


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
@really
async def test_the_mode_before_is_known_after_a_compaction_too(bench: Bench, restarted: bool) -> None:
    options: dict[str, Any] = {"summarize": lambda _history, _wish: "Summed up."}
    model = model_of(ENTERS, DONE, EXITS, DONE)
    session = session_of(bench, model, "accept_edits", journal=await bench.store.create(), **options)
    await sent(session, "go")
    await sent(session, Compact())
    if restarted:
        await session.aclose()
        session = session_of(bench, model_of(EXITS, DONE), None, journal=await bench.store.open(), **options)
    async with session:
        assert session.mode == "plan"
        await sent(session, "present it")
        await sent(session, Answer(session.questions[0].yes()))
        assert session.mode == "accept_edits"


@WAYS
@really
async def test_an_approval_that_a_crash_cut_short_is_not_asked_for_again(bench: Bench, presents: Any) -> None:
    """Plan mode was left; the result of the call never came on record."""
    model = model_of(ENTERS, presents)
    async with session_of(bench, model, "accept_edits", journal=await bench.store.create()) as session:
        await sent(session, "go")
        await sent(session, Answer(session.questions[0].yes()))
    cut_last_settled(bench)
    async with session_of(bench, model_of(), None, journal=await bench.store.open()) as again:
        assert again.mode == "accept_edits"
        events = await sent(again, Continue())
        assert not again.questions
        assert not of(events, QuestionAsked)
        (settled,) = of(events, CallSettled)
        assert not settled.result.is_error, settled.result.text


@really
async def test_a_person_does_not_resolve_a_plan_that_nobody_presented(bench: Bench) -> None:
    async with session_of(bench, model_of(), "plan") as session:
        events = await sent(session, Resolve("apply", "yes", extra={"plan": PLAN}))
        assert refusals(events) == ["No pending action to resolve. Nothing to apply or discard."]
        assert session.mode == "plan"


@really
async def test_plan_mode_alone_reminds_of_nothing_and_forces_nothing(bench: Bench) -> None:
    model = model_of(ENTERS, turn(call("Look")), DONE)
    async with session_of(bench, model) as session:
        await sent(session, "go")
    assert not any(told(request) for request in model.requests)
    assert all(request.tool_choice.kind == "auto" for request in model.requests)


def cut_last_settled(bench: Bench) -> None:
    """The log ends right before the last call settled."""
    bench.crash()
    log = bench.store.find()
    lines = log.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"call_settled"' in line[:200])
    log.write_bytes(b"".join(lines[:last]))


# ---- the file of the plan -----------------------------------------------------------------------------------------


def content(path: Path) -> str:
    return path.read_text(encoding="utf-8")


TITLED = "# Fix the *tests*, then: 100 % green!\n\n1. Look.\n"


@pytest.mark.spec("BLT-11")
@WAYS
@really
async def test_an_approved_plan_is_a_file_with_a_slug_in_the_folder_of_the_session(bench: Bench, presents: Any) -> None:
    async with session_of(bench, model_of(presents, DONE), "plan", journal=await bench.store.create()) as session:
        await sent(session, "go")
        await sent(session, Answer(session.questions[0].yes()))
        path = Path(plan_of(session.context) or "")
    assert content(path) == PLAN
    assert path.name == "plan-first-look-then-write-a-txt.md"
    assert path.is_relative_to(bench.store.find().with_suffix(""))


@pytest.mark.spec("BLT-11")
@really
async def test_the_plan_that_the_person_changed_is_the_one_that_is_kept_and_told(bench: Bench) -> None:
    model = model_of(EXITS, DONE)
    async with session_of(bench, model, "plan") as session:
        await sent(session, "go")
        (question,) = session.questions
        yes = question.answered(FieldAnswer((ACCEPT_EDITS,), "and be quick"), arguments={"plan": TITLED})
        events = await sent(session, Answer(yes))
        assert session.mode == "accept_edits"
        path = plan_of(session.context) or ""
        assert content(Path(path)) == TITLED
    text = texts(events)[-1]
    assert text.startswith("The plan is approved. Plan mode is off, the mode is accept_edits: go ahead.\n")
    assert f"The plan is stored in {path}.\nThe user adds: and be quick" in text
    assert "[person changed the arguments to" in text


@pytest.mark.spec("BLT-11")
@really
async def test_a_resumed_and_a_compacted_session_find_the_plan(bench: Bench) -> None:
    options: dict[str, Any] = {"summarize": lambda _history, _wish: "Summed up."}
    async with session_of(bench, model_of(EXITS, DONE), "plan", journal=await bench.store.create()) as session:
        await sent(session, "go")
        await sent(session, Answer(session.questions[0].yes()))
        path = plan_of(session.context)
    model = model_of(DONE)
    async with session_of(bench, model, None, journal=await bench.store.open(), **options) as again:
        assert plan_of(again.context) == path
        await sent(again, Compact())
        assert plan_of(again.context) == path
        await sent(again, "go on")
    assert model.requests[0].messages[0].text.startswith(f"Summed up.\n\nThe plan is in the file {path}.\n")


@pytest.mark.spec("BLT-11")
@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
@really
async def test_a_fresh_context_begins_with_the_plan_and_nothing_else(bench: Bench, restarted: bool) -> None:
    model = model_of(turn(call("Look")), EXITS, turn(call("Touch", at="a")), DONE)
    session = session_of(bench, model, "bypass", journal=await bench.store.create())
    session.post(SetMode("plan"))
    await sent(session, "the first words")
    (question,) = session.questions
    if restarted:
        await session.aclose()
        model = model_of(turn(call("Touch", at="a")), DONE)
        session = session_of(bench, model, None, journal=await bench.store.open())
        await sent(session, Continue())
    seen = len(model.requests)
    yes = question.answered(FieldAnswer((AFRESH,), "mind the gap"), arguments={"plan": TITLED})
    await sent(session, Answer(yes))
    path = plan_of(session.context)
    assert session.mode == "bypass"
    assert session.status == "idle"
    await session.aclose()
    told = "The user has approved this plan. Carry it out.\nThe user adds: mind the gap"
    beginning = f"{told}\n\n{TITLED}\n\nThe plan is in the file {path}."
    first, of_the_mode = [message.text for message in model.requests[seen].messages]
    assert (first, "It is now bypass" in of_the_mode) == (beginning, True)  # the system prompt speaks of plan mode
    assert [message.role for message in model.requests[seen + 1].messages] == ["user", "user", "assistant", "tool"]
    assert bench.done[-1] == "touch a"
    after = model_of(DONE)
    async with session_of(bench, after, None, journal=await bench.store.open()) as again:
        assert again.status == "idle"
        await sent(again, "go on")
    texts_after = [message.text for message in after.requests[0].messages]
    assert (texts_after[0], texts_after[-1], len(texts_after)) == (beginning, "go on", 6)


@pytest.mark.spec("BLT-11")
@really
async def test_a_fresh_context_whose_turn_was_interrupted_is_not_begun_later(bench: Bench) -> None:
    model = model_of(turn(call("ExitPlanMode", plan=PLAN), call("Sleep", seconds=3600)), turn(call("Look")), DONE)
    async with bench.session(model, more=[*plan_tools(), sleep()], mode="plan") as session:
        reply = session.send("go", until="idle")
        async for event in reply:
            if isinstance(event, QuestionAsked):
                session.post(Answer(event.question.answered(FieldAnswer((AFRESH,)))))
            if isinstance(event, CallSettled) and "approved" in event.result.text:
                session.post(Interrupt())
        assert session.mode == "default"
        await sent(session, "and now")
        assert session.messages[0].text == "go"
        assert session.messages[-1].role == "assistant"


def test_a_slug_is_made_of_the_first_words() -> None:
    rows = {
        TITLED: "fix-the-tests-then-100-green",
        "\n---\n## A\n": "a",
        "": "of-this-session",
        "日本語": "of-this-session",
        "x" * 60: "x" * 48,
        "../../etc/passwd": "etc-passwd",
    }
    assert {plan: slug_of(plan) for plan in rows} == rows


@really
@pytest.mark.parametrize(
    ("title", "slug", "shown"),
    [
        ("Add the cache", "add-the-cache", "Plan approved: Add the cache"),
        ("  two\nlines ", "two-lines", "Plan approved: two lines"),
        ("", "first-look-then-write-a-txt", "Plan approved"),
        (None, "first-look-then-write-a-txt", "Plan approved"),
        ("…", "first-look-then-write-a-txt", "Plan approved: …"),
    ],
)
async def test_the_title_of_a_plan_names_its_file_and_its_block(
    bench: Bench, title: str | None, slug: str, shown: str
) -> None:
    presents = turn(apply("the plan stands", extra={"plan": PLAN, "title": title}))
    async with session_of(bench, model_of(presents, DONE), "plan") as session:
        await sent(session, "go")
        events = await sent(session, Answer(session.questions[0].yes()))
        (settled,) = of(events, CallSettled)
        assert not settled.result.is_error, settled.result.text
        assert settled.result.artifacts[0].path.endswith(f"plan-{slug}.md")
        assert shown in [each.title for each in settled.result.display]


@really
async def test_a_title_that_is_no_text_is_refused(bench: Bench) -> None:
    presents = turn(apply("the plan stands", extra={"plan": PLAN, "title": 7}))
    async with session_of(bench, model_of(presents, DONE), "plan") as session:
        events = await sent(session, "go")
        assert "extra.title, must be a text" in of(events, CallSettled)[0].result.text
