"""The contract of ``session.call``: every stage is passed, one result, at most one effect, the truth after a crash."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from callgate import Answer, Prompt, Session, tool
from callgate.assembly import DecisionGate
from callgate.assembly.options import NO_MODEL
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Case, Check, Run
from callgate.testing import MemoryHost, PlainTool, ScriptedModel, call, say, settle, turn
from callgate.tools.staging import Callbacks, stage
from callgate.words.decisions import Deny
from callgate.words.errors import StateError, UsageError
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    Event,
    RunEnded,
    TurnEnded,
    TurnStarted,
)
from callgate.words.inputs import CancelCall, Continue, Interrupt
from callgate.words.messages import Text
from callgate.words.traits import Traits, shared
from tests.flows.kit import Workspace, check_history, results
from tests.sessions import grouped_session

STAGES = [CallArrived, CallDecided, CallStarted, CallSettled]


class Waiting:
    """A tool without effects that runs until the test opens it."""

    def __init__(self) -> None:
        self.begun, self.open = asyncio.Event(), asyncio.Event()

    @property
    def tool(self) -> PlainTool:
        return PlainTool("wait", self._run, traits=lambda arguments: Traits("none", shared))

    async def _run(self, arguments: Mapping[str, Any], run: Run) -> str:
        self.begun.set()
        await self.open.wait()
        return "waited"


def session_on(*turns: Any, more: tuple[PlainTool, ...] = (), mode: Any = "bypass", **options: Any) -> Session:
    """A session of two tools whose effects are in ``deps``."""
    space = Workspace()
    model = ScriptedModel(*turns) if turns else NO_MODEL
    return space.session(model, *more, mode=mode, deps=space.done, **options)


def recorded(events: list[Durable] | list[Event], call_id: str) -> list[type]:
    return [type(each) for each in events if getattr(each, "call_id", "") == call_id]


# ---- the stages -----------------------------------------------------------------------------------------------------


async def test_a_call_passes_every_stage_and_the_model_reads_its_result() -> None:
    journal = MemoryJournal()
    model = ScriptedModel(turn(say("Done.")))
    space = Workspace()
    async with space.session(model, mode="bypass", journal=journal) as session:
        result = await session.call("write", {"path": "a"}, by="tests", id="mine")
        assert (result.code, result.text, space.done) == ("ok", "written", ["write a"])
        assert recorded(journal.events, "mine") == STAGES
        await session.send(Prompt("go"))
        assert session.status == "idle"
        check_history(session.messages)
    made, *_ = (each for each in model.requests[0].messages if each.role == "assistant")
    assert (made.model, [each.id for each in made.calls]) == ("tests", ["mine"])
    told = "".join(each.text for each in model.requests[0].messages if each.role == "user")
    assert "made by tests, not by you" in told
    causes = [each.because for each in journal.events if isinstance(each, TurnStarted)]
    assert causes == ["call", "prompt"]
    assert len([each for each in journal.events if isinstance(each, RunEnded)]) == 1, "calls are no run"


@pytest.mark.parametrize(("answer", "code", "done"), [("yes", "ok", ["write a"]), ("no", "denied", [])])
async def test_a_question_about_a_call_is_asked_and_answered(answer: str, code: str, done: list[str]) -> None:
    async with session_on(mode="default") as session:
        calling = asyncio.ensure_future(session.call("write", {"path": "a"}, by="tests"))
        await settle()
        assert session.status == "waiting_confirmation"
        (question,) = session.questions
        session.post(Answer(question.yes() if answer == "yes" else question.no()))
        result = await calling
        assert (result.code, session.deps) == (code, done)


def denies(case: Case) -> Deny | None:
    return Deny("tests", "not this one") if case.name == "write" else None


async def test_a_check_denies_and_denials_of_programs_pause_no_model() -> None:
    async with session_on(gate=[Check("denies", denies)]) as session:
        for _ in range(10):
            assert (await session.call("write", {"path": "a"}, by="tests")).code == "denied"
        await settle()
        assert (session.deps, session.status) == ([], "idle")


async def test_a_hook_changes_the_result() -> None:
    gate = DecisionGate(after=[lambda case, result: replace(result, content=(Text("changed"),))])
    async with session_on(gate=gate) as session:
        assert (await session.call("read", {"path": "a"}, by="tests")).text == "changed"


async def test_an_unknown_tool_and_bad_arguments_are_results() -> None:
    async with session_on() as session:
        assert (await session.call("raed", {}, by="tests")).code == "unknown_tool"
        with pytest.raises(UsageError, match="not a JSON object"):
            await session.call("read", {"path": object()}, by="tests")
        with pytest.raises(UsageError, match="by="):
            await session.call("read", {"path": "a"}, by=" ")


async def test_a_call_stages_and_another_resolves_what_it_staged() -> None:
    applied: list[str] = []

    @tool(effects="none", stages=True)
    def propose() -> str:
        stage("the change", Callbacks(lambda reason: applied.append(reason)), source_tool_name="propose")
        return "shown"

    waiting = Waiting()
    async with grouped_session(NO_MODEL, [propose, waiting.tool], host=MemoryHost(), mode="bypass") as session:
        slow = asyncio.ensure_future(session.call("wait", by="tests"))
        await waiting.begun.wait()
        shown = await session.call("propose", by="tests")
        assert not applied
        (pending,) = shown.details["pending"]
        waiting.open.set()
        await slow
        arguments = {"action": "apply", "reason": "yes", "id": pending["id"]}
        assert (await session.call("resolve", arguments, by="tests")).code == "ok"
        assert (applied, session.pending) == (["yes"], ())


# ---- side by side ---------------------------------------------------------------------------------------------------


async def test_calls_of_one_program_overlap_and_a_failure_cancels_no_other() -> None:
    async def fails(arguments: Mapping[str, Any], run: Run) -> str:
        raise ValueError("no")

    waiting, failing = (
        Waiting(),
        PlainTool("fail", fails, traits=lambda arguments: Traits("none", shared, cascade=True)),
    )
    async with session_on(more=(waiting.tool, failing)) as session:
        slow = asyncio.ensure_future(session.call("wait", by="tests"))
        await waiting.begun.wait()
        assert (await session.call("fail", by="tests")).code == "tool_error"
        assert (await session.call("write", {"path": "a"}, by="tests")).code == "ok"
        waiting.open.set()
        assert (await slow).text == "waited"
        await settle()
        check_history(session.messages)
        assert [len(each.calls) for each in session.messages if each.calls] == [3], "they share a message"


async def test_calls_on_one_file_keep_their_order() -> None:
    async with session_on() as session:
        names = [str(number) for number in range(5)]
        await asyncio.gather(*(session.call("write", {"path": "a", "n": each}, by="tests") for each in names))
        assert session.deps == ["write a"] * 5
        check_history(session.messages)


async def test_during_a_turn_of_the_model_a_call_waits_for_its_end() -> None:
    waiting = Waiting()
    script = (turn(call("wait")), turn(say("Done.")))
    async with session_on(*script, more=(waiting.tool,)) as session:
        running = asyncio.ensure_future(session.run("go"))
        await waiting.begun.wait()
        calling = asyncio.ensure_future(session.call("write", {"path": "a"}, by="tests"))
        await settle()
        assert session.deps == []
        waiting.open.set()
        assert (await calling).code == "ok"
        assert (await running).ok
        check_history(session.messages)
        roles = [each.role for each in session.messages if each.calls or each.role == "assistant"]
        assert roles == ["assistant"] * 3
        assert results(session) == ["waited", "written"]


async def test_a_prompt_during_a_call_is_answered_after_it() -> None:
    waiting = Waiting()
    async with session_on(turn(say("Done.")), more=(waiting.tool,)) as session:
        calling = asyncio.ensure_future(session.call("wait", by="tests"))
        await waiting.begun.wait()
        running = asyncio.ensure_future(session.run("go"))
        await settle()
        waiting.open.set()
        assert (await calling).text == "waited"
        assert (await running).text == "Done."


async def test_a_tool_cannot_wait_for_a_call_of_its_own_session() -> None:
    found: list[Exception] = []

    async def calls(arguments: Mapping[str, Any], run: Run) -> str:
        try:
            await run.deps["session"].call("read", {"path": "a"}, by="tests")
        except StateError as error:
            found.append(error)
        return ""

    deps: dict[str, Any] = {}
    plain = PlainTool("calls", calls, traits=lambda arguments: Traits("none", shared))
    session = grouped_session(ScriptedModel(turn(call("calls")), turn(say(""))), [plain], host=MemoryHost(), deps=deps)
    async with session:
        deps["session"] = session
        await session.run("go")
    assert len(found) == 1


# ---- cancelled and closed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["task", "input", "interrupt", "close"])
async def test_a_cancel_ends_the_call_and_is_on_record(how: str) -> None:
    waiting, journal = Waiting(), MemoryJournal()
    session = session_on(more=(waiting.tool,), journal=journal)
    async with session:
        calling = asyncio.ensure_future(session.call("wait", by="tests", id="mine"))
        await waiting.begun.wait()
        if how == "task":
            calling.cancel()
        elif how == "close":
            await session.aclose()
        else:
            session.post(CancelCall("mine") if how == "input" else Interrupt())
        await asyncio.wait((calling,))
        assert calling.cancelled() == (how == "task")
        if how != "task":
            assert calling.result().code == "cancelled_by_user"
        await settle()
        assert session.status == ("closed" if how == "close" else "idle")
        check_history(session.messages)
    (settled,) = (each for each in journal.events if isinstance(each, CallSettled))
    assert settled.result.code == "cancelled_by_user"
    assert any(isinstance(each, TurnEnded) for each in journal.events)


async def test_a_call_that_waits_is_withdrawn_without_a_trace() -> None:
    waiting, journal = Waiting(), MemoryJournal()
    async with session_on(turn(call("wait")), turn(say("")), more=(waiting.tool,), journal=journal) as session:
        running = asyncio.ensure_future(session.run("go"))
        await waiting.begun.wait()
        calling = asyncio.ensure_future(session.call("write", {"path": "a"}, by="tests", id="mine"))
        await settle()
        session.post(CancelCall("mine"))
        assert (await calling).code == "cancelled_by_user"
        waiting.open.set()
        await running
    assert recorded(journal.events, "mine") == []


async def test_a_closed_session_makes_no_calls() -> None:
    session = session_on()
    await session.aclose()
    result = await session.call("write", {"path": "a"}, by="tests")
    assert (result.code, session.deps) == ("never_started", [])


def test_plain_code_makes_calls_too() -> None:
    with session_on() as session:
        assert session.call_sync("read", {"path": "a"}, by="tests").text == "content of a"


# ---- after a crash --------------------------------------------------------------------------------------------------


async def test_after_a_crash_at_any_write_each_effect_happened_at_most_once_and_the_log_tells_the_truth() -> None:
    journal = MemoryJournal()
    async with session_on(journal=journal) as session:
        await asyncio.gather(*(session.call("write", {"path": name}, by="tests", id=name) for name in "ab"))
    for written in range(1, len(journal.events) + 1):
        before = journal.events[:written]
        started = {each.call_id for each in before if isinstance(each, CallStarted)}
        settled = {each.call_id for each in before if isinstance(each, CallSettled)}
        arrived = {each.call_id for each in before if isinstance(each, CallArrived)}
        later = MemoryJournal(before)
        async with session_on(turn(say("Done.")), journal=later) as resumed:
            if resumed.status == "paused":
                await resumed.send(Continue())
            assert resumed.deps == [], f"write {written}: an effect happened again"
            assert resumed.status == "idle", written
            await resumed.send(Prompt("what happened?"))
            check_history(resumed.messages)
        codes = {each.call_id: each.result.code for each in later.events if isinstance(each, CallSettled)}
        for name in arrived:
            truth = "ok" if name in settled else "outcome_unknown" if name in started else "never_started"
            assert codes[name] == truth, f"write {written}, call {name}"


async def test_an_unfinished_turn_of_the_model_comes_first() -> None:
    journal = MemoryJournal()
    async with session_on(turn(call("write", path="a")), turn(say("Done.")), journal=journal) as session:
        await session.run("go")
    at = next(index for index, each in enumerate(journal.events) if isinstance(each, CallStarted))
    async with session_on(turn(say("Done.")), journal=MemoryJournal(journal.events[: at + 1])) as resumed:
        early = await resumed.call("write", {"path": "b"}, by="tests")
        assert (early.code, resumed.status) == ("never_started", "paused")
        await resumed.send(Continue())
        assert (await resumed.call("write", {"path": "b"}, by="tests")).code == "ok"
        assert resumed.deps == ["write b"]
