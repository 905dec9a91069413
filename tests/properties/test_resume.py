"""From any prefix of a session's events the work can be continued, to exactly one result per call."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Session
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Run
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    ScriptedModel,
    ScriptedTurn,
    limit,
    pause,
    run_virtual,
    say,
    turn,
)
from callgate.testing.script import raw_call
from callgate.words.calls import Result
from callgate.words.decisions import Confirmation
from callgate.words.events import (
    CallArrived,
    CallSettled,
    CallStarted,
    Durable,
    Event,
    MessageAdded,
    QuestionAsked,
    StatusChanged,
    TurnStarted,
)
from callgate.words.inputs import Answer, Continue, Interrupt, Prompt
from callgate.words.messages import Message, ResultPart, Text
from callgate.words.model import WHOLE
from callgate.words.traits import Traits, reads, writes
from tests.properties.stage import VirtualClock
from tests.sessions import with_event

EVERY = 4
"""Of the prefixes of a script one example takes each fourth; other examples of such a script take the others."""
AT_REST = ("idle", "paused", "closed")
EFFECTS = {"Look": "none", "Put": "idempotent", "Do": "mutating"}


@dataclass(frozen=True)
class Asked:
    """One call of the script."""

    tool: str = "Look"
    lasts: float = 1.0
    reply: str = "yes"  # yes | no | swap | always
    where: str = "a"
    before: float = 0.0  # how long the stream pauses before it
    updates: bool = False
    fails: bool = False


@dataclass(frozen=True)
class Spoken:
    """One message of the script."""

    calls: tuple[Asked, ...]
    whole: bool = True


calls = st.builds(
    Asked,
    tool=st.sampled_from(("Look", "Put", "Do")),
    lasts=st.sampled_from((0.0, 1.0, 2.0)),
    reply=st.sampled_from(("yes", "yes", "no", "swap", "always")),
    where=st.sampled_from(("a", "b")),
    before=st.sampled_from((0.0, 0.0, 1.5)),
    updates=st.booleans(),
    fails=st.sampled_from((False, False, False, True)),
)
spoken = st.builds(
    Spoken, st.lists(calls, min_size=1, max_size=3).map(tuple), st.sampled_from((True, True, True, False))
)
scripts = st.lists(spoken, min_size=1, max_size=2)


@dataclass
class Life:
    """One process: a session on a journal, its person, and what its tools did."""

    script: list[Spoken]
    prefix: Sequence[Durable] = ()
    interrupt_at: float | None = None
    runs: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        begun = sum(isinstance(event, TurnStarted) for event in self.prefix)
        scenes = [self._scene(n) for n in range(begun, len(self.script))]
        self.journal = MemoryJournal(self.prefix)
        self.session = Session(
            ScriptedModel(*scenes, otherwise=turn(say("Done."))),
            PlainToolbox(*(PlainTool(name, self._body, traits=self._traits(name)) for name in EFFECTS)),
            host=MemoryHost(clock=VirtualClock()),
            journal=self.journal,
        )
        self._rest = asyncio.Event()
        self.session.listen(with_event(self._hear))

    def asked(self, key: str) -> Asked:
        return self.script[int(key[1])].calls[int(key[3])]

    def _scene(self, n: int) -> ScriptedTurn:
        steps: list[Any] = [say("Working.")]
        for at, each in enumerate(self.script[n].calls):
            steps += [pause(each.before), raw_call(each.tool, arguments_of(n, at, each), id=f"t{n}c{at}")]
        return turn(*steps) if self.script[n].whole else turn(*steps, pause(0.5), limit())

    def _traits(self, name: str) -> Any:
        lock = reads if name == "Look" else writes
        return lambda arguments: Traits(effects=EFFECTS[name], declared_locks=lock(arguments["where"]))  # pyright: ignore

    async def _body(self, arguments: Mapping[str, Any], run: Run) -> Result:
        each = self.asked(run.call_id)
        self.runs.append(run.call_id)
        await asyncio.sleep(each.lasts)
        if each.fails:
            return Result((Text("no"),), is_error=True)
        return Result(
            (Text("done"),), context_update={"last": run.call_id, run.call_id: True} if each.updates else None
        )

    def _hear(self, event: Event) -> None:
        if isinstance(event, StatusChanged):
            self._rest.set()
        elif isinstance(event, QuestionAsked):
            asyncio.get_running_loop().call_later(0.5, self._answer, event)

    def _answer(self, event: QuestionAsked) -> None:
        question = event.question
        reply = self.asked(question.call_id).reply
        outcome: Any = {"no": "no", "always": "yes_always"}.get(reply, "yes")
        edited = {**question.arguments, "edited": True} if reply == "swap" else None
        if self.session.status != "closed":
            self.session.post(
                Answer(Confirmation(question.call_id, outcome, question.arguments_hash, arguments=edited))
            )

    async def live(self, *, prompt: bool) -> "Life":
        if self.interrupt_at is not None:
            asyncio.get_running_loop().call_later(self.interrupt_at, self.session.post, Interrupt())
        await self._until_rest(Prompt("Go.") if prompt else Continue())
        await self.session.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return self

    async def _until_rest(self, sent: Prompt | Continue) -> None:
        """A reply ends at the first question; the person's answers go on from there."""
        await self.session.send(sent)
        while self.session.status not in AT_REST:
            self._rest.clear()
            await self._rest.wait()
        failure = self.session.controls.take_failure()
        if failure is not None:
            raise failure


