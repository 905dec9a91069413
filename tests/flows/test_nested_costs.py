"""Tokens and dollars of nested sessions: they count in every session around them, and against its limits."""

from typing import Any

import pytest

from callgate import ModelSetup, Nesting, Prompt, Session, SessionLimits
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Run
from callgate.testing import PlainTool, ScriptedModel, call, say, stop, turn
from callgate.words.events import AgentSpent, Forked, RunEnded
from callgate.words.inputs import SetTitle
from callgate.words.limits import LoopLimits
from callgate.words.messages import Usage
from callgate.words.traits import Traits
from callgate.words.turns import Counted
from tests.core.kit import virtual_host

pytestmark = pytest.mark.spec("AGT-7")


def price(name: str, usage: Usage) -> float:
    return usage.output / 1_000


def answers(text: str, output: int) -> Any:
    return turn(say(text), stop("end", Usage(output=output)))


def delegates(output: int, **arguments: Any) -> Any:
    return turn(call("delegate", **arguments), stop("tool_calls", Usage(output=output)))


class Tree:
    """A root session whose call ``delegate`` opens a session inside it, and so on, one level for each of ``used``."""

    def __init__(self, *used: int, limits: LoopLimits | None = None, inner: LoopLimits | None = None) -> None:
        self.sessions: list[Session] = []
        self.journals: list[MemoryJournal] = []
        self.ends: list[RunEnded] = []
        self.used = used
        self.inner = inner
        self.root = self.open(0, None, MemoryJournal(session="root"), limits)

    def open(self, level: int, parent: Session | None, journal: MemoryJournal, limits: LoopLimits | None) -> Session:
        async def delegate(arguments: Any, run: Run) -> str:
            inner = self.open(level + 1, session, MemoryJournal(session=f"s{level + 1}"), self.inner)
            async with inner:
                events = await inner.send(Prompt("help"))
            self.ends += [event for event in events if isinstance(event, RunEnded)]
            return "helped"

        used, tools = self.used[level], [PlainTool("delegate", delegate, traits=Traits("none"))]
        last = level + 1 == len(self.used)
        model = (
            ScriptedModel(otherwise=answers("Done.", used))
            if last
            else ScriptedModel(delegates(used), answers("Done.", used))
        )
        session = Session(
            ModelSetup(model, price=price), tools, host=virtual_host(), journal=journal,
            nesting=Nesting(parent), limits=SessionLimits(limits),
        )  # fmt: skip
        self.sessions.append(session)
        self.journals.append(journal)
        return session


async def test_the_costs_of_a_nested_session_are_costs_of_every_session_around_it() -> None:
    tree = Tree(100, 20, 3)
    result = await tree.root.run("go")
    assert [session.usage.output for session in tree.sessions] == [243, 43, 3]
    assert [session.cost for session in tree.sessions] == pytest.approx([0.243, 0.043, 0.003])
    assert result.cost == pytest.approx(0.243)
    assert [(spent.model, spent.usage.output) for spent in result.costs] == [("scripted", 243)]
    await tree.root.aclose()


@pytest.mark.parametrize("charged", [0, 1, 2, 3])
async def test_costs_that_a_crash_kept_from_the_record_are_charged_when_the_session_is_opened_again(
    charged: int,
) -> None:
    tree = Tree(100, 20, 3)
    await tree.root.run("go")
    await tree.root.aclose()
    lost = [event for event in tree.journals[0].events if isinstance(event, AgentSpent)][charged:]
    assert len(lost) == 3 - charged
    kept = [event for event in tree.journals[0].events if event not in lost]
    root = Session(ScriptedModel(), host=virtual_host(), journal=MemoryJournal(kept, session="root"))
    assert root.cost == pytest.approx(0.243 - sum(event.spent.cost or 0.0 for event in lost))
    model = ModelSetup(ScriptedModel(answers("Done.", 7)), price=price)
    journal = MemoryJournal(tree.journals[1].events, session="s1")
    async with Session(model, journal=journal, nesting=Nesting(root, name="agent")) as inner:
        assert inner.path == ("agent",)
        await inner.run("again")
    assert root.cost == pytest.approx(0.25)
    await root.aclose()


async def test_a_fork_does_not_charge_for_what_it_copied() -> None:
    tree = Tree(100, 20)
    await tree.root.run("go")
    copied = [*tree.journals[1].events, Forked(0.0, "s1", Counted(2, 1, Usage(output=20)))]
    async with Session(ScriptedModel(), journal=MemoryJournal(copied), nesting=Nesting(tree.root)) as inner:
        await inner.send(SetTitle("a fork"))
    assert tree.root.cost == pytest.approx(0.22)
    await tree.root.aclose()


@pytest.mark.parametrize(
    ("limits", "kind"), [(LoopLimits(max_cost=1.0), "dollars"), (LoopLimits(max_output_tokens=800), "output tokens")]
)
async def test_a_limit_of_the_root_ends_the_session_that_would_pass_it(limits: LoopLimits, kind: str) -> None:
    tree = Tree(300, 300, 300, limits=limits)
    ended = [event for event in await tree.root.send(Prompt("go")) if isinstance(event, RunEnded)]
    assert [each.kind for each in (*tree.ends, *ended)] == ["", kind, kind]
    around = ["This is a limit of the parent session." in each.sentence for each in (*tree.ends, *ended)]
    assert around == [False, True, False]
    assert tree.root.cost == pytest.approx(0.9)
    await tree.root.aclose()
