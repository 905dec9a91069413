"""Standing handlers: what a ``resolve`` does while nothing is pending, and when ``resolve`` is listed at all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Prompt, Session, tool
from callgate.staging.toolbox import DefaultHandler
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin.plan import plan_tools
from callgate.words.calls import Display, Result
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.inputs import SetMode
from callgate.words.messages import Text
from callgate.words.traits import Traits, shared
from tests.flows.keep import run
from tests.flows.resolving.kit import NOTHING, Bench, answering, apply, discard, stages
from tests.sessions import grouped_session

pytestmark = pytest.mark.spec("RES-17")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def deploys(heard: list[Any], **more: Any) -> DefaultHandler:
    def apply(reason: str, extra: Any) -> str:
        heard.append(("apply", reason, extra))
        return "deployed"

    def reject(reason: str) -> None:
        heard.append(("reject", reason))

    return DefaultHandler("the deployment", apply, reject, **{"traits": Traits(judged_as="Deploy"), **more})


def test_with_nothing_pending_the_handler_of_the_session_takes_the_resolve(bench: Bench) -> None:
    heard: list[Any] = []

    async def main() -> None:
        scenes = turn(apply(extra={"to": "prod"})), turn(discard("not today"))
        told = await bench.run(*scenes, standing=[deploys(heard)])
        assert told["call_1"].text == "deployed"
        assert told["call_1"].display == (Display("text", "fine", "Accepted: the deployment"),)
        assert told["call_1"].details["sourceToolName"] == "Deploy"
        assert told["call_2"].text == "Discarded: the deployment. Reason: not today"

    run(main())
    assert heard == [("apply", "fine", {"to": "prod"}), ("reject", "not today")]


def test_what_is_pending_comes_before_a_standing_handler(bench: Bench) -> None:
    heard: list[Any] = []
    bench.put("rename", bench.callbacks("rename"))

    async def main() -> None:
        await bench.run(turn(stages("rename")), turn(apply()), turn(apply("now that")), standing=[deploys(heard)])

    run(main())
    assert bench.ran == ["apply rename"]
    assert [each[1] for each in heard] == ["now that"]


@pytest.mark.parametrize(
    ("rule", "code"), [({"deny": ["Deploy"]}, "denied"), ({"allow": ["Deploy"]}, "ok"), ({"allow": ["resolve"]}, "no")]
)
def test_the_rules_of_the_tool_it_names_judge_it(bench: Bench, rule: Mapping[str, Any], code: str) -> None:
    heard: list[Any] = []

    async def main() -> None:
        config = bench.settings(**rule)
        told = await bench.run(turn(apply()), replies=answering("no"), standing=[deploys(heard)], config=config)
        assert told["call_1"].code == ("denied" if code == "no" else code)
        assert [each.tool for each in bench.questions()] == (["Deploy"] if code == "no" else [])

    run(main())
    assert bool(heard) == (code == "ok")


def test_its_question_shows_the_extra_that_shows_makes_and_apply_gets_the_same(bench: Bench) -> None:
    heard: list[Any] = []

    def shows(extra: Any) -> dict[str, Any]:
        if not extra or "to" not in extra:
            raise ToolFailure("say where to, extra.to")
        return {"to": extra["to"], "plan": f"three services to {extra['to']}"}

    async def main() -> None:
        scenes = turn(apply()), turn(apply(extra={"to": "prod"}))
        handler = deploys(heard, shows=shows)
        told = await bench.run(*scenes, replies=answering("yes"), standing=[handler], mode="default")
        assert told["call_1"].code == "invalid_arguments"
        assert "extra.to" in told["call_1"].text
        (question,) = bench.questions()
        assert (question.tool, question.through) == ("Deploy", "resolve")
        assert question.arguments["extra"]["plan"] == "three services to prod"

    run(main())
    assert heard == [("apply", "fine", {"to": "prod", "plan": "three services to prod"})]


def test_a_handler_of_a_mode_stands_in_that_mode_alone(bench: Bench) -> None:
    heard: list[Any] = []
    handler = deploys(heard, modes=("accept_edits",), traits=Traits("none", shared))

    async def main() -> None:
        async with bench.open(turn(apply("early")), turn(say("no")), turn(apply("now")), standing=[handler]) as session:
            await bench.say(Prompt("go"))
            session.post(SetMode("accept_edits"))
            await bench.say(Prompt("go"))
        assert [result.text for result in bench.results().values()] == [NOTHING, "deployed"]

    run(main())
    assert [each[1] for each in heard] == ["now"]


def test_a_person_can_be_asked_each_time_and_the_first_handler_that_stands_counts(bench: Bench) -> None:
    heard: list[Any] = []
    asks = deploys(heard, traits=Traits("none", shared, requires_interaction=True, judged_as="Deploy"))
    other = DefaultHandler("another", lambda reason: heard.append(("another", reason)))

    async def main() -> None:
        async with bench.open(turn(apply("a")), turn(apply("b")), standing=[asks, other]) as session:
            await bench.say(Prompt("go"))
            while session.questions:
                await bench.say(Answer(session.questions[0].yes()))

    run(main())
    assert [each[:2] for each in heard] == [("apply", "a"), ("apply", "b")]


@pytest.mark.spec("RES-18")
def test_what_a_handler_displays_is_below_its_block(bench: Bench) -> None:
    shown = Display("text", "three services", "Deployed")
    handler = DefaultHandler("it", lambda _reason: Result((Text("ok"),), (shown,)))

    async def main() -> None:
        told = await bench.run(turn(apply()), standing=[handler])
        assert told["call_1"].display == (Display("text", "fine", "Accepted: it"), shown)

    run(main())


@pytest.mark.spec("RES-16")
def test_a_handler_that_cannot_be_called_is_refused_when_the_session_is_made(bench: Bench) -> None:
    for wrong in (DefaultHandler("x", lambda: None), DefaultHandler(" ", lambda _reason: None)):
        with pytest.raises(UsageError):
            bench.open(standing=[wrong])


# ---- when ``resolve`` is listed -------------------------------------------------------------------------------------


@tool(effects="none")
def look() -> str:
    """Look."""
    return "seen"


def listed(model: ScriptedModel) -> list[bool]:
    return ["resolve" in [spec.name for spec in request.tools] for request in model.requests]


@pytest.mark.parametrize(
    ("options", "there"),
    [
        ({"tools": [look]}, False),
        ({"tools": []}, False),
        ({"tools": [look, *plan_tools()]}, True),
        ({"tools": [look], "mode": "plan"}, True),
        ({"tools": [look], "standing": [DefaultHandler("x", lambda _reason: None)]}, True),
        ({"tools": [tool(lambda: "seen", name="look", description="Look.", effects="none", stages=True)]}, True),
    ],
    ids=["plain", "none", "plan tools", "plan mode", "standing", "stages"],
)
def test_resolve_is_listed_where_something_can_be_resolved_and_the_array_never_changes(
    options: dict[str, Any], there: bool
) -> None:
    async def main() -> None:
        calls = () if not options["tools"] else (call("look"),)
        model = ScriptedModel(turn(*calls, say("hm")), turn(say("so")), turn(say("bye")))
        async with grouped_session(model, **options) as session:
            await session.send(Prompt("go"))
            session.post(SetMode("plan" if session.mode == "default" else "default"))
            await session.send(Prompt("on"))
        assert listed(model) == [there] * len(model.requests)
        assert all(request.tools == model.requests[0].tools for request in model.requests)

    run(main())


@pytest.mark.spec("RES-2")
def test_a_resolve_that_is_not_listed_is_told_that_nothing_is_pending() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(apply()), turn(say("oh")))
        async with Session(model, [look]) as session:
            await session.send(Prompt("go"))
            results = [part for message in session.messages if message.role == "tool" for part in message.parts]
        assert NOTHING in str(results)

    run(main())


def test_the_description_of_resolve_is_short() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(say("hm")))
        async with Session(model, plan_tools()) as session:
            await session.send(Prompt("go"))
        (spec,) = (each for each in model.requests[0].tools if each.name == "resolve")
        assert len(spec.description) < 300

    run(main())
