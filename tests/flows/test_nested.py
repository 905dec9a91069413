"""Sessions inside the calls of other sessions: their questions reach the doors of the root."""

from collections.abc import Mapping
from typing import Any

import pytest

from callgate import Answer, Prompt, QuestionAsked, Session
from callgate.core.ports import Run
from callgate.testing import MemoryHost, PlainTool, ScriptedModel, call, say, turn
from callgate.words.decisions import Choice, Pattern
from callgate.words.events import Event, InputRefused, QuestionAnswered
from callgate.words.traits import Traits, shared
from tests.flows.kit import Workspace
from tests.sessions import grouped_session

pytestmark = pytest.mark.spec("GATE-8")


class Office:
    """A root session whose tool ``delegate`` runs a session of its own, which may delegate again."""

    def __init__(self, depth: int = 1, wide: int = 1) -> None:
        self.space = Workspace()
        self.depth = depth
        self.told: list[Event] = []
        calls = [call("delegate", to="reviewer", path=f"{n}.py") for n in range(wide)]
        self.root = self.session(ScriptedModel(turn(*calls), turn(say("All done."))), None, "", depth)
        self.root.listen(self.told.append)

    def session(self, model: ScriptedModel, parent: Session | None, label: str, depth: int, **more: Any) -> Session:
        sessions: list[Session] = []

        async def delegate(arguments: Mapping[str, Any], run: Run) -> str:
            to, path = arguments["to"], arguments["path"]
            asks = call("delegate", to=f"{to}'s own", path=path) if depth > 1 else call("write", path=path)
            inner = ScriptedModel(turn(asks), turn(say(f"{to} is done.")))
            async with self.session(inner, sessions[0], to, depth - 1, lineage=run.lineage) as child:
                await child.send(Prompt("Do it."), until="idle")
                return child.messages[-1].text

        free = Traits("none", shared)
        tool = PlainTool("delegate", delegate, traits=free)
        host = MemoryHost()
        sessions.append(grouped_session(model, self.space.toolbox(tool), host=host, parent=parent, label=label, **more))
        return sessions[0]


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_a_question_reaches_the_root_from_any_depth_and_its_answer_finds_the_way_back(depth: int) -> None:
    office = Office(depth)
    seen: list[tuple[str, ...]] = []
    async for event in office.root.send(Prompt("go"), until="idle"):
        if isinstance(event, QuestionAsked):
            seen.append(event.question.path)
            assert office.root.questions == (event.question,)
            office.root.post(Answer(event.question.yes(door="root")))
    assert seen == [tuple(["reviewer", "reviewer's own", "reviewer's own's own"][:depth])]
    assert office.space.done == ["write 0.py"]
    assert office.root.messages[-1].text == "All done."
    assert [event for event in office.told if isinstance(event, QuestionAnswered)]
    await office.root.aclose()


@pytest.mark.spec("RUN-8")
async def test_a_session_says_of_every_event_to_which_agent_and_message_it_belongs() -> None:
    office = Office()
    found: list[tuple[str, tuple[str, ...], str | None]] = []
    async for event in office.root.send(Prompt("go"), until="idle"):
        origin = office.root.origin(event)
        assert origin.session == office.root.id
        found.append((type(event).__name__, origin.path, origin.message))
        if isinstance(event, QuestionAsked):
            office.root.post(Answer(event.question.yes(door="root")))
    await office.root.aclose()
    assert [each for each in found if each[1]] == [
        ("QuestionAsked", ("reviewer",), None),
        ("QuestionAnswered", ("reviewer",), None),
    ]
    own = {(name, message) for name, path, message in found if not path and message is not None}
    assert own >= {(name, "a1") for name in ("TurnStarted", "CallArrived", "CallStarted", "CallSettled")}
    assert {("MessageAdded", "u1"), ("MessageAdded", "a1"), ("TextStreamed", "a2"), ("MessageAdded", "a2")} <= own


async def test_agents_of_one_name_are_told_apart_and_each_gets_its_own_answer() -> None:
    office = Office(wide=3)
    paths: list[tuple[str, ...]] = []
    async for event in office.root.send(Prompt("go"), until="idle"):
        if isinstance(event, QuestionAsked):
            question = event.question
            paths.append(question.path)
            wanted = question.arguments["path"] == "1.py"
            office.root.post(Answer(question.yes() if wanted else question.no("not that one")))
    assert sorted(paths) == [("reviewer",), ("reviewer-2",), ("reviewer-3",)]
    assert office.space.done == ["write 1.py"]
    await office.root.aclose()


@pytest.mark.spec("GATE-7")
async def test_an_always_for_one_agent_releases_the_questions_of_the_others() -> None:
    office = Office(wide=3)
    answered = 0
    async for event in office.root.send(Prompt("go"), until="idle"):
        if isinstance(event, QuestionAsked) and len(office.root.questions) == 3:
            answered += 1
            choice = Choice("everything", Pattern("glob", "**", "path"))
            office.root.post(Answer(office.root.questions[1].always(choice)))
    assert answered == 1
    assert sorted(office.space.done) == ["write 0.py", "write 1.py", "write 2.py"]
    await office.root.aclose()


async def test_an_answer_for_an_agent_that_is_gone_is_refused() -> None:
    office = Office()
    asked: list[QuestionAsked] = []
    async for event in office.root.send(Prompt("go"), until="idle"):
        if isinstance(event, QuestionAsked):
            asked.append(event)
            office.root.post(Answer(event.question.yes()))
    events = await office.root.send(Answer(asked[0].question.no()))
    (refused,) = [event for event in events if isinstance(event, InputRefused)]
    assert "no agent reviewer is at work" in refused.reason
    await office.root.aclose()
