"""The status of a session: paused by denials, and working again."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Continue, Nesting, Prompt, Session, SessionLimits
from callgate.assembly import DecisionGate
from callgate.assembly.settings import hooks_feature
from callgate.core.ports import Case, Check, Run
from callgate.policy.checks import standard_checks
from callgate.policy.entries import RuleLine
from callgate.policy.setting_rows import SettingValues
from callgate.testing import PlainTool, ScriptedModel, call, settle, turn
from callgate.words.decisions import Deny, Origin
from callgate.words.events import InputRefused
from callgate.words.inputs import Compact
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.traits import Traits, shared
from tests.core.kit import virtual_host
from tests.flows.gated import DONE, SRC, WRITES, hooked, of
from tests.flows.kit import Workspace

# ---- paused, and what hooks say of prompts ------------------------------------------------------------------------


@pytest.mark.spec("GATE-10")
async def test_a_prompt_that_a_hook_refuses_does_not_let_a_paused_agent_go_on(tmp_path: Path) -> None:
    async def picky(told: dict[str, Any]) -> dict[str, Any] | None:
        return {"decision": "block", "reason": "not that"} if told["prompt"] == "no" else None

    rules = (RuleLine("deny", "write", Origin("user")),)
    config = hooked(tmp_path, "UserPromptSubmit", rules=rules, settings=SettingValues(limits_denials_in_a_row=2))
    model = ScriptedModel(*[turn(call("write", path=f"{n}.py")) for n in range(4)], DONE)
    session = Session(
        model,
        Workspace().toolbox(),
        host=virtual_host(),
        config=config,
        features=[hooks_feature({"UserPromptSubmit": picky})],
    )
    await session.send(Prompt("go"))
    assert (session.status, len(model.requests)) == ("paused", 2)
    events = await session.send(Prompt("no"))
    assert of(events, InputRefused)
    asked, status = len(model.requests), session.status
    await session.aclose()
    assert (status, asked) == ("paused", 2)


@pytest.mark.spec("GATE-10")
async def test_a_paused_session_is_still_paused_once_it_was_compacted() -> None:
    def never(case: Case) -> Deny | None:
        return Deny("rule", "never") if case.name == "write" else None

    gate = DecisionGate([Check("rule", never), *standard_checks()])
    limits = LoopLimits(denials_in_a_row=1)
    session = Workspace().session(ScriptedModel(WRITES, DONE), gate=gate, limits=limits, summarize=lambda h, w: "short")
    await session.send(Prompt("go"))
    assert session.status == "paused"
    await session.send(Compact())
    assert session.status == "paused"
    await session.send(Continue())
    assert session.messages[-1].text == "Done."
    await session.aclose()


# ---- what a session says of itself --------------------------------------------------------------------------------


@pytest.mark.spec("GATE-9")
async def test_a_session_works_again_once_a_deadline_has_answered() -> None:
    seen: list[str] = []

    def then(_request: Any) -> Any:
        seen.append(session.status)
        return DONE

    model = ScriptedModel(WRITES, then)
    session = Session(
        model, Workspace().toolbox(), host=virtual_host(), limits=SessionLimits(calls=ExecutorSettings(patience=10.0))
    )
    await session.send(Prompt("go"), until="idle")
    await session.aclose()
    assert seen == ["working"]


@pytest.mark.spec("GATE-7")
async def test_a_session_works_again_once_an_answer_elsewhere_has_released_its_question() -> None:
    seen: list[str] = []

    def note(_arguments: Any, _run: Run) -> str:
        seen.append(child.status)
        return "written"

    tool = PlainTool("note", note, traits=Traits("mutating", shared))
    asks = turn(call("note", path="src/a.py"))
    parent = Session(ScriptedModel(asks, DONE), [PlainTool("note", traits=tool.traits({}))], host=virtual_host())
    child = Session(
        ScriptedModel(asks, DONE), [tool], host=virtual_host(), nesting=Nesting(parent=parent, label="child")
    )
    await child.send(Prompt("go"))
    await parent.send(Prompt("go"))
    await parent.send(Answer(parent.questions[0].always(SRC)), until="idle")
    await settle()
    await child.aclose()
    await parent.aclose()
    assert seen == ["working"]
