"""People of every kind at any time: what a session says of itself is true, and what it keeps is a valid history."""

import asyncio
import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Session, SessionLimits
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Run
from callgate.session.reply import Reply
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    ScriptedModel,
    ScriptedTurn,
    cut_off,
    fail,
    limit,
    open_call,
    pause,
    run_virtual,
    say,
    turn,
)
from callgate.testing.script import raw_call
from callgate.words.calls import Result
from callgate.words.decisions import Confirmation
from callgate.words.events import Durable, Event, MessageAdded, QuestionAsked, RunEnded, StatusChanged
from callgate.words.inputs import Answer, Close, Continue, Input, Interrupt, Prompt, SetMode, Steer
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Message, ResultPart, Text
from callgate.words.model import Request
from callgate.words.traits import Traits, reads, writes
from tests.properties.stage import SlowJournal, VirtualClock
from tests.properties.strategies import passing
from tests.sessions import with_event

EFFECTS = {"Look": "none", "Wait": "none", "Put": "idempotent", "Do": "mutating"}
GRACE = 2.0
END = 300.0


@dataclass(frozen=True)
class Spoken:
    """One message of the model: its calls as (tool, where, how long), and how it ends."""

    calls: tuple[tuple[str, str, float], ...] = ()
    takes: float = 1.0
    ends: str = "whole"  # whole | limit | cut_off | fail | open


@dataclass(frozen=True)
class Deed:
    """What a person does when; ``which`` picks a mode, or how a question is answered."""

    at: float
    kind: str  # prompt | steer | interrupt | answer | mode | close | continue
    which: int = 0
    heard: bool = True  # whether somebody waits for the reply


moments = st.integers(0, 24).map(lambda n: n / 4)
spoken = st.builds(
    Spoken,
    st.lists(
        st.tuples(st.sampled_from(tuple(EFFECTS)), st.sampled_from(("a", "b")), st.sampled_from((0.0, 1.0, 3.0))),
        max_size=3,
    ).map(tuple),
    st.sampled_from((0.0, 0.5, 1.0)),
    st.sampled_from(("whole",) * 6 + ("limit", "cut_off", "fail", "open")),
)
deeds = st.builds(
    Deed,
    moments,
    st.sampled_from(("prompt", "prompt", "steer", "interrupt", "answer", "answer", "answer", "mode", "continue")),
    st.integers(0, 5),
    st.booleans(),
)
closing = st.builds(Deed, moments, st.just("close"), heard=st.booleans())
ANSWERS = ("yes", "no", "stop", "always", "edited", "wrong")
MODES = ("default", "bypass", "plan", "dont_ask", "accept_edits", "default")
delays = st.one_of(st.just(()), st.lists(st.sampled_from((None, 0.0, 0.25, 1.0)), min_size=1, max_size=3).map(tuple))


