"""What a session lends to its tools: the stack of pending actions, and its mode. And people who resolve."""

# An input comes from outside and may not keep to its type.
# pyright: reportUnnecessaryIsInstance=false

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, get_args

from callgate.changes.stack import Stack
from callgate.core.executor import Executor, ExecutorSettings
from callgate.core.ledger import Ledger
from callgate.core.ports import Case, Gate, Host, Toolbox
from callgate.core.record import MemoryJournal, Record
from callgate.tools.builtin.resolve import NOTHING, bound, resolve_spec
from callgate.tools.resolving import WithResolve
from callgate.tools.toolbox import Toolbox as Box
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import Allow, Ask, Choice, Decision, Deny, Mode
from callgate.words.events import ModeSet
from callgate.words.inputs import Resolve
from callgate.words.pending import RESOLVE, Staged, Word


class Desk:
    """``toolbox`` is the session's own with ``resolve`` in it."""

    def __init__(
        self,
        box: Toolbox,
        host: Host,
        gate: Gate,
        record: Record,
        settings: ExecutorSettings,
        lineage: tuple[str, ...],
    ) -> None:
        self._host = host
        self._gate = gate
        self._record = record
        self._settings = settings
        self._lineage = lineage
        self._wishes: set[_Wish] = set()
        self.stack = Stack(
            *(host, lambda: record.ledger.pending, record.write, record.write_first),
            message=self._message,
            telling=lambda: record.ledger.telling,
            number=record.ledger.staged,
            grace=settings.grace,
        )
        self.toolbox = WithResolve(
            box, self.stack, message=self._message, claimed=self._claimed, planning=_Planning(record, host.clock.now)
        )

    def _message(self) -> str:
        opened = self._record.ledger.open_turn
        return "" if opened is None else opened.message_id

    def _claimed(self) -> list[str]:
        calls = self._record.ledger.calls.values()
        return [str(entry.arguments.get("id")) for entry in calls if entry.name == RESOLVE and entry.result is None]

    def resolve(self, sent: Resolve, ready: Callable[[], Awaitable[None]]) -> Coroutine[Any, Any, str | None]:
        """Do what a person says about a pending action, once all is ``ready``. Why it could not be done, if so."""
        wish = _Wish()  # from now on it can be interrupted
        self._wishes.add(wish)
        return self._resolve(sent, ready, wish)

    async def _resolve(self, sent: Resolve, ready: Callable[[], Awaitable[None]], wish: "_Wish") -> str | None:
        try:
            await ready()
            return wish.stopped or await self._fulfil(sent, wish)
        finally:
            self._wishes.discard(wish)

    async def _fulfil(self, sent: Resolve, wish: "_Wish") -> str | None:
        staged = self._meant(sent)
        if not isinstance(staged, Staged):
            return staged
        arguments = {"action": sent.action, "reason": sent.reason, "id": staged.id}
        if sent.extra is not None:
            arguments["extra"] = sent.extra
        call = ToolCall(f"{RESOLVE}-{staged.id}", RESOLVE, arguments)
        with self.stack.claimed(staged):
            result = await self._done(staged, call, sent.action, wish)
        return result.text if result.is_error else None

    def _meant(self, sent: Resolve) -> Staged | str:
        if sent.action not in get_args(Word):
            return f"there is no action {sent.action!r}; there are {' and '.join(get_args(Word))}"
        if not isinstance(sent.reason, str) or not sent.reason.strip():
            return "the reason must not be blank: say why"
        staged = next(self.stack.newest(), None) if sent.id is None else self.stack.get(sent.id)
        if staged is None:
            there = ", ".join(each.id for each in self.stack.newest())
            return f"there is no pending action {sent.id!r}; pending: {there}" if there else NOTHING
        if self.stack.busy(staged.id):
            return f"{staged.label} is being resolved right now"
        if staged.id in self._claimed():
            return f"the model is resolving {staged.label}: answer its question, or wait for the end of it"
        return staged

    async def _done(self, staged: Staged, call: ToolCall, action: Word, wish: "_Wish") -> Result:
        """Through an executor of its own: decided, locked, seen through and put into words like a call of the model,
        but for the question, which has its answer."""
        mode = self._record.ledger.mode
        ledger = Ledger(mode="default" if mode == "dont_ask" else mode)  # who asks for it need not be asked
        ledger.policies = self._record.ledger.policies
        tool = bound(resolve_spec(), self.stack, staged, action, by="person")
        executor = Executor(
            Box(tool),
            _Answered(self._gate),
            host=self._host,
            record=Record(MemoryJournal(), ledger),
            settings=replace(self._settings, patience=None),
            lineage=(*self._lineage, f"p{staged.id.rpartition(':')[2]}"),
        )
        wish.executor = executor
        async with executor:
            executor.add(call)
            executor.close()
            async for released in executor.remaining():
                if isinstance(released, ToolCall) and released.result is not None:
                    return released.result
        raise AssertionError("a call left no result")

    def interrupt(self, because: str) -> bool:
        """Stop what people are having done. Whether there is something."""
        for wish in self._wishes:
            wish.stopped = because
            if wish.executor is not None:
                wish.executor.interrupt(because)
        return bool(self._wishes)


class _Wish:
    """What a person wants done: why it is not any more, and who is at it."""

    def __init__(self) -> None:
        self.stopped = ""
        self.executor: Executor | None = None


class _Answered:
    """A gate where the person is there already, and says yes. What is denied stays denied."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def judge(self, case: Case) -> Decision | Awaitable[Decision]:
        decision = self._gate.judge(case)
        return _yes(decision) if isinstance(decision, Allow | Ask | Deny) else _when(decision)

    def judge_again(self, case: Case) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        again = self._gate.judge_again(case)
        return _no_question(again) if again is None or isinstance(again, Deny | Ask) else _when_again(again)

    def requested(self, case: Case, ask: Ask) -> Awaitable[Allow | Deny | None] | None:
        return None

    def remembered(self, case: Case, /) -> Allow | None:
        return None

    def choices(self, case: Case, /) -> tuple[Choice, ...]:
        return ()

    def after(self, case: Case, result: Result) -> Result | Awaitable[Result]:
        return self._gate.after(case, result)


def _yes(decision: Decision) -> Decision:
    if not isinstance(decision, Ask):
        return decision
    return Allow(
        *("person", decision.reason, decision.arguments, decision.origin, decision.context),
        decision.changed_by or decision.by,
    )


def _no_question(again: Deny | Ask | None) -> Deny | None:
    return again if isinstance(again, Deny) else None


async def _when_again(again: Awaitable[Deny | Ask | None]) -> Deny | None:
    return _no_question(await again)


async def _when(decision: Awaitable[Decision]) -> Decision:
    return _yes(await decision)


class _Planning:
    def __init__(self, record: Record, now: Callable[[], float]) -> None:
        self._record = record
        self._now = now

    @property
    def on(self) -> bool:
        return self._record.ledger.mode == "plan"

    def enter(self) -> None:
        self._record.write(ModeSet(self._now(), "plan"))

    @property
    def mode(self) -> Mode:
        return self._record.ledger.mode

    def leave(self) -> None:
        self._record.write(ModeSet(self._now(), self._record.ledger.mode_before))
