"""Limits of a run on tool calls, and on consecutive failures of one tool."""

from typing import Any

import pytest

from callgate import Continue, Session, SessionLimits, ToolFailure, load_config, tool
from callgate.testing import ScriptedModel, call, say, turn
from callgate.testing.script import Scene
from callgate.words.limits import LoopLimits

ran: list[int] = []


@tool(effects="none")
async def act(n: int) -> str:
    """Act."""
    ran.append(n)
    if n < 0:
        raise ToolFailure("negative")
    return f"acted {n}"


@tool(effects="none")
async def other(n: int = 0) -> str:
    """Act differently."""
    ran.append(n)
    return "other"


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def _turns(*numbers: tuple[int, ...]) -> list[Scene]:
    return [turn(*(call("act", n=n) for n in each)) for each in numbers]


def _session(scenes: list[Scene], **limits: Any) -> Session:
    return Session(
        ScriptedModel(*scenes, otherwise=turn(say("done"))),
        [act, other],
        limits=SessionLimits(run=LoopLimits(**limits)),
    )


CALLS: list[tuple[str, list[Scene], int, str, list[int]]] = [
    ("under the limit", _turns((1,), (2,)), 3, "done", [1, 2]),
    ("at the limit", _turns((1,), (2,)), 2, "done", [1, 2]),
    ("one more", _turns((1,), (2,), (3,)), 2, "limit", [1, 2]),
    ("in one message", _turns((1, 2, 3, 4)), 2, "limit", [1, 2]),
    ("exactly one message", _turns((1, 2)), 2, "done", [1, 2]),
    ("over two messages", _turns((1, 2), (3, 4)), 3, "limit", [1, 2, 3]),
    ("one call", _turns((1,), (2,)), 1, "limit", [1]),
    ("calls that fail", _turns((-1,), (-2,), (3,)), 2, "limit", [-1, -2]),
    ("unknown tools", [turn(call("nothing"), call("act", n=1), call("act", n=2))], 2, "limit", [1]),
    ("invalid arguments", [turn(call("act", m=1), call("act", n=2)), turn(call("act", n=3))], 2, "limit", [2]),
]


@pytest.mark.spec("TRN-2")
async def test_a_run_makes_no_more_tool_calls_than_its_limit() -> None:
    wrong: list[str] = []
    for name, scenes, most, reason, done in CALLS:
        ran.clear()
        async with _session(scenes, max_tool_calls=most) as session:
            result = await session.run("go")
        if (result.reason, ran) != (reason, done):
            wrong.append(f"{name}: {result.reason} {ran}, not {reason} {done}")
        if reason == "limit" and ("tool calls" not in result.error or result.calls[-1].code != "limit"):
            wrong.append(f"{name}: {result.error!r} {result.calls[-1]}")
    assert not wrong, "\n".join(wrong)


FAILURES: list[tuple[str, list[Scene], int, str, list[int]]] = [
    ("as many as the limit", _turns((-1,), (-2,), (3,)), 2, "limit", [-1, -2]),
    ("fewer", _turns((-1,), (2,), (-3,)), 2, "done", [-1, 2, -3]),
    ("in one message", _turns((-1, -2), (3,)), 2, "limit", [-1, -2]),
    ("another tool between", [*_turns((-1,)), turn(call("other")), *_turns((-2,))], 2, "limit", [-1, 0, -2]),
    ("a success between", _turns((-1,), (2,), (-3,), (4,)), 2, "done", [-1, 2, -3, 4]),
    ("invalid arguments", [turn(call("act", m=1)), turn(call("act", m=2)), *_turns((3,))], 2, "limit", []),
    ("unknown tools", [turn(call("no")), turn(call("no")), *_turns((3,))], 2, "limit", []),
    ("two unknown tools", [turn(call("no")), turn(call("nor")), *_turns((3,))], 2, "done", [3]),
    ("one failure", _turns((-1,), (2,)), 1, "limit", [-1]),
    ("no limit", _turns((-1,), (-2,), (-3,), (-4,)), 9, "done", [-1, -2, -3, -4]),
]  # fmt: skip


@pytest.mark.spec("TRN-2")
async def test_a_run_ends_when_one_tool_fails_too_often_in_a_row() -> None:
    wrong: list[str] = []
    for name, scenes, most, reason, done in FAILURES:
        ran.clear()
        async with _session(scenes, max_failures=most) as session:
            result = await session.run("go")
        if (result.reason, ran) != (reason, done):
            wrong.append(f"{name}: {result.reason} {ran}, not {reason} {done}")
        if reason == "limit" and "times in a row" not in result.error:
            wrong.append(f"{name}: {result.error!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.spec("TRN-2")
async def test_the_limits_apply_to_each_run_anew() -> None:
    async with _session(
        [*_turns((1, 2)), turn(say("a")), *_turns((-3, 4)), turn(say("b"))], max_tool_calls=2
    ) as session:
        assert (await session.run("one")).reason == "done"
        assert (await session.run("two")).reason == "done"
    async with _session([*_turns((1,), (2,), (3,))], max_tool_calls=1) as session:
        assert (await session.run("one")).reason == "limit"
        assert (await session.run(Continue())).reason == "done"
    assert ran == [1, 2, -3, 4, 1, 3]


def test_the_settings_have_both_limits() -> None:
    config = load_config(values={"limits.max_tool_calls": 7, "limits.max_failures": 3})
    assert (config.limits.max_tool_calls, config.limits.max_failures) == (7, 3)