@dataclass
class Life:
    """One session, its model, its tools, and the people around it."""

    script: list[Spoken]
    deeds: list[Deed]
    delays: tuple[float | None, ...] = ()
    faults: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.journal = SlowJournal(self.delays) if self.delays else MemoryJournal()
        self.running: set[str] = set()
        self.events: list[Event] = []
        self.said: list[str] = []
        self.steered: list[str] = []
        self.dropped = False  # somebody ended the run: what was typed for it may go with it
        self._waiting: list[asyncio.Task[list[Event]]] = []
        tools = [PlainTool(name, self._body, traits=self._traits(name)) for name in EFFECTS]
        self.session = Session(
            ScriptedModel(*(self._scene(n) for n in range(len(self.script))), otherwise=self._last),
            PlainToolbox(*tools),
            host=MemoryHost(clock=VirtualClock()),
            journal=self.journal,
            limits=SessionLimits(calls=ExecutorSettings(grace=GRACE)),
        )
        self.session.listen(with_event(self._hear))

    # ---- the model ----------------------------------------------------------------------------------------------

    def _scene(self, n: int) -> Any:
        def scene(request: Request) -> ScriptedTurn:
            self._asked_of_the_model(request)
            each = self.script[n]
            steps: list[Any] = [say("Working."), pause(each.takes)]
            for at, (tool, where, lasts) in enumerate(each.calls):
                arguments = {"where": where, "lasts": lasts}
                steps += [raw_call(tool, arguments, id=f"t{n}c{at}"), pause(each.takes / 2)]
            match each.ends:
                case "limit":
                    steps.append(limit())
                case "cut_off":
                    steps.append(cut_off())
                case "fail":
                    steps.append(fail("overloaded"))
                case "open":
                    steps += [open_call("Do", '{"where"', id=f"t{n}c9"), pause(0.5), limit()]
                case _:
                    pass
            return turn(*steps)

        return scene

    def _last(self, request: Request) -> ScriptedTurn:
        self._asked_of_the_model(request)
        return turn(say("Done."))

    def _asked_of_the_model(self, request: Request) -> None:
        self._busy("the model was asked")
        try:
            check_history(tuple(request.messages))
        except AssertionError as error:
            self.faults.append(f"the model was sent {error}")
        if request.messages and request.messages[-1].role == "assistant":
            self.faults.append("the model was asked with nothing to answer")
        durable = getattr(self.journal, "durable", len(self.journal.events))
        unsaved = [e for e in self.journal.events[durable:] if isinstance(e, MessageAdded) and e.message.role == "user"]
        if unsaved:
            self.faults.append("the model was asked before what a person said was on record")

    # ---- the tools ----------------------------------------------------------------------------------------------

    def _traits(self, name: str) -> Any:
        lock = reads if EFFECTS[name] == "none" else writes
        return lambda arguments: Traits(
            effects=EFFECTS[name],  # pyright: ignore[reportArgumentType]
            declared_locks=lock(arguments["where"]),
            interrupt="cancel" if name == "Wait" else "block",
        )

    async def _body(self, arguments: Mapping[str, Any], run: Run) -> Result:
        self._busy(f"{run.call_id} began")
        self.running.add(run.call_id)
        try:
            await asyncio.sleep(arguments["lasts"])
        finally:
            self.running.discard(run.call_id)
        return Result((Text("done"),))

    # ---- what must hold -----------------------------------------------------------------------------------------

    def _busy(self, what: str) -> None:
        if self.session.status != "working":
            self.faults.append(f"{what} while the session was {self.session.status}")

    def look(self) -> None:
        """What holds whenever somebody looks."""
        status, asked = self.session.status, self.session.questions
        if status in ("idle", "closed", "waiting_confirmation") and self.running:
            self.faults.append(f"{status} while {self.running} run")
        if status in ("idle", "closed") and asked:
            self.faults.append(f"{status} with open questions")
        if status == "waiting_confirmation":
            told = {event.question.call_id for event in self.events if isinstance(event, QuestionAsked)}
            if not asked:
                self.faults.append("waiting for an answer to no question")
            elif not told & {question.call_id for question in asked}:
                self.faults.append("waiting for an answer to a question nobody has heard")

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, StatusChanged):
            self.look()
        elif isinstance(event, RunEnded) and event.reason != "done":
            self.dropped = True

    # ---- the people ---------------------------------------------------------------------------------------------

    async def live(self) -> "Life":
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, about: self.faults.append(str(about)))
        self._send(Prompt("p0"), heard=True)
        for n, deed in enumerate(sorted(self.deeds, key=lambda deed: deed.at)):
            await asyncio.sleep(deed.at - loop.time())
            self._do(n, deed)
            self.look()
        await self._wind_up()
        try:
            await asyncio.wait_for(self.session.aclose(), END)
        except TimeoutError:
            self.faults.append("it does not close")
            return self
        self.look()
        await asyncio.sleep(END)
        self.faults += [f"a reply never ends: {task}" for task in self._waiting if not task.done()]
        self.faults += [f"a reply raised {e!r}" for t in self._waiting if t.done() and (e := t.exception())]
        left = asyncio.all_tasks() - {asyncio.current_task()}
        self.faults += [f"left over: {task}" for task in left]
        del left
        gc.collect(1)
        return self

    async def _wind_up(self) -> None:
        """Everything that ends by itself ends; what waits for a person is refused."""
        for _ in range(200):
            await passing(20.0)
            self.look()
            if self.session.status == "waiting_confirmation":
                question = self.session.questions[0]
                self._send(Answer(Confirmation(question.call_id, "no", question.arguments_hash)), heard=False)
            elif self.session.status == "paused":
                self._send(Continue(), heard=False)
            elif self.session.status in ("idle", "closed"):
                return
        self.faults.append(f"still {self.session.status}")

    def _do(self, n: int, deed: Deed) -> None:
        match deed.kind:
            case "prompt":
                self._send(Prompt(f"p{n + 1}"), heard=deed.heard)
            case "steer":
                self._send(Steer(f"s{n + 1}"), heard=deed.heard)
            case "interrupt":
                self._send(Interrupt(), heard=deed.heard)
            case "mode":
                self._send(SetMode(MODES[deed.which]), heard=deed.heard)  # pyright: ignore[reportArgumentType]
            case "close":
                self._send(Close(), heard=deed.heard)
            case "continue":
                self._send(Continue(), heard=deed.heard)
            case _:
                self._answer(ANSWERS[deed.which], heard=deed.heard)

    def _answer(self, how: str, *, heard: bool) -> None:
        for question in self.session.questions[:1]:
            outcome: Any = {"no": "no", "stop": "no", "always": "yes_always"}.get(how, "yes")
            hashed = "other" if how == "wrong" else question.arguments_hash
            edited = {**question.arguments, "where": "b"} if how == "edited" else None
            given = Confirmation(question.call_id, outcome, hashed, stop=how == "stop", arguments=edited)
            self._send(Answer(given), heard=heard)

    def _send(self, sent: Input, *, heard: bool) -> None:
        if self.session.status == "closed":
            return
        if isinstance(sent, Prompt):
            self.said.append(str(sent.content))
        elif isinstance(sent, Steer):
            self.steered.append(sent.text)
        elif isinstance(sent, Interrupt | Close):
            self.dropped = True
        if heard:
            self._waiting.append(asyncio.get_running_loop().create_task(_all_of(self.session.send(sent))))
        else:
            self.session.post(sent)


