"""Effort: of a turn, of a session, on record, and of sessions inside others."""

from pathlib import Path

import pytest

from callgate import ModelSetup, Nesting, Prompt, Session, Store
from callgate.testing import ScriptedModel, say, turn
from callgate.words.events import EffortSet, InputRefused
from callgate.words.inputs import SetEffort
from callgate.words.model import RequestOptions, RunOptions
from tests.sessions import with_event


def model() -> ScriptedModel:
    return ScriptedModel(otherwise=turn(say("Done.")))


def asked(model: ScriptedModel) -> list[str | None]:
    return [request.options.effort for request in model.requests]


@pytest.mark.spec("EFF-4")
async def test_a_prompt_may_set_it_for_its_own_run_alone() -> None:
    scripted = model()
    async with Session(scripted) as session:
        await session.send(Prompt("a"))
        await session.send(Prompt("b", options=RunOptions(RequestOptions(effort="max"))))
        await session.send(Prompt("c"))
        assert asked(scripted) == [None, "max", None]
        assert session.effort is None


@pytest.mark.spec("EFF-3")
async def test_the_level_of_a_session_holds_until_it_is_changed_and_is_told() -> None:
    scripted = model()
    async with Session(ModelSetup(scripted, options=RequestOptions(effort="low", temperature=0.5))) as session:
        told: list[object] = []
        session.listen(with_event(told.append))
        await session.send(Prompt("a"))
        session.post(SetEffort("high"))
        await session.send(Prompt("b"))
        await session.send(Prompt("c", options=RunOptions(RequestOptions(effort="medium"))))
        session.post(SetEffort("auto"))
        await session.send(Prompt("d"))
        assert asked(scripted) == ["low", "high", "medium", "auto"]
        assert {request.options.temperature for request in scripted.requests} == {0.5}
        assert [event.effort for event in told if isinstance(event, EffortSet)] == ["high", "auto"]


@pytest.mark.spec("EFF-3")
async def test_the_level_is_on_record_and_comes_back_on_resume(tmp_path: Path) -> None:
    store = Store(tmp_path / "work", tmp_path / "data")
    async with Session(model(), journal=await store.create()) as session:
        session.post(SetEffort("xhigh"))
        await session.send(Prompt("a"))
        kept = session.id
    scripted = model()
    async with Session(
        ModelSetup(scripted, options=RequestOptions(effort="low")), journal=await store.open(kept)
    ) as resumed:
        assert resumed.effort == "xhigh"
        await resumed.send(Prompt("b"))
        assert asked(scripted) == ["xhigh"]


async def test_a_level_that_there_is_not_is_refused() -> None:
    async with Session(model()) as session:
        refused = [event async for event in session.send(SetEffort("huge")) if isinstance(event, InputRefused)]  # pyright: ignore
        assert session.effort is None
        assert len(refused) == 1


@pytest.mark.spec("EFF-3")
@pytest.mark.spec("EFF-4")
async def test_sessions_inside_inherit_the_level_of_the_session_and_not_that_of_a_turn() -> None:
    async with Session(model()) as outer:
        outer.post(SetEffort("low"))
        await outer.send(Prompt("a", options=RunOptions(RequestOptions(effort="max"))))
        inner, named = model(), model()
        async with Session(inner, nesting=Nesting(parent=outer, label="helper")) as helper:
            await helper.send(Prompt("b"))
        async with Session(
            ModelSetup(named, options=RequestOptions(effort="high")), nesting=Nesting(parent=outer, label="other")
        ) as other:
            await other.send(Prompt("c"))
        assert (asked(inner), asked(named)) == (["low"], ["high"])