def arguments_of(n: int, at: int, each: Asked) -> dict[str, Any]:
    return {"key": f"t{n}c{at}", "where": each.where, "edited": False}


def results_by_id(events: Sequence[Durable]) -> dict[str, Result]:
    return {event.call_id: event.result for event in events if isinstance(event, CallSettled)}


def check_history(messages: Sequence[Message], script: list[Spoken]) -> None:
    """Each message with calls is followed by exactly their results, in order."""
    for at, message in enumerate(messages):
        ids = [part.id for part in message.calls]
        for part in message.calls:
            n, index = int(part.id[1]), int(part.id[3])
            assert dict(part.arguments) == arguments_of(n, index, script[n].calls[index]), "as the model wrote it"
        if ids:
            answers = messages[at + 1]
            assert answers.role == "tool"
            assert [part.call_id for part in answers.parts if isinstance(part, ResultPart)] == ids
    answered = [part.call_id for message in messages for part in message.parts if isinstance(part, ResultPart)]
    assert len(answered) == len(set(answered)), "one result per call"


def check_settled_once(events: Sequence[Durable]) -> None:
    arrived = [event.call_id for event in events if isinstance(event, CallArrived)]
    settled = Counter(event.call_id for event in events if isinstance(event, CallSettled))
    assert settled == Counter(arrived)


def check_resumed(life: Life) -> None:
    prefix, script = life.prefix, life.script
    whole = {
        part.id
        for event in prefix
        if isinstance(event, MessageAdded) and event.stop_reason in WHOLE
        for part in event.message.calls
    }
    started = {event.call_id for event in prefix if isinstance(event, CallStarted)}
    settled = set(results_by_id(prefix))
    results = results_by_id(life.journal.events)
    again = Counter(life.runs)
    assert not again or max(again.values()) == 1, "nothing runs twice in one life"
    for event in prefix:
        if not isinstance(event, CallArrived):
            continue
        call_id, each = event.call_id, life.asked(event.call_id)
        if call_id in settled or call_id not in whole:
            assert again[call_id] == 0
        elif call_id in started and each.tool == "Do":
            assert again[call_id] == 0
            assert results[call_id].code == "outcome_unknown"
        elif each.tool == "Look" or each.reply != "no":
            assert again[call_id] == 1
        else:
            assert again[call_id] == 0
            assert results[call_id].code == "denied"
    assert script


def check_context(life: Life) -> None:
    """The updates of all calls that succeeded, in the order of the script."""
    wanted: dict[str, Any] = {}
    results = results_by_id(life.journal.events)
    for n, each in enumerate(life.script):
        for at, call in enumerate(each.calls):
            key = f"t{n}c{at}"
            if key in results and results[key].code == "ok" and call.updates:
                wanted |= {"last": key, key: True}
    assert dict(Ledger(life.journal.events).context) == wanted


def first_life(script: list[Spoken], interrupt_at: float | None = None) -> Life:
    async def main() -> Life:
        return await Life(script, interrupt_at=interrupt_at).live(prompt=True)

    return run_virtual(main())


def second_life(script: list[Spoken], prefix: Sequence[Durable], *, prompt: bool) -> Life:
    async def main() -> Life:
        return await Life(script, prefix).live(prompt=prompt)

    return run_virtual(main())


def open_at(prefix: Sequence[Durable]) -> bool:
    return Ledger(prefix).running


@pytest.mark.spec("EXE-8", "EXE-23", "CALL-3", "TRN-1")
@given(scripts, st.booleans(), st.integers(1, EVERY))
def test_every_prefix_of_a_session_is_continued_to_one_result_per_call(
    script: list[Spoken], prompt: bool, first: int
) -> None:
    before = first_life(script)
    events = before.journal.events
    check_history(before.session.messages, script)
    check_settled_once(events)
    check_context(before)
    for end in range(first, len(events) + 1, EVERY):
        prefix = events[:end]
        if not open_at(prefix):
            continue
        life = second_life(script, prefix, prompt=prompt)
        check_settled_once(life.journal.events)
        check_history(life.session.messages, script)
        check_resumed(life)
        check_context(life)
        assert life.session.messages == tuple(Ledger(life.journal.events).messages)


@pytest.mark.spec("EXE-16", "TRN-4")
@given(scripts, st.sampled_from((0.0, 0.25, 0.5, 1.0, 1.25, 2.0, 3.0)))
def test_an_interrupt_at_any_time_leaves_a_valid_history(script: list[Spoken], at: float) -> None:
    life = first_life(script, interrupt_at=at)
    check_history(life.session.messages, script)
    check_settled_once(life.journal.events)