async def _all_of(reply: Reply) -> list[Event]:
    return [event async for event in reply]


def check_history(messages: Sequence[Message]) -> None:
    """Each message with calls is followed by exactly their results, in order, and by nothing else's."""
    answered: list[str] = []
    for at, message in enumerate(messages):
        ids = [part.id for part in message.calls]
        if ids:
            assert at + 1 < len(messages), f"calls {ids} without results"
            assert messages[at + 1].role == "tool", f"calls {ids} followed by {messages[at + 1].role}"
        if message.role == "tool":
            given = [part.call_id for part in message.parts if isinstance(part, ResultPart)]
            assert at > 0, "results of nothing"
            assert given == [part.id for part in messages[at - 1].calls], f"results {given} of other calls"
            answered += given
    assert len(answered) == len(set(answered)), f"two results for one call: {answered}"


def check_words(life: Life, *, closed: bool) -> None:
    """Nothing a person said is lost, told twice, or told in another order."""
    texts = [part.text for m in life.session.messages if m.role == "user" for part in m.parts if isinstance(part, Text)]
    prompts = [text for text in texts if text.startswith("p")]
    steers = [text for text in texts if text.startswith("s")]
    assert prompts == life.said[: len(prompts)] if closed else prompts == life.said
    assert [text for text in life.steered if text in steers] == steers, "in order, and each once"
    if not life.dropped:
        assert steers == life.steered


def lived(script: list[Spoken], deeds: list[Deed], delays: tuple[float | None, ...]) -> Life:
    async def main() -> Life:
        return await Life(script, deeds, delays).live()

    return run_virtual(main())


def check(life: Life) -> None:
    assert life.faults == []
    check_history(life.session.messages)
    assert life.session.status == "closed"
    check_words(life, closed=any(deed.kind == "close" for deed in life.deeds))
    durable: Sequence[Durable] = life.journal.events
    assert tuple(Ledger(durable).messages) == life.session.messages


@pytest.mark.spec("EXE-8", "EXE-16", "TRN-1", "TRN-4")
@given(st.lists(spoken, min_size=1, max_size=3), st.lists(deeds, max_size=5), delays)
def test_inputs_at_any_time_leave_a_true_status_and_a_valid_history(
    script: list[Spoken], done: list[Deed], delays: tuple[float | None, ...]
) -> None:
    check(lived(script, done, delays))


@pytest.mark.spec("EXE-8", "TRN-4")
@given(st.lists(spoken, min_size=1, max_size=2), st.lists(deeds, max_size=3), closing, delays)
def test_a_session_closes_at_any_time(
    script: list[Spoken], done: list[Deed], close: Deed, delays: tuple[float | None, ...]
) -> None:
    check(lived(script, [*done, close], delays))
