"""Attempts of nested sessions to pass the rules, the modes and the questions of their parent sessions."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Nesting, Prompt, Session
from callgate.config import Config
from callgate.core.ports import Check, Hooked
from callgate.policy.entries import RuleLine
from callgate.testing import ScriptedModel, settle
from callgate.words.calls import Result, Status
from callgate.words.decisions import Allow, Ask, Origin
from callgate.words.errors import StateError
from callgate.words.events import InputRefused
from callgate.words.inputs import SetMode
from callgate.words.modes import Mode
from tests.core.kit import virtual_host
from tests.flows.gated import DONE, WRITES, hooked, of, session_of
from tests.flows.kit import Workspace
from tests.flows.test_nested_restrictions import AllowingGate, closed

pytestmark = pytest.mark.spec("AGT-7")
TEA, GOLD = {"path": "tea"}, {"path": "gold"}


def ruled(folder: Path, *rules: tuple[Any, str], events: tuple[str, ...] = (), **more: Any) -> Config:
    lines = tuple(RuleLine(effect, rule, Origin("user")) for effect, rule in rules)
    return hooked(folder, *events, rules=lines, **more)


def inside(parent: Session, space: Workspace, *turns: Any, **given: Any) -> Session:
    nesting = Nesting(parent, "x")
    return Session(ScriptedModel(*turns), space.toolbox(), nesting=nesting, host=virtual_host(), **given)


async def ordered(root: Session, session: Session, answer: Callable[[Any], Any] | None = None) -> tuple[Result, Any]:
    """The result of a call in the session, and the question about it that reaches the root; its answer is no."""
    calling = asyncio.ensure_future(session.call("write", TEA, by="x"))
    asked = None
    while not calling.done():
        await settle()
        if root.questions and asked is None:
            asked = root.questions[0]
            root.post(Answer((answer or (lambda question: question.no("no")))(asked)))
    return await calling, asked


class Changing(AllowingGate):
    """A gate that orders gold in place of tea, at one of the steps of a gate."""

    def __init__(self, step: str) -> None:
        self.step = step

    def judge(self, case: Any) -> Any:
        if self.step == "judge":
            return Allow("own", arguments=GOLD)
        return Ask("own", "?", arguments=GOLD if self.step == "ask" else None)

    def judge_again(self, case: Any) -> Any:
        return Allow("own", arguments=GOLD) if self.step == "again" else None

    def requested(self, case: Any, ask: Any) -> Any:
        async def allowed() -> Allow:
            return Allow("own", arguments=GOLD)

        return allowed() if self.step == "requested" else None

    def remembered(self, case: Any, /) -> Any:
        return None


async def before(told: Mapping[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": GOLD}}


CHANGING: dict[str, Callable[[Path], dict[str, Any]]] = {
    "a check with the answer of hooks": lambda folder: {"gate": [Check("h", lambda case: Hooked(arguments=GOLD))]},
    "a check that allows": lambda folder: {"gate": [Check("h", lambda case: Allow("h", arguments=GOLD))]},
    "a gate that allows": lambda folder: {"gate": Changing("judge")},
    "a gate that asks": lambda folder: {"gate": Changing("ask")},
    "a gate that answers the question": lambda folder: {"gate": Changing("requested")},
}


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("effect", ["ask", "deny", ""])
@pytest.mark.parametrize("given", CHANGING)
async def test_arguments_that_a_nested_session_changes_are_judged_by_all_parent_sessions(
    given: str, effect: str, levels: int, tmp_path: Path
) -> None:
    rules = [("allow", "write(path=tea)"), *([(effect, "write(path=gold)")] if effect else [])]
    space, root = Workspace(), session_of(Workspace(), ruled(tmp_path, *rules), {})
    between = [inside(root, space)] if levels == 2 else []
    child = inside([root, *between][-1], space, **CHANGING[given](tmp_path))
    result, asked = await ordered(root, child)
    assert space.done == []
    assert result.status is Status.CANCELLED
    assert (asked is None) == (effect == "deny")
    await closed(root, *between, child)


@pytest.mark.parametrize("effect", ["ask", "allow"])
async def test_arguments_that_a_hook_of_a_nested_session_changes_are_judged_by_the_root(
    effect: str, tmp_path: Path
) -> None:
    rules = [("allow", "write(path=tea)"), (effect, "write(path=gold)")]
    space, root = Workspace(), session_of(Workspace(), ruled(tmp_path, *rules), {})
    config = ruled(tmp_path, ("allow", "write"), events=("PreToolUse",))
    child = session_of(space, config, {"PreToolUse": before}, parent=root)
    _, asked = await ordered(root, child)
    assert (asked and asked.arguments) == (GOLD if effect == "ask" else None)
    assert space.done == (["write gold"] if effect == "allow" else [])
    await closed(root, child)


async def test_sessions_that_change_the_arguments_of_each_other_get_a_denial(tmp_path: Path) -> None:
    space, root = Workspace(), Session(ScriptedModel(), gate=[Check("tea", lambda case: Allow("", arguments=TEA))])
    child = inside(root, space, gate=[Check("gold", lambda case: Allow("", arguments=GOLD))])
    result, _ = await ordered(root, child)
    assert result.status is Status.CANCELLED
    assert space.done == []
    await closed(root, child)


@pytest.mark.parametrize("when", ["before", "while it is open"])
async def test_plan_mode_of_a_middle_session_holds_in_a_session_with_its_own_gate(when: str, tmp_path: Path) -> None:
    space, root = Workspace(), session_of(Workspace(), ruled(tmp_path, ("allow", "write")), {})
    middle = inside(root, space, mode="plan" if when == "before" else None)
    deepest = inside(middle, space, gate=AllowingGate() if when == "before" else Changing("never"), mode="plan")

    def answer(question: Any) -> Any:
        middle.post(SetMode("plan"))
        return question.yes()

    result, asked = await ordered(root, deepest, answer)
    assert (asked is None) == (when == "before")
    assert result.status is Status.CANCELLED
    assert space.done == []
    await closed(root, middle, deepest)


@pytest.mark.parametrize("own", ["plan", None])
async def test_a_question_outside_of_calls_is_not_asked_inside_a_session_that_never_asks(own: Mode | None) -> None:
    root = Session(ScriptedModel(), mode="dont_ask")
    child = inside(root, Workspace(), WRITES, DONE, mode=own)
    deepest = inside(child, Workspace(), mode="plan")
    for session in (child, deepest):
        assert await asyncio.wait_for(session.ask(by="x", text="May I?"), 2) is None
    assert root.questions == ()
    await closed(root, child, deepest)


async def test_a_session_that_is_closed_closes_the_sessions_inside_it() -> None:
    space, root = Workspace(), Session(ScriptedModel())
    middle = inside(root, space)
    deepest = inside(middle, space)
    calling = asyncio.ensure_future(deepest.call("write", TEA, by="x"))
    await settle()
    assert [question.path for question in root.questions] == [deepest.path]
    await middle.aclose()
    assert deepest.status == "closed"
    assert root.questions == ()
    assert (await calling).status is Status.CANCELLED
    with pytest.raises(StateError):
        inside(middle, space)
    assert space.done == []
    await closed(root, middle, deepest)


def test_a_session_in_a_thread_is_closed_in_its_thread_when_its_parent_session_is_closed() -> None:
    space = Workspace()

    async def main() -> None:
        root, asked = Session(ScriptedModel()), asyncio.Event()
        child = inside(root, space, WRITES, DONE)

        async def work() -> None:
            await child.send(Prompt("go"))
            here.call_soon_threadsafe(asked.set)
            await child.events()

        here = asyncio.get_running_loop()
        working = asyncio.ensure_future(asyncio.to_thread(lambda: asyncio.run(work())))
        await asked.wait()
        await root.aclose()
        await working
        assert child.status == "closed"

    asyncio.run(asyncio.wait_for(main(), 20))
    assert space.done == []


def test_a_session_whose_loop_stands_still_cannot_work_after_its_parent_session_is_closed() -> None:
    space = Workspace()

    async def main() -> None:
        root = Session(ScriptedModel())
        child = inside(root, space, WRITES, DONE)

        async def asks() -> None:
            await child.send(Prompt("go"))

        async def answers() -> None:
            await child.send(Answer(child.questions[0].yes()), until="idle")
            assert of(await child.send(Prompt("again")), InputRefused)

        runner = asyncio.Runner()
        await asyncio.to_thread(lambda: runner.run(asks()))
        await root.aclose()
        await asyncio.to_thread(lambda: runner.run(answers()))
        await asyncio.to_thread(lambda: runner.run(child.aclose()))
        await asyncio.to_thread(runner.close)

    asyncio.run(asyncio.wait_for(main(), 20))
    assert space.done == []
