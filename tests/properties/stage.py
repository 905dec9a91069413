"""One executor on a virtual clock: a plan for each call, a person who answers, and a note of what really happened."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from math import inf
from typing import Any

from callgate.assembly import DecisionGate, Executor
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.ports import Case, Check, Run, Verdict
from callgate.host.clock import LoopClock
from callgate.testing import MemoryHost, PlainTool, PlainToolbox
from callgate.words.calls import Accepted, Rejected, Result, Status, ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Allow, Ask, Confirmation, Deny, Question
from callgate.words.errors import ToolFailure
from callgate.words.events import (
    CallDecided,
    CallProgressed,
    CallReleased,
    CallSettled,
    CallStarted,
    Event,
    QuestionAnswered,
    QuestionAsked,
)
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Text
from callgate.words.traits import Locks, Traits
from tests.properties.oracle import conflict, kin

EPOCH = 2.0**20  # small enough that no fraction of a second is lost


class VirtualClock(LoopClock):
    """The loop's time is the wall's time too, so that the same schedule gives the same events."""

    def now(self) -> float:
        return EPOCH + self.monotonic()


class Panic(BaseException):
    """What an extension module raises when it is broken: not an Exception."""


@dataclass(frozen=True)
class Verdicted:
    """What a check says about a call, and after how long; ``swap`` changes the arguments to the call's other locks."""

    kind: str = "allow"  # allow | ask | deny | raise | panic | exit | cancel | deny_swapped | panic_swapped
    after: float = 0.0
    swap: bool = False
    stubborn: float = 0.0  # goes on for so long when it is cancelled; inf: until strays are let go


@dataclass(frozen=True)
class Reply:
    """A person's answer, so long after the question; kind None never comes."""

    kind: str | None = "yes"  # yes | no | stop | always | swap | invalid | wrong_hash
    after: float = 1.0


@dataclass(frozen=True)
class Edit:
    """How the preview of a call goes about its change; the file is the one it writes by its locks."""

    preview: str = "ok"  # ok | fail | panic | nothing | hang
    after: float = 0.0
    stubborn: float = 0.0  # goes on for so long when it is cancelled, and then gives its change; inf: until let go
    applying: float = 0.0


@dataclass(frozen=True)
class Plan:
    """All there is to know about one call beforehand."""

    arrives: float = 0.0
    kind: str = "tool"  # tool | unknown | invalid | traits_raise
    effects: str = "none"
    locks: Locks | None = None
    other: Locks | None = None  # its locks once the arguments were changed
    lasts: float = 1.0
    ends: str = "ok"  # ok | failure | error | panic | cancels_itself | nonsense… | error_result
    on_cancel: str = "stop"  # stop | linger | finish | fail | never
    lingers: float = 0.0
    timeout: float | None = None
    cascade: bool = False
    interrupt: str = "block"
    verdict: Verdicted = Verdicted()
    reply: Reply = Reply()
    update: str | None = None  # mapping | function | raising | panicking | exiting | cancelling | not_a_mapping
    progress: bool = False
    after_hook: str = "none"  # none | slow | raise | panic | exit | cancel | hang
    edit: Edit | None = None  # it has a preview, which is applied before it runs

    def traits(self, *, swapped: bool = False) -> Traits:
        locks = self.other if swapped else self.locks
        return Traits(
            effects=self.effects,  # pyright: ignore[reportArgumentType]
            declared_locks=locks,
            timeout=self.timeout,
            interrupt=self.interrupt,  # pyright: ignore[reportArgumentType]
            cascade=self.cascade,
        )


@dataclass
class Ran:
    """What a tool's body went through, on the loop's clock."""

    id: str
    started: float
    locks: Locks
    lineage: tuple[str, ...]
    context: Mapping[str, Any]
    ended: float | None = None
    cancelled: float | None = None
    finished: bool = False  # it came to its own end before anybody cancelled it


