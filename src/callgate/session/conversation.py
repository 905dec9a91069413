"""The session as its callers use it: methods to send inputs, to receive events and to close the session."""

# An input comes from outside and may not keep to its type.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, overload

from callgate.conversation.feature import FeaturePart, OpenSession
from callgate.conversation.feature_set import Equipment
from callgate.conversation.injected import CLOSED
from callgate.conversation.ledger import Ledger
from callgate.conversation.ports import Model
from callgate.core.record import Listener
from callgate.formats.jsonable import misfit
from callgate.session.history import HistoryEdits
from callgate.session.nesting import NAME as NESTING
from callgate.session.nesting import NestingPart
from callgate.session.reply import AT_REST, EventStream, Reply
from callgate.session.run import RunResult, Runs, SyncLoop, run
from callgate.session.work import BUSY, PromptRun, Work
from callgate.staging.feature import NAME as STAGING
from callgate.staging.feature import RelaxedStaging
from callgate.words import events, inputs
from callgate.words.calls import Result, ToolCall
from callgate.words.decisions import AskedField, FieldAnswer, Question
from callgate.words.errors import CallgateError, JournalError, StateError, UsageError
from callgate.words.inputs import Input, Prompt
from callgate.words.limits import LoopLimits
from callgate.words.messages import Message, Spent, Usage
from callgate.words.model import EFFORTS, StopReason, WantedEffort
from callgate.words.modes import Mode
from callgate.words.pending import Staged

if TYPE_CHECKING:
    from callgate.session.controls import SessionControls

T = TypeVar("T")
_AT_END: tuple[events.SessionStatus, ...] = ("idle", "paused", "closed")


