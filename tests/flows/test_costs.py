"""Costs and measures: on record with each turn, kept by model for the whole session."""

from pathlib import Path
from typing import Any

import pytest

from callgate import ModelSetup, Prompt, Session, Store
from callgate.testing import PlainTool, ScriptedModel, call, pause, run_virtual, say, turn
from callgate.testing.script import stop
from callgate.words.events import Event, QuestionAsked, TurnEnded
from callgate.words.inputs import Compact, Rewind, SetModel
from callgate.words.messages import Spent, Usage
from callgate.words.model import RequestOptions, RunOptions
from callgate.words.traits import Traits
from tests.core.kit import virtual_host
from tests.flows.kit import Workspace, answering, run
from tests.virtual import passes


def price(model: str, usage: Usage) -> float | None:
    return {"a": 0.5, "b": 2.0}[model] * usage.output


def done(output: int, read: int = 0, written: int = 0) -> Any:
    return turn(say("Done."), stop("end", Usage(output=output, cache_read=read, cache_write=written)))


def turns(events: list[Event]) -> list[TurnEnded]:
    return [event for event in events if isinstance(event, TurnEnded)]


@pytest.mark.spec("TRN-6")
def test_usage_and_cost_are_kept_per_turn_session_and_model() -> None:
    async def main() -> None:
        one, two = ScriptedModel(done(10), done(30), name="a"), ScriptedModel(done(5), name="b")
        async with Session(ModelSetup(one, models=[two], price=price)) as session:
            (first,) = turns(await run(session))
            assert first.spent == Spent("a", Usage(output=10), 5.0)
            session.post(SetModel("b"))
            await run(session)
            session.post(SetModel("a"))
            await run(session)
            assert session.costs == (Spent("a", Usage(output=40), 20.0), Spent("b", Usage(output=5), 10.0))
            assert (session.cost, session.usage.output) == (30.0, 45)

    run_virtual(main())


@pytest.mark.spec("TRN-6")
def test_costs_survive_a_restart_a_rewind_and_a_fork(tmp_path: Path) -> None:
    async def main() -> None:
        store = Store(tmp_path / "kept")

        def model() -> ScriptedModel:
            return ScriptedModel(otherwise=done(10), name="a")

        async with Session(ModelSetup(model(), price=price), journal=await store.create(), host=tmp_path) as session:
            await run(session)
            await run(session)
            await session.send(Rewind(session.messages[2].id))
            assert [spent.cost for spent in session.costs] == [10.0]
            await run(session)
        async with Session(ModelSetup(model(), price=price), journal=await store.open(), host=tmp_path) as session:
            assert (session.cost, session.usage.output) == (15.0, 30)
            identity = session.id
        forked = await store.fork(identity)
        async with Session(ModelSetup(model(), price=price), journal=forked, host=tmp_path) as session:
            await run(session)
            assert session.costs == (Spent("a", Usage(output=40), 20.0),)

    run_virtual(main())


@pytest.mark.spec("TRN-6")
def test_the_summary_of_a_compaction_is_paid_for_too() -> None:
    async def main() -> None:
        summary = turn(say("In short."), stop("end", Usage(output=100)))
        model = ScriptedModel(done(10), done(10), summary, done(10), name="a")
        async with Session(ModelSetup(model, price=price)) as session:
            await run(session)
            await run(session)
            await session.send(Compact())
            await run(session)
            assert (session.cost, session.usage.output) == (65.0, 130)

    run_virtual(main())


@pytest.mark.spec("TRN-6")
def test_a_title_that_a_model_wrote_is_paid_for_too() -> None:
    async def main() -> None:
        cheap = ScriptedModel(turn(say("Greetings"), stop("end", Usage(output=3))), name="b")
        own = ScriptedModel(done(10), name="a")
        async with Session(ModelSetup(own, cheap=cheap, price=price), host=virtual_host()) as session:
            await run(session)
            await passes(60.0)  # it is written a moment later
            assert session.title == "Greetings"
            assert session.costs == (Spent("a", Usage(output=10), 5.0), Spent("b", Usage(output=3), 6.0))

    run_virtual(main())


@pytest.mark.spec("TRN-12")
def test_a_turn_has_its_times_on_record() -> None:
    async def main() -> None:
        async def slow(arguments: Any, run: Any) -> str:
            await passes(3.0)
            return "done"

        tools = [PlainTool("look", slow, traits=Traits("none")), PlainTool("change", slow, traits=Traits())]
        scene = turn(pause(2.0), say("a", over=4.0), call("look"), call("look", n=2), call("change"))
        ended = stop("tool_calls", Usage(output=80, cache_read=7, cache_write=3))
        model = ScriptedModel(turn(*scene.steps, ended), done(1), name="a", clock=(host := virtual_host()).clock)
        async with Session(ModelSetup(model, price=price), tools, host=host) as session:
            events: list[Event] = []
            async for event in session.send(Prompt("go")):
                events.append(event)
                if isinstance(event, QuestionAsked):
                    await passes(100.0)
                answering(session, event)
            first, _ = turns(events)
            assert first.measures is not None
            assert first.spent is not None
            assert first.measures.first_token == pytest.approx(2.0)
            assert first.measures.tokens_per_second == pytest.approx(80 / 4)
            assert first.measures.tools == pytest.approx(6.0)
            assert first.measures.people == pytest.approx(100.0, abs=4.0)
            assert (first.spent.usage.cache_read, first.spent.usage.cache_write) == (7, 3)

    run_virtual(main())


@pytest.mark.spec("TRN-12")
def test_the_part_that_changed_is_named_when_a_cache_is_missed() -> None:
    async def main() -> None:
        hit, miss = done(1, read=100), done(1, written=100)
        model = ScriptedModel(hit, miss, hit, miss, hit, miss, hit, miss, name="a")
        async with Workspace().session(model) as session:
            lost: list[str] = []
            last = "m0"

            async def ask(prompt: Prompt | str) -> None:
                nonlocal last
                (ended,) = turns(await session.send(prompt))
                assert ended.measures is not None
                lost.append(ended.measures.cache_lost)
                last = session.messages[-2].id

            await ask("1")
            await ask(Prompt("2", RunOptions(RequestOptions(effort="low"))))
            await ask("3")
            await ask("4")
            await ask("5")
            await session.send(Rewind(last))
            await ask("other")
        assert lost == ["", "options", "", "no change: the cache expired", "", "message 9"]

    run_virtual(main())
