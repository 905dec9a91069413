"""What the tests of the core share: an executor on virtual time that keeps all it said, and a few tools."""

import asyncio
import threading
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Literal

from callgate.assembly import DecisionGate, Executor
from callgate.assembly.runner import RunOutcome, ToolCallRunner
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.gate import PostHook
from callgate.core.ports import Case, Check, Gate, Host, Run, Tool, ToolSource
from callgate.host.threads import in_thread
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, VirtualLoop, settle
from callgate.words.calls import Result, Status, ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Allow, Choice, Confirmation, Pattern, Question
from callgate.words.errors import ToolFailure
from callgate.words.events import CallProgressed, Event, StrayEnded
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Text
from callgate.words.traits import Effects, Traits, exclusive, reads, shared, writes

NOON = 1_700_000_000.0

READER = Traits(effects="none")
ALONE = Traits(declared_locks=exclusive)
FREE = Traits(effects="none", declared_locks=shared)


class VirtualClock:
    """The running virtual loop's time; the wall clock starts at NOON."""

    def now(self) -> float:
        return NOON + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def call_later(self, delay: float, callback: Any) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(delay, callback)


def virtual_host(files: Mapping[str, bytes | str] | None = None) -> MemoryHost:
    return MemoryHost(files, VirtualClock())


def allow_all(*checks: Check, after: Iterable[PostHook] = ()) -> DecisionGate:
    """A gate that lets through what none of the given checks decides."""
    return DecisionGate((*checks, Check("all", lambda case: Allow("test"))), after=after)


def changed_by_hook(name: str, **arguments: Any) -> Check:
    """A hook that gives the calls of one tool other arguments."""

    def judge(case: Case) -> Allow | None:
        return Allow("hook", arguments=arguments) if case.name == name else None

    return Check("hook", judge)


def call(call_id: str, name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments)


def answer(question: Question | None, outcome: Literal["yes", "yes_always", "no"], **more: Any) -> Confirmation:
    assert question is not None
    return Confirmation(question.call_id, outcome, question.arguments_hash, **more)


class Desk:
    """An executor with everything it recorded and told. Calls are allowed unless a gate says otherwise."""

    def __init__(
        self,
        *tools: Tool,
        gate: Gate | None = None,
        host: Host | None = None,
        context: Mapping[str, Any] | None = None,
        ledger: Ledger | None = None,
        toolbox: ToolSource | None = None,
        lineage: tuple[str, ...] = (),
        journal: MemoryJournal | None = None,
        **settings: Any,
    ) -> None:
        self.host: Any = host or virtual_host()
        self.events: list[Event] = []
        self.journal = journal or MemoryJournal()
        self.ledger = ledger or Ledger(context=context)
        self.record = Record(self.journal, self.ledger, [self.events.append])
        self.executor = Executor(
            toolbox or PlainToolbox(*tools),
            gate or allow_all(),
            host=self.host,
            record=self.record,
            settings=ExecutorSettings(**settings),
            lineage=lineage,
        )

    def add(self, *calls: ToolCall) -> None:
        for each in calls:
            self.executor.add(each)

    async def begin(self, *calls: ToolCall) -> None:
        """A whole message, run until everything waits for something."""
        self.add(*calls)
        self.executor.close()
        await settle()

    async def finish(self, *calls: ToolCall) -> dict[str, Result]:
        """Run the message to its end; the results in the order in which they left."""
        self.add(*calls)
        self.executor.close()
        return {each.id: the_result(each) for each in await self.rest()}

    async def rest(self) -> list[ToolCall]:
        return [item async for item in self.executor.remaining() if isinstance(item, ToolCall)]

    def now(self, call_id: str) -> ToolCall:
        return self.ledger.call(call_id)

    def status(self, call_id: str) -> Status:
        return self.now(call_id).status

    def result(self, call_id: str) -> Result:
        return the_result(self.now(call_id))

    def told(self, kind: type) -> list[Any]:
        self.record.deliver()
        return [event for event in self.events if isinstance(event, kind)]


def the_result(of: ToolCall) -> Result:
    assert of.result is not None, f"{of.id} has no result yet"
    return of.result


def codes(results: Mapping[str, Result]) -> dict[str, str]:
    return {call_id: result.code for call_id, result in results.items()}


def ids(calls: Iterable[ToolCall | CallProgressed]) -> list[str]:
    return [each.id if isinstance(each, ToolCall) else f"progress {each.call_id}" for each in calls]


def failing(name: str = "Bash", traits: Traits = FREE, message: str = "exit code 1") -> PlainTool:
    def fail(_arguments: Mapping[str, Any], _run: Run) -> str:
        raise ToolFailure(message)

    return PlainTool(name, fail, traits=traits)


def saying(name: str, value: object, traits: Traits = FREE) -> PlainTool:
    return PlainTool(name, lambda _arguments, _run: value, traits=traits)


