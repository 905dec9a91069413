"""The batch door: however a person answers, and over however many runs, every call ends once."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.assembly import DecisionGate
from callgate.assembly.runner import RunOutcome, ToolCallRunner
from callgate.conversation.ledger import Ledger
from callgate.core.ports import Case, Check, Run, Verdict
from callgate.formats.jsonable import from_json, to_json
from callgate.policy.checks import standard_checks
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, run_virtual
from callgate.words.calls import Result, ToolCall
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import ApprovalPolicy, Ask, Confirmation, Deny
from callgate.words.events import CallDecided, Event
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Text
from callgate.words.traits import Locks, Traits, exclusive, reads, shared, writes
from tests.profiles import fewer
from tests.properties.oracle import conflict
from tests.properties.stage import VirtualClock
from tests.properties.strategies import passing

EFFECTS = {
    "Look": "none",
    "Put": "idempotent",
    "Do": "mutating",
    "Edit": "mutating",
    "Fetch": "none",
    "Bash": "mutating",
}
REPLIES = ("yes", "edited", "moved", "always", "always_tool", "no", "wrong_hash", "wrong_policy", "later", "stop")
ROUNDS = 6


@dataclass(frozen=True)
class Wish:
    """One call of the batch."""

    tool: str = "Look"
    where: str = "a"
    lasts: float = 1.0
    fails: bool = False
    updates: bool = False
    check: str | None = None  # standing | deny | moves: what a check says first
    replies: tuple[str, ...] = ("yes",)  # one a run; the last is repeated


wishes = st.builds(
    Wish,
    tool=st.sampled_from(tuple(EFFECTS)),
    where=st.sampled_from(("a", "a/b", "d")),
    lasts=st.sampled_from((0.0, 1.0, 2.0)),
    fails=st.sampled_from((False, False, False, True)),
    updates=st.booleans(),
    check=st.sampled_from((None, None, None, "standing", "deny", "moves")),
    replies=st.lists(st.sampled_from(REPLIES), min_size=1, max_size=3).map(tuple),
)


@dataclass
class World:
    """The caller of a runner: keeps everything between the runs, and answers."""

    batch: list[Wish]
    cap: int = 2
    fresh: bool = False  # a new runner for every run
    outcomes: list[RunOutcome] = field(default_factory=list[RunOutcome])
    runs: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.host = MemoryHost(clock=VirtualClock())
        self.settled: set[str] = set()
        self.mirror = Ledger()
        self._changed: dict[str, float] = {}
        self._running: dict[str, Locks] = {}
        self._runner = self._new_runner()

    def _new_runner(self) -> ToolCallRunner:
        tools = [
            PlainTool(name, self._body, traits=self._traits(name), preview=self._preview if name == "Edit" else None)
            for name in EFFECTS
        ]
        gate = DecisionGate([Check("wish", self._judge), *standard_checks()])
        settings = ExecutorSettings(max_concurrency=self.cap)
        return ToolCallRunner(PlainToolbox(*tools), gate, host=self.host, settings=settings, on_event=self._hear)

    def _traits(self, name: str) -> Any:
        def traits(arguments: Mapping[str, Any]) -> Traits:
            locks = locks_of(name, arguments)
            return Traits(effects=EFFECTS[name], declared_locks=locks, cascade=name == "Bash")  # pyright: ignore

        return traits

    def _judge(self, case: Case) -> Verdict:
        match self.batch[case.arguments["n"]].check:
            case "standing":
                return Ask("wish", "every time", unconditional=True)
            case "deny":
                return Deny("wish", "never")
            case "moves":
                return Ask("wish", "elsewhere", arguments={**case.arguments, "where": "moved"})
            case _:
                return None

    def _hear(self, event: Event) -> None:
        self.mirror.fold(event)
        if isinstance(event, CallDecided):
            self._changed[event.call_id] = asyncio.get_running_loop().time()

    # ---- the tools ----------------------------------------------------------------------------------------------

    def _preview(self, arguments: Mapping[str, Any], run: Run) -> ChangeSet:
        path = f"{arguments['where']}/file"
        before = self.host.files.get(self.host.normal(path))
        return ChangeSet(run.call_id, (FileChange(path, before, (before or b"") + f"[{run.call_id}]".encode()),))

    async def _body(self, arguments: Mapping[str, Any], run: Run) -> Result:
        wish = self.batch[arguments["n"]]
        self._notice(arguments["n"], run.call_id)
        self.runs.append(run.call_id)
        self._running[run.call_id] = self._locks_now(run.call_id)
        try:
            await asyncio.sleep(wish.lasts)
        finally:
            del self._running[run.call_id]
        if wish.fails:
            return Result((Text("no"),), is_error=True)
        return Result((Text("done"),), context_update=(lambda c: update_of(c, run.call_id)) if wish.updates else None)

    def _locks_now(self, call_id: str) -> Locks:
        entry = self.mirror.calls[call_id]
        return locks_of(entry.name, entry.arguments)

    def _notice(self, n: int, call_id: str) -> None:
        mine, now = self._locks_now(call_id), asyncio.get_running_loop().time()
        self.faults += [f"{call_id} next to {other}" for other, held in self._running.items() if conflict(held, mine)]
        for earlier in range(n):
            entry = self.mirror.calls.get(f"c{earlier}")
            if f"c{earlier}" in self.settled or entry is None or entry.result is not None:
                continue
            if conflict(self._locks_now(entry.id), mine) and self._changed.get(entry.id, -1.0) < now:
                self.faults.append(f"{call_id} overtook {entry.id}")
        if len(self._running) >= self.cap:
            self.faults.append(f"{call_id} is one too many")

    # ---- the person ---------------------------------------------------------------------------------------------

    def _answers(self, asked: tuple[ToolCall, ...], number: int) -> list[Confirmation]:
        answers = [self._answer(call, number) for call in asked]
        return [answer for answer in answers if answer is not None]

    def _answer(self, call: ToolCall, number: int) -> Confirmation | None:
        replies, question = self.batch[int(call.id[1:])].replies, call.question
        assert question is not None
        reply = replies[min(number, len(replies) - 1)] if number < ROUNDS else "yes"
        hashed = "other" if reply == "wrong_hash" else question.arguments_hash
        match reply:
            case "later":
                return None
            case "no" | "stop":
                return Confirmation(call.id, "no", hashed, stop=reply == "stop")
            case "edited":
                return Confirmation(call.id, "yes", hashed, arguments={**question.arguments, "edited": True})
            case "moved":
                return Confirmation(call.id, "yes", hashed, arguments={**question.arguments, "where": "d"})
            case "always":
                return Confirmation(call.id, "yes_always", hashed)
            case "always_tool" | "wrong_policy":
                tool = call.name if reply == "always_tool" else "Nobody"
                return Confirmation(call.id, "yes_always", hashed, always=ApprovalPolicy("allow", tool))
            case _:
                return Confirmation(call.id, "yes", hashed)

    async def live(self) -> "World":
        left = tuple(ToolCall(f"c{n}", wish.tool, {"n": n, "where": wish.where}) for n, wish in enumerate(self.batch))
        confirmations: list[Confirmation] = []
        policies: list[ApprovalPolicy] = []
        context: Mapping[str, Any] = {}
        for number in range(ROUNDS + len(self.batch) + 2):
            self.mirror = Ledger()
            runner = self._new_runner() if self.fresh else self._runner
            out = await runner.execute(left, confirmations, policies, context)
            self.outcomes.append(out)
            self._check_run(left, confirmations, out)
            out = stored(out)
            self.settled |= {call.id for call in out.executed + out.failed}
            left, policies, context = (
                out.still_needs_approval + out.held,
                policies + list(out.new_policies),
                out.context,
            )
            if not left:
                return self
            confirmations = self._answers(out.still_needs_approval, number)
            await passing(1.0)
        raise AssertionError(f"it never ends: {left}")

    def _check_run(self, given: tuple[ToolCall, ...], confirmations: list[Confirmation], out: RunOutcome) -> None:
        lists = (out.executed, out.still_needs_approval, out.held, out.failed)
        assert sorted(call.id for calls in lists for call in calls) == sorted(call.id for call in given)
        for calls in lists:
            assert [call.index for call in calls] == sorted(call.index for call in calls), "in arrival order"
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a run leaves nothing behind"
        assert bool(out.still_needs_approval) or not out.held, "what is held waits for an answer"
        for call in out.still_needs_approval:
            assert call.question is not None
            standing = isinstance(call.decision, Ask) and call.decision.unconditional
            assert standing or all(p.tool != call.name or p.pattern is not None for p in out.new_policies)
        rejected = {each.call_id for each in confirmations if each.outcome == "no"}
        assert not rejected & set(self.runs), "what a person said no to does not run"
        refused = {each.call_id for each in confirmations if each.arguments_hash == "other"}
        waiting = {call.id for call in out.still_needs_approval + out.held}
        fell = any(call.result and call.result.code.startswith("cancelled") for call in out.failed)
        allowed = {call.id for call in out.executed if call.decision is not None and "policy" in call.decision.by}
        failed = {call.id for call in out.failed if call.decision is not None and "policy" in call.decision.by}
        assert fell or refused <= waiting | allowed | failed, "a wrong hash leaves the call pending"
        if any(each.stop and each.call_id in {call.id for call in out.failed} for each in confirmations):
            assert not waiting, "stop ends it"


def locks_of(name: str, arguments: Mapping[str, Any]) -> Locks:
    where = arguments["where"]
    return {"Look": reads(where), "Fetch": shared, "Bash": exclusive}.get(name, writes(where))


def update_of(context: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    return {"trail": [*context.get("trail", []), call_id]}


def stored(out: RunOutcome) -> RunOutcome:
    """The caller keeps it as JSON."""
    again = from_json(RunOutcome, json.loads(json.dumps(to_json(out))))
    assert again == out
    return again


def lived(batch: list[Wish], cap: int, *, fresh: bool = False) -> World:
    async def main() -> World:
        return await World(batch, cap, fresh).live()

    return run_virtual(main())


@pytest.mark.spec("RUN-1", "RUN-2", "RUN-3", "RUN-7", "EXE-2")
@given(st.lists(wishes, min_size=1, max_size=6), st.integers(1, 3))
def test_a_batch_run_to_its_end_gives_every_call_one_end(batch: list[Wish], cap: int) -> None:
    world = lived(batch, cap)
    assert world.faults == []
    ends = Counter(call.id for out in world.outcomes for call in out.executed + out.failed)
    assert ends == {f"c{n}": 1 for n in range(len(batch))}
    assert len(world.runs) == len(set(world.runs)), "nothing is executed twice"
    executed = {call.id for out in world.outcomes for call in out.executed}
    assert executed == {f"c{n}" for n in range(len(batch)) if f"c{n}" in world.runs and f"c{n}" in executed}
    trail = [call.id for out in world.outcomes for call in out.executed if batch[int(call.id[1:])].updates]
    assert world.outcomes[-1].context.get("trail", []) == trail
    check_edits(world, executed)


def check_edits(world: World, executed: set[str]) -> None:
    tokens = b"".join(world.host.files.values()).decode()
    for n, wish in enumerate(world.batch):
        if wish.tool == "Edit":
            if f"c{n}" in executed:
                assert tokens.count(f"[c{n}]") == 1
            elif f"c{n}" not in world.runs:
                assert f"[c{n}]" not in tokens


@pytest.mark.spec("RUN-1")
@given(st.lists(wishes, min_size=1, max_size=5), st.integers(1, 3))
@fewer(25)
def test_the_same_inputs_give_the_same_outputs_from_any_runner(batch: list[Wish], cap: int) -> None:
    assert lived(batch, cap).outcomes == lived(batch, cap, fresh=True).outcomes
