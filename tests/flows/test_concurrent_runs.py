"""Runs of one session at the same time: each gets the result of its own prompt, and no other."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from callgate import Answer, Interrupt, Prompt, Session, SessionLimits, tool
from callgate.conversation.feature import Feature, FeaturePart
from callgate.session.run import RunResult
from callgate.testing import ScriptedModel, call, fail, limit, say, settle, turn
from callgate.testing.script import ScriptedTurn
from callgate.words.errors import JournalError, ModelError
from callgate.words.inputs import Close, Steer, WithdrawPrompt
from callgate.words.limits import LoopLimits
from callgate.words.messages import Part, Text, Usage
from callgate.words.model import Request


def echo(request: Request) -> ScriptedTurn:
    """Answer with the last prompt."""
    from callgate.testing.script import stop

    said = [message.text for message in request.messages if message.role == "user"]
    return turn(say(f"re: {said[-1]}"), stop("end", Usage(output=10)))


@tool
def write(path: str) -> str:
    """Write a file."""
    return f"wrote {path}"


@pytest.mark.spec("TRN-16")
@pytest.mark.parametrize("many", [2, 3, 8])
async def test_each_run_gets_the_answer_to_its_own_prompt(many: int) -> None:
    async with Session(ScriptedModel(otherwise=echo)) as session:
        prompts = [f"number {n}" for n in range(many)]
        results = await asyncio.gather(*(session.run(prompt) for prompt in prompts))
    assert [result.text for result in results] == [f"re: {prompt}" for prompt in prompts]
    assert [result.usage.output for result in results] == [10] * many
    assert [[message.text for message in result.messages] for result in results] == [
        [prompt, f"re: {prompt}"] for prompt in prompts
    ]


@pytest.mark.spec("TRN-16")
async def test_a_run_that_waits_behind_other_prompts_gets_its_own_answer() -> None:
    async with Session(ScriptedModel(otherwise=echo)) as session:
        session.post("zero")
        session.post("one")
        assert (await session.run("two")).text == "re: two"


@pytest.mark.spec("TRN-16")
async def test_each_run_validates_its_own_answer_and_sends_it_back_before_the_next_prompt() -> None:
    model = ScriptedModel(
        turn(say("not a number")), turn(say("7")), turn(say('["a"]')), turn(say("plain")), turn(say('{"b": 1}'))
    )
    async with Session(model) as session:
        results: tuple[RunResult[Any], ...] = await asyncio.gather(
            session.run("a number", output=int),
            session.run("a list", output=list[str]),
            session.run("text"),
            session.run("an object", output=dict[str, int]),
        )
    assert [result.output for result in results] == [7, ["a"], "plain", {"b": 1}]
    assert "does not match" in model.requests[1].messages[-1].text
    assert [len(result.messages) for result in results] == [4, 2, 2, 2]


def _failing(request: Request) -> ScriptedTurn:
    return turn(fail(ModelError("no such model", kind="bad_request")))


@pytest.mark.spec("TRN-16")
async def test_a_run_that_fails_or_ends_at_a_limit_does_not_change_the_others() -> None:
    model = ScriptedModel(
        _failing, turn(say("two")), turn(say("a "), limit()), turn(say("b "), limit()), turn(say("four"))
    )
    async with Session(model, limits=SessionLimits(run=LoopLimits(max_turns=2))) as session:
        results = await asyncio.gather(*(session.run(name) for name in ("one", "two", "three", "four")))
    assert [(result.reason, result.text) for result in results] == [
        ("model_error", ""),
        ("done", "two"),
        ("limit", "a b "),
        ("done", "four"),
    ]


@pytest.mark.spec("TRN-16")
async def test_a_queued_run_waits_until_the_question_of_another_run_is_answered() -> None:
    model = ScriptedModel(turn(call("write", path="a")), turn(say("written")), turn(say("two")))
    async with Session(model, [write]) as session:
        first, second = asyncio.create_task(session.run("one")), asyncio.create_task(session.run("two"))
        asked = await first
        assert (asked.reason, asked.text) == ("question", "")
        await settle()
        assert not second.done()
        done = await session.run(Answer(asked.questions[0].yes()))
        assert (done.text, [each.text for each in done.calls]) == ("written", ["wrote a"])
        assert (await second).text == "two"


@pytest.mark.spec("TRN-16")
async def test_a_run_with_two_questions_ends_before_the_queued_run_begins() -> None:
    model = ScriptedModel(turn(call("write", path="a"), call("write", path="b")), turn(say("both")), turn(say("next")))
    async with Session(model, [write]) as session:
        result = await session.run("one")
        later = asyncio.create_task(session.run("two"))
        asked: list[str] = []
        while result.questions:
            asked.append(result.questions[0].arguments["path"])
            result = await session.run(Answer(result.questions[0].yes()))
        assert (asked, result.text) == (["a", "b"], "both")
        assert (await later).text == "next"


@pytest.mark.spec("TRN-16")
async def test_a_prompt_that_a_feature_refuses_is_the_refusal_of_its_own_run() -> None:
    class Refuses(FeaturePart):
        async def prompted(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | str:
            text = "".join(part.text for part in parts if isinstance(part, Text))
            return f"not {text}" if text.startswith("bad") else parts

    async with Session(
        ScriptedModel(otherwise=echo), features=[Feature("refuses", lambda opened: Refuses())]
    ) as session:
        results = await asyncio.gather(*(session.run(each) for each in ("bad one", "good", "bad two", "fine")))
    assert [(result.reason, result.text, result.error) for result in results] == [
        ("refused", "", "not bad one"),
        ("done", "re: good", ""),
        ("refused", "", "not bad two"),
        ("done", "re: fine", ""),
    ]


@pytest.mark.spec("TRN-16")
async def test_an_input_of_a_wrong_type_is_refused_alone() -> None:
    wrong: Any = Prompt(7)  # pyright: ignore[reportArgumentType]
    async with Session(ScriptedModel(otherwise=echo)) as session:
        good, bad = await asyncio.gather(session.run("one"), session.run(wrong))
    assert (good.text, bad.reason) == ("re: one", "refused")


@pytest.mark.spec("TRN-16")
async def test_a_withdrawn_prompt_is_refused_and_the_others_continue() -> None:
    model = ScriptedModel(turn(call("write", path="a")), turn(say("done")), turn(say("three")))
    async with Session(model, [write]) as session:
        first = await session.run("one")
        second, third = asyncio.create_task(session.run("two")), asyncio.create_task(session.run("three"))
        await settle()
        session.post(WithdrawPrompt(session.waiting[0].id))
        result = await second
        assert (result.reason, result.error) == ("refused", "the prompt was withdrawn")
        assert (await session.run(Answer(first.questions[0].yes()))).text == "done"
        assert (await third).text == "three"


ENDS: list[tuple[str, Callable[[Session], None], list[str]]] = [
    ("interrupt", lambda session: session.post(Interrupt()), ["interrupted", "done"]),
    ("close", lambda session: session.post(Close()), ["interrupted", "paused"]),
]


@pytest.mark.spec("TRN-16")
@pytest.mark.parametrize(("name", "act", "reasons"), ENDS, ids=[each[0] for each in ENDS])
async def test_an_interrupt_ends_the_run_under_way_and_no_other(
    name: str, act: Callable[[Session], None], reasons: list[str]
) -> None:
    begun = asyncio.Event()

    @tool(effects="none")
    async def hang() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    async with Session(ScriptedModel(turn(call("hang")), turn(say("two"))), [hang]) as session:
        first, second = asyncio.create_task(session.run("one")), asyncio.create_task(session.run("two"))
        await begun.wait()
        act(session)
        assert [(await each).reason for each in (first, second)] == reasons


@pytest.mark.spec("TRN-16")
async def test_a_cancelled_run_leaves_the_results_of_the_others_alone() -> None:
    async with Session(ScriptedModel(otherwise=echo)) as session:
        tasks = [asyncio.create_task(session.run(f"number {n}")) for n in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        assert [(await tasks[n]).text for n in (0, 2)] == ["re: number 0", "re: number 2"]


@pytest.mark.spec("TRN-16")
async def test_a_steering_message_belongs_to_the_run_under_way() -> None:
    begun, going = asyncio.Event(), asyncio.Event()

    @tool(effects="none")
    async def look() -> str:
        """Look."""
        begun.set()
        await going.wait()
        return "seen"

    model = ScriptedModel(turn(call("look")), turn(say("steered")), turn(say("two")))
    async with Session(model, [look]) as session:
        first, second = asyncio.create_task(session.run("one")), asyncio.create_task(session.run("two"))
        await begun.wait()
        third = asyncio.create_task(session.run(Steer("rather this")))
        going.set()
        assert [(await each).text for each in (first, second, third)] == ["steered", "two", "steered"]


async def test_every_waiting_run_raises_the_failure_of_the_session() -> None:
    class Fails(FeaturePart):
        async def prompted(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | str:
            raise JournalError("the disk is full")

    async with Session(ScriptedModel(otherwise=echo), features=[Feature("fails", lambda opened: Fails())]) as session:
        results = await asyncio.gather(session.run("one"), session.run("two"), return_exceptions=True)
        assert [str(result) for result in results] == ["the disk is full"] * 2


async def test_a_result_has_the_calls_the_refusals_and_the_messages_of_its_run() -> None:
    @tool(effects="none")
    def look(at: str) -> str:
        """Look."""
        return f"saw {at}"

    model = ScriptedModel(turn(call("look", at="a"), call("write", path="b")), turn(say("done")), turn(say("again")))
    async with Session(model, [look, write], mode="dont_ask") as session:
        result = await session.run("one")
        assert [(each.name, each.arguments, each.code) for each in result.calls] == [
            ("look", {"at": "a"}, "ok"),
            ("write", {"path": "b"}, "denied"),
        ]
        assert [each.name for each in result.refusals] == ["write"]
        assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]
        assert ((await session.run("two")).calls, session.status) == ((), "idle")
