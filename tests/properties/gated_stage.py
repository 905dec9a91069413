"""Whole sessions with a gate on a virtual clock: hooks, people at two doors, deadlines, and agents inside agents.

What will happen is drawn beforehand. The stage plays it, and notes whatever must never be.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callgate import Nesting, Session, SessionLimits
from callgate.assembly.settings import hooks_feature
from callgate.config import Config
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Run
from callgate.features import compaction_feature
from callgate.policy.entries import HookLine, RuleLine
from callgate.policy.setting_rows import SettingValues
from callgate.session.conversation import nesting_of
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, ScriptedModel, ScriptedTurn, pause, say, turn
from callgate.testing.script import raw_call
from callgate.transcript.question_fold import QuestionFold, which_of
from callgate.words.calls import Result
from callgate.words.decisions import Allow, Choice, Confirmation, Deny, Origin, Question, arguments_hash
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    Event,
    InputRefused,
    Noted,
    QuestionAnswered,
    QuestionAsked,
    StatusChanged,
)
from callgate.words.inputs import (
    Answer,
    Branch,
    Close,
    Compact,
    Continue,
    Input,
    Interrupt,
    Prompt,
    Rewind,
    SetMode,
    Steer,
)
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import ResultPart, Text
from callgate.words.model import Request
from callgate.words.traits import Traits, shared, writes
from tests.properties.stage import VirtualClock
from tests.properties.strategies import passing
from tests.sessions import with_event
from tests.virtual import passes

EFFECTS: Mapping[str, Any] = {"Look": "none", "Put": "idempotent", "Do": "mutating", "Delegate": "none"}
FORBIDDEN, GUARDED = "forbidden", ".git/config"
PATIENCE = 40.0
LATE = 300.0
AT_REST = ("running", "paused", "denied", "denied_in_a_row", "mode", "context", "policies", "turn", "added", "messages")
MODES: Any = ("default", "bypass", "plan", "dont_ask", "accept_edits")
CONFIG = Config(
    Path("/workspace"),
    Path("/home/somebody"),
    Path("/home/somebody/data"),
    rules=tuple(RuleLine("deny", f"{name}(where={FORBIDDEN})", Origin("user")) for name in EFFECTS),
    hooks=tuple(
        HookLine(event, "python", event, Origin("user"), timeout=20.0)
        for event in ("PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "Stop")
    ),
    settings=SettingValues(limits_denials_in_a_row=3, limits_denials_in_session=6),
    own_data=False,
)


@dataclass(frozen=True)
class Called:
    """One call, what hooks say of it and what a person does with its question."""

    tool: str = "Look"
    where: str = "a"
    lasts: float = 0.0
    before: str = ""  # allow | ask | deny | stop | change | forbidden | guarded | fail | hang
    request: str = ""  # allow | deny | stop | change | forbidden | guarded | fail
    after: str = ""  # stop | block
    hook_takes: float = 0.0
    reply: str = "yes"  # yes | no | stop | always | everything | edit | forbidden | guarded | odd | left | never
    reply_after: float = 1.0
    twice: bool = False  # somebody else answers too
    level: int = 0  # at whose door: the root's, or of an agent on the way down
    inside: tuple["Called", ...] = ()  # what the agent calls that a Delegate starts


@dataclass(frozen=True)
class Spoken:
    calls: tuple[Called, ...] = ()
    takes: float = 0.5


@dataclass(frozen=True)
class Deed:
    at: float
    kind: str  # prompt | steer | interrupt | mode | continue | compact | rewind | branch | close
    which: int = 0


class KeptJournal(MemoryJournal):
    """As if it outlived the program. ``left`` are answers that other programs left."""

    def __init__(self, events: Iterable[Durable], session: str, delays: tuple[float | None, ...] = ()) -> None:
        super().__init__(events, session=session)
        self.durable = len(self.events)
        self.questions = QuestionFold(list(self.read()))
        self.left: list[Confirmation] = []
        self._delays = delays
        self._barriers = 0

    def append(self, event: Durable) -> None:
        self.questions.fold(event)
        super().append(event)

    async def live(self) -> Sequence[Durable]:
        events = await super().live()
        self.questions.restart(events)
        return events

    def barrier(self) -> Any:
        self._barriers += 1
        delay = self._delays[self._barriers % len(self._delays)] if self._delays else None
        if delay is None:
            self.durable = len(self.events)
            return None
        return self._pass(len(self.events), delay)

    async def _pass(self, upto: int, delay: float) -> None:
        await asyncio.sleep(delay)
        self.durable = max(self.durable, upto)

    async def answers(self) -> Sequence[Confirmation]:
        keys = {which_of(asked.question) for asked in self.questions.open.values()}
        return tuple(each for each in self.left if which_of(each) in keys)

    def forget_answers(self, call_ids: Iterable[str]) -> Any:
        gone = set(call_ids)
        self.left = [each for each in self.left if each.call_id not in gone]


@dataclass
class Life:
    """One program: a root session on a journal, the agents inside it, and the people around it."""

    script: list[Spoken]
    deeds: list[Deed] = field(default_factory=list[Deed])
    events: Sequence[Durable] = ()
    kept: bool = False
    delays: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        self.faults: list[str] = []
        self.plans: dict[str, Called] = {}
        self.hooked: Counter[str] = Counter()
        self.asked_for: Counter[str] = Counter()
        self.answered: Counter[tuple[tuple[str, ...], str, int]] = Counter()
        self.heard: list[Event] = []
        self.running: Counter[int] = Counter()
        self.journals: list[KeptJournal] = []
        self.sessions: list[Session] = []
        self.journal = KeptJournal(self.events, "kept" if self.kept else "", self.delays)
        self.decided = {event.call_id for event in self.events if isinstance(event, CallDecided)}
        self.settled_before = _answered_in(self.events)
        for n, spoken in enumerate(self.script):
            self._plan(f"t{n}", spoken.calls)
        begun = sum(type(event).__name__ == "TurnStarted" for event in self.events)
        scenes = [self._scene(f"t{n}", spoken) for n, spoken in enumerate(self.script)][begun:]
        self.session = self._session(scenes, self.journal, None, "")
        self.session.listen(with_event(self._door))

    def _plan(self, prefix: str, calls: tuple[Called, ...]) -> None:
        for at, each in enumerate(calls):
            self.plans[f"{prefix}c{at}"] = each
            self._plan(f"{prefix}c{at}.", each.inside)

    def _session(self, scenes: list[Any], journal: KeptJournal, parent: Session | None, label: str) -> Session:
        number = len(self.sessions)
        tools = [PlainTool(name, self._body(number), traits=_traits(name)) for name in EFFECTS]
        session = Session(
            ScriptedModel(*scenes, otherwise=lambda request: self._last(number, request)),
            PlainToolbox(*tools),
            host=MemoryHost(clock=VirtualClock()),
            journal=journal,
            limits=SessionLimits(calls=ExecutorSettings(grace=10.0, patience=PATIENCE)),
            config=CONFIG,
            features=[
                compaction_feature(lambda history, wish: f"{len(history)} messages"),
                hooks_feature(
                    {
                        "PreToolUse": self._pre,
                        "PermissionRequest": self._request,
                        "PostToolUse": self._post,
                        "UserPromptSubmit": self._prompted,
                        "Stop": self._nothing,
                    },
                ),
            ],
            nesting=Nesting(parent=parent, label=label),
        )
        self.sessions.append(session)
        self.journals.append(journal)
        session.listen(with_event(lambda event: self._look(number, event)))
        return session

    # ---- the model ----------------------------------------------------------------------------------------------

    def _scene(self, prefix: str, spoken: Spoken) -> Any:
        def scene(request: Request) -> ScriptedTurn:
            self._sent(0, request)
            steps: list[Any] = [say("Working."), pause(spoken.takes)]
            for at, each in enumerate(spoken.calls):
                steps += [raw_call(each.tool, {"where": each.where, "key": f"{prefix}c{at}"}, id=f"{prefix}c{at}")]
            return turn(*steps)

        return scene

    def _last(self, number: int, request: Request) -> ScriptedTurn:
        self._sent(number, request)
        return turn(say("Done."))

    def _sent(self, number: int, request: Request) -> None:
        try:
            check_history(request.messages)
        except AssertionError as error:
            self.faults.append(f"the model was sent {error}")
        self._busy(number, "the model was asked")

    def _busy(self, number: int, what: str) -> None:
        status = self.sessions[number].status
        if status != "working":
            self.faults.append(f"{what} while the session was {status}")

    # ---- the tools ----------------------------------------------------------------------------------------------

    def _body(self, number: int) -> Any:
        async def body(arguments: Mapping[str, Any], run: Run) -> Result:
            self._busy(number, "a call ran")
            self._may_run(number, arguments, run)
            plan = self.plans[arguments["key"]]
            self.running[number] += 1
            try:
                if plan.inside:
                    await self._delegate(number, arguments["key"], plan, run)
                await asyncio.sleep(plan.lasts)
            finally:
                self.running[number] -= 1
            return Result((Text("done"),))

        return body

    def _may_run(self, number: int, arguments: Mapping[str, Any], run: Run) -> None:
        events = self.journals[number].events
        entry = [event for event in events if getattr(event, "call_id", None) == run.call_id]
        name = next(event.name for event in reversed(entry) if isinstance(event, CallArrived))
        decided = [event for event in entry if isinstance(event, CallDecided)]
        hashed = arguments_hash(name, arguments)
        if not decided or not isinstance(decided[-1].decision, Allow):
            self.faults.append(f"{run.call_id} ran and was not allowed")
        elif decided[-1].arguments_hash != hashed:
            self.faults.append(f"{run.call_id} ran with other arguments than those allowed")
        if arguments["where"] == FORBIDDEN:
            self.faults.append(f"{run.call_id} ran against a deny rule")
        if not any(isinstance(event, CallStarted) for event in entry):
            self.faults.append(f"{run.call_id} ran before that was on record")
        by = [event.decision.by for event in decided]
        if arguments["where"] == GUARDED and EFFECTS[name] != "none" and not set(by) & {"person", "Ann", "Bob"}:
            self.faults.append(f"{run.call_id} ran without a person's word: {by}")

    async def _delegate(self, number: int, key: str, plan: Called, run: Run) -> None:
        scene = self._scene_inside(len(self.sessions), key, plan)
        journal = KeptJournal((), "", self.delays)
        async with self._session([scene], journal, self.sessions[number], f"agent {key}") as child:
            await child.send(Prompt("Do it."), until="idle")

    def _scene_inside(self, number: int, key: str, plan: Called) -> Any:
        scene = self._scene(f"{key}.", Spoken(plan.inside))
        return lambda request: scene(request)

    # ---- the hooks ----------------------------------------------------------------------------------------------

    async def _pre(self, told: dict[str, Any]) -> dict[str, Any] | None:
        arguments = told["tool_input"]
        key = arguments["key"]
        self.hooked[key] += 1
        if self.hooked[key] > 1 and "." not in key:
            self.faults.append(f"the hook before {key} ran {self.hooked[key]} times")
        if arguments["where"] == FORBIDDEN:
            self.faults.append(f"a hook was asked about {key}, which a rule denies")
        if key in self.decided:
            self.faults.append(f"the hook before {key} ran although that was decided before the crash")
        plan = self.plans[key]
        return await self._said("PreToolUse", plan.before, plan, arguments)

    async def _request(self, told: dict[str, Any]) -> dict[str, Any] | None:
        arguments = told["tool_input"]
        key = arguments["key"]
        self.asked_for[key] += 1
        if self.asked_for[key] > 1 and "." not in key:
            self.faults.append(f"the hook for the question about {key} ran {self.asked_for[key]} times")
        plan = self.plans[key]
        return await self._said("PermissionRequest", plan.request, plan, arguments)

    async def _said(self, event: str, how: str, plan: Called, arguments: dict[str, Any]) -> dict[str, Any] | None:
        await asyncio.sleep(1000.0 if how == "hang" else plan.hook_takes)
        if how == "fail":
            raise RuntimeError("a broken hook")
        if how == "stop":
            return {"continue": False, "stopReason": "enough"}
        where = {"change": "b", "forbidden": FORBIDDEN, "guarded": GUARDED}.get(how)
        changed = {} if where is None else {"updatedInput": {**arguments, "where": where}}
        if event == "PreToolUse":
            verdict = {"permissionDecision": how} if how in ("allow", "ask", "deny") else {}
            said = {**verdict, **changed, "additionalContext": "said a hook"}
        else:
            allows = where is not None or how == "allow"
            behaves = {"behavior": "allow" if allows else "deny", **changed} if allows or how == "deny" else {}
            said = {"decision": behaves}
        return {"hookSpecificOutput": {"hookEventName": event, **said}}

    async def _post(self, told: dict[str, Any]) -> dict[str, Any] | None:
        plan = self.plans[told["tool_input"]["key"]]
        await asyncio.sleep(plan.hook_takes)
        if plan.after == "stop":
            return {"continue": False}
        return {"decision": "block", "reason": "not good"} if plan.after == "block" else None

    async def _prompted(self, told: dict[str, Any]) -> dict[str, Any] | None:
        await passes(0.25)
        return {"decision": "block", "reason": "no"} if told["prompt"].startswith("blocked") else None

    async def _nothing(self, told: dict[str, Any]) -> None:
        await passes(0.25)

    # ---- the people ---------------------------------------------------------------------------------------------

    def _look(self, number: int, event: Event) -> None:
        """What holds whenever somebody hears of something."""
        session, journal = self.sessions[number], self.journals[number]
        if isinstance(event, QuestionAsked) and event.question.path == nesting_of(session).path:
            at = [n for n, each in enumerate(journal.events) if each is event]
            if not at or at[0] >= journal.durable:
                self.faults.append(f"{event.question.call_id} was heard before it was on record")
        elif isinstance(event, Noted) and "listener failed" in event.text:
            self.faults.append(event.text)
        elif isinstance(event, StatusChanged):
            status = session.status
            if status in ("idle", "closed", "waiting_confirmation") and self.running[number]:
                self.faults.append(f"{status} while calls run")
            if status == "waiting_confirmation" and not session.questions:
                self.faults.append("waiting for an answer to no question")
            if status in ("idle", "paused"):
                self._compare(number)
            if status == "idle" and journal.questions.open:
                self.faults.append(f"idle, and open on record is {list(journal.questions.open)}")
            if status == "waiting_confirmation":
                unknown = {which_of(each) for each in session.questions if each.path == nesting_of(session).path}
                unknown -= set(journal.questions.open)
                if unknown:
                    self.faults.append(f"asked and not open on record: {unknown}")

    def _compare(self, number: int) -> None:
        if vars(self.sessions[number])["_history"]._moved:
            return
        ledger: Ledger = vars(self.sessions[number])["_record"].ledger
        again = Ledger(MemoryJournal(self.journals[number].events).read())
        for name in AT_REST:
            mine, theirs = getattr(ledger, name), getattr(again, name)
            if mine != theirs:
                self.faults.append(f"at rest {name} is {mine!r:.200}, and {theirs!r:.200} on record")

    def _door(self, event: Event) -> None:
        self.heard.append(event)
        if isinstance(event, QuestionAsked):
            question = event.question
            if question.arguments_hash in self.settled_before and question.arguments["where"] != GUARDED:
                self.faults.append(f"{question.call_id} was answered before the crash, and is asked about again")
            plan = self.plans[question.arguments["key"]]
            if plan.reply != "never":
                loop = asyncio.get_running_loop()
                loop.call_later(plan.reply_after, self._answer, question, plan, 0)
        elif isinstance(event, QuestionAnswered):
            of = event.confirmation
            asked = [each.question for each in self.heard if isinstance(each, QuestionAsked)]
            mine = [each for each in asked if (each.path, each.call_id) == (of.path, of.call_id)]
            which = (of.path, of.call_id, len(mine))
            self.answered[which] += 1
            if self.answered[which] > 1:
                self.faults.append(f"{of.call_id} was answered {self.answered[which]} times")
            deadline = mine[-1].deadline if mine else None
            if deadline is not None and event.at > deadline + 5.0:
                self.faults.append(f"{of.call_id} was answered after its deadline")

    def _answer(self, question: Question, plan: Called, which: int) -> None:
        if question not in self.session.questions:
            return
        reply = plan.reply if plan.reply not in ("guarded", "edit", "forbidden") else "yes"
        already = question.arguments["where"] in (GUARDED, FORBIDDEN) or question.arguments.get("edited")
        edited = None
        if plan.reply in ("guarded", "edit", "forbidden") and not already:
            where = {"guarded": GUARDED, "edit": "b", "forbidden": FORBIDDEN}[plan.reply]
            edited = {**question.arguments, "where": where, "edited": True}
        if reply in ("no", "stop"):
            given = question.no("no", stop=reply == "stop", by="Ann")
        elif reply == "everything":
            given = question.always(Choice("the whole tool"), by="Ann")
        elif reply == "always":
            given = question.always(by="Ann")
        elif reply == "odd":
            self._answer_at(plan.level, Confirmation(question.call_id, "yes", "0" * 64, path=question.path))
            given = question.yes(by="Ann")
        else:
            given = question.yes(edited, by="Ann")
        if plan.reply == "left" and self.kept and not question.path:
            self.journal.left.append(given)  # by another program
            return
        self._answer_at(plan.level, given)
        if plan.twice:
            before = len([event for event in self.heard if isinstance(event, InputRefused)])
            self._send(Answer(question.no("too late", by="Bob")))
            all_told = self.session.controls.deliver()
            after = len([event for event in self.heard if isinstance(event, InputRefused)])
            if all_told and after == before and self.session.status != "closed":
                self.faults.append(f"a second answer to {question.call_id} was not refused")

    def _answer_at(self, level: int, given: Confirmation) -> None:
        for session in self.sessions:
            if nesting_of(session).path == given.path[:level] and session.status != "closed":
                session.post(Answer(given))
                return

    def _send(self, sent: Input) -> None:
        if self.session.status != "closed":
            self.session.post(sent)

    def _do(self, n: int, deed: Deed) -> None:
        said = [message.id for message in self.session.messages] or ["?"]
        match deed.kind:
            case "prompt":
                self._send(Prompt(f"p{n}" if deed.which else f"blocked {n}"))
            case "steer":
                self._send(Steer(f"s{n}"))
            case "interrupt":
                self._send(Interrupt())
            case "mode":
                self._send(SetMode(MODES[deed.which % len(MODES)]))
            case "continue":
                self._send(Continue())
            case "compact":
                self._send(Compact(keep=deed.which))
            case "rewind":
                self._send(Rewind(said[deed.which % len(said)]))
            case "branch":
                self._send(Branch(said[deed.which % len(said)]))
            case _:
                self._send(Close())

    async def live(self) -> "Life":
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, about: self.faults.append(str(about)))
        if not self.events:
            self._send(Prompt("p"))
        elif self.session.status == "paused":
            self._send(Continue())
        for n, deed in enumerate(sorted(self.deeds, key=lambda deed: deed.at)):
            await asyncio.sleep(max(0.0, deed.at - loop.time()))
            self._do(n, deed)
        await self._wind_up()
        begun = loop.time()
        try:
            await asyncio.wait_for(self.session.aclose(), LATE)
        except TimeoutError:
            self.faults.append("it does not close")
            return self
        if loop.time() - begun > 25.0:
            self.faults.append(f"closing took {loop.time() - begun} s")
        await passing(0.0)
        timers = [each for each in vars_of(loop, "_scheduled") if not each.cancelled() and "_answer" not in repr(each)]
        self.faults += [f"a timer is left: {each}" for each in timers]
        self.faults += [f"left over: {task}" for task in asyncio.all_tasks() - {asyncio.current_task()}]
        if self.session.questions:
            self.faults.append("closed with open questions")
        for session in self.sessions:
            failure = session.controls.take_failure()
            if failure is not None:
                self.faults.append(f"it failed: {failure!r}")
        self._check_record()
        return self

    async def _wind_up(self) -> None:
        for _ in range(60):
            await passing(70.0)
            if self.session.status == "paused":
                self._send(Continue())
            elif self.session.status in ("idle", "closed"):
                return
        self.faults.append(f"still {self.session.status}")

    def _check_record(self) -> None:
        for number, journal in enumerate(self.journals):
            settled = Counter(event.call_id for event in journal.events if isinstance(event, CallSettled))
            arrived = Counter(event.call_id for event in journal.events if isinstance(event, CallArrived))
            if any(count > 1 for count in settled.values()):
                self.faults.append(f"two results: {settled}")
            if not self.kept and set(arrived) != set(settled):
                self.faults.append(f"no result: {set(arrived) - set(settled)}")
            check_history(self.sessions[number].messages if not self.kept else ())
            self._check_answers(journal.events)

    def _check_answers(self, events: Sequence[Durable]) -> None:
        """One answer to a question, and after a no, nothing."""
        answers: Counter[str] = Counter()
        for event in events:
            if isinstance(event, QuestionAsked):
                answers[event.question.call_id] = 0
            elif isinstance(event, QuestionAnswered):
                answers[event.confirmation.call_id] += 1
                if answers[event.confirmation.call_id] > 1:
                    self.faults.append(f"two answers to {event.confirmation.call_id} on record")
        denied = {e.call_id for e in events if isinstance(e, CallDecided) and isinstance(e.decision, Deny)}
        ran = {e.call_id for e in events if isinstance(e, CallStarted)}
        if denied & ran:
            self.faults.append(f"denied and run: {denied & ran}")


def _answered_in(events: Sequence[Durable]) -> set[str]:
    """The hashes of arguments that a person, or the deadline, has said yes or no to."""
    return {
        event.confirmation.arguments_hash
        for event in events
        if isinstance(event, QuestionAnswered) and event.confirmation.arguments is None
    }


def vars_of(loop: Any, name: str) -> list[Any]:
    return list(getattr(loop, name))


def _traits(name: str) -> Any:
    def of(arguments: Mapping[str, Any]) -> Traits:
        where = arguments["where"]
        return Traits(EFFECTS[name], shared if EFFECTS[name] == "none" else writes(where))

    return of


def check_history(messages: Iterable[Any]) -> None:
    """Each message with calls is followed by exactly their results."""
    listed = list(messages)
    for at, message in enumerate(listed):
        ids = [part.id for part in message.calls]
        if ids:
            assert at + 1 < len(listed), f"calls {ids} without results"
            given = [part.call_id for part in listed[at + 1].parts if isinstance(part, ResultPart)]
            assert given == ids, f"results {given} of calls {ids}"
