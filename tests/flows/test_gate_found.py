"""What sessions with a gate got wrong once, or might: each test is one story."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Continue, ExecutorSettings, Prompt, QuestionAsked, Session
from callgate.config import Config, load_config
from callgate.core.loop import LoopLimits
from callgate.core.ports import Case, Check, Maybe, Run
from callgate.core.record import MemoryJournal
from callgate.host.local import LocalHost
from callgate.policy.lines import HookLine, RuleLine
from callgate.standalone import DecisionGate, default_checks
from callgate.testing import PlainTool, ScriptedModel, call, say, settle, turn
from callgate.transcript.masking import Masker
from callgate.transcript.store import Store
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Ask, Choice, Confirmation, Deny, Mode, Origin, Pattern
from callgate.words.errors import StateError, UsageError
from callgate.words.events import (
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    Event,
    InputRefused,
    Noted,
    PolicyAdded,
    QuestionAnswered,
)
from callgate.words.inputs import Close, Compact, Interrupt, SetMode
from callgate.words.messages import Message
from callgate.words.traits import Traits, shared, writes
from tests.core.kit import virtual_host
from tests.flows.kit import Workspace, check_history, results
from tests.virtual import passes

Hook = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]
SRC = Choice("src", Pattern("glob", "src/**", "path"))


class KeptJournal(MemoryJournal):
    """Outlives the program as far as a session can tell; ``left`` are answers of other programs."""

    def __init__(self, events: Iterable[Durable] = ()) -> None:
        super().__init__(events, session="kept")
        self.left: list[Confirmation] = []
        self.closed = False
        self.may_close = asyncio.Event()
        self.may_close.set()

    def append(self, event: Durable) -> None:
        if self.closed:
            raise StateError("the journal is closed")
        super().append(event)

    async def answers(self) -> Sequence[Confirmation]:
        return tuple(self.left)

    def forget_answers(self, call_ids: Iterable[str]) -> Maybe:
        gone = set(call_ids)
        self.left = [each for each in self.left if each.call_id not in gone]
        return None

    async def aclose(self) -> None:
        self.closed = True
        await self.may_close.wait()


def hooked(folder: Path, *events: str, **more: Any) -> Config:
    """Settings whose hooks are functions named like their events."""
    lines = tuple(HookLine(event, "python", event, Origin("user")) for event in events)
    return Config(folder, folder / "home", folder / "data", hooks=lines, own_data=False, **more)


def session_of(
    space: Workspace,
    config: Config,
    functions: dict[str, Hook],
    *turns: Any,
    tools: Sequence[PlainTool] = (),
    **more: Any,
) -> Session:
    toolbox = space.toolbox(*tools)
    model = ScriptedModel(*turns)
    return Session(model, toolbox, host=virtual_host(), config=config, functions=functions, **more)


def stuck(begun: asyncio.Event, let_go: asyncio.Event, says: dict[str, Any] | None = None) -> Hook:
    async def wait(_told: dict[str, Any]) -> dict[str, Any] | None:
        begun.set()
        await let_go.wait()
        return says

    return wait


def of(events: Iterable[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


DONE = turn(say("Done."))
WRITES = turn(call("write", path="a.py"))


# ---- closing while a hook is at work ------------------------------------------------------------------------------


async def test_a_session_that_is_closed_while_a_hook_looks_at_the_prompt_asks_the_model_nothing(tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    space = Workspace()
    hooks: dict[str, Hook] = {"UserPromptSubmit": stuck(begun, let_go)}
    model = ScriptedModel(WRITES, DONE)
    session = Session(
        model,
        space.toolbox(),
        host=virtual_host(),
        config=hooked(tmp_path, *hooks),
        functions=hooks,
        journal=KeptJournal(),
    )
    session.post(Prompt("go"))
    await begun.wait()
    closing = asyncio.ensure_future(session.aclose())
    await settle()
    let_go.set()
    done, _ = await asyncio.wait((closing,), timeout=1000)
    asked = len(model.requests)
    if not done:
        session.post(Interrupt())
        await closing
    assert done, "it closes without anybody's answer"
    assert asked == 0


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
async def test_an_interrupt_ends_the_wait_for_a_hook_of_the_session(event: str, tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks = {event: stuck(begun, let_go)}
    session = session_of(Workspace(), hooked(tmp_path, event), hooks, DONE)
    session.post(Prompt("go"))
    await begun.wait()
    loop = asyncio.get_running_loop()
    before = loop.time()
    await session.send(Interrupt(), until="idle")
    waited = loop.time() - before
    let_go.set()
    await session.aclose()
    assert waited <= 10.0


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"])
async def test_a_stuck_hook_does_not_hold_up_the_end_for_long(event: str, tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks = {event: stuck(begun, let_go)}
    session = session_of(Workspace(), hooked(tmp_path, event), hooks, DONE, summarize=lambda history, wish: "short")
    session.post(Prompt("go"))
    if event == "PreCompact":
        await session.send(Prompt("go on"), until="idle")
        session.post(Compact())
    if event == "SessionEnd":
        await settle()
    else:
        await begun.wait()
    loop = asyncio.get_running_loop()
    before = loop.time()
    await session.aclose()
    assert loop.time() - before <= 15.0


async def test_a_hook_that_hears_no_cancel_does_not_hold_up_the_end_for_ever(tmp_path: Path) -> None:
    let_go = asyncio.Event()

    async def deaf(_told: dict[str, Any]) -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    session = session_of(Workspace(), hooked(tmp_path, "SessionEnd"), {"SessionEnd": deaf}, DONE)
    await session.send(Prompt("go"))
    closing = asyncio.ensure_future(session.aclose())
    done, _ = await asyncio.wait((closing,), timeout=1000)
    let_go.set()
    await closing
    assert done


async def test_a_summary_is_not_begun_once_the_session_is_being_closed(tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks: dict[str, Hook] = {"PreCompact": stuck(begun, let_go)}
    summed: list[int] = []

    def summarize(history: Sequence[Message], _wish: str) -> str:
        summed.append(len(history))
        return "short"

    session = session_of(Workspace(), hooked(tmp_path, *hooks), hooks, DONE, summarize=summarize)
    await session.send(Prompt("go"), until="idle")
    session.post(Compact())
    await begun.wait()
    closing = asyncio.ensure_future(session.aclose())
    await settle()
    let_go.set()
    await closing
    assert summed == []


@pytest.mark.parametrize("sent", [Prompt("one more"), Continue()], ids=["prompt", "continue"])
async def test_nothing_is_begun_while_the_last_hook_of_a_session_is_at_work(sent: Any, tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks: dict[str, Hook] = {"SessionEnd": stuck(begun, let_go)}
    model = ScriptedModel(WRITES, DONE, DONE)
    session = Session(
        model,
        Workspace().toolbox(),
        host=virtual_host(),
        config=hooked(tmp_path, *hooks),
        functions=hooks,
        journal=KeptJournal(),
    )
    await session.send(Prompt("go"))
    before = len(model.requests)
    closing = asyncio.ensure_future(session.aclose())
    await begun.wait()
    session.post(sent)
    await settle()
    let_go.set()
    await closing
    await settle()
    assert len(model.requests) == before
    assert session.status == "closed"


# ---- paused, and what hooks say of prompts ------------------------------------------------------------------------


@pytest.mark.spec("GATE-10")
async def test_a_prompt_that_a_hook_refuses_does_not_let_a_paused_agent_go_on(tmp_path: Path) -> None:
    async def picky(told: dict[str, Any]) -> dict[str, Any] | None:
        return {"decision": "block", "reason": "not that"} if told["prompt"] == "no" else None

    rules = (RuleLine("deny", "write", Origin("user")),)
    config = hooked(tmp_path, "UserPromptSubmit", rules=rules, limits=LoopLimits(denials_in_a_row=2))
    model = ScriptedModel(*[turn(call("write", path=f"{n}.py")) for n in range(4)], DONE)
    session = Session(
        model,
        Workspace().toolbox(),
        host=virtual_host(),
        config=config,
        functions={"UserPromptSubmit": picky},
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

    gate = DecisionGate([Check("rule", never), *default_checks()])
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
    session = Session(model, Workspace().toolbox(), host=virtual_host(), settings=ExecutorSettings(patience=10.0))
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
    child = Session(ScriptedModel(asks, DONE), [tool], host=virtual_host(), parent=parent, label="child")
    await child.send(Prompt("go"))
    await parent.send(Prompt("go"))
    await parent.send(Answer(parent.questions[0].always(SRC)), until="idle")
    await settle()
    await child.aclose()
    await parent.aclose()
    assert seen == ["working"]


# ---- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-6")
@pytest.mark.parametrize("odd", [float("nan"), {1, 2}, b"x"], ids=["nan", "a set", "bytes"])
async def test_changed_arguments_that_are_not_json_are_refused_and_the_question_stays_open(odd: Any) -> None:
    space = Workspace()
    session = space.session(ScriptedModel(WRITES, DONE))
    await session.send(Prompt("go"))
    (question,) = session.questions
    try:
        events = await asyncio.wait_for(session.send(Answer(question.yes({"path": odd}))), 100)
    except (TypeError, ValueError, TimeoutError):
        events = []
    still = session.questions
    session.post(Interrupt())
    closing = asyncio.ensure_future(session.aclose())
    done, _ = await asyncio.wait((closing,), timeout=1000)
    assert done
    assert of(events, InputRefused)
    assert still == (question,)


@pytest.mark.spec("GATE-6")
async def test_an_always_with_other_arguments_does_not_remember_those_the_person_took_out() -> None:
    space = Workspace()
    session = space.session(ScriptedModel(WRITES, WRITES, DONE))
    await session.send(Prompt("go"))
    (question,) = session.questions
    await session.send(Answer(replace(question.always(), arguments={"path": "b.py"})))
    assert space.done == ["write b.py"]
    assert [each.arguments for each in session.questions] == [{"path": "a.py"}], "what the model wrote is asked about"
    await session.aclose()


@pytest.mark.spec("GATE-3b", "EXE-22")
async def test_arguments_changed_to_none_at_all_are_those_on_record() -> None:
    ran: list[dict[str, Any]] = []

    def body(arguments: Any, _run: Run) -> str:
        ran.append(dict(arguments))
        return "done"

    def guard(case: Case) -> Ask:
        return Ask("guard", "look at it", standing=True)

    tool = PlainTool("do", body, traits=Traits("mutating", shared))
    gate = DecisionGate([Check("guard", guard, again=True)])
    journal = MemoryJournal()
    session = Session(
        ScriptedModel(turn(call("do", path="a")), DONE), [tool], host=virtual_host(), gate=gate, journal=journal
    )
    await session.send(Prompt("go"))
    await session.send(Answer(session.questions[0].yes({})))
    (again,) = session.questions
    assert again.arguments == {}
    events = await session.send(Answer(again.yes()), until="idle")
    assert ran == [{}]
    (settled,) = of(events, CallSettled)
    assert "changed the arguments" in settled.result.text
    decided = [each.decision for each in of(journal.events, CallDecided)]
    assert {} in [each.arguments for each in decided if not isinstance(each, Deny)][1:]
    await session.aclose()


@pytest.mark.spec("GATE-3b")
@pytest.mark.parametrize("mode", ["plan", "dont_ask"])
async def test_an_always_does_not_release_what_the_mode_now_forbids(mode: Mode) -> None:
    space = Workspace()
    session = space.session(ScriptedModel(turn(call("write", path="src/a.py"), call("write", path="src/b.py")), DONE))
    await session.send(Prompt("go"))
    first, _second = session.questions
    await session.send(SetMode(mode))
    await session.send(Answer(first.always(SRC)))
    session.post(Interrupt())
    await session.aclose()
    if mode == "plan":
        assert "write src/b.py" not in space.done


@pytest.mark.spec("EXE-24")
async def test_a_hook_does_not_allow_in_a_persons_place_what_the_mode_now_forbids(tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks: dict[str, Hook] = {"PermissionRequest": stuck(begun, let_go, {"decision": "approve"})}
    space = Workspace()
    session = session_of(space, hooked(tmp_path, *hooks), hooks, WRITES, DONE)
    session.post(Prompt("go"))
    await begun.wait()
    session.post(SetMode("plan"))
    let_go.set()
    await session.send(Prompt("and then?"))
    await session.aclose()
    assert space.done == []


# ---- after a restart ----------------------------------------------------------------------------------------------


async def _asked(journal: MemoryJournal, *calls: Any, **more: Any) -> Session:
    session = Workspace().session(ScriptedModel(turn(*calls), DONE), journal=journal, **more)
    await session.send(Prompt("go"))
    return session


@pytest.mark.spec("GATE-8")
async def test_nobody_is_asked_after_a_restart_in_a_mode_that_asks_nobody() -> None:
    journal = KeptJournal()
    session = await _asked(journal, call("write", path="a.py"))
    assert session.questions
    await session.aclose()
    space = Workspace()
    resumed = space.session(ScriptedModel(DONE), journal=KeptJournal(journal.events), mode="dont_ask")
    await resumed.send(Continue())
    asked = resumed.questions
    await resumed.aclose()
    assert asked == ()
    assert space.done == []


@pytest.mark.spec("GATE-6")
async def test_a_no_that_is_on_record_is_not_asked_about_again() -> None:
    journal = MemoryJournal()
    session = await _asked(journal, call("write", path="a.py"))
    await session.send(Answer(session.questions[0].no("leave it")), until="idle")
    await session.aclose()
    cut = next(at for at, event in enumerate(journal.events) if isinstance(event, CallSettled))
    resumed = Workspace().session(ScriptedModel(DONE), journal=MemoryJournal(journal.events[:cut]))
    await resumed.send(Continue())
    asked = resumed.questions
    resumed.post(Interrupt())
    await resumed.aclose()
    assert asked == ()


@pytest.mark.spec("GATE-6")
async def test_a_no_that_stops_the_turn_stops_it_after_a_crash_too() -> None:
    journal = MemoryJournal()
    calls = (call("write", path="a.py"), call("write", path="b.py"))
    session = await _asked(journal, *calls)
    await session.send(Answer(session.questions[0].no("stop it", stop=True)), until="idle")
    await session.aclose()
    cut = next(at for at, event in enumerate(journal.events) if isinstance(event, CallSettled)) + 1
    model = ScriptedModel(DONE)
    resumed = Workspace().session(model, journal=MemoryJournal(journal.events[:cut]))
    await resumed.send(Continue())
    asked = resumed.questions
    resumed.post(Interrupt())
    await resumed.aclose()
    assert asked == ()
    assert model.requests == []


@pytest.mark.spec("GATE-6")
async def test_an_always_is_remembered_whenever_the_program_ends_after_it() -> None:
    journal = MemoryJournal()
    session = await _asked(journal, call("write", path="a.py"))
    await session.send(Answer(session.questions[0].always()), until="idle")
    await session.aclose()
    events = journal.events
    first = next(at for at, event in enumerate(events) if isinstance(event, QuestionAnswered))
    for cut in range(first + 1, len(events)):
        again = MemoryJournal(events[:cut])
        resumed = Workspace().session(ScriptedModel(DONE), journal=again)
        if resumed.status == "paused":
            await resumed.send(Continue())
        assert of(again.events, PolicyAdded), f"lost after {type(events[cut - 1]).__name__}"
        await resumed.aclose()


@pytest.mark.spec("GATE-5")
async def test_a_yes_to_what_is_always_asked_about_is_not_asked_for_twice() -> None:
    """Hard safety is judged again on resume; the person's yes about these arguments is on record."""

    def guard(case: Case) -> Ask | None:
        return Ask("guard", "look at it", standing=True) if case.name == "write" else None

    def gate() -> DecisionGate:
        return DecisionGate([Check("guard", guard, again=True), *default_checks()])

    journal = MemoryJournal()
    session = await _asked(journal, call("write", path="a.py"), gate=gate())
    await session.send(Answer(session.questions[0].yes()), until="idle")
    await session.aclose()
    cut = next(at for at, event in enumerate(journal.events) if isinstance(event, CallStarted))
    resumed = Workspace().session(ScriptedModel(DONE), journal=MemoryJournal(journal.events[:cut]), gate=gate())
    await resumed.send(Continue())
    asked = resumed.questions
    resumed.post(Interrupt())
    await resumed.aclose()
    assert asked == ()


