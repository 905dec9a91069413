"""Sessions inside the calls of other sessions: their questions reach the doors of the root."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Nesting, Prompt, QuestionAsked, Session, Store
from callgate.core.ports import Run
from callgate.testing import MemoryHost, PlainTool, ScriptedModel, call, say, turn
from callgate.words.decisions import Choice, Pattern
from callgate.words.events import (
    AgentPath,
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Event,
    InputRefused,
    QuestionAnswered,
    SessionEvent,
    StatusChanged,
)
from callgate.words.inputs import Compact, Rewind
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
        self.records: dict[AgentPath, list[tuple[int, Event]]] = {}
        calls = [call("delegate", to="reviewer", path=f"{n}.py") for n in range(wide)]
        self.root = self.session(ScriptedModel(turn(*calls), turn(say("All done."))), None, "", depth)
        self.root.listen(lambda path, number, event: self.told.append(event))

    def session(self, model: ScriptedModel, parent: Session | None, label: str, depth: int, **more: Any) -> Session:
        sessions: list[Session] = []

        async def delegate(arguments: Mapping[str, Any], run: Run) -> str:
            to, path = arguments["to"], arguments["path"]
            asks = call("delegate", to=f"{to}'s own", path=path) if depth > 1 else call("write", path=path)
            inner = ScriptedModel(turn(asks), turn(say(f"{to} is done.")))
            async with self.session(inner, sessions[0], to, depth - 1, lineage=run.lineage) as child:
                await child.send(Prompt("Do it."), until="idle")
                self.records[child.path] = list(await child.events_after(0))
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


@pytest.mark.spec("RUN-8", "AGT-15")
async def test_the_root_receives_every_event_of_a_nested_session_once_with_its_path_and_number() -> None:
    office, above = Office(depth=2), list[SessionEvent]()
    office.root.listen(lambda *found: above.append(SessionEvent(*found)))
    async for event in office.root.send(Prompt("go"), until="idle"):
        if isinstance(event, QuestionAsked):
            office.root.post(Answer(event.question.yes(door="root")))
    await office.root.aclose()
    assert sorted(office.records) == [("reviewer",), ("reviewer", "reviewer's own")]
    for path, record in office.records.items():
        received = [each for each in above if each.path == path]
        assert [(each.number, each.event) for each in received if each.number] == record
        assert {CallArrived, CallDecided, CallStarted, CallSettled} <= {type(each.event) for each in received}
        assert [each.event for each in received if isinstance(each.event, StatusChanged)][-1].status == "closed"


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


@pytest.mark.spec("AGT-15")
async def test_the_name_of_an_agent_is_never_given_to_another_one_of_its_session(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data")

    async def opened(session: Session, label: str) -> str:
        async with Session(ScriptedModel(), nesting=Nesting(session, label)) as child:
            return child.path[-1]

    model = ScriptedModel(otherwise=turn(say("Done.")))
    async with Session(model, host=tmp_path, journal=await store.create("root")) as session:
        assert [await opened(session, "reviewer") for _ in range(2)] == ["reviewer", "reviewer-2"]
        await session.run("go")
        assert await opened(session, "../Reviewer: a/b") == "Reviewer- a-b"
        assert await opened(session, "REVIEWER") == "REVIEWER-3"
        await session.send(Rewind(session.messages[0].id))
        assert await opened(session, "reviewer") == "reviewer-4"
        await session.run("again")
        await session.send(Compact())
    async with Session(model, host=tmp_path, journal=await store.open("root")) as session:
        assert await opened(session, "reviewer") == "reviewer-5"
    async with Session(model, host=tmp_path, journal=await store.fork("root")) as session:
        assert await opened(session, "") == "agent"
        assert await opened(session, "reviewer-2") == "reviewer-2-2"


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
    assert "no agent reviewer is running in" in refused.reason
    await office.root.aclose()