class Conversation:
    """One conversation with a model that may call tools. ``callgate.Session`` creates the objects that a
    conversation uses."""

    def __init__(
        self,
        opened: OpenSession,
        equipment: Equipment,
        *,
        models: dict[str, Model],
        open_model: Callable[[str], Model] | None = None,
        limits: LoopLimits | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self._opened = opened
        self._record = opened.record
        self.deps = equipment.deps
        """The object that tools read as ``run.deps``."""
        self._toolbox = equipment.toolbox
        self._now = opened.now
        self._journal = opened.journal
        self._models = models
        self._open_model = open_model
        self._features = features = equipment.features
        features.folded(self._ledger)
        self._history = HistoryEdits(opened, features)
        self._work = Work(equipment, self._history, limits, notes)
        self._nesting = opened.needed(NESTING, NestingPart)
        self._nesting.aclose = self.aclose
        self._end_task: asyncio.Task[None] | None = None
        self._discards_pending = False  # when it is closed
        self._sync = SyncLoop()
        opened.bind(self._work)
        features.begin()

    async def __aenter__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        """Return the session. Use ``with`` in synchronous code, together with ``run_sync``."""
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self._sync.wait_for(self.aclose(), "with Session")
        finally:
            self._sync.close()

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @cached_property
    def controls(self) -> SessionControls:
        """State and operations that only interfaces use, such as the terminal: see SessionControls."""
        from callgate.session.controls import SessionControls  # costly, and many programs need no interface

        return SessionControls(self._opened, self._work)

    @property
    def id(self) -> str:
        """The id of the stored session, the same after a restart; empty if the session is not stored."""
        return self._journal.session

    @property
    def path(self) -> events.AgentPath:
        """The names of the agents from the root to this session; empty for the root."""
        return self._opened.path

    @property
    def status(self) -> events.SessionStatus:
        """The status of the session. The status is ``paused`` if a turn is unfinished, or if prompts of an earlier
        program are queued; send Continue or a new Prompt."""
        return self._work.status

    @property
    def model(self) -> str:
        """The name of the model that answers the next request."""
        return self._work.equipment.model.name

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions of this session and of its nested sessions."""
        return self._nesting.open

    # ---- state ------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return str(self._ledger.metadata.get("title") or "")

    @property
    def mode(self) -> Mode:
        return self._ledger.mode

    @property
    def effort(self) -> WantedEffort | None:
        """The effort that was set for this session; None if the settings and the model decide."""
        return self._ledger.effort

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._ledger.messages)

    @property
    def answer(self) -> str:
        """The text of the model in the current or last run since its last tool call. The parts of a message that was
        cut off and continued are joined."""
        return self._ledger.answer.text

    @property
    def waiting(self) -> tuple[events.PromptQueued, ...]:
        """The queued prompts, in the order of their delivery."""
        return tuple(self._ledger.waiting.values())

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the current turn."""
        return tuple(entry.snapshot() for entry in self._ledger.calls.values())

    @property
    def context(self) -> Mapping[str, Any]:
        return self._ledger.context

    @property
    def usage(self) -> Usage:
        return self._ledger.usage

    @property
    def costs(self) -> tuple[Spent, ...]:
        """Tokens and dollars by model for the whole session, including abandoned branches and earlier programs."""
        return tuple(self._ledger.costs.values())

    @property
    def cost(self) -> float:
        """The costs of the whole session in dollars; models without a known price are not included."""
        return self._ledger.cost

    # ---- tools and features --------------------------------------------------------------------------------------

    def part(self, name: str) -> FeaturePart | None:
        """Return the part of the feature with this name, or None if the session has no such feature."""
        return self._features.parts.get(name)

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(each.spec.name for each in self._toolbox.tools())

    @property
    def pending(self) -> tuple[Staged, ...]:
        """The pending actions, newest first."""
        staging = self._opened.part(STAGING, RelaxedStaging)
        return () if staging is None else staging.pending

    # ---- inputs and events --------------------------------------------------------------------------------------

    def send(self, sent: Input | str, *, until: Literal["rest", "idle"] = "rest") -> Reply:
        """Send an input and return a reply with the events that follow: iterate over the reply, or await it. A string
        is sent as a Prompt.

        The reply has the events of this session, and the questions of its nested sessions. It ends when the session
        has no more work, or when a question waits for an answer. With ``until="idle"`` the reply continues after a
        question, for answers that another interface sends.
        """
        reply = Reply(self._work, AT_REST if until == "rest" else _AT_END)
        self.post(sent)
        return reply

    @overload
    async def run(self, sent: Input | str) -> RunResult[str]: ...
    @overload
    async def run(self, sent: Input | str, *, output: type[T]) -> RunResult[T]: ...
    async def run(self, sent: Input | str, *, output: Any = str) -> RunResult[Any]:
        """Send an input, wait until the session is idle, and return a RunResult.

        output  the type of the answer: the model receives its JSON Schema and the answer is validated; an invalid
                answer is sent back to the model once
        """
        return await run(Runs(self._work, self._nesting, self._post), sent, output)

    @overload
    def run_sync(self, sent: Input | str) -> RunResult[str]: ...
    @overload
    def run_sync(self, sent: Input | str, *, output: type[T]) -> RunResult[T]: ...
    def run_sync(self, sent: Input | str, *, output: Any = str) -> RunResult[Any]:
        """Call ``run`` from synchronous code, within ``with Session(…) as session``, and return its result. The
        session works only during this call. Raise UsageError inside a running event loop."""
        return self._sync.wait_for(self.run(sent, output=output), "run_sync")

    def events(self, *, after: int | None = None) -> EventStream[events.SessionEvent]:
        """Return a stream of the events of this session and of its nested sessions. The stream starts now and ends when
        the session is closed.

        With ``after``, the ``position`` of an earlier stream, the recorded events of this session after that
        position come first, each once. This also works after a restart, and includes rewound events. Events that are
        not recorded are not repeated; earlier events of a nested session are in the log of the nested session. Raise
        UsageError if ``after`` is not a position of this session.
        """
        if after is not None and (type(after) is not int or not 0 <= after <= self.position):
            raise UsageError(f"after= must be a position of this session, 0 to {self.position}, not {after!r:.40}")
        return EventStream(self._work, ("closed",), lambda found: found, after=after)

    @property
    def position(self) -> int:
        """The record number of the last published event of this session."""
        return self._record.position

    async def events_after(self, number: int) -> Sequence[tuple[int, events.Event]]:
        """Return the recorded events with a number higher than the given number, each with its number. In a stored
        session secrets are masked."""
        return await self._record.after(number)

    def import_history(self, messages: Sequence[Message]) -> None:
        """Add earlier messages to a new session, see ``callgate.formats.chat_history``. The next prompt continues them.
        Raise UsageError if the session has messages."""
        if self._record.ledger.added or self.status != "idle":
            raise UsageError("a history can only be imported into a session without messages")
        for number, message in enumerate(messages, 1):
            stop: StopReason | None = None
            if message.role == "assistant":
                stop = "tool_calls" if message.calls else "end"
            self._record.write(events.MessageAdded(self._now(), replace(message, id=f"h{number}"), stop))
        if messages:
            self._record.write(events.RunEnded(self._now(), "done"))

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, *, by: str, id: str = "") -> Result:
        """Run a tool call for a program and return the result.

        The call passes the same stages as a call of the model: gate, questions, hooks, locks, staging and record. The
        next request sends the call and its result to the model. Calls of one program share a message and run
        concurrently if their locks allow it. While a turn of the model is open, the calls wait for its end.

        Every outcome is a Result. Its code is ``never_started`` if the session is closed, if a hook refuses the
        program, or if an unfinished turn waits for Continue. After a crash the call is not run again; the recorded part
        of the call is in the log. If the awaiting task is cancelled, the call is cancelled. Raise StateError inside a
        tool of this session.

        name       the name of the tool
        arguments  the arguments of the tool, as a JSON object
        by         the name of the program, shown to the user and the model
        id         the id of the call in events, such as CallProgressed; empty for a new id
        """
        return await self._work.calls.call(name, arguments or {}, by=by, id=id)

    def call_sync(self, name: str, arguments: Mapping[str, Any] | None = None, *, by: str, id: str = "") -> Result:
        """Call ``call`` from synchronous code, within ``with Session(…) as session``, and return its result. Raise
        UsageError inside a running event loop."""
        return self._sync.wait_for(self.call(name, arguments, by=by, id=id), "call_sync")

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with each new event of this session and of its nested sessions. Return a function that
        removes the listener. The path of an event names the session that wrote the event, see ``SessionEvent``."""
        return self._record.listen(listener)

    def post(self, sent: Input | str) -> None:
        """Send an input and return at once. A refused input is reported by an InputRefused event. Raise StateError
        if the session is closed."""
        self._post(Prompt(sent) if isinstance(sent, str) else sent, None)

    def _post(self, sent: Input, run: PromptRun | None) -> str | None:
        if self.status == "closed":
            raise StateError("the session is closed")
        known = isinstance(sent, Input) or type(sent) in self._features.inputs
        refusal = misfit(sent) or self._take(sent, run) if known else f"unknown input {type(sent).__name__}"
        self._history.touched()
        if refusal is not None:
            self._record.publish(events.InputRefused(self._now(), type(sent).__name__, refusal))
        return refusal

    async def ask(
        self, fields: Sequence[AskedField] = (), *, by: str, text: str = "", name: str = "question", id: str = ""
    ) -> tuple[FieldAnswer, ...] | None:
        """Ask the user a question that belongs to no call, in every interface.

        Return the answers to the fields. Return None if the user refuses, if there is no answer before the timeout, or
        if the mode never asks. If the awaiting task is cancelled, the question is withdrawn.

        fields  the fields of the question; a question without fields is answered with "yes" or "no"
        by      the name of the program that asks
        text    the text of the question
        name    a name for the kind of question, shown instead of a tool name
        id      keeps the question open across a restart: the next ``ask`` with this id returns the answer, once
        """
        return await self._work.ask(fields, by=by, text=text, name=name, id=id)

    def _take(self, sent: Input, run: PromptRun | None) -> str | None:
        """Handle an input. Return None, or the reason if the input is refused."""
        name = type(sent).__name__
        match sent:
            case Prompt():
                self._work.prompt(sent, run)
            case inputs.EditPrompt() | inputs.WithdrawPrompt():
                return self._work.change_waiting(sent)
            case inputs.Continue():
                return self._work.go_on(run)
            case inputs.Steer():
                self._work.steer(sent.text, run)
            case inputs.Interrupt():
                return self._interrupt(sent.reason or "Interrupted by the user.")
            case inputs.CancelCall():
                return self._cancel(sent)
            case inputs.Answer():
                return self._nesting.answer(sent.confirmation)
            case inputs.SetModel():
                return self._set_model(sent.model)
            case inputs.SetEffort():
                return self._set_effort(sent.effort)
            case inputs.SetMode() if (refusal := self._nesting.refuse_mode(sent.mode)) is not None:
                return refusal
            case inputs.SetMode() | inputs.SetTitle() | inputs.SetTags() | inputs.Snip() | inputs.Trim():
                return self._history.settle(sent)
            case inputs.Rewind() | inputs.Branch():
                return self._work.run_between(name, self._history.move(sent))
            case inputs.Close():
                self._work.set_status("working")
                self._discards_pending = sent.pending == "discard"
                self._begin_to_end()
            case _:
                return self._take_by_feature(name, sent)
        return None

    def _take_by_feature(self, name: str, sent: Input) -> str | None:
        handler = self._features.inputs.get(type(sent))
        if handler is None:
            return f"this session has no feature that handles {name}"
        if handler.when == "between" and self._work.is_busy:
            return BUSY
        found = handler.act(sent)
        if not isinstance(found, Coroutine):
            return found
        work = self._after_recovery(found) if handler.recover else self._after_move(found)
        if handler.when == "anytime" and self._work.is_busy:
            self._work.run_beside(name, work)
            return None
        return self._work.run_between(name, work)

    async def _after_recovery(self, work: Coroutine[Any, Any, str | None]) -> str | None:
        await self._features.recover()
        return await work

    async def _after_move(self, work: Coroutine[Any, Any, str | None]) -> str | None:
        await self._history.read_again()
        return await work

    def _interrupt(self, because: str) -> str | None:
        stopped, loop = self._features.interrupt(because), self._work.loop
        if loop is None:
            return None if stopped else "no work is running that could be interrupted"
        self._work.set_status("working")
        loop.interrupt(because)
        return None

    def _cancel(self, sent: inputs.CancelCall) -> str | None:
        cancelled = self._work.calls.cancel(sent.call_id, sent.reason or "Cancelled by the user.")
        return None if cancelled else f"no call {sent.call_id!r} is running"

    def _set_model(self, name: str) -> str | None:
        model = self._models.get(name)
        if model is not None:
            self._use_model(model)
            return None
        if self._open_model is None:
            return f"there is no model {name!r}; this session has {', '.join(sorted(self._models))}"
        self._work.run_beside("SetModel", self._open_and_use(self._open_model, name))
        return None

    async def _open_and_use(self, open_model: Callable[[str], Model], name: str) -> str | None:
        """Open a model in a thread, because a command may print the key of the model. Return None, or the reason for
        a failure."""
        try:
            model = await asyncio.to_thread(open_model, name)
        except CallgateError as error:
            return str(error)
        self._models[model.name] = model
        self._use_model(model)
        return None

    def _use_model(self, model: Model) -> None:
        self._record.write(events.ModelSet(self._now(), model.name))
        self._work.use_model(model)

    def _set_effort(self, effort: WantedEffort) -> str | None:
        if effort not in (*EFFORTS, "auto"):
            return f"there is no effort {effort!r}; there are {', '.join(EFFORTS)} and auto"
        self._record.write(events.EffortSet(self._now(), effort))
        self._work.use_effort(effort)
        return None

    # ---- the end ------------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Stop the current work, wait for its end, and close the session and its nested sessions. A stored session can
        be continued later. Raise JournalError if the last events could not be written."""
        await asyncio.shield(self._begin_to_end())

    def _begin_to_end(self) -> asyncio.Task[None]:
        if self._end_task is None:
            self._end_task = asyncio.get_running_loop().create_task(self._end())
            # A caller of aclose and a reader of events get its exception; after Close alone no caller waits for it.
            self._end_task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._end_task

    async def _end(self) -> None:
        self._work.closing = self._work.calls.is_closed = True
        await self._nesting.mailbox.aclose()
        self._features.interrupt(CLOSED)
        await self._work.ended(CLOSED)
        await self._features.close(discard=self._discards_pending)
        self._record.deliver()
        try:
            await self._journal.aclose()
        except JournalError as error:
            self._work.failure = error
            raise
        finally:
            self._work.set_status("closed")
            self._record.deliver()
            self._work.calls.close()


def nesting_of(session: Conversation) -> NestingPart:
    """Return the part of the feature ``nesting``, which every session has."""
    return cast(NestingPart, session.part(NESTING))