@pytest.mark.spec("GATE-5")
async def test_a_yes_to_one_question_is_no_yes_to_a_danger_that_came_later() -> None:
    """Between the two lives of the program the path became a dangerous one."""

    def guard(case: Case) -> Ask | None:
        return Ask("hard safety", "it leads elsewhere now", standing=True) if case.name == "write" else None

    journal = MemoryJournal()
    session = await _asked(journal, call("write", path="a.py"))
    await session.send(Answer(session.questions[0].yes()), until="idle")
    await session.aclose()
    cut = next(at for at, event in enumerate(journal.events) if isinstance(event, CallStarted))
    gate = DecisionGate([Check("guard", guard, again=True), *default_checks()])
    space = Workspace()
    resumed = space.session(ScriptedModel(DONE), journal=MemoryJournal(journal.events[:cut]), gate=gate)
    await resumed.send(Continue())
    asked = [question.by for question in resumed.questions]
    resumed.post(Interrupt())
    await resumed.aclose()
    assert asked == ["hard safety"]
    assert space.done == []


@pytest.mark.spec("EXE-26")
async def test_a_call_that_is_judged_after_a_crash_is_not_counted_as_its_own_repetition() -> None:
    journal = MemoryJournal()
    look = PlainTool("look", traits=Traits("none", shared))
    same = call("look", at="a")
    session = Workspace().session(ScriptedModel(turn(same), turn(same), DONE), look, journal=journal)
    await session.send(Prompt("go"), until="idle")
    await session.aclose()
    decided = [at for at, event in enumerate(journal.events) if isinstance(event, CallDecided)]
    prefix = list(journal.events)
    del prefix[decided[1]]  # the second call was arriving when the program ended
    message = [e for e in journal.events[decided[1] + 1 :] if type(e).__name__ == "MessageAdded"][:1]
    resumed_from = [*journal.events[: decided[1]], *message]
    resumed = Workspace().session(ScriptedModel(DONE), look, journal=MemoryJournal(resumed_from))
    await resumed.send(Continue())
    asked = resumed.questions
    resumed.post(Interrupt())
    await resumed.aclose()
    assert asked == ()