class PlannedTool(PlainTool):
    """Does what the plan of its call says."""

    def __init__(self, stage: "Stage", name: str) -> None:
        preview = stage.preview if name == "Edit" else None
        super().__init__(name, traits=self._traits_of, preview=preview)
        self._stage = stage

    def _traits_of(self, arguments: Mapping[str, Any]) -> Traits:
        plan = self._stage.plans[arguments["n"]]
        if plan.kind == "traits_raise":
            raise RuntimeError("no traits")
        return plan.traits(swapped=arguments["swapped"])

    def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
        if isinstance(raw, str) or not isinstance(raw.get("n"), int):
            return Rejected(("$.n: missing, expected an integer",))
        return Accepted(dict(raw))

    async def run(self, arguments: Mapping[str, Any], run: Run) -> Result:
        return await self._stage.play(arguments, run)


class NotingHost(MemoryHost):
    """Notes what was applied when; ``applying`` says for a label how long that takes."""

    def __init__(self) -> None:
        super().__init__(clock=VirtualClock())
        self.notes: list[tuple[float, ChangeSet]] = []
        self.applying: dict[str, float] = {}
        self.applying_now: set[str] = set()  # or given up in the middle of it

    async def apply(self, changes: ChangeSet) -> ChangeSet:
        self.applying_now.add(changes.label)
        await asyncio.sleep(self.applying.get(changes.label, 0.0))
        self.applying_now.discard(changes.label)
        applied = await super().apply(changes)
        self.notes.append((asyncio.get_running_loop().time(), changes))
        return applied


class SlowJournal(MemoryJournal):
    """What is appended becomes durable only when a barrier has passed, after the next of these delays; None is no
    wait at all."""

    def __init__(self, delays: tuple[float | None, ...]) -> None:
        super().__init__()
        self._delays = cycle(delays)
        self.durable = 0

    def barrier(self) -> Awaitable[None] | None:
        delay = next(self._delays)
        if delay is None:
            self.durable = len(self.events)
            return None
        return self._pass(len(self.events), delay)

    async def _pass(self, upto: int, delay: float) -> None:
        await asyncio.sleep(delay)
        self.durable = max(self.durable, upto)


