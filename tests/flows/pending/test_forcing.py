"""How the model is brought to resolve what is pending: softly, then by name, and not for ever."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Continue, Prompt, Steer
from callgate.testing import PlainTool, call, fail, say, turn
from callgate.words.events import ActionResolved, CallSettled, Noted, RunEnded
from callgate.words.inputs import Interrupt
from callgate.words.model import Abilities
from callgate.words.traits import Traits, shared
from tests.flows.gated import of
from tests.flows.keep import on_disk
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
    sent,
    staging,
    texts,
    told,
)

pytestmark = pytest.mark.spec("RES-9")


def looks(times: int) -> list[Any]:
    """Messages that resolve nothing; no two are alike, so that nobody takes it for a loop."""
    return [turn(call("Look", at=str(number))) for number in range(times)]


NOT_RESOLVED = "it was not resolved after 3 requests"


def skipped(times: int) -> list[Any]:
    return [turn(call("Touch", at=str(number))) for number in range(times)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@really
async def test_the_first_request_is_soft_and_the_next_ones_ask_for_it_by_name(bench: Bench) -> None:
    model = model_of(turn(staging()), *looks(2), turn(apply()), DONE)
    async with bench.session(model) as session:
        await sent(session, "go")
    assert choices(model) == ["auto", "auto", "resolve", "resolve", "auto"]
    assert model.requests[2].tool_choice.kind == "named"


@really
async def test_whoever_resolves_at_once_is_never_forced(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(apply()), turn(staging("b.txt")), turn(discard()), DONE)
    async with bench.session(model) as session:
        await sent(session, "go")
    assert choices(model) == ["auto"] * 5


@pytest.mark.parametrize(
    ("able", "forced", "reminded"),
    [
        pytest.param({"auto", "required", "named"}, "resolve", 1, id="by name"),
        pytest.param({"auto", "required"}, "required", 3, id="some tool"),
        pytest.param({"auto"}, "auto", 3, id="nothing"),
        pytest.param(set[str](), "auto", 3, id="not even auto"),
    ],
)
@really
async def test_a_model_that_cannot_be_held_to_a_tool_is_held_to_what_it_can_and_reminded(
    bench: Bench, able: set[str], forced: str, reminded: int
) -> None:
    model = model_of(turn(staging()), *looks(2), turn(apply()), DONE, abilities=Abilities(force=frozenset(able)))
    async with bench.session(model) as session:
        events = await sent(session, "go")
    assert choices(model) == ["auto", "auto", forced, forced, "auto"]
    assert len(told(model.requests[3])) == reminded
    assert all(request.tools == model.requests[0].tools for request in model.requests)
    assert ends(events) == [("applied", "model")]


@really
async def test_what_has_no_effects_runs_meanwhile_and_what_has_is_skipped_with_the_reason(bench: Bench) -> None:
    todo = PlainTool("Todo", traits=Traits("mutating", shared, own_state=True))
    key = PlainTool("Key", traits=Traits("idempotent", shared))
    calls = (call("Look", at="x"), call("Touch", at="x"), call("Key"), call("Todo"))
    model = model_of(turn(staging()), turn(*calls), turn(apply()), turn(call("Touch", at="y")), DONE)
    async with bench.session(model, more=[todo, key]) as session:
        events = await sent(session, "go")
    settled = {event.call_id: event.result for event in of(events, CallSettled)}
    assert [settled[f"call_{number}"].code for number in range(2, 6)] == ["ok", "skipped", "skipped", "ok"]
    assert settled["call_3"].text == (
        f"Skipped: write a.txt ({FIRST}) is still pending. Resolve it first, then send this again."
    )
    assert settled["call_3"].is_error
    assert settled["call_3"].details["effects"] == "none"
    assert bench.done == ["look x", "touch y"]


@really
async def test_what_stands_beside_a_resolve_in_its_message_is_skipped_too(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(apply(), call("Touch", at="x")), DONE)
    async with bench.session(model) as session:
        events = await sent(session, "go")
    assert sorted(codes(events)) == ["ok", "ok", "skipped"]
    assert choices(model) == ["auto"] * 3


@pytest.mark.parametrize("order", ["before", "after"])
@really
async def test_siblings_in_the_staging_message_run_and_are_no_detour(bench: Bench, order: str) -> None:
    calls = [call("Touch", at="x"), staging()]
    model = model_of(turn(*(calls if order == "before" else calls[::-1])), turn(apply()), DONE)
    async with bench.session(model) as session:
        events = await sent(session, "go")
    assert codes(events) == ["ok"] * 3
    assert bench.done == ["touch x"]
    assert choices(model) == ["auto"] * 3


@really
async def test_a_skipped_call_is_a_detour(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(call("Touch")), turn(apply()), DONE)
    async with bench.session(model) as session:
        await sent(session, "go")
    assert choices(model) == ["auto", "auto", "resolve", "auto"]


@really
async def test_text_alone_does_not_end_the_work_while_something_is_pending(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(say("I am done.")), turn(apply()), DONE)
    async with bench.session(model) as session:
        events = await sent(session, "go")
    assert choices(model) == ["auto", "auto", "resolve", "auto"]
    assert [ended.reason for ended in of(events, RunEnded)] == ["done"]
    assert model.requests[2].messages[-1].role == "user", "no request ends with the model's own words"
    assert bench.files() == {"a.txt": "new"}


@pytest.mark.parametrize("detours", [looks(4), [turn(say("hm"))] * 4, skipped(4)], ids=["looks", "text", "skipped"])
@really
async def test_after_three_forced_requests_it_is_discarded_with_a_note_and_the_model_is_told(
    bench: Bench, detours: list[Any]
) -> None:
    model = model_of(turn(acting()), *detours, turn(call("Touch", at="after")), DONE)
    async with bench.session(model) as session:
        events = await sent(session, "go")
        assert session.pending == ()
        (resolved,) = of(events, ActionResolved)
        assert (resolved.label, resolved.ended, resolved.by) == ("send it", "discarded", "callgate")
        (noted,) = of(events, Noted)
        assert (noted.text, noted.level) == (f"Discarded: send it. Reason: {NOT_RESOLVED}", "warning")
        assert bench.done[-1] != "apply send it"
        assert f"reject send it: {NOT_RESOLVED}" in bench.done
        await sent(session, "and?")
    assert choices(model)[:6] == ["auto", "auto", "resolve", "resolve", "resolve", "auto"]
    assert len(about(model.requests[5], FIRST, "No longer pending")) == 1
    assert len(about(model.requests[-1], FIRST, "No longer pending")) == 1
    assert bench.done[-1] == "touch after", "what had to wait may run again"


@really
async def test_a_reject_that_fails_does_not_keep_alive_what_is_given_up(bench: Bench) -> None:
    bench.fails = RuntimeError("no")
    model = model_of(turn(acting()), *looks(4), DONE)
    async with bench.session(model) as session:
        events = await sent(session, "go")
        assert session.pending == ()
    notes = [noted.text for noted in of(events, Noted)]
    assert [("the reject callback" in note, note.startswith("Discarded")) for note in notes] == [
        (True, False),
        (False, True),
    ]
    assert of(events, RunEnded)[-1].reason == "done"


@really
async def test_a_staged_change_that_is_given_up_is_discarded_on_disk_too(bench: Bench) -> None:
    model = model_of(turn(staging()), *looks(4), DONE)
    async with await bench.kept(model) as session:
        await sent(session, "go")
    assert bench.states() == ["discarded"]
    assert bench.files() == {}


@really
async def test_each_action_of_a_stack_is_given_its_own_three_requests(bench: Bench) -> None:
    model = model_of(turn(staging("a.txt"), staging("b.txt")), *looks(8), DONE)
    async with bench.session(model) as session:
        events = await sent(session, "go")
        assert session.pending == ()
    assert [event.id for event in of(events, ActionResolved)] == [SECOND, FIRST]
    assert choices(model) == ["auto", "auto", *["resolve"] * 3, "auto", *["resolve"] * 3, "auto"]


@really
async def test_what_the_last_forced_message_stages_is_not_what_is_given_up(bench: Bench) -> None:
    """Nobody was asked about it: the three requests were about the one before."""
    model = model_of(turn(staging("a.txt")), *looks(3), turn(staging("b.txt")), turn(apply(id=SECOND)), DONE)
    async with bench.session(model) as session:
        events = await sent(session, "go")
    assert [(event.id, event.ended) for event in of(events, ActionResolved)] == [
        (FIRST, "discarded"),
        (SECOND, "applied"),
    ]
    assert bench.files() == {"b.txt": "new"}


@really
async def test_a_resolve_that_fails_is_no_detour(bench: Bench) -> None:
    bench.fails = RuntimeError("no network")

    def mended(_request: Any) -> Any:
        bench.fails = None
        return turn(apply())

    model = model_of(turn(acting()), *(turn(apply(f"try {number}")) for number in range(4)), mended, DONE)
    async with bench.session(model) as session:
        events = await sent(session, "go")
    assert choices(model) == ["auto"] * 7
    assert texts(events).count("Apply failed: no network") == 4
    assert ends(events) == [("applied", "model")]


@really
async def test_a_persons_message_makes_it_soft_again_and_the_count_begins_anew(bench: Bench) -> None:
    model = model_of(turn(staging()), *looks(2), turn(call("Wait")), *looks(4), DONE)
    async with bench.session(model) as session:
        reply = session.send(Prompt("go"))
        await bench.wait.entered()
        session.post(Interrupt())
        await reply
        assert [each.id for each in session.pending] == [FIRST]
        await sent(session, "leave that for now")
        assert session.pending == ()
    assert choices(model) == ["auto", "auto", "resolve", "resolve", "auto", *["resolve"] * 3, "auto"]


@really
async def test_a_person_who_steers_in_between_makes_it_soft_again(bench: Bench) -> None:
    model = model_of(turn(staging()), *looks(1), turn(call("Wait")), *looks(1), turn(apply()), DONE)
    async with bench.session(model) as session:
        reply = session.send(Prompt("go"))
        await bench.wait.entered()
        session.post(Steer("one thing first"))
        bench.wait.open()
        await reply
    assert choices(model) == ["auto", "auto", "resolve", "auto", "resolve", "auto"]


@pytest.mark.spec("RES-13")
@pytest.mark.parametrize("how", ["interrupt", "close", "crash"])
@really
async def test_what_is_broken_off_in_the_last_forced_request_keeps_what_is_pending(bench: Bench, how: str) -> None:
    model = model_of(turn(staging()), *looks(3), turn(call("Wait")))
    journal = await bench.store.create()
    async with bench.session(model, journal) as session:
        reply = session.send(Prompt("go"))
        await bench.wait.entered()
        assert choices(model) == ["auto", "auto", *["resolve"] * 3]
        await on_disk(journal)
        if how == "crash":
            bench.crash()
        if how == "interrupt":
            session.post(Interrupt())
            await reply
            assert [each.id for each in session.pending] == [FIRST]
    async with await bench.again(model_of()) as again:
        assert [each.id for each in again.pending] == [FIRST]


@really
async def test_a_request_that_the_provider_never_answered_costs_nobody_what_is_pending(bench: Bench) -> None:
    model = model_of(turn(staging()), *looks(3), turn(fail("overloaded")))
    async with bench.session(model) as session:
        events = await sent(session, "go")
        assert of(events, RunEnded)[-1].reason == "model_error"
        assert [each.id for each in session.pending] == [FIRST]


@really
async def test_the_count_of_forced_requests_goes_on_after_a_restart(bench: Bench) -> None:
    """Two of three are on record when the program ends."""
    model = model_of(turn(staging()), *looks(2), turn(call("Wait")))
    journal = await bench.store.create()
    async with bench.session(model, journal) as session:
        session.post(Prompt("go"))
        await bench.wait.entered()
        await on_disk(journal)
        bench.crash()
        bench.wait.open()
    after = model_of(*looks(1), DONE)
    async with await bench.again(after) as again:
        assert again.status == "paused"
        events = await sent(again, Continue())
        assert ends(events) == [("discarded", "callgate")]
        assert [noted.text for noted in of(events, Noted)] == [f"Discarded: write a.txt. Reason: {NOT_RESOLVED}"]
    assert choices(after) == ["resolve", "auto"]
