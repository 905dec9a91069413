"""Rules, hooks, checks and modes of every session around a nested session hold for its calls."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Nesting, Prompt, QuestionAsked, Session
from callgate.config import Config
from callgate.core.ports import Check
from callgate.policy.entries import RuleLine
from callgate.testing import ScriptedModel, call, settle, turn
from callgate.words.decisions import Allow, Ask, Deny, Origin
from callgate.words.events import CallDecided, CallSettled, InputRefused
from callgate.words.inputs import SetMode
from callgate.words.modes import MODES, Mode, strictest
from tests.core.kit import virtual_host
from tests.flows.gated import DONE, SRC, WRITES, hooked, of, session_of
from tests.flows.kit import Workspace

pytestmark = pytest.mark.spec("AGT-7")
ALLOWS = Check("allows", lambda case: Allow("allows"))


class AllowingGate:
    """A gate that allows every call."""

    def judge(self, case: Any) -> Allow:
        return Allow("anything")

    def judge_again(self, case: Any) -> None: ...
    def requested(self, case: Any, ask: Any) -> None: ...
    def remembered(self, case: Any, /) -> Allow:
        return Allow("anything")

    def choices(self, case: Any, /) -> tuple[Any, ...]:
        return ()

    def after(self, case: Any, result: Any) -> Any:
        return result


def ruled(folder: Path, effect: Any, rule: str, **more: Any) -> Config:
    return hooked(folder, rules=(RuleLine(effect, rule, Origin("user")),), **more)


GIVEN: dict[str, Callable[[Path], dict[str, Any]]] = {
    "nothing": lambda folder: {},
    "mode bypass": lambda folder: {"mode": "bypass"},
    "a check that allows": lambda folder: {"gate": [ALLOWS], "mode": "bypass"},
    "a gate that allows": lambda folder: {"gate": AllowingGate(), "mode": "bypass"},
    "rules that allow": lambda folder: {"config": ruled(folder, "allow", "write"), "mode": "bypass"},
}


def nested(parent: Session, space: Workspace, *turns: Any, levels: int = 1, **given: Any) -> list[Session]:
    """Sessions inside each other; the last one is given these options, and makes calls."""
    found: list[Session] = []
    for level in range(1, levels + 1):
        options = given if level == levels else {}
        model = ScriptedModel(*(turns or (WRITES, DONE)))
        found.append(
            Session(model, space.toolbox(), nesting=Nesting([parent, *found][-1], "x"), host=virtual_host(), **options)
        )
    return found


async def closed(*sessions: Session) -> None:
    for session in reversed(sessions):
        await session.aclose()


@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("given", GIVEN)
async def test_a_deny_rule_of_the_root_holds_whatever_the_nested_session_is_given(
    given: str, levels: int, tmp_path: Path
) -> None:
    space, root = Workspace(), session_of(Workspace(), ruled(tmp_path, "deny", "write"), {}, mode="bypass")
    inner = nested(root, space, levels=levels, **GIVEN[given](tmp_path))
    events = await inner[-1].send(Prompt("go"))
    decided = of(events, CallDecided)[0].decision
    assert isinstance(decided, Deny)
    assert decided.by == "write"
    assert space.done == []
    await closed(root, *inner)


@pytest.mark.parametrize("given", GIVEN)
async def test_a_session_that_asks_is_asked_about_calls_inside_it_whatever_these_are_given(
    given: str, tmp_path: Path
) -> None:
    space, root = Workspace(), session_of(Workspace(), hooked(tmp_path), {})
    inner = nested(root, space, **GIVEN[given](tmp_path))
    asked: list[QuestionAsked] = []
    async for event in inner[0].send(Prompt("go"), until="idle"):
        if isinstance(event, QuestionAsked):
            asked.append(event)
            assert space.done == []
            root.post(Answer(event.question.yes()))
    assert len(asked) == 1
    assert space.done == ["write a.py"]
    await closed(root, *inner)


async def test_what_the_root_allows_needs_no_question_unless_the_nested_session_is_stricter(tmp_path: Path) -> None:
    root = session_of(Workspace(), ruled(tmp_path, "allow", "write"), {})
    cases: Sequence[tuple[dict[str, Any], list[str]]] = (
        ({}, ["write a.py"]),
        ({"gate": [Check("late", lambda case: Ask("late"))]}, []),
        ({"gate": [Check("never", lambda case: Deny("never"))]}, []),
        ({"mode": "plan"}, []),
        ({"config": ruled(tmp_path, "ask", "write")}, []),
    )
    for options, done in cases:
        space = Workspace()
        inner = nested(root, space, **options)
        await inner[0].send(Prompt("go"))
        assert space.done == done, options
        await closed(*inner)
    await closed(root)


async def test_hooks_of_the_root_see_and_change_the_calls_of_nested_sessions(tmp_path: Path) -> None:
    seen: list[tuple[str, Any]] = []

    async def before(told: dict[str, Any]) -> dict[str, Any]:
        seen.append((told["hook_event_name"], told["agent_path"]))
        changed = {"path": "b.py"} if told["tool_input"]["path"] == "a.py" else {"path": ".git/config"}
        return {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": changed}}

    async def after(told: dict[str, Any]) -> dict[str, Any]:
        seen.append((told["hook_event_name"], told["agent_path"]))
        return {"hookSpecificOutput": {"additionalContext": "looked at"}}

    hooks: dict[str, Any] = {"PreToolUse": before, "PostToolUse": after}
    space, root = Workspace(), session_of(Workspace(), hooked(tmp_path, *hooks), hooks, mode="bypass")
    inner = nested(root, space, turn(call("write", path="a.py"), call("write", path="c.py")), DONE, levels=2)
    events = await inner[-1].send(Prompt("go"))
    assert space.done == ["write b.py"], "the other one would write a protected file, which is asked about"
    assert [each.question.arguments["path"] for each in of(events, QuestionAsked)] == [".git/config"]
    assert "looked at" in "".join(part.text for part in of(events, CallSettled)[0].result.content)
    assert seen[0] == ("PreToolUse", ["x", "x"])
    assert sorted(name for name, _ in seen) == ["PostToolUse", "PreToolUse", "PreToolUse"]
    await closed(root, *inner)


@pytest.mark.parametrize("own", [False, True])
async def test_a_hook_answers_questions_of_its_own_session_and_of_those_inside_it(own: bool, tmp_path: Path) -> None:
    async def approves(told: dict[str, Any]) -> dict[str, Any]:
        return {"decision": "approve"}

    hooks: dict[str, Any] = {"PermissionRequest": approves}
    rooted = hooked(tmp_path) if own else hooked(tmp_path, *hooks)
    space, root = Workspace(), session_of(Workspace(), rooted, hooks)
    if own:
        config = hooked(tmp_path, *hooks, rules=(RuleLine("allow", "read", Origin("user")),))
        inner = [session_of(space, config, hooks, WRITES, DONE, parent=root)]
    else:
        inner = nested(root, space)
    await inner[0].send(Prompt("go"))
    assert space.done == ([] if own else ["write a.py"]), "a hook inside answers no question of the root"
    await closed(root, *inner)


async def test_an_answer_remembered_around_or_inside_counts_for_both(tmp_path: Path) -> None:
    space, root = Workspace(), session_of(Workspace(), hooked(tmp_path), {})
    calls = turn(*(call("write", path=f"src/{name}.py") for name in "ab"))
    inner = nested(root, space, calls, DONE)
    asked = 0
    async for event in inner[0].send(Prompt("go"), until="idle"):
        if isinstance(event, QuestionAsked) and len(root.questions) == 2:
            asked += 1
            root.post(Answer(root.questions[0].always(SRC)))
    assert asked == 1
    cases: Sequence[dict[str, Any]] = ({}, {"config": ruled(tmp_path, "allow", "read")})
    for options in cases:
        later = nested(root, space, turn(call("write", path="src/c.py")), DONE, **options)
        assert not of(await later[0].send(Prompt("go")), QuestionAsked)
        await closed(*later)
    assert sorted(space.done) == ["write src/a.py", "write src/b.py", *["write src/c.py"] * 2]
    await closed(root, *inner)


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("wanted", MODES)
async def test_a_nested_session_is_never_in_a_looser_mode_than_the_one_around_it(outer: Mode, wanted: Mode) -> None:
    root = Session(ScriptedModel(), mode=outer)
    inner, follows = nested(root, Workspace(), mode=wanted)[0], nested(root, Workspace())[0]
    assert inner.mode == strictest(wanted, outer)
    assert MODES[inner.mode].strictness >= MODES[outer].strictness
    assert follows.mode == outer
    if outer == "plan":
        assert inner.mode == "plan"
    await closed(root, inner, follows)


async def test_a_nested_session_follows_when_the_mode_of_the_session_around_it_changes() -> None:
    root = Session(ScriptedModel(), mode="accept_edits")
    inner = nested(root, Workspace(), mode="bypass")[0]
    deeper = nested(inner, Workspace(), mode="dont_ask")[0]
    modes: list[tuple[Mode, Mode]] = [(inner.mode, deeper.mode)]
    for mode in ("plan", "bypass", "default"):
        await root.send(SetMode(mode))
        await settle()
        modes.append((inner.mode, deeper.mode))
    assert modes == [("accept_edits", "dont_ask"), ("plan", "plan"), ("bypass", "dont_ask"), ("default", "dont_ask")]
    (refused,) = of(await inner.send(SetMode("bypass")), InputRefused)
    assert "in mode default, which is stricter than bypass" in refused.reason
    await closed(root, inner, deeper)


async def test_no_question_is_asked_inside_a_session_that_never_asks() -> None:
    root, space = Session(ScriptedModel(), mode="dont_ask"), Workspace()
    late = Check("late", lambda case: Ask("late"))
    cases: Sequence[dict[str, Any]] = ({}, {"mode": "bypass"}, {"mode": "plan", "gate": [late]})
    for options in cases:
        inner = nested(root, space, **options)
        events = await inner[0].send(Prompt("go"))
        assert not of(events, QuestionAsked)
        assert isinstance(of(events, CallDecided)[0].decision, Deny)
        await closed(*inner)
    assert space.done == []
    await closed(root)
