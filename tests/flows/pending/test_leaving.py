"""Whoever goes on elsewhere leaves nothing pending behind; whoever only stops does."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Prompt, Session
from callgate.testing import ScriptedModel, call, fail, say, turn
from callgate.words.inputs import Branch, Close, Interrupt, Resolve, Rewind
from callgate.words.limits import LoopLimits
from tests.flows.pending.kit import (
    FIRST,
    SECOND,
    Bench,
    acting,
    apply,
    ends,
    model_of,
    really,
    refusals,
    sent,
    staging,
    told,
)

pytestmark = pytest.mark.spec("RES-13")
STAGES_ONLY: dict[str, Any] = {"limits": LoopLimits(max_turns=1)}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def talk(bench: Bench, *, kept: bool = True) -> tuple[Session, ScriptedModel]:
    """Hello (u1, a1), then a file and a function are staged (u3, a2, r2), and a last word (u6) comes to nothing."""
    model = model_of(turn(say("Hello.")), turn(staging(), acting()), turn(fail("overloaded")))
    session = await bench.kept(model, **STAGES_ONLY) if kept else bench.session(model, **STAGES_ONLY)
    await sent(session, "hi")
    await sent(session, "go")
    await sent(session, "go on")
    assert [each.id for each in session.pending] == [SECOND, FIRST]
    return session, model


MOVES = [
    pytest.param(Rewind("u3"), id="back to before it was staged"),
    pytest.param(Rewind("u6"), id="back to a message after it"),
    pytest.param(Branch("a1"), id="on from before it was staged"),
    pytest.param(Branch("r2"), id="on from right after it"),
]


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "in memory"])
@really
async def test_a_move_in_the_tree_clears_the_stack(bench: Bench, move: Any, kept: bool) -> None:
    session, model = await talk(bench, kept=kept)
    async with session:
        events = await sent(session, move)
        assert not refusals(events)
        assert session.pending == ()
        assert bench.done == ["reject send it: the history was rewound"]
        assert ends(events) == [("discarded", "callgate")] * 2
        (refusal,) = refusals(await sent(session, Resolve("apply", "yes")))
        assert refusal == "No pending action to resolve. Nothing to apply or discard."
        await sent(session, "and now?")
        assert session.pending == ()
        assert not any("Pending" in text.splitlines()[1] for text in told(model.requests[-1]))
    assert bench.files() == {}
    if kept:
        assert bench.states() == ["discarded"]
        async with await bench.again(model_of()) as again:
            assert again.pending == ()


@pytest.mark.parametrize("move", [Rewind("u99"), Rewind("r2"), Branch("a2"), Branch("u99")], ids=str)
@really
async def test_a_move_that_is_refused_clears_nothing(bench: Bench, move: Any) -> None:
    session, _ = await talk(bench)
    async with session:
        assert len(refusals(await sent(session, move))) == 1
        assert [each.id for each in session.pending] == [SECOND, FIRST]
    assert bench.done == []
    assert bench.states() == ["staged"]


@really
async def test_after_a_move_ids_are_not_given_out_again(bench: Bench) -> None:
    session, _ = await talk(bench)
    async with session:
        await sent(session, Rewind("u3"))
    model = model_of(turn(staging("b.txt")))
    async with await bench.again(model, **STAGES_ONLY) as again:
        await sent(again, "go")
        assert [each.id for each in again.pending] == ["pending-action:Renamer:3"]


@really
async def test_a_session_that_is_left_for_another_one_leaves_nothing_pending(bench: Bench) -> None:
    session, _ = await talk(bench)
    events = [event async for event in session.send(Close(pending="discard"))]
    assert ends(events) == [("discarded", "callgate")] * 2
    assert bench.done == ["reject send it: the session was replaced by another session"]
    assert bench.states() == ["discarded"]
    async with await bench.again(model_of()) as again:
        assert again.pending == ()
        assert not ends(await sent(again, "hi"))


@pytest.mark.parametrize("how", ["Close", "aclose"])
@really
async def test_a_session_that_is_only_closed_keeps_what_is_pending(bench: Bench, how: str) -> None:
    session, _ = await talk(bench)
    if how == "Close":
        await session.send(Close())
    await session.aclose()
    assert bench.done == []
    assert bench.states() == ["staged"]
    async with await bench.again(model_of()) as again:
        events = await sent(again, Resolve("apply", "now"))
        assert ends(events) == [("lost", "callgate"), ("applied", "person")]
    assert bench.files() == {"a.txt": "new"}


@really
async def test_a_session_that_is_left_while_its_resolve_is_asked_about_leaves_nothing_pending(bench: Bench) -> None:
    model = model_of(turn(staging()), turn(apply()))
    session = await bench.kept(model, mode="default")
    await sent(session, "go")
    assert session.questions
    await session.send(Close(pending="discard"))
    await session.aclose()
    assert bench.states() == ["discarded"]
    async with await bench.again(model_of(), mode="default") as again:
        assert again.pending == ()
    assert bench.files() == {}


@pytest.mark.parametrize("beside", ["a call", "a question"])
@really
async def test_an_interrupt_clears_nothing(bench: Bench, beside: str) -> None:
    second = turn(call("Wait")) if beside == "a call" else turn(apply())
    model = model_of(turn(staging()), second, turn(apply("after all")))
    async with await bench.kept(model, mode="default") as session:
        reply = session.send(Prompt("go"))
        if beside == "a call":
            await bench.wait.entered()
        else:
            await reply
        assert bool(session.questions) == (beside == "a question")
        await sent(session, Interrupt())
        assert [each.id for each in session.pending] == [FIRST]
        assert bench.states() == ["staged"]
        await sent(session, "go on")
        events = await sent(session, Answer(session.questions[0].yes()))
        assert ends(events) == [("applied", "model")]
    assert bench.files() == {"a.txt": "new"}


@really
async def test_a_fork_begins_with_nothing_pending_and_the_original_keeps_its_own(bench: Bench) -> None:
    session, _ = await talk(bench)
    await session.aclose()
    original = session.id
    model = model_of(turn(apply()))
    async with bench.session(model, await bench.store.fork(original)) as fork:
        assert fork.pending == ()
        events = await sent(fork, "go on")
        assert not ends(events)
        (refusal,) = refusals(await sent(fork, Resolve("apply", "yes", id=FIRST)))
        assert refusal == "No pending action to resolve. Nothing to apply or discard."
    reminded, *gone = told(model.requests[0])
    assert "Pending:" in reminded, "the one that the original was given"
    assert [f"it is still pending in session {original}" in each for each in gone] == [True, True]
    assert bench.files() == {}
    async with bench.session(model_of(), await bench.store.open(original)) as again:
        await sent(again, Resolve("apply", "now", id=FIRST))
    assert bench.files() == {"a.txt": "new"}


@really
async def test_what_a_fork_stages_is_its_own(bench: Bench) -> None:
    session, _ = await talk(bench)
    await session.aclose()
    model = model_of(turn(staging("fork.txt")), turn(apply()))
    async with bench.session(model, await bench.store.fork(session.id)) as fork:
        await sent(fork, "go on")
    assert bench.files() == {"fork.txt": "new"}
    async with bench.session(model_of(), await bench.store.open(session.id)) as again:
        assert [each.id for each in again.pending] == [SECOND, FIRST]