# ---- answers of other programs ------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-5")
async def test_an_answer_that_comes_while_the_session_is_being_closed_is_not_thrown_away() -> None:
    """A call takes its time to stop; meanwhile another program answers the open question."""
    journal = KeptJournal()

    async def slow(_arguments: Any, _run: Run) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await passes(2.0)
        return "late"

    look = PlainTool("look", slow, traits=Traits("none", shared))
    session = Session(
        ScriptedModel(turn(call("write", path="a.py"), call("look")), DONE),
        Workspace().toolbox(look),
        host=virtual_host(),
        journal=journal,
    )
    asked = asyncio.Event()
    session.listen(lambda event: asked.set() if isinstance(event, QuestionAsked) else None)
    session.post(Prompt("go"))
    await asked.wait()
    (question,) = session.questions
    closing = asyncio.ensure_future(session.aclose())
    await settle()
    journal.left.append(question.yes(by="Ann"))
    await closing
    taken = [event.confirmation.by for event in of(journal.events, QuestionAnswered)]
    assert taken == ["Ann"] or [each.by for each in journal.left] == ["Ann"], "it is on record, or still there"


@pytest.mark.spec("GATE-5")
async def test_an_answer_to_a_question_that_is_about_to_be_asked_again_is_not_thrown_away() -> None:
    """On record it is open; the session that was resumed has not come to it yet, but waits for another answer."""
    free = Traits("mutating", shared)
    before = KeptJournal()
    calls = turn(call("do", n=1), call("show", n=2))

    def changes(delay: float) -> PlainTool:
        async def preview(_arguments: Any, _run: Run) -> ChangeSet:
            await asyncio.sleep(delay)
            return ChangeSet("show", (FileChange("s.py", None, b"x"),))

        return PlainTool("show", traits=Traits("mutating", writes("s.py")), preview=preview)

    do = PlainTool("do", traits=free)
    session = Session(ScriptedModel(calls, DONE), [do, changes(0.0)], host=virtual_host(), journal=before)
    await session.send(Prompt("go"))
    _first, second = session.questions
    await session.aclose()
    journal = KeptJournal(before.events)
    resumed = Session(ScriptedModel(DONE), [do, changes(5.0)], host=virtual_host(), journal=journal)
    resumed.post(Continue())
    await settle()
    journal.left.append(second.yes(by="Ann"))
    await passes(20.0)
    answered = [event.confirmation.by for event in of(journal.events, QuestionAnswered)]
    left = [each.by for each in journal.left]
    await resumed.aclose()
    assert answered == ["Ann"] or left == ["Ann"]


