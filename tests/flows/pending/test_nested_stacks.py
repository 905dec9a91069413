"""Sessions inside the calls of others: each has a stack of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Prompt, QuestionAsked, Session, tool
from callgate.core.ports import Run
from callgate.testing import PlainTool, ScriptedModel, call, say, turn
from callgate.tools.staging import Callbacks, stage
from callgate.words.events import ActionStaged, CallSettled, Event
from callgate.words.modes import Mode
from callgate.words.traits import Traits, shared
from tests.flows.gated import of
from tests.flows.pending.kit import (
    DONE,
    FIRST,
    Bench,
    acting,
    apply,
    choices,
    discard,
    ends,
    model_of,
    really,
    sent,
    staging,
    told,
)
from tests.sessions import with_event

pytestmark = pytest.mark.spec("RES-14")
DELEGATES = call("Delegate")


class Office:
    """A session whose tool ``Delegate`` runs one of its own inside, with the next of these models."""

    def __init__(self, bench: Bench, model: ScriptedModel, *inner: ScriptedModel, mode: Mode = "bypass") -> None:
        self._bench = bench
        self._inner = iter(inner)
        self._mode: Mode = mode
        self.below: list[Event] = []
        delegate = PlainTool("Delegate", self._delegate, traits=Traits("none", shared))
        self.root = bench.session(model, more=[delegate], mode=mode)

    async def _delegate(self, _arguments: Mapping[str, Any], run: Run) -> str:
        options: dict[str, Any] = {"parent": self.root, "label": "reviewer", "lineage": run.lineage, "mode": self._mode}
        async with self._bench.session(next(self._inner), **options) as child:
            child.listen(with_event(self.below.append, child.path))
            await child.send(Prompt("Do it."), until="idle")
            assert child.pending == ()
            return child.messages[-1].text


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@really
async def test_what_an_agent_inside_stages_is_pending_there_and_resolved_there(bench: Bench) -> None:
    inner = model_of(turn(staging()), turn(apply()), turn(say("Helped.")))
    office = Office(bench, model_of(turn(DELEGATES), turn(call("Touch", at="x"))), inner)
    async with office.root as root:
        heard: list[Event] = []
        root.listen(with_event(heard.append))
        await sent(root, "go")
        assert not of(heard, ActionStaged)
    assert ends(office.below) == [("applied", "model")]
    assert bench.files() == {"a.txt": "new"}
    assert bench.done == ["touch x"], "nothing is skipped above"


@really
async def test_what_is_pending_above_holds_up_nobody_inside(bench: Bench) -> None:
    inner = model_of(turn(call("Touch", at="below")), turn(apply()), turn(say("Helped.")))
    model = model_of(turn(staging()), turn(DELEGATES, call("Touch", at="above")), turn(discard()), DONE)
    office = Office(bench, model, inner)
    async with office.root as root:
        events = await sent(root, "go")
    assert bench.done == ["touch below"]
    settled = {event.call_id: event.result for event in of(office.below, CallSettled)}
    assert settled["call_2"].text == "No pending action to resolve. Nothing to apply or discard."
    assert not any(told(request) for request in inner.requests)
    assert choices(inner) == ["auto"] * 3
    assert choices(model) == ["auto", "auto", "resolve", "auto"]
    assert [event.result.code for event in of(events, CallSettled)].count("skipped") == 1


@really
async def test_equal_ids_on_two_stacks_are_two_actions(bench: Bench) -> None:
    """Call ids and action ids are the same above and below."""
    inner = model_of(turn(staging("below.txt")), turn(apply(id=FIRST)), turn(say("Helped.")))
    model = model_of(turn(staging("above.txt")), turn(DELEGATES), turn(discard(id=FIRST)), DONE)
    office = Office(bench, model, inner)
    async with office.root as root:
        events = await sent(root, "go")
    assert ends(office.below) == [("applied", "model")]
    assert ends(events) == [("discarded", "model")]
    assert bench.files() == {"below.txt": "new"}


@really
async def test_several_agents_of_one_message_do_not_see_each_others_stacks(bench: Bench) -> None:
    ends_with = [discard(), apply(), apply()]
    inner = [model_of(turn(staging(f"{n}.txt")), turn(ends_with[n]), turn(say("Helped."))) for n in range(3)]
    office = Office(bench, model_of(turn(*(call("Delegate", to=str(n)) for n in range(3))), DONE), *inner)
    async with office.root as root:
        await sent(root, "go")
    assert [event.action.id for event in of(office.below, ActionStaged)] == [FIRST] * 3
    assert sorted(ends(office.below)) == [("applied", "model"), ("applied", "model"), ("discarded", "model")]
    assert bench.files() == {"1.txt": "new", "2.txt": "new"}


@really
async def test_the_question_about_what_an_agent_inside_applies_reaches_the_root(bench: Bench) -> None:
    inner = model_of(turn(staging()), turn(apply()), turn(say("Helped.")))
    office = Office(bench, model_of(turn(DELEGATES), DONE), inner, mode="default")
    async with office.root as root:
        asked: list[QuestionAsked] = []
        async for event in root.send(Prompt("go"), until="idle"):
            if isinstance(event, QuestionAsked):
                asked.append(event)
                root.post(Answer(event.question.yes()))
    (question,) = (event.question for event in asked)
    assert (question.tool, question.path) == ("Edit", ("reviewer",))
    assert bench.files() == {"a.txt": "new"}


@really
async def test_an_agent_inside_is_given_up_on_like_any_other_and_ends(bench: Bench) -> None:
    looks = [turn(call("Look", at=str(number))) for number in range(4)]
    inner = model_of(turn(acting()), *looks, turn(say("Helped.")))
    model = model_of(turn(DELEGATES), DONE)
    office = Office(bench, model, inner)
    async with office.root as root:
        await sent(root, "go")
        assert root.messages[-1].text == "Done."
    assert ends(office.below) == [("discarded", "callgate")]
    assert choices(model) == ["auto", "auto"]
    assert any(each.startswith("reject send it") for each in bench.done)


@really
async def test_the_tool_that_delegates_may_stage_on_its_own_stack_after_the_agent_inside_did(bench: Bench) -> None:
    inner = model_of(turn(staging()), turn(discard()), turn(say("Helped.")))
    sessions: list[Session] = []

    @tool(name="DelegateAndStage", effects="none", stages=True)
    async def delegate() -> str:
        """Ask another, then stage."""
        async with bench.session(inner, parent=sessions[0], label="reviewer") as child:
            await child.send(Prompt("Do it."), until="idle")
        stage(
            "from above",
            Callbacks(lambda _reason, _extra: bench.done.append("applied above")),
            source_tool_name="Renamer",
        )
        return "Delegated."

    model = model_of(turn(call("DelegateAndStage")), turn(apply()), DONE)
    async with bench.session(model, more=[delegate]) as root:
        sessions.append(root)
        events = await sent(root, "go")
    assert [event.action.label for event in of(events, ActionStaged)] == ["from above"]
    assert bench.done == ["applied above"]
    assert bench.files() == {}
