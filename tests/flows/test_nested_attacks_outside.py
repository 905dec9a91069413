"""A nested session cannot leave the restrictions around it by features, answers, prices, folders or settings."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from callgate import Answer, ModelSetup, Nesting, Session, SessionLimits
from callgate.conversation.record import MemoryJournal
from callgate.session.nesting import nesting_feature
from callgate.session.user_questions import questions_feature
from callgate.testing import PlainTool, ScriptedModel, call, say, stop, turn
from callgate.words.calls import Result
from callgate.words.decisions import ApprovalPolicy, Confirmation, Question
from callgate.words.errors import UsageError
from callgate.words.events import PolicyAdded
from callgate.words.limits import LoopLimits
from callgate.words.messages import Usage
from callgate.words.traits import Traits
from tests.core.kit import virtual_host

pytestmark = pytest.mark.spec("AGT-7")


class Orders:
    """A tool that changes something; ``done`` lists its calls."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.tool = PlainTool("order", self._order, traits=Traits("mutating"))

    async def _order(self, arguments: Any, run: Any) -> str:
        self.done.append(arguments["what"])
        return "ordered"


async def called(root: Session, session: Session, name: str, **arguments: Any) -> tuple[Result, Question | None]:
    """Call a tool in the nested session and answer a question with no. Return the result and the question."""
    return await answered(root, session, lambda question: question.no("no"), name, **arguments)


async def answered(
    root: Session, session: Session, answer: Callable[[Question], Confirmation], name: str, **arguments: Any
) -> tuple[Result, Question | None]:
    """Call a tool in the nested session and answer a question at the root. Return the result and the question."""
    task = asyncio.ensure_future(session.call(name, arguments, by="test"))
    question: Question | None = None
    while not task.done():
        await asyncio.wait([task], timeout=0.01)
        if root.questions and question is None:
            question = root.questions[0]
            root.post(Answer(answer(question)))
    return await task, question


@pytest.mark.parametrize("feature", [nesting_feature(None), questions_feature()], ids=lambda each: each.name)
async def test_the_features_that_connect_sessions_cannot_be_replaced(feature: Any) -> None:
    async with Session(ScriptedModel(), host=virtual_host()) as root:
        with pytest.raises(UsageError, match="cannot be replaced"):
            root.derive(features=[feature])


@pytest.mark.parametrize("levels", [1, 2])
async def test_an_answer_in_a_log_from_elsewhere_does_not_count_in_the_sessions_around(levels: int) -> None:
    orders, journal = Orders(), MemoryJournal([PolicyAdded(1.0, ApprovalPolicy("allow", "order"))])
    async with Session(ScriptedModel(), [orders.tool], host=virtual_host()) as root:
        nested = Session(ScriptedModel(), [orders.tool], nesting=Nesting(root), journal=journal)
        inner = nested if levels == 1 else nested.derive()
        _, question = await called(root, inner, "order", what="tea")
        assert question is not None
        assert orders.done == []
        assert not root.nesting.policies
        await inner.aclose()
        await nested.aclose()


async def test_an_answer_given_in_a_nested_session_counts_in_the_whole_tree() -> None:
    orders = Orders()
    async with Session(ScriptedModel(), [orders.tool], host=virtual_host()) as root:
        nested = root.derive()
        inner = nested.derive()
        assert (await answered(root, inner, lambda each: each.always(), "order", what="tea"))[1] is not None
        for session in (inner, nested, root):
            assert (await called(root, session, "order", what="tea"))[1] is None
        assert orders.done == ["tea"] * 4
        await inner.aclose()
        await nested.aclose()


async def test_an_unknown_price_in_a_nested_session_is_the_price_of_the_session_around() -> None:
    noop = PlainTool("noop", lambda arguments, run: "done", traits=Traits("none"))
    turns = [turn(call("noop", n=n), stop("tool_calls", Usage(output=100))) for n in range(8)]
    setup = ModelSetup(ScriptedModel(), price=lambda name, usage: usage.output / 1_000)
    limits = SessionLimits(LoopLimits(max_cost=0.25))
    async with Session(setup, [noop], host=virtual_host(), limits=limits) as root:
        model = ModelSetup(ScriptedModel(*turns, otherwise=turn(say("Done."))), price=lambda name, usage: None)
        async with root.derive(model=model, limits=SessionLimits()) as nested:
            result = await nested.run("go")
        assert result.reason == "budget"
        assert root.cost == nested.cost == pytest.approx(0.1)  # what is left pays too few tokens for a request