@dataclass
class Stage:
    """Calls of one message and everything around them. ``emitted`` is what a reader got, with the time."""

    plans: list[Plan]
    settings: ExecutorSettings = field(default_factory=ExecutorSettings)
    host: NotingHost = field(default_factory=NotingHost)
    lineage: tuple[str, ...] = ()
    prefix: str = "c"
    world: list[Ran] = field(default_factory=list[Ran])
    """Everything that ever ran on the host."""
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    reflex: Callable[[Event], None] | None = None
    """What a door does at once when it hears of something."""

    def __post_init__(self) -> None:
        self.ran: dict[str, Ran] = {}
        self.runs: list[str] = []
        self.emitted: list[tuple[float, ToolCall | CallProgressed]] = []
        self.events: list[tuple[float, Event]] = []
        self.settled: dict[str, float] = {}
        self.answers: list[tuple[float, str, str]] = []
        self.refusals: list[str] = []
        self.released = asyncio.Event()  # lets strays go
        self.faults: list[str] = []
        self.fallen: str | None = None  # why nothing more with effects may begin
        self.all_fallen = False  # nothing without effects either
        self.ledger = Ledger()
        self.mirror = Ledger()  # what somebody knows who only listens
        record = Record(self.journal, self.ledger, [self._hear])
        gate = DecisionGate(
            [Check("again", self._judge_again, again=True), Check("plan", self._judge)], after=[self._after]
        )
        self.executor = Executor(
            PlainToolbox(*(PlannedTool(self, name) for name in ("Play", "Fragile", "Edit"))),
            gate,
            host=self.host,
            record=record,
            settings=self.settings,
            lineage=self.lineage,
        )

    # ---- the calls ----------------------------------------------------------------------------------------------

    def id(self, n: int) -> str:
        return f"{self.prefix}{n}"

    def plan(self, call_id: str) -> Plan:
        return self.plans[int(call_id[len(self.prefix) :])]

    def call(self, n: int) -> ToolCall:
        plan = self.plans[n]
        name = "Nobody" if plan.kind == "unknown" else "Fragile" if plan.cascade else "Play"
        name = "Edit" if plan.edit is not None and plan.kind != "unknown" else name
        arguments: dict[str, Any] = {"m": n} if plan.kind == "invalid" else {"n": n, "swapped": False}
        return ToolCall(self.id(n), name, arguments)

    def add(self, n: int) -> None:
        self.executor.add(self.call(n))

    def locks_now(self, call_id: str) -> Locks:
        """By the arguments on record."""
        plan, entry = self.plan(call_id), self.ledger.calls[call_id]
        return plan.traits(swapped=bool(entry.arguments.get("swapped"))).locks

    # ---- the tool -----------------------------------------------------------------------------------------------

    async def play(self, arguments: Mapping[str, Any], run: Run) -> Result:
        loop = asyncio.get_running_loop()
        n = arguments["n"]
        plan = self.plans[n]
        self.runs.append(run.call_id)
        ran = self._begin(arguments, run)
        try:
            if plan.progress:
                run.progress(f"begun {n}", current=0.0, total=1.0)
            try:
                await asyncio.sleep(plan.lasts)
            except asyncio.CancelledError:
                ran.cancelled = loop.time()
                await self._told_to_stop(plan)
                return Result((Text(f"finished {n} anyway"),))
            ran.finished = True
            if plan.progress:
                run.progress(f"ended {n}", current=1.0, total=1.0)
            return self._end(plan, n)
        finally:
            ran.ended = loop.time()

    def _begin(self, arguments: Mapping[str, Any], run: Run) -> Ran:
        locks = self.plans[arguments["n"]].traits(swapped=arguments["swapped"]).locks
        self._notice_start(run.call_id, run)
        now = asyncio.get_running_loop().time()
        ran = self.ran[run.call_id] = Ran(run.call_id, now, locks, run.lineage, dict(run.context))
        self.world.append(ran)
        return ran

    async def preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        """Before the question, or at the beginning of the run; that part of the run is noted like the rest of it."""
        plan = self.plans[arguments["n"]]
        assert plan.edit is not None
        if self.ledger.calls[run.call_id].status is not Status.EXECUTING:
            self._notice_order(run.call_id)
            return await self._change(plan.edit, arguments, run, None)
        ran = self._begin(arguments, run)
        try:
            return await self._change(plan.edit, arguments, run, ran)
        finally:
            ran.ended = asyncio.get_running_loop().time()

    async def _change(self, edit: Edit, arguments: Mapping[str, Any], run: Run, ran: Ran | None) -> Any:
        try:
            await (asyncio.Event().wait() if edit.preview == "hang" else asyncio.sleep(edit.after))
        except asyncio.CancelledError:
            if ran is not None:
                ran.cancelled = asyncio.get_running_loop().time()
            if not edit.stubborn:
                raise
            await self._stubborn(edit.stubborn)
        if edit.preview == "fail":
            raise ToolFailure("no such text")
        if edit.preview == "panic":
            raise Panic("a broken preview")
        if edit.preview == "nothing":
            return None
        path = self.edited_path(arguments)
        before = self.host.files.get(self.host.normal(path))
        self.host.applying[run.call_id] = edit.applying
        return ChangeSet(run.call_id, (FileChange(path, before, (before or b"") + f"[{run.call_id}]".encode()),))

    def edited_path(self, arguments: Mapping[str, Any]) -> str:
        """The one it writes by its locks."""
        return self.plans[arguments["n"]].traits(swapped=arguments["swapped"]).locks.writes[0]

    async def _told_to_stop(self, plan: Plan) -> None:
        """Raises unless the tool finishes in spite of the cancel."""
        if plan.on_cancel == "stop":
            raise asyncio.CancelledError
        if plan.on_cancel == "fail":
            raise ToolFailure("stopped in the middle")
        if plan.on_cancel == "never":
            await _until(self.released)
        else:
            await _whatever_happens(plan.lingers)
        if plan.on_cancel == "linger":
            raise asyncio.CancelledError

    def _end(self, plan: Plan, n: int) -> Any:
        match plan.ends:
            case "failure":
                raise ToolFailure(f"{n} failed")
            case "error":
                raise ValueError(f"{n} broke")
            case "panic":
                raise Panic(f"{n} panicked")
            case "exit":
                raise SystemExit(3)
            case "cancels_itself":
                raise asyncio.CancelledError
            case "nothing":
                return None
            case "number":
                return 7
            case "error_result":
                return Result((Text(f"{n} says no"),), is_error=True)
            case "odd_code":
                return Result((Text(f"{n}"),), code="splendid")  # pyright: ignore[reportArgumentType]
            case "empty":
                return Result()
            case _:
                return Result((Text(f"result {n}"),), context_update=self._update(plan, n))

    def _update(self, plan: Plan, n: int) -> Any:
        match plan.update:
            case "mapping":
                return {f"k{n}": n, "last": n}
            case "function":
                return lambda context: {"trail": [*context.get("trail", []), n], "last": n}
            case "raising":
                return _raise
            case "panicking" | "exiting" | "cancelling":
                return partial(_break, plan.update)
            case "not_a_mapping":
                return lambda _context: n
            case _:
                return None

    def _notice_start(self, call_id: str, run: Run) -> None:
        """What must hold at the very moment a tool begins."""
        mine, index = self.locks_now(call_id), self.index(call_id)
        self._notice_order(call_id)
        if self.plans[index].effects != "none" and not self._on_disk(CallStarted, call_id):
            self.faults.append(f"{call_id} began before that was on record")
        for other in self.world:
            if other.ended is None and conflict(other.locks, mine) and not kin(other.lineage, run.lineage):
                # What is shared holds nothing on the host, so it does not wait for strays either.
                stray = self.ledger.calls[other.id].result is not None
                if not (stray and "shared" in (other.locks.scope, mine.scope)):
                    self.faults.append(f"{call_id} overlaps {other.id}")
        inside = sum(other.ended is None and self.ledger.calls[other.id].result is None for other in self.ran.values())
        if inside >= self.settings.max_concurrency:
            self.faults.append(f"{call_id} is one more than {self.settings.max_concurrency}")
        if self.plans[index].effects != "none" and self.settings.start != "eager" and self.closed_as != "whole":
            self.faults.append(f"{call_id} has effects and began in a message that is {self.closed_as}")
        if self.settings.start == "after" and self.closed_as is None:
            self.faults.append(f"{call_id} began before the end")
        if self.fallen is not None and (self.all_fallen or self.plans[index].effects != "none"):
            self.faults.append(f"{call_id} began after {self.fallen}")
        shown = self.plans[index].edit is None  # others began earlier, with their preview
        if shown and dict(run.context) != self.folded_context():
            self.faults.append(f"{call_id} sees {dict(run.context)} instead of {self.folded_context()}")

    def _notice_order(self, call_id: str) -> None:
        mine, started = self.locks_now(call_id), self.ledger.calls[call_id].started_at
        since = asyncio.get_running_loop().time() if started is None else started - EPOCH
        for n in range(self.index(call_id)):
            entry = self.ledger.calls.get(self.id(n))
            if entry is None or entry.result is not None or self.plans[n].kind != "tool":
                continue
            if conflict(self.locks_now(self.id(n)), mine) and self._decided_at(entry.id) < since:
                self.faults.append(f"{call_id} overtook {self.id(n)}")

    def _decided_at(self, call_id: str) -> float:
        """By the record: a listener may hear of it only after the step that it was part of."""
        decided = [each for each in self.journal.events if isinstance(each, CallDecided) and each.call_id == call_id]
        return decided[-1].at - EPOCH if decided else -1.0

    def _on_disk(self, kind: type, call_id: str) -> bool:
        events = self.journal.events
        for event in events[: getattr(self.journal, "durable", len(events))]:
            if isinstance(event, kind) and call_id == about(event):
                return True
        return False

    def look(self) -> None:
        """Somebody fetches the open questions instead of waiting to hear of them."""
        for question in self.executor.questions:
            if not self._on_disk(QuestionAsked, question.call_id):
                self.faults.append(f"the question about {question.call_id} is shown and not on record")

    def index(self, call_id: str) -> int:
        return int(call_id[len(self.prefix) :])

    def folded_context(self) -> dict[str, Any]:
        """The updates of all calls before the first unsettled one, in arrival order."""
        context: dict[str, Any] = {}
        for n, plan in enumerate(self.plans):
            entry = self.ledger.calls.get(self.id(n))
            if entry is None or entry.result is None:
                break
            ran = self.ran.get(self.id(n))
            if ran is None or not ran.finished or plan.ends != "ok" or entry.result.code != "ok":
                continue
            if plan.update == "mapping":
                context |= {f"k{n}": n, "last": n}
            elif plan.update == "function":
                context |= {"trail": [*context.get("trail", []), n], "last": n}
        return context

    closed_as: str | None = None

    def close(self, stop_reason: str = "tool_calls") -> None:
        if self.closed_as is None:
            self.closed_as = "whole" if stop_reason == "tool_calls" else "cut off"
        self.executor.close(stop_reason)

    # ---- the gate -----------------------------------------------------------------------------------------------

    def _judge(self, case: Case) -> Any:
        verdict = self.plans[case.arguments["n"]].verdict
        return self._verdict_later(case, verdict) if verdict.after or verdict.stubborn else self._verdict(case, verdict)

    async def _verdict_later(self, case: Case, verdict: Verdicted) -> Verdict:
        try:
            await asyncio.sleep(verdict.after)
        except asyncio.CancelledError:
            await self._stubborn(verdict.stubborn)
            raise
        return self._verdict(case, verdict)

    async def _stubborn(self, seconds: float) -> None:
        await (_until(self.released) if seconds == inf else _whatever_happens(seconds))

    def _verdict(self, case: Case, verdict: Verdicted) -> Verdict:
        arguments = {**case.arguments, "swapped": True} if verdict.swap else None
        match verdict.kind:
            case "ask":
                return Ask("plan", "because", arguments=arguments)
            case "deny":
                return Deny("plan", "because")
            case "raise" | "panic" | "exit" | "cancel":
                raise _broken(verdict.kind)
            case _:
                return Allow("plan", arguments=arguments)

    def _judge_again(self, case: Case) -> Any:
        plan = self.plans[case.arguments["n"]]
        if plan.verdict.kind == "deny_swapped" and case.arguments["swapped"]:
            return Deny("again", "not with these")
        if plan.verdict.kind == "panic_swapped" and case.arguments["swapped"]:
            raise Panic("a broken check for any arguments")
        return None

    def _after(self, case: Case, result: Result) -> Any:
        hook = self.plans[case.arguments["n"]].after_hook
        return self._after_later(hook, result) if hook != "none" else result

    async def _after_later(self, hook: str, result: Result) -> Result:
        if hook in ("raise", "panic", "exit", "cancel"):
            raise _broken(hook)
        if hook == "hang":
            await _until(self.released)
        else:
            await asyncio.sleep(self.settings.grace / 2)
        return result

    # ---- the person ---------------------------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        now = asyncio.get_running_loop().time()
        self.events.append((now, event))
        try:
            self.mirror.fold(event)
        except Exception as error:
            self.faults.append(f"whoever listens cannot follow: {error!r}")
        if isinstance(event, CallSettled):
            if event.call_id in self.settled:
                self.faults.append(f"{event.call_id} settled twice")
            self.settled[event.call_id] = event.at - EPOCH
            plan = self.plan(event.call_id)
            ran = self.ran.get(event.call_id)
            if ran is not None and plan.effects != "none" and not self._on_disk(CallSettled, event.call_id):
                self.faults.append(f"{event.call_id} is told as settled and is not on record")
            if event.result.code in ("tool_error", "timed_out") and plan.cascade and plan.kind == "tool":
                self.fallen = f"{event.call_id} failed"
        elif isinstance(event, CallDecided):
            if isinstance(event.decision, Deny) and event.decision.stop:
                self.fallen = f"a person stopped at {event.call_id}"
                self.all_fallen = True
            if event.decision.by == "person" and not self._on_disk(QuestionAnswered, event.call_id):
                self.faults.append(f"the answer about {event.call_id} acted before it was on record")
        elif isinstance(event, QuestionAsked):
            self._consider(event)
        if self.reflex is not None:
            self.reflex(event)

    def _consider(self, asked: QuestionAsked) -> None:
        call_id = asked.question.call_id
        if not self._on_disk(QuestionAsked, call_id):
            self.faults.append(f"the question about {call_id} was put before it was on record")
        reply = self.plan(call_id).reply
        if reply.kind is not None:
            asyncio.get_running_loop().call_later(reply.after, self.answer, asked.question, reply.kind)

    def answer(self, question: Question, kind: str) -> None:
        arguments: dict[str, Any] | None = None
        if kind == "swap":
            arguments = {**question.arguments, "swapped": True}
        elif kind == "invalid":
            arguments = {"m": 1}
        confirmation = Confirmation(
            question.call_id,
            {"no": "no", "stop": "no", "always": "yes_always"}.get(kind, "yes"),  # pyright: ignore[reportArgumentType]
            "other" if kind == "wrong_hash" else question.arguments_hash,
            stop=kind == "stop",
            arguments=arguments,
        )
        refusal = self.executor.answer(confirmation)
        if refusal is None:
            self.answers.append((asyncio.get_running_loop().time(), question.call_id, kind))
        else:
            self.refusals.append(refusal)

    # ---- reading ------------------------------------------------------------------------------------------------

    def take(self) -> None:
        now = asyncio.get_running_loop().time()
        self.emitted += [(now, item) for item in self.executor.completed()]

    async def drain(self, pace: float = 0.0) -> None:
        async for item in self.executor.remaining():
            self.emitted.append((asyncio.get_running_loop().time(), item))
            await asyncio.sleep(pace)

    @property
    def results(self) -> list[ToolCall]:
        return [item for _, item in self.emitted if isinstance(item, ToolCall)]

    @property
    def released_order(self) -> list[int]:
        """As a door reads it: what was not held leaves as it settles, the rest when it is released."""
        index = {each.id: each.index for each in self.executor.calls()}
        leaving = [event for _, event in self.events if isinstance(event, CallSettled | CallReleased)]
        return [index[event.call_id] for event in leaving if isinstance(event, CallReleased) or not event.held]


