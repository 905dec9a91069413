"""What goes wrong in a program that uses Callgate is said at once, in one line, with what to do instead."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from callgate import (
    Allow,
    Answer,
    CallgateError,
    ChangeSet,
    DecisionGate,
    FileChange,
    Prompt,
    QuestionAsked,
    Session,
    ToolCall,
    ToolCallRunner,
    shared,
    tool,
    writes,
)
from callgate.assembly import Executor
from callgate.assembly.runner import RunOutcome
from callgate.formats.jsonable import from_json, to_json
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, ScriptedModel, call, run_virtual, say, turn
from callgate.words.decisions import ApprovalPolicy, Confirmation
from callgate.words.errors import StateError, UsageError
from callgate.words.events import InputRefused, PromptQueued, RunEnded
from callgate.words.inputs import SetMode
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Opaque
from callgate.words.model import Abilities, MessageEnded, Request
from callgate.words.traits import Traits
from tests.flows.kit import Workspace
from tests.sessions import grouped_session

ran: list[Any] = []


@tool(locks=shared)
async def act(n: int) -> str:
    """Do something."""
    ran.append(n)
    return "done"


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def asked(*numbers: int) -> tuple[ToolCallRunner, RunOutcome]:
    runner = ToolCallRunner([act], host=MemoryHost())
    return runner, run_virtual(runner.execute([ToolCall(str(n), "act", {"n": n}) for n in numbers]))


@pytest.mark.spec("RUN-4")
@pytest.mark.parametrize("outcome", ["No", "NO", "deny", "Yes", "", None, False, True])
def test_an_answer_that_is_not_one_of_the_three_runs_nothing(outcome: Any) -> None:
    runner, out = asked(1)
    answer = Confirmation("1", outcome, out.questions[0].arguments_hash)
    after = run_virtual(runner.execute(out.still_needs_approval, [answer]))
    assert ran == []
    assert [refused.confirmation for refused in after.refused] == [answer]
    assert "yes, yes_always or no" in after.refused[0].reason
    assert len(after.still_needs_approval) == 1


@pytest.mark.spec("RUN-4")
def test_answers_that_were_not_taken_come_back_with_the_reason() -> None:
    runner, out = asked(1, 2)
    first, second = out.questions
    given = [
        Confirmation("1", "yes", second.arguments_hash),
        Confirmation("2", "yes", second.arguments_hash, arguments={"n": "x"}),
        Confirmation("3", "yes", first.arguments_hash),
    ]
    after = run_virtual(runner.execute(out.still_needs_approval, given))
    reasons = {refused.confirmation.call_id: refused.reason for refused in after.refused}
    assert "arguments that differ" in reasons["1"]
    assert "invalid" in reasons["2"]
    assert "unknown call 3" in reasons["3"]
    assert ran == []


@pytest.mark.spec("RUN-1", "RUN-7")
def test_an_allow_that_comes_back_with_other_arguments_is_judged_anew() -> None:
    look = PlainTool("look", lambda arguments, run: ran.append(arguments) or "seen", traits=Traits("none"))
    runner = ToolCallRunner(PlainToolbox(look, PlainTool("act", look.run, traits=Traits())), host=MemoryHost())
    out = run_virtual(runner.execute([ToolCall("1", "act"), ToolCall("2", "look")]))
    stored = to_json(out)
    assert stored["held"][0]["decision"]["type"] == "Allow"
    stored["held"][0] |= {"name": "act", "arguments": {"n": 666}}
    tampered = from_json(RunOutcome, stored)
    yes = tampered.questions[0].yes()
    after = run_virtual(runner.execute(tampered.still_needs_approval + tampered.held, [yes]))
    assert [call.id for call in after.still_needs_approval] == ["2"]
    assert not any(isinstance(each, dict) and each.get("n") == 666 for each in ran)


def test_a_decision_that_a_caller_makes_up_is_not_believed() -> None:
    runner = ToolCallRunner([act], host=MemoryHost())
    out = run_virtual(runner.execute([ToolCall("9", "act", {"n": 9}, decision=Allow("me"))]))
    assert len(out.questions) == 1
    assert ran == []


def test_question_makes_its_own_answers() -> None:
    runner, out = asked(1, 2, 3)
    one, two, three = out.questions
    given = [one.always(), two.no("not now"), three.yes({"n": 30})]
    after = run_virtual(runner.execute(out.still_needs_approval, given))
    assert ran == [1, 30]
    assert after.failed[0].code == "denied"
    assert "not now" in after.failed[0].text
    assert after.new_policies[0].pattern is not None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: ToolCallRunner(cast(Any, act)), "list of tools"),
        (lambda: ToolCallRunner(cast(Any, None)), "list of tools"),
        (lambda: DecisionGate(cast(Any, [lambda case: None])), "Check(name, judge)"),
        (lambda: ToolCallRunner([act], mode=cast(Any, "Plan")), "unknown mode 'Plan'"),
        (lambda: ToolCallRunner([act], host="/no/such/folder"), "not a folder"),
        (lambda: Session(cast(Any, None), [act]), "not a Model"),
        (lambda: Session(cast(Any, 7), [act]), "lacks name, abilities, stream"),
        (lambda: Session("gpt", [act]), "there is no model 'gpt'"),
        (lambda: Session(ScriptedModel(), mode=cast(Any, "yolo")), "unknown mode"),
        (lambda: Executor([act], settings=ExecutorSettings(max_concurrency=0)), "max_concurrency"),
        (lambda: Executor([act], settings=ExecutorSettings(max_concurrency=cast(Any, "4"))), "max_concurrency"),
        (lambda: Executor([act], settings=ExecutorSettings(grace=-1)), "grace"),
        (lambda: Executor([act], settings=ExecutorSettings(start=cast(Any, "late"))), "start"),
        (lambda: from_json(ToolCall, "text"), "invalid JSON for ToolCall"),
        (
            lambda: from_json(Confirmation, {"call_id": "1", "outcome": "No", "arguments_hash": "x"}),
            "'No' is not one of",
        ),
        (lambda: tool(act._fn, effect="none"), "did you mean effects"),  # type: ignore[call-overload]
    ],
)
def test_a_mistake_is_named_where_it_is_made(wrong: Any, words: str) -> None:
    with pytest.raises(CallgateError, match=words.replace("(", r"\(").replace(")", r"\)")):
        wrong()


@pytest.mark.parametrize(
    ("calls", "confirmations", "policies", "words"),
    [
        (ToolCall("1", "act"), (), (), "list of ToolCall"),
        ([{"id": "1"}], (), (), "a dict in it"),
        ([ToolCall("1", "act"), ToolCall("1", "act")], (), (), "twice"),
        ([], Confirmation("1", "yes", "h"), (), "list of Confirmation"),
        ([], (), [ApprovalPolicy(cast(Any, "Deny"), "act")], "allow, ask or deny"),
    ],
)
def test_a_batch_that_is_none_is_refused(calls: Any, confirmations: Any, policies: Any, words: str) -> None:
    runner = ToolCallRunner([act], host=MemoryHost())
    with pytest.raises(UsageError, match=words):
        run_virtual(runner.execute(calls, confirmations, policies))


class Odd:
    """A model that does one thing wrong."""

    name = "odd"
    abilities = Abilities()

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def stream(self, request: Request) -> Any:
        return self._stream()


async def _text() -> AsyncIterator[Any]:
    yield "hello"


async def _stop() -> AsyncIterator[Any]:
    yield MessageEnded(cast(Any, "stop"))


async def _coroutine() -> str:
    return "hello"


@pytest.mark.parametrize(
    ("stream", "words"), [(_text, "streamed str"), (_stop, "not a valid stop reason"), (_coroutine, "async generator")]
)
def test_a_model_that_keeps_no_contract_is_told_which(stream: Any, words: str) -> None:
    async def main() -> None:
        async with Session(Odd(stream), host=MemoryHost()) as session:
            events = await session.send(Prompt("x"))
            (ended,) = [event for event in events if isinstance(event, RunEnded)]
            assert ended.reason == "model_error"
            assert words in ended.detail

    run_virtual(main())


def test_a_mode_with_a_typo_is_refused_and_the_old_one_stays() -> None:
    async def main() -> None:
        async with Session(ScriptedModel(), host=MemoryHost(), mode="plan") as session:
            (event,) = await session.send(SetMode(cast(Any, "Plan")))
            assert isinstance(event, InputRefused)
            assert "plan" in event.reason

    run_virtual(main())


@pytest.mark.spec("TOOL-4", "EXE-1")
@pytest.mark.parametrize("mode", ["default", "accept_edits"])
def test_a_preview_reaches_no_file_that_its_locks_do_not_name(mode: Any, tmp_path: Path) -> None:
    @tool(locks=lambda a: writes(a.path), preview=lambda path: ChangeSet("x", (FileChange("other.txt", None, b"x"),)))
    async def edit(path: str) -> None:
        """Edit."""

    runner = ToolCallRunner([edit], host=tmp_path, mode=mode)
    out = run_virtual(runner.execute([ToolCall("1", "edit", {"path": "a.txt"})]))
    assert out.failed[0].code == "tool_error"
    assert "other.txt" in out.failed[0].text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("TOOL-4", "CALL-4")
def test_a_change_that_was_refused_has_had_no_effects(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    @tool(locks=lambda a: writes(a.path), preview=lambda path: ChangeSet("x", (FileChange(path, b"old", b"new"),)))
    async def edit(path: str) -> None:
        """Edit."""

    runner = ToolCallRunner([edit], host=tmp_path)
    out = run_virtual(runner.execute([ToolCall("1", "edit", {"path": "a.txt"})]))
    target.write_text("other")
    after = run_virtual(runner.execute(out.still_needs_approval, [out.questions[0].yes()]))
    result = after.failed[0].result
    assert result is not None
    assert result.effects == "none"
    assert target.read_text() == "other"


def test_two_readers_of_one_reply_both_end() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel(turn(say("one two three")))) as session:
            reply = session.send(Prompt("x"))

            async def read() -> int:
                return len([event async for event in reply])

            counts = await asyncio.gather(read(), read())
            assert sum(counts) > 3

    run_virtual(main())


def test_a_reply_until_idle_goes_on_past_questions_that_another_door_answers() -> None:
    async def main() -> None:
        space = Workspace()
        async with space.session(ScriptedModel(turn(call("write", path="a")), turn(say("ok")))) as session:

            async def door() -> None:
                async for found in session.events():
                    if isinstance(found.event, QuestionAsked):
                        await asyncio.sleep(0)
                        session.post(Answer(found.event.question.yes()))

            answering = asyncio.create_task(door())
            await asyncio.sleep(0)
            await session.send(Prompt("go"), until="idle")
            assert space.done == ["write a"]
        await answering

    run_virtual(main())


def test_a_door_that_stays_hears_everything_until_the_end() -> None:
    async def main() -> None:
        space = Workspace()
        session = space.session(ScriptedModel(turn(call("write", path="a")), turn(say("ok"))))
        heard: list[str] = []

        async def door() -> None:
            heard.extend([type(found.event).__name__ async for found in session.events()])

        listening = asyncio.create_task(door())
        await asyncio.sleep(0)
        await session.send(Prompt("go"))
        (queued,) = [event for event in await session.send(Prompt("more")) if isinstance(event, PromptQueued)]
        assert [each.id for each in session.waiting] == [queued.id]
        session.post(Answer(session.questions[0].no(stop=True)))
        await session.aclose()
        await listening
        assert heard[-1] == "StatusChanged"
        assert "QuestionAnswered" in heard

    run_virtual(main())


class Live:
    """An object that can be copied, and yet is not to be."""


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"system": 5}, "system= must be str"),
        ({"system": ["a"]}, "system= must be str"),
        ({"limits": 5}, "run= must be LoopLimits"),
        ({"settings": 5}, "calls= must be ExecutorSettings"),
        ({"parent": 5}, "parent= must be Conversation"),
        ({"host": 5}, "int is not a Host"),
        ({"context": 5}, "requires a mapping"),
        ({"context": {"db": Live()}}, "deps="),
        ({"context": {"db": {1, 2}}}, "deps="),
        ({"context": {"db": Path("x")}}, "deps="),
        ({"context": {"db": float("nan")}}, "deps="),
        ({"context": {5: "x"}}, "deps="),
        ({"context": {"x": {5: "x"}}}, "deps="),
    ],
    ids=lambda value: repr(value)[:40].partition(" at 0x")[0],
)
def test_an_option_of_another_kind_is_refused_with_what_it_takes(options: Any, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        grouped_session(ScriptedModel(turn(say("x"))), [act], **options)
    assert text in str(caught.value)


@pytest.mark.parametrize("after", ["3", -1, 2.5, 10**9, True], ids=repr)
async def test_a_position_that_the_session_never_had_is_refused_at_once(after: Any) -> None:
    async with Session(ScriptedModel(turn(say("x"))), [act], host=MemoryHost()) as session:
        with pytest.raises(UsageError, match="must be a position of this session"):
            session.events(after=after)


def test_a_session_that_was_closed_says_so_to_plain_code() -> None:
    with Session(ScriptedModel(turn(say("x"))), [act]) as session:
        assert session.run_sync("go").text == "x"
    with pytest.raises(StateError, match="the session is closed"):
        session.run_sync("again")


@pytest.mark.parametrize("output", [object, lambda: 5], ids=["object", "function"])
def test_an_output_that_takes_anything_is_refused(output: Any) -> None:
    with (
        Session(ScriptedModel(turn(say("x"))), [act]) as session,
        pytest.raises(UsageError, match="not a type for an answer"),
    ):
        session.run_sync("go", output=output)


async def test_a_prompt_that_json_does_not_keep_is_refused() -> None:
    async with Session(ScriptedModel(turn(say("x"))), [act], host=MemoryHost()) as session:
        odd: list[Any] = [{"a": float("nan")}, {5: "a"}, {"a": {1, 2}}]
        for data in odd:
            events = await session.send(Prompt(cast(Any, (Opaque("p", data),))))
            assert any(isinstance(event, InputRefused) for event in events), data


async def test_an_answer_without_a_decision_is_refused_where_it_is_made() -> None:
    async with Session(ScriptedModel(turn(call("act", n=1))), [act], host=MemoryHost()) as session:
        (question,) = (await session.run("go")).questions
        for given in (question, None, True, "yes", question.call_id, {"call_id": "a"}):
            with pytest.raises(UsageError, match=r"Answer takes a decision, not a \w+: Answer\(question\.yes\(\)\)"):
                Answer(cast(Any, given))
        assert session.questions == (question,)
