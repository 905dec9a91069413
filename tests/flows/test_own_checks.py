"""Checks of an embedder beside the rules of a config, or in the default gate."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Allow, Ask, Case, Check, DecisionGate, Deny, Session, load_config, tool
from callgate.features import Feature, FeaturePart
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.errors import UsageError
from tests.sessions import grouped_session


@tool
def write(path: str) -> str:
    """Write a file."""
    return f"wrote {path}"


@tool(effects="none")
def look(path: str) -> str:
    """Look at a file."""
    return f"saw {path}"


def only_tmp(case: Case) -> Allow | Ask | Deny | None:
    path = str(case.arguments.get("path", ""))
    answers = {"tmp": Allow("only_tmp"), "etc": Deny("only_tmp", "not there"), "home": Ask("only_tmp", "sure?")}
    return answers.get(path.partition("/")[0])


async def only_tmp_later(case: Case) -> Allow | Ask | Deny | None:
    return only_tmp(case)


def session(path: str, name: str = "write", **options: Any) -> Session:
    model = ScriptedModel(turn(call(name, path=path)), turn(say("done")))
    return grouped_session(model, [write, look], **options)


async def outcome(opened: Session) -> str:
    async with opened as session:
        result = await session.run("go")
        if result.questions:
            return f"asks: {result.questions[0].by}"
        part: Any = session.messages[-2].parts[0]
        return "denied" if part.is_error else part.content[0].text


@pytest.mark.parametrize("judge", [only_tmp, only_tmp_later])
async def test_own_checks_decide_in_the_default_gate_and_beside_a_config(tmp_path: Path, judge: Any) -> None:
    checks = [Check("only_tmp", judge)]
    config = load_config(tmp_path, home=tmp_path, environ={}, managed=tmp_path / "none")
    every: list[dict[str, Any]] = [{"root": tmp_path}, {"config": config}]
    for options in every:
        assert await outcome(session("tmp/a", gate=checks, **options)) == "wrote tmp/a"
        assert await outcome(session("etc/a", "look", gate=checks, **options)) == "denied"
        assert await outcome(session("home/a", "look", gate=checks, **options)) == "asks: only_tmp"
        assert await outcome(session("other", gate=checks, **options)) == "asks: default"
        assert await outcome(session("other", "look", gate=checks, **options)) == "saw other"


async def test_an_own_check_lifts_no_deny_and_no_ask_rule_and_no_plan_mode(tmp_path: Path) -> None:
    def config(**rules: Any) -> Any:
        return load_config(tmp_path, home=tmp_path, environ={}, managed=tmp_path / "none", **rules)

    checks = [Check("all", lambda case: Allow("all"))]
    assert await outcome(session("a", gate=checks, config=config())) == "wrote a"
    assert await outcome(session("a", gate=checks, config=config(deny=["write"]))) == "denied"
    assert await outcome(session("a", gate=checks, config=config(ask=["write"]))) == "asks: write"
    assert await outcome(session("a", gate=checks, config=config(mode="plan"))) == "denied"


async def test_a_deny_of_an_own_check_stands_where_an_allow_rule_or_a_mode_allows(tmp_path: Path) -> None:
    options: dict[str, Any] = {"home": tmp_path, "environ": {}, "managed": tmp_path / "none"}
    checks = [Check("none", lambda case: Deny("none", "no"))]
    for config in (load_config(tmp_path, allow=["write"], **options), load_config(tmp_path, mode="bypass", **options)):
        assert await outcome(session("a", gate=checks, config=config)) == "denied"


class _WithCheck(FeaturePart):
    def __init__(self, check: Check) -> None:
        self.checks = (check,)


def test_a_gate_of_ones_own_takes_no_further_checks_and_no_config(tmp_path: Path) -> None:
    check = Check("all", lambda case: Allow("all"))
    with pytest.raises(UsageError, match=r"pass gate=\[Check\(…\)\]"):
        session("a", gate=DecisionGate(), features=[Feature("own", lambda opened: _WithCheck(check))])
    config = load_config(tmp_path, home=tmp_path, environ={}, managed=tmp_path / "none")
    with pytest.raises(UsageError, match=r"a config creates the gate; gate=\[Check\(…\)\] adds your own"):
        session("a", gate=DecisionGate(), config=config)
    not_checks: Any = [lambda case: None]
    with pytest.raises(UsageError, match=r"checks must be Check\(name, judge\), not function"):
        session("a", gate=not_checks)