def lasting(name: str = "Sleep", traits: Traits = FREE) -> PlainTool:
    """Takes the virtual seconds its argument says."""

    async def wait(arguments: Mapping[str, Any], _run: Run) -> str:
        seconds = arguments["seconds"]
        await asyncio.sleep(seconds)
        return f"{seconds:g} s passed"

    return PlainTool(name, wait, traits=traits)


def deaf(opened: asyncio.Event, name: str = "Deaf", traits: Traits = FREE, value: object = "at last") -> PlainTool:
    """Ignores every cancel until it is opened."""

    async def ignore(_arguments: Mapping[str, Any], _run: Run) -> object:
        while not opened.is_set():
            try:
                await opened.wait()
            except asyncio.CancelledError:
                continue
        return value

    return PlainTool(name, ignore, traits=traits)


def stuck(released: threading.Event, name: str = "Stuck", traits: Traits = FREE) -> PlainTool:
    """Blocks a thread, which nothing can stop."""

    async def block(_arguments: Mapping[str, Any], _run: Run) -> str:
        assert await in_thread(lambda: released.wait(60))
        return "released"

    return PlainTool(name, block, traits=traits)


async def thread_ended(desk: Desk, released: threading.Event) -> None:
    """Release the stuck thread of a stray and wait for it in real time."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    assert isinstance(loop, VirtualLoop)
    stop = desk.record.on_event(lambda event: ended.set() if isinstance(event, StrayEnded) else None)
    with loop.hold():
        released.set()
        await ended.wait()
    stop()


def file_reader(name: str = "Read", body: Any = None) -> PlainTool:
    return PlainTool(name, body, traits=lambda a: Traits(effects="none", declared_locks=reads(a["path"])))


def file_writer(name: str = "Edit", body: Any = None, effects: Effects = "mutating") -> PlainTool:
    return PlainTool(name, body, traits=lambda a: Traits(effects=effects, declared_locks=writes(a["path"])))


def previewing_writer(seen: list[str] | None = None) -> PlainTool:
    """Write(path, text) with a preview; ``seen`` notes what each preview found in the file."""

    def preview(arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        host = run.host
        assert isinstance(host, MemoryHost)
        before = host.files.get(host.normal(arguments["path"]))
        if seen is not None:
            seen.append("" if before is None else before.decode())
        change = FileChange(arguments["path"], before, (before or b"") + arguments["text"].encode())
        return ChangeSet(f"Write {arguments['path']}", (change,))

    return PlainTool(
        "Write",
        lambda arguments, _run: f"wrote {arguments['path']}",
        traits=lambda a: Traits(declared_locks=writes(a["path"])),
        preview=preview,
    )


def updating(name: str = "Set", traits: Traits = FREE) -> PlainTool:
    """Puts its arguments into the context."""
    return PlainTool(name, lambda a, _run: Result((Text("set"),), context_update=dict(a)), traits=traits)


def seeing(seen: list[dict[str, Any]], name: str = "See", traits: Traits = FREE) -> PlainTool:
    def look(_arguments: Mapping[str, Any], run: Run) -> str:
        seen.append(dict(run.context))
        return "seen"

    return PlainTool(name, look, traits=traits)


def batch(
    *tools: Tool, gate: Gate | None = None, host: MemoryHost | None = None, on_event: Any = None, **settings: Any
) -> ToolCallRunner:
    """A runner with the default gate: ``effects="none"`` is allowed, the rest is asked about."""
    return ToolCallRunner(
        PlainToolbox(*tools),
        gate or DecisionGate(),
        host=host or virtual_host(),
        settings=ExecutorSettings(**settings),
        on_event=on_event,
    )


def pending(out: RunOutcome) -> tuple[ToolCall, ...]:
    return out.still_needs_approval + out.held


def questions(out: RunOutcome) -> dict[str, Question]:
    return {each.id: each.question for each in out.still_needs_approval if each.question is not None}


def lists(out: RunOutcome) -> dict[str, list[str]]:
    """The lists of an outcome that are not empty, as ids."""
    names = ("executed", "still_needs_approval", "held", "failed")
    return {name: ids(getattr(out, name)) for name in names if getattr(out, name)}


def bash() -> PlainTool:
    """A tool with effects that proposes ``git …`` for an always."""
    proposed = Choice("git …", Pattern("prefix", "git", "command"))
    traits = Traits(declared_locks=shared, choices_for_always=(proposed,))
    return PlainTool("Bash", lambda arguments, _run: f"ran {arguments['command']}", traits=traits)


class SlowJournal(MemoryJournal):
    """Durable only when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.synced = asyncio.Event()

    def barrier(self) -> Awaitable[None] | None:
        return None if self.synced.is_set() else self._wait()

    async def _wait(self) -> None:
        await self.synced.wait()
