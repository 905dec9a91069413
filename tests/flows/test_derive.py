"""``Session.derive`` opens a session inside another with its parts, without naming them again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import ModelSetup, Run, Session, SessionLimits, tool
from callgate.features import search_feature
from callgate.testing import ScriptedModel, call, say, stop, turn
from callgate.tools.builtin import builtin_tools
from callgate.words.limits import ExecutorSettings, LoopLimits
from callgate.words.messages import Usage
from tests.core.kit import virtual_host

pytestmark = pytest.mark.spec("AGT-7")


@tool(effects="none")
async def look(run: Run[Any]) -> str:
    """Look around."""
    return f"looked with {run.deps}"


@tool(effects="none")
async def rare() -> str:
    """Do something that is seldom done."""
    return "done"


async def test_a_derived_session_has_the_parts_of_the_session_around_it() -> None:
    model = ScriptedModel(otherwise=turn(say("Done."), stop("end", Usage(output=10))))
    root = Session(
        ModelSetup(model, price=lambda name, usage: usage.output / 10),
        [look],
        features=[search_feature([rare], "on")],
        system="Be brief.",
        host=virtual_host(),
        deps="lamp",
        limits=SessionLimits(LoopLimits(max_turns=7), ExecutorSettings(max_concurrency=2)),
    )
    inner = root.derive("helper")
    assert (inner.path, inner.model, inner.controls.host, inner.deps) == (
        ("helper",),
        root.model,
        root.controls.host,
        "lamp",
    )
    assert inner.tool_names == root.tool_names
    assert [each.name for each in inner.controls.deferred_specs] == ["rare"]
    assert (await inner.run("go")).cost == pytest.approx(1.0)
    assert model.requests[-1].system == "Be brief."
    assert root.cost == pytest.approx(1.0)
    await inner.aclose()
    await root.aclose()


async def test_a_derived_session_is_given_other_parts_by_name() -> None:
    root = Session(ScriptedModel(), [look], system="Be brief.", host=virtual_host(), deps="lamp")
    own = ScriptedModel(turn(call("rare")), turn(say("Done.")))
    inner = root.derive("helper", model=own, tools=[rare], system="Be slow.", deps="torch", mode="plan")
    await inner.run("go")
    assert (inner.deps, inner.mode, own.requests[0].system) == ("torch", "plan", "Be slow.")
    assert [each.name for each in own.requests[0].tools if each.name != "resolve"] == ["rare"]
    await inner.aclose()
    await root.aclose()


@pytest.mark.parametrize("used_before", [False, True])
def test_the_state_of_a_tool_is_that_of_its_own_session(used_before: bool, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    moves, tells, done = turn(call("Bash", command="cd sub")), turn(call("Bash", command="pwd")), turn(say("Done."))

    async def main() -> None:
        model = ScriptedModel(tells, done, tells, done)
        root = Session(model, builtin_tools("Bash"), host=tmp_path, mode="bypass")
        if used_before:
            await root.run("go")
        inner = root.derive("helper", model=ScriptedModel(moves, done))
        await inner.run("go")
        await root.run("go")
        assert (root.controls.folder, inner.controls.folder) == (None, str(tmp_path / "sub"))
        results = "".join(str(message.parts) for message in root.messages if message.role == "tool")
        assert str(tmp_path) in results
        assert str(tmp_path / "sub") not in results
        await inner.aclose()
        await root.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))