async def _whatever_happens(seconds: float) -> None:
    """Sleep to the end however often it is cancelled."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        try:
            await asyncio.sleep(end - loop.time())
        except asyncio.CancelledError:
            continue


async def _until(event: asyncio.Event) -> None:
    while not event.is_set():
        try:
            await event.wait()
        except asyncio.CancelledError:
            continue


def _raise(_context: Mapping[str, Any]) -> Mapping[str, Any]:
    raise RuntimeError("a broken modifier")


def _break(how: str, _context: Mapping[str, Any]) -> Mapping[str, Any]:
    raise _broken({"panicking": "panic", "exiting": "exit", "cancelling": "cancel"}[how])


def _broken(how: str) -> BaseException:
    errors: dict[str, BaseException] = {
        "panic": Panic("broken"),
        "exit": SystemExit(3),
        "cancel": asyncio.CancelledError("of its own"),
    }
    return errors.get(how, RuntimeError("broken"))


def about(event: Event) -> str:
    """The id of the call that an event is about."""
    if isinstance(event, QuestionAsked):
        return event.question.call_id
    if isinstance(event, QuestionAnswered):
        return event.confirmation.call_id
    return getattr(event, "call_id", None) or ""


def executor_of(body: Callable[[Mapping[str, Any], Run], Any], judge: Callable[[Case], Any], **hooks: Any) -> Executor:
    """An executor with one tool and one check."""
    return Executor(
        PlainToolbox(PlainTool("Tool", body)),
        DecisionGate([Check("check", judge)], **hooks),
        host=MemoryHost(clock=VirtualClock()),
        record=Record(MemoryJournal(), Ledger()),
        settings=ExecutorSettings(),
    )


async def results_of(executor: Executor) -> list[ToolCall]:
    """The calls of a closed message in the order in which their results leave."""
    return [item async for item in executor.remaining() if isinstance(item, ToolCall)]
