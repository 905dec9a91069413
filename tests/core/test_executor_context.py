"""What calls tell the calls after them, and the guard against loops."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from callgate.assembly import DecisionGate
from callgate.conversation.ledger import Ledger
from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Check, Run
from callgate.policy.checks import standard_checks
from callgate.testing import Latch, PlainTool, settle
from callgate.words.calls import Result, Status
from callgate.words.events import ContextUpdated, MessageAdded, Noted
from callgate.words.messages import Message, Text
from callgate.words.traits import Traits, shared
from tests.core.kit import ALONE, FREE, Desk, answer, call, codes, failing, lasting, saying, seeing, updating

# ---- context (EXE-23) -------------------------------------------------------------------------------------------


def saying_update(name: str, update: Any, traits: Traits = FREE) -> PlainTool:
    return saying(name, Result((Text("said"),), context_update=update), traits)


@pytest.mark.spec("EXE-23")
async def test_an_update_is_seen_by_later_calls_and_by_whoever_asks_at_the_end() -> None:
    seen: list[dict[str, Any]] = []
    desk = Desk(updating(traits=ALONE), seeing(seen, traits=ALONE), context={"cwd": "/", "user": "ada"})
    await desk.finish(call("a", "Set", cwd="/src"), call("b", "See"))
    assert seen == [{"cwd": "/src", "user": "ada"}]
    assert desk.executor.context == {"cwd": "/src", "user": "ada"}


@pytest.mark.spec("EXE-23")
async def test_updates_of_concurrent_calls_apply_in_arrival_order() -> None:
    async def wait(arguments: Mapping[str, Any], run: Run) -> Result:
        await lasting().run(arguments, run)
        return Result((Text("ok"),), context_update={"last": run.call_id})

    desk = Desk(PlainTool("Wait", wait, traits=FREE))
    await desk.finish(call("a", "Wait", seconds=9), call("b", "Wait", seconds=1))
    assert desk.executor.context == {"last": "b"}
    assert [event.call_id for event in desk.told(ContextUpdated)] == ["a", "b"]


@pytest.mark.spec("EXE-23")
async def test_an_update_applies_only_when_all_earlier_calls_have_settled() -> None:
    latch = Latch(traits=FREE)
    desk = Desk(latch, updating())
    await desk.begin(call("a", "Latch"), call("b", "Set", x=1))
    assert desk.now("b").settled
    assert desk.executor.context == {}
    latch.open()
    await settle()
    # and nobody has to fetch anything for it
    assert desk.executor.context == {"x": 1}
    await desk.rest()


@pytest.mark.spec("EXE-23")
async def test_an_update_of_a_message_that_still_streams_is_there_without_draining() -> None:
    desk = Desk(updating())
    desk.add(call("a", "Set", x=1))
    await settle()
    assert desk.executor.context == {"x": 1}
    await desk.finish()


@pytest.mark.spec("EXE-23")
async def test_a_function_is_evaluated_once_on_the_context_of_its_turn_and_recorded_as_data() -> None:
    asked: list[dict[str, Any]] = []

    def more(context: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(dict(context))
        return {"n": context["n"] + 1}

    desk = Desk(saying_update("Count", more), context={"n": 1})
    await desk.finish(call("a", "Count"), call("b", "Count", x=2))
    assert asked == [{"n": 1}, {"n": 2}]
    assert [event.update for event in desk.told(ContextUpdated)] == [{"n": 2}, {"n": 3}]
    assert not callable(desk.result("a").context_update)
    # whoever reads the record needs no function
    assert Ledger(desk.journal.read(), context={"n": 1}).context == {"n": 3}


@pytest.mark.spec("EXE-23")
async def test_what_a_function_gives_is_plain_json_on_record() -> None:
    desk = Desk(saying_update("Odd", lambda context: {"pair": (1, 2)}))
    await desk.finish(call("a", "Odd"))
    assert desk.executor.context == {"pair": [1, 2]}


@pytest.mark.spec("EXE-23", "EXE-13")
@pytest.mark.parametrize("update", [lambda context: 1 / 0, lambda context: None, lambda context: {"x": object()}])
async def test_an_update_that_fails_costs_no_result_and_is_reported(update: Any) -> None:
    desk = Desk(saying_update("Odd", update), updating())
    results = await desk.finish(call("a", "Odd"), call("b", "Set", x=1))
    assert codes(results) == {"a": "ok", "b": "ok"}
    assert desk.executor.context == {"x": 1}
    assert [(note.level, note.call_id) for note in desk.told(Noted)] == [("error", "a")]


@pytest.mark.spec("EXE-23")
async def test_a_tool_cannot_change_the_context_it_is_given() -> None:
    def vandalise(_arguments: Mapping[str, Any], run: Run) -> str:
        run.context["deep"]["x"] = 2
        run.context["new"] = 1  # pyright: ignore[reportIndexIssue]
        return "never"

    desk = Desk(PlainTool("Odd", vandalise, traits=FREE), context={"deep": {"x": 1}})
    results = await desk.finish(call("a", "Odd"))
    assert results["a"].code == "tool_error"
    assert desk.executor.context == {"deep": {"x": 1}}


@pytest.mark.spec("EXE-23")
async def test_a_failed_call_in_front_does_not_hold_back_the_update_behind_it() -> None:
    desk = Desk(failing(), updating())
    await desk.finish(call("a", "Bash"), call("b", "Set", x=1))
    assert desk.executor.context == {"x": 1}


# ---- the loop guard (EXE-26) ------------------------------------------------------------------------------------

DOING = Traits(effects="none", declared_locks=shared)


async def messages(gate: CheckGate, *calls: str) -> list[Desk]:
    """One message for each call, of one session."""
    ledger, desks = Ledger(), []
    for n, name in enumerate(calls):
        desk = Desk(saying("A", "a", DOING), saying("B", "b", DOING), gate=gate, ledger=ledger)
        await desk.begin(call(f"c{n}", name))
        desks.append(desk)
    return desks


@pytest.mark.spec("EXE-26")
async def test_the_same_call_for_the_third_time_is_put_to_the_person() -> None:
    desks = await messages(DecisionGate(), "A", "A", "A")
    assert [desk.executor.settled for desk in desks] == [True, True, False]
    (question,) = desks[2].executor.questions
    assert question.by == "loop guard"
    assert "third time" in question.reason
    desks[2].executor.answer(answer(question, "yes"))
    await desks[2].rest()
    assert desks[2].result("c2").code == "ok"


@pytest.mark.spec("EXE-26")
async def test_a_cycle_across_messages_is_put_to_the_person() -> None:
    desks = await messages(DecisionGate(), *"ABABAB")
    assert [len(desk.executor.questions) for desk in desks] == [0, 0, 0, 0, 0, 1]
    await desks[-1].executor.discard()


@pytest.mark.spec("EXE-26")
async def test_where_nobody_is_there_a_loop_is_refused_saying_what_repeats() -> None:
    desks = await messages(CheckGate(standard_checks(), attended=False), "A", "A", "A")
    result = desks[2].result("c2")
    assert result.code == "denied"
    assert "third time" in result.text
    assert desks[2].status("c2") is Status.CANCELLED


@pytest.mark.spec("EXE-26")
async def test_a_repeated_call_in_one_message_is_noticed_too() -> None:
    desk = Desk(saying("A", "a", DOING), gate=DecisionGate())
    await desk.begin(call("1", "A"), call("2", "A"), call("3", "A"))
    assert [question.call_id for question in desk.executor.questions] == ["3"]
    await desk.executor.discard()


@pytest.mark.spec("EXE-26")
async def test_after_an_answer_the_count_starts_again() -> None:
    desks = await messages(DecisionGate(), "A", "A", "A")
    ledger = desks[2].ledger
    desks[2].executor.answer(answer(desks[2].executor.questions[0], "yes"))
    await desks[2].rest()
    after = Desk(saying("A", "a", DOING), gate=DecisionGate(), ledger=ledger)
    await after.begin(call("c3", "A"))
    assert after.result("c3").code == "ok"


@pytest.mark.spec("EXE-26")
async def test_the_guard_counts_right_although_a_hook_takes_its_time() -> None:
    async def slow(_case: Case) -> None:
        await asyncio.sleep(0)

    desk = Desk(saying("A", "a", DOING), gate=DecisionGate((Check("hook", slow), *standard_checks())))
    await desk.begin(call("1", "A"), call("2", "A"), call("3", "A"))
    assert [question.call_id for question in desk.executor.questions] == ["3"]
    await desk.executor.discard()


@pytest.mark.spec("EXE-26")
async def test_after_a_new_message_of_a_person_the_count_starts_again() -> None:
    desks = await messages(DecisionGate(), "A", "A")
    desks[1].record.write(MessageAdded(0.0, Message("u1", "user", (Text("once more, please"),))))
    after = Desk(saying("A", "a", DOING), gate=DecisionGate(), ledger=desks[1].ledger)
    assert codes(await after.finish(call("c2", "A"))) == {"c2": "ok"}
