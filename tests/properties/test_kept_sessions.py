"""Whole sessions on disk, at random: what is on record is what was in memory, and nothing is done twice.

A session has several lives: it is closed and opened again, or its folder is copied at some moment and the copy goes
on, as after a power cut. What people send and what the model says is drawn beforehand.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Session, Store, Toolbox
from callgate.conversation.ledger import Ledger
from callgate.core.ports import Run
from callgate.features import compaction_feature, context_feature
from callgate.host.threads import in_thread
from callgate.testing import PlainTool, ScriptedModel, limit, say, turn
from callgate.testing.script import ScriptedTurn, cut_off, fail, raw_call, stop
from callgate.transcript.disk_journal import DiskJournal
from callgate.words.calls import Result
from callgate.words.decisions import Question, arguments_hash
from callgate.words.errors import SessionLocked
from callgate.words.events import CallArrived, CallSettled, Durable, Event, MessageAdded, StatusChanged
from callgate.words.inputs import (
    Answer,
    Branch,
    Compact,
    Continue,
    Input,
    Interrupt,
    Prompt,
    Rewind,
    SetMode,
    SetTags,
    SetTitle,
    Snip,
    Steer,
)
from callgate.words.messages import Message, Text, Usage
from callgate.words.model import Abilities, ModelEvent, PartEnded, Request
from callgate.words.traits import Traits, shared, writes
from tests.history import faults
from tests.profiles import fewer
from tests.sessions import with_event
from tests.transcript.kit import verified

GIVEN = {"given": True}
EFFECTS: Mapping[str, Any] = {"look": "none", "put": "idempotent", "do": "mutating"}


@dataclass(frozen=True)
class Called:
    tool: str = "look"
    where: str | None = None  # a path it locks; None: it runs beside anything
    how: str = "ok"  # ok | fails | updates | waits


@dataclass(frozen=True)
class Spoken:
    """One message of the model. It may hold in the middle until it is let go."""

    calls: tuple[Called, ...] = ()
    text: bool = True
    end: str = "whole"  # whole | limit | cut_off | fail
    holds: bool = False


@dataclass(frozen=True)
class Step:
    what: str
    n: int = 0
    flag: bool = False


called = st.builds(
    Called,
    tool=st.sampled_from(tuple(EFFECTS)),
    where=st.sampled_from((None, None, "a", "b")),
    how=st.sampled_from(("ok", "ok", "updates", "waits", "fails")),
)
spoken = st.builds(
    Spoken,
    calls=st.lists(called, max_size=3).map(tuple),
    text=st.booleans(),
    end=st.sampled_from(("whole", "whole", "whole", "whole", "limit", "cut_off", "fail")),
    holds=st.booleans(),
)
WINDOWS = (400, 550)
"""Of a model whose history is compacted by itself, now and then in the middle of a run."""
BETWEEN = ("rewind", "branch", "compact")
STEPS = (
    *("prompt", "prompt", "prompt", "prompt", "rest", "rest", "spin", "let_go"),
    *("continue", "continue", "answer", "answer"),
    *("steer", "interrupt", "rewind", "rewind", "branch", "branch", "compact", "snip", "title", "mode", "tags"),
    *("fork", "reopen", "reopen", "crash", "crash"),
)
steps = st.builds(Step, st.sampled_from(STEPS), st.integers(0, 11), st.booleans())


class Voice:
    """The model: it says what is next on the list, and notes what it is sent."""

    name = "voice"

    def __init__(self, world: "World") -> None:
        self._world = world
        self.abilities = Abilities(context_tokens=world.window)

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        world = self._world
        world.wrong += [f"sent: {fault}" for fault in faults(list(request.messages))]
        scene = world.script.pop(0) if world.script else Spoken()
        async for event in ScriptedModel(_turn(scene)).stream(request):
            yield event
            if scene.holds and isinstance(event, PartEnded):
                await world.let_go.wait()


def _turn(scene: Spoken) -> ScriptedTurn:
    said: list[Any] = [say("Well now. ")] if scene.text else []
    # Providers repeat call ids from message to message.
    said += [
        raw_call(each.tool, {"where": each.where, "how": each.how}, id=f"c{n}") for n, each in enumerate(scene.calls)
    ]
    usage = Usage(input=1, output=2)
    ends: dict[str, Any] = {
        "limit": limit(usage),
        "cut_off": cut_off(),
        "fail": fail("no answer"),
        "whole": stop("tool_calls" if scene.calls else "end", usage),
    }
    return turn(*said, ends[scene.end])


@dataclass
class World:
    """All that outlives a session: the folder, the script, what tools did and people said."""

    folder: Path
    script: list[Spoken]
    window: int | None = None
    lives: int = 0
    wrong: list[str] = field(default_factory=list[str])
    seen: list[str] = field(default_factory=list[str])
    ran: Counter[str] = field(default_factory=Counter[str])
    approved: dict[str, str] = field(default_factory=dict[str, str])
    denied: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.store = Store(self.folder, self.folder / "data")
        self.moving = False
        self.let_go = asyncio.Event()
        self.stirred = asyncio.Event()

    async def begin(self, journal: DiskJournal) -> None:
        self.journal = journal
        self.session = self.session_on(journal)
        self.session.listen(with_event(self._hear))

    def session_on(self, journal: DiskJournal) -> Session:
        tools = (PlainTool(name, self._body(name), traits=_traits(name)) for name in EFFECTS)
        return Session(
            Voice(self),
            Toolbox(*tools),
            journal=journal,
            features=[compaction_feature(_summarize), context_feature(GIVEN)],
        )

    def _hear(self, event: Event) -> None:
        if isinstance(event, StatusChanged):
            self.stirred.set()
        elif isinstance(event, MessageAdded) and event.message.id not in self.seen:
            self.seen.append(event.message.id)

    def _body(self, name: str) -> Any:
        async def body(arguments: Mapping[str, Any], run: Run) -> Result:
            key = run.idempotency_key
            self.ran[key] += 1
            if EFFECTS[name] == "mutating" and self.ran[key] > 1:
                self.wrong.append(f"{key} ran {self.ran[key]} times")
            if key in self.denied:
                self.wrong.append(f"{key} ran and was denied")
            if self.approved.get(key, hashed := arguments_hash(name, arguments)) != hashed:
                self.wrong.append(f"{key} ran with other arguments than those approved")
            how = arguments["how"]
            if how == "waits":
                await self.let_go.wait()
            if how == "fails":
                return Result((Text("no"),), is_error=True)
            return Result((Text("done"),), context_update={"last": key, key: 1} if how == "updates" else None)

        return body

    # ---- what happens -------------------------------------------------------------------------------------------

    async def take(self, step: Step) -> None:
        await getattr(self, f"_{step.what}", self._post)(step)
        assert not self.wrong
        failure = self.session.controls.take_failure()
        if failure is not None:
            raise failure

    async def _post(self, step: Step) -> None:
        if step.what in BETWEEN and not step.flag:
            await self._rest_now()
        self.session.post(self._input(step))
        self.moving = self.moving or step.what in ("rewind", "branch")
        if step.flag:
            await self._spin(step)
        else:
            await self._rest(step)

    async def _rest_now(self) -> None:
        """Between turns: open questions are given up."""
        await self._rest(Step("rest"))
        if self.session.status == "waiting_confirmation":
            self.session.post(Interrupt())
            await self._rest(Step("rest"))

    def _input(self, step: Step) -> Input:
        live = [message.id for message in self.session.messages]
        any_seen = self.seen[step.n % len(self.seen)] if self.seen else "?"
        match step.what:
            case "prompt":
                return Prompt(f"prompt {step.n}")
            case "steer":
                return Steer(f"steer {step.n}")
            case "interrupt":
                return Interrupt()
            case "continue":
                return Continue()
            case "rewind":
                return Rewind(any_seen)
            case "branch":
                return Branch(any_seen)
            case "compact":
                return Compact(keep=step.n % 5)
            case "snip":
                picked = live[step.n % len(live) :][: 1 + step.n % 3] if live else []
                return Snip(tuple(picked))
            case "title":
                return SetTitle(f"title {step.n}")
            case "tags":
                return SetTags((f"tag {step.n}",))
            case "mode":
                modes: Any = ("default", "bypass", "bypass", "plan", "dont_ask", "accept_edits")
                return SetMode(modes[step.n % len(modes)])
            case _:
                raise AssertionError(step)

    async def _spin(self, step: Step) -> None:
        """A few trips through the loop: somewhere in the middle of things."""
        for _ in range(1 + step.n * 2):
            await asyncio.sleep(0)
        if step.flag:
            await in_thread(lambda: None)

    async def _let_go(self, _step: Step) -> None:
        self.let_go.set()
        await asyncio.sleep(0)
        self.let_go.clear()

    async def _answer(self, step: Step) -> None:
        session = self.session
        if not session.questions:
            return
        question = session.questions[step.n % len(session.questions)]
        self._say(question, ("yes", "edited", "no", "always")[step.n % 4])

    def _say(self, question: Question, how: str) -> None:
        of = next(each.message_id for each in self.session.calls if each.id == question.call_id)
        key = f"{self.session.id}/{of}/{question.call_id}"
        if how == "no":
            self.denied.add(key)
            self.session.post(Answer(question.no()))
            return
        self.denied.discard(key)
        self.approved[key] = question.arguments_hash
        confirmation = question.always() if how == "always" else question.yes()
        if how == "edited":
            other = {**question.arguments, "edited": True}
            self.approved[key] = arguments_hash(question.tool, other)
            confirmation = replace(confirmation, arguments=other)
        self.session.post(Answer(confirmation))

    async def _rest(self, _step: Step) -> None:
        self.let_go.set()
        while self.session.status == "working":
            self.stirred.clear()
            await self.stirred.wait()
        self.let_go.clear()
        self.moving = False
        if self.session.status in ("idle", "paused"):
            await self._check_record()

    async def _fork(self, step: Step) -> None:
        journal = self.journal
        if not journal.path.exists():
            return
        still = self.session.status in ("idle", "paused")
        await _on_disk(journal)
        before = journal.path.read_bytes()
        forked = await self.store.fork(journal)
        after = journal.path.read_bytes()
        assert after == before if still else after.startswith(before)
        script, self.script = self.script, []
        ran = Counter(self.ran)
        fork = self.session_on(forked)
        if still:
            assert fork.messages == self.session.messages
            assert fork.context == self.session.context
            assert fork.usage == self.session.usage
            ledger = _ledger(self.session)  # prompts that wait are delivered there
            assert fork.status == ("paused" if ledger.running or ledger.paused else "idle")
        await fork.send(Continue() if fork.status == "paused" else Prompt("in the fork"))
        assert not self.wrong
        assert self.ran.keys() - ran.keys() <= {key for key in self.ran if key.startswith(journal.session)}
        self.script = script
        await fork.aclose()
        self._check_log(forked.path)
        if step.flag:  # go on in the fork
            await self._finish()
            await self.begin(await self.store.open(fork.id))

    async def _reopen(self, _step: Step) -> None:
        await self._finish()
        if self.journal.path.exists():
            await self.begin(await self.store.open(self.session.id))
            self._check_same(self.before, self.session)
        else:
            await self.begin(await self.store.create())

    async def _crash(self, step: Step) -> None:
        if step.flag:
            await _on_disk(self.journal)
        self.lives += 1
        data = self.folder / f"data{self.lives}"
        _copy(self.store.data, data)
        ran, approved, denied = Counter(self.ran), dict(self.approved), set(self.denied)
        await self._finish()
        self.ran, self.approved, self.denied = ran, approved, denied
        self.store = Store(self.folder, data)
        if any(line for line in _lines(self.store.folder / f"{self.session.id}.jsonl")):
            await self.begin(await self.store.open(self.session.id))
        else:
            await self.begin(await self.store.create())

    async def _finish(self) -> None:
        """The end of a life. What must be true of any log is checked."""
        if self.moving:  # what is in memory is of no use until the log has been read
            await self._rest(Step("rest"))
        await _on_disk(self.journal)
        if self.journal.path.exists():
            with pytest.raises(SessionLocked):
                await self.store.open(self.session.id)
        await self.session.aclose()
        assert not self.wrong
        self.before = _state(_ledger(self.session))
        if self.journal.path.exists():
            self._check_log(self.journal.path)

    async def end(self) -> None:
        """Everything is worked off, and then every call has its result."""
        for _ in range(50):
            await self._rest(Step("rest"))
            for question in self.session.questions:
                self._say(question, "yes")
            if self.session.status == "paused":
                self.session.post(Continue())
            if self.session.status == "idle":
                break
        assert self.session.status == "idle"
        await self._reopen(Step("reopen"))
        if self.journal.path.exists():
            check_settled(self.store.read(self.session.id).events)
        await self._finish()

    # ---- what must hold -----------------------------------------------------------------------------------------

    async def _check_record(self) -> None:
        """At any rest, the log says what is in memory."""
        ledger = _ledger(self.session)
        assert self.session.status == _at_rest(_state(ledger))
        await _on_disk(self.journal)
        if self.journal.path.exists() and self.session.status in ("idle", "paused"):
            loaded = self.store.read(self.session.id)
            assert _state(Ledger(loaded.events, context=GIVEN)) == _state(ledger)
            assert loaded.about.unfinished == (ledger.running or ledger.paused)

    def _check_same(self, before: Mapping[str, Any], session: Session) -> None:
        after = _state(_ledger(session))
        assert after == before
        assert session.status == _at_rest(before)

    def _check_log(self, log: Path) -> None:
        assert verified(log).sound
        ids = [line["id"] for line in _lines(log) if line["type"] == "message_added"]
        assert len(ids) == len(set(ids)), "ids of messages never repeat"


def _traits(name: str) -> Any:
    def of(arguments: Mapping[str, Any]) -> Traits:
        where = arguments["where"]
        return Traits(EFFECTS[name], shared if where is None else writes(where))

    return of


async def _summarize(messages: Any, _instructions: str) -> str:
    await asyncio.sleep(0)
    return f"{len(messages)} messages"


async def _on_disk(journal: DiskJournal) -> None:
    waiting = journal.barrier()
    if waiting is not None:
        await waiting


def _ledger(session: Session) -> Ledger:
    return vars(session)["_record"].ledger


def _state(ledger: Ledger) -> dict[str, Any]:
    """What has to be the same after a restart."""
    history: list[Message] = list(ledger.history())
    return {
        "messages": list(ledger.messages),
        "sent": history,
        "context": dict(ledger.context),
        "mode": ledger.mode,
        "metadata": {key: value for key, value in ledger.metadata.items() if value is not None},
        "policies": list(ledger.policies),
        "counted": ledger.counted,
        "running": ledger.running,
        "paused": ledger.paused,
        "waiting": dict(ledger.waiting),
        "denied": (ledger.denied, ledger.denied_in_a_row),
        "open": ledger.open_turn,
        "calls": {call_id: entry.status for call_id, entry in ledger.calls.items()},
    }


def _at_rest(state: Mapping[str, Any]) -> str:
    return "paused" if state["running"] or state["paused"] or state["waiting"] else "idle"


def _lines(log: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in log.read_bytes().splitlines() if log.exists() else ():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def _copy(data: Path, to: Path) -> None:
    """As a power cut would leave it; files may come and go meanwhile."""
    for path in sorted(data.rglob("*")):
        target = to / path.relative_to(data)
        with suppress(FileNotFoundError):
            if path.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())


def check_settled(events: list[Durable]) -> None:
    """Every call of the live line has exactly one result."""
    open_calls: set[str] = set()
    for event in events:
        if isinstance(event, CallArrived):
            assert event.call_id not in open_calls
            open_calls.add(event.call_id)
        elif isinstance(event, CallSettled):
            assert event.call_id in open_calls
            open_calls.remove(event.call_id)
    assert not open_calls


@pytest.mark.spec("TRS-1", "TRS-3", "TRS-7", "TRS-9", "TRS-10", "CMP-1")
@given(
    st.lists(spoken, min_size=3, max_size=12),
    st.lists(steps, min_size=10, max_size=40),
    st.sampled_from((None, None, *WINDOWS)),
)
@fewer(20)
def test_what_is_on_record_is_what_was_in_memory(script: list[Spoken], taken: list[Step], window: int | None) -> None:
    async def main(folder: Path) -> None:
        world = World(folder, list(script), window)
        await world.begin(await world.store.create())
        world.session.post(Prompt("the first"))
        for step in taken:
            await world.take(step)
        await world.end()

    with TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