@pytest.mark.spec("GATE-9")
def test_an_answer_after_the_deadline_is_refused_also_when_nobody_has_the_session_open(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data", masker=Masker({}))

    async def begin() -> Any:
        session = Session(
            ScriptedModel(WRITES, DONE),
            Workspace().toolbox(),
            journal=await store.create(),
            settings=ExecutorSettings(patience=0.001),
            root=tmp_path,
        )
        question: list[Any] = []

        def hear(event: Event) -> None:
            if isinstance(event, QuestionAsked):
                question.append(event.question)
                session.post(Close())

        session.listen(hear)
        await session.send(Prompt("go"), until="idle")
        await session.aclose()
        return question[0]

    question = asyncio.run(begin())
    assert question.deadline is not None
    from callgate.transcript.answers import AnswerRefused

    late = replace(question.yes(), at=question.deadline + 60)
    with pytest.raises(AnswerRefused):
        store.answer("latest", late)


@pytest.mark.spec("GATE-5")
def test_a_person_is_told_of_a_file_that_should_be_an_answer_and_is_none(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data", masker=Masker({}))
    told: list[Event] = []

    async def main() -> None:
        model, journal = ScriptedModel(WRITES, DONE), await store.create()
        async with Session(model, Workspace().toolbox(), journal=journal, root=tmp_path) as session:
            session.listen(told.append)
            await session.send(Prompt("go"))
            waiting = journal.barrier()
            if waiting is not None:
                await waiting
            folder = journal.folder / "answers"
            folder.mkdir(parents=True, mode=0o700)
            (folder / f"{'0' * 32}.json").write_text("{}")
            for _ in range(2):
                vars(vars(session)["_company"])["_mailbox"]._look()
                await asyncio.wait((vars(vars(vars(session)["_company"])["_mailbox"])["_task"],))

    asyncio.run(asyncio.wait_for(main(), 20))
    assert [event for event in of(told, Noted) if "is no answer" in event.text]


# ---- nested sessions ----------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-7", "GATE-8")
def test_an_always_in_a_kept_session_inside_another_releases_the_questions_it_matches(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data", masker=Masker({}))
    space = Workspace()

    async def main() -> None:
        parent = Session(ScriptedModel(DONE), [])
        calls = turn(call("write", path="src/a.py"), call("write", path="src/b.py"))
        journal = await store.create()
        model = ScriptedModel(calls, DONE)
        child = Session(model, space.toolbox(), root=tmp_path, journal=journal, parent=parent, label="x")
        await child.send(Prompt("go"))
        assert len(child.questions) == 2
        await child.send(Answer(child.questions[0].always(SRC)), until="idle")
        await child.aclose()
        await parent.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))
    assert sorted(space.done) == ["write src/a.py", "write src/b.py"]


async def test_an_always_is_not_written_into_a_session_around_it_that_is_closing() -> None:
    above = KeptJournal()
    above.may_close.clear()
    parent = Session(ScriptedModel(DONE), [], host=virtual_host(), journal=above)
    told: list[Event] = []
    space = Workspace()
    child = Session(
        ScriptedModel(turn(call("write", path="src/a.py"), call("write", path="src/b.py")), DONE),
        space.toolbox(),
        host=virtual_host(),
        parent=parent,
        label="x",
    )
    child.listen(told.append)
    await child.send(Prompt("go"))
    closing = asyncio.ensure_future(parent.aclose())
    await settle()
    assert above.closed
    await child.send(Answer(child.questions[0].always(SRC)), until="idle")
    above.may_close.set()
    await closing
    await child.aclose()
    assert of(told, Noted) == []


# ---- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-3")
def test_a_deny_rule_holds_in_the_workspace_where_the_tools_work(tmp_path: Path) -> None:
    """A host of another folder and a config do not fit together: the rule would be about files nobody touches."""
    here, there = tmp_path / "here", tmp_path / "there"
    for each in (here, there):
        each.mkdir()
    rules = (RuleLine("deny", "Edit(/secrets/**)", Origin("user")),)
    config = Config(here, tmp_path / "home", tmp_path / "data", mode="bypass", rules=rules, own_data=False)
    ran: list[str] = []

    def body(arguments: Any, _run: Run) -> str:
        ran.append(arguments["path"])
        return "done"

    edit = PlainTool("Write", body, traits=lambda a: Traits("mutating", writes(a["path"])))

    async def main() -> None:
        model = ScriptedModel(turn(call("Write", path="secrets/key")), DONE)
        async with Session(model, [edit], config=config, host=LocalHost(there)) as session:
            await session.send(Prompt("go"))

    try:
        asyncio.run(main())
    except UsageError:
        return
    assert ran == []


@pytest.mark.parametrize("asked_by", ["argument", "variable"])
def test_a_stricter_mode_that_is_asked_for_counts_for_a_resumed_session_too(asked_by: str, tmp_path: Path) -> None:
    for each in ("home", "root"):
        (tmp_path / each).mkdir()
    store = Store(tmp_path / "root", tmp_path / "data", masker=Masker({}))
    environ = {"HOME": str(tmp_path / "home"), "CALLGATE_DATA_DIR": str(tmp_path / "data")}
    places: dict[str, Any] = {"home": tmp_path / "home", "managed": tmp_path / "none"}

    async def main() -> None:
        first = load_config(tmp_path / "root", environ=environ, **places)
        async with Session(ScriptedModel(DONE), config=first, journal=await store.create()) as session:
            await session.send(Prompt("go"))
            await session.send(SetMode("bypass"))
        if asked_by == "argument":
            strict = load_config(tmp_path / "root", mode="plan", environ=environ, **places)
        else:
            strict = load_config(tmp_path / "root", environ={**environ, "CALLGATE_MODE": "plan"}, **places)
        assert strict.mode == "plan"
        async with Session(ScriptedModel(DONE), config=strict, journal=await store.open()) as session:
            assert session.mode == "plan"

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.spec("GATE-2")
def test_an_answer_that_could_not_be_kept_counts_for_the_session_it_was_given_in(tmp_path: Path) -> None:
    for each in ("home", "root"):
        (tmp_path / each).mkdir()
    (tmp_path / "data").write_text("no folder")
    config = Config(tmp_path / "root", tmp_path / "home", tmp_path / "data")
    space = Workspace()
    told: list[Event] = []

    async def main() -> None:
        model = ScriptedModel(WRITES, DONE, WRITES, DONE)
        async with Session(model, space.toolbox(), config=config) as session:
            session.listen(told.append)
            await session.send(Prompt("go"))
            await session.send(Answer(session.questions[0].always(scope="project")), until="idle")
            await session.send(Prompt("again"))
            assert session.questions == ()

    asyncio.run(asyncio.wait_for(main(), 20))
    assert any("this session only" in event.text for event in of(told, Noted))
    assert space.done == ["write a.py", "write a.py"]


# ---- what hooks say -----------------------------------------------------------------------------------------------


@pytest.mark.spec("EXE-24")
async def test_a_hook_at_the_end_knows_that_it_has_put_off_the_end_before(tmp_path: Path) -> None:
    told: list[bool] = []

    async def more(about: dict[str, Any]) -> dict[str, Any] | None:
        told.append(about["stop_hook_active"])
        return None if about["stop_hook_active"] else {"decision": "block", "reason": "run the tests"}

    session = session_of(Workspace(), hooked(tmp_path, "Stop"), {"Stop": more}, *[DONE] * 5)
    await session.send(Prompt("go"), until="idle")
    await session.aclose()
    assert told == [False, True]


@pytest.mark.spec("EXE-24")
async def test_what_a_hook_adds_reaches_the_model_whoever_allows_the_call(tmp_path: Path) -> None:
    async def before(_told: dict[str, Any]) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "mind the gap"}}

    async def allow(_told: dict[str, Any]) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}

    async def plainly(_told: dict[str, Any]) -> dict[str, Any]:
        return {"decision": "approve"}

    for answer in (allow, plainly):
        hooks: dict[str, Hook] = {"PreToolUse": before, "PermissionRequest": answer}
        space = Workspace()
        session = session_of(space, hooked(tmp_path, *hooks), hooks, WRITES, DONE)
        await session.send(Prompt("go"))
        if session.questions:
            session.post(Interrupt())
            await session.aclose()
            continue
        await session.aclose()
        assert space.done == ["write a.py"]
        assert "mind the gap" in results(session)[0]
        return
    raise AssertionError("no answer of the hook was understood")


@pytest.mark.spec("EXE-24")
async def test_what_a_hook_adds_survives_a_question_about_its_own_change(tmp_path: Path) -> None:
    async def before(_told: dict[str, Any]) -> dict[str, Any]:
        said = {"updatedInput": {"path": ".git/config"}, "additionalContext": "mind the gap"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}

    space = Workspace()
    session = session_of(space, hooked(tmp_path, "PreToolUse"), {"PreToolUse": before}, WRITES, DONE)
    await session.send(Prompt("go"))
    (question,) = session.questions
    assert question.by == "hard safety"
    await session.send(Answer(question.yes()), until="idle")
    await session.aclose()
    check_history(session.messages)
    assert space.done == ["write .git/config"]
    assert "mind the gap" in results(session)[0]
