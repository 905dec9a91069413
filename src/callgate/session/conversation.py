"""A session as its users see it: inputs in, events out."""

# An input comes from outside and may not keep to its type.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from callgate.conversation.equipment import Equipment
from callgate.conversation.feature import OpenSession
from callgate.conversation.ports import Model
from callgate.conversation.reply import AT_REST, EventStream, Reply
from callgate.core.record import Listener
from callgate.formats.jsonable import misfit
from callgate.session.history import HistoryEdits
from callgate.session.nesting import NAME as NESTING
from callgate.session.nesting import NestingPart
from callgate.session.program_calls import CLOSED
from callgate.session.run import RunResult, SyncLoop, run
from callgate.session.view import SessionView
from callgate.session.work import BUSY, Work
from callgate.words import inputs
from callgate.words.calls import Result
from callgate.words.decisions import AskedField, FieldAnswer, Question
from callgate.words.errors import CallgateError, JournalError, StateError, UsageError
from callgate.words.events import EffortSet, Event, InputRefused, ModelSet, Noted, SessionStatus
from callgate.words.inputs import Input, Prompt
from callgate.words.limits import LoopLimits
from callgate.words.messages import Spent
from callgate.words.model import EFFORTS, Effort, EffortInForce, WantedEffort
from callgate.words.session_event import AgentPath, SessionEvent

if TYPE_CHECKING:
    from callgate.transcript.token_count import ContextUse

T = TypeVar("T")
_AT_END: tuple[SessionStatus, ...] = ("idle", "paused", "closed")


class Conversation(SessionView):
    """One conversation with a model that may call tools. ``callgate.Session`` creates its parts."""

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
        self.host = opened.host
        self.deps = equipment.deps
        self.cheap = opened.cheap
        self.folders: tuple[str, ...] = ()
        """Further folders that the person works in, set by the maker of the session."""
        self._toolbox = equipment.toolbox
        self._now = opened.now
        self._journal = opened.journal
        self._models = models
        self._open_model = open_model
        self._features = features = equipment.features
        features.folded(self._ledger)
        self._history = HistoryEdits(opened, features)
        self._work = Work(equipment, self._history, limits, notes)
        self.nesting = opened.needed(NESTING, NestingPart)
        """Used by the sessions inside this one."""
        self._end_task: asyncio.Task[None] | None = None
        self._discards_pending = False  # when it is closed
        self._sync = SyncLoop()
        opened.bind(self._work)
        features.begin()

    async def __aenter__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        """Support ``with`` in synchronous code, together with ``run_sync``."""
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self._sync.wait_for(self.aclose(), "with Session")
        finally:
            self._sync.close()

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def id(self) -> str:
        """The id of the stored session, the same after a restart; empty if the session is not stored."""
        return self._journal.session

    @property
    def path(self) -> AgentPath:
        """The names of the agents from the root to this session; empty for the root."""
        return self._opened.path

    @property
    def status(self) -> SessionStatus:
        """The status. ``paused``: a turn is unfinished or prompts of an earlier program are queued. Send Continue or a
        new Prompt."""
        return self._work.status

    @property
    def model(self) -> str:
        """The name of the model that answers the next request."""
        return self._work.model

    @property
    def window(self) -> int | None:
        """The tokens that the model's context may have; None if that is not known."""
        return self._work.window

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for people about this start, such as skipped settings. Each becomes a Noted event with the first work;
        an interface can show them before that."""
        return self._work.notes

    @property
    def effort_in_force(self) -> EffortInForce:
        """The effort of the next request: the wanted one, its source, and the level that is sent to the model."""
        return self._work.effort

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """The levels of effort that the model supports, lowest first."""
        return self._work.answerer.abilities.efforts

    @property
    def open_spent(self) -> Spent | None:
        """Tokens and price of the message of a turn that is still open; ``costs`` has it once the turn has ended."""
        return self._work.open_spent

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions of this session and of those inside it."""
        return self.nesting.open

    # ---- inputs and events --------------------------------------------------------------------------------------

    def send(self, sent: Input | str, *, until: Literal["rest", "idle"] = "rest") -> Reply:
        """Send an input (a text is a Prompt) and return the events that follow: iterate over the reply, or await it.
        They are the events of this session, and the questions of the sessions inside it.

        The reply ends when the session rests, an open question included; with ``until="idle"`` it continues after
        questions, for answers that come from another interface.
        """
        reply = Reply(self, AT_REST if until == "rest" else _AT_END)
        self.post(sent)
        return reply

    @overload
    async def run(self, sent: Input | str) -> RunResult[str]: ...
    @overload
    async def run(self, sent: Input | str, *, output: type[T]) -> RunResult[T]: ...
    async def run(self, sent: Input | str, *, output: Any = str) -> RunResult[Any]:
        """Send an input, wait until the session rests, and return a RunResult.

        output  a type: the model receives its JSON Schema and the answer is validated; an invalid one is sent back once
        """
        return await run(self, sent, output)

    @overload
    def run_sync(self, sent: Input | str) -> RunResult[str]: ...
    @overload
    def run_sync(self, sent: Input | str, *, output: type[T]) -> RunResult[T]: ...
    def run_sync(self, sent: Input | str, *, output: Any = str) -> RunResult[Any]:
        """``run`` for synchronous code, in ``with Session(…) as session``. The session works only while this
        call waits. UsageError inside a running event loop."""
        return self._sync.wait_for(self.run(sent, output=output), "run_sync")

    def events(self, *, after: int | None = None) -> EventStream[SessionEvent]:
        """Return every event of this session and of the sessions inside it from now on, until the session is closed.

        With ``after``, the ``position`` of an earlier stream of this session, its own durable events since then come
        first, each once: also after a restart, and those that were rewound. Events that are not on record are not
        repeated; earlier events of a nested session are in its own log.
        """
        if after is not None and (type(after) is not int or not 0 <= after <= self.position):
            raise UsageError(f"after= takes a position of this session, 0 to {self.position}, not {after!r:.40}")
        return EventStream(self, ("closed",), lambda found: found, after=after)

    @property
    def position(self) -> int:
        """The number on record of the last event of this session that was published."""
        return self._record.position

    async def events_after(self, number: int) -> Sequence[tuple[int, Event]]:
        """Return the events on record after this number, with their numbers; without secrets in a session that is
        kept."""
        return await self._journal.after(number)

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, *, by: str, id: str = "") -> Result:
        """Make a call that no model asked for, and return its result. It passes every stage of a call of the model:
        gate, questions, hooks, locks, staging and record. The model reads it with the next request.

        Calls of one program share a message and run beside each other as their locks allow. While the model works,
        they wait for the end of its turn. Every outcome is a Result: ``never_started`` if the session is closed, a hook
        refuses the program, or an unfinished turn waits for Continue. After a crash the log says what is known of the
        call; it is never run again. May be cancelled, which cancels the call. StateError in a tool of this session.

        name       the tool
        arguments  its arguments, as a JSON object
        by         who makes the call, for people and the model
        id         the id of the call in events, such as CallProgressed; a new one unless given
        """
        return await self._work.calls.call(name, arguments or {}, by=by, id=id)

    def call_sync(self, name: str, arguments: Mapping[str, Any] | None = None, *, by: str, id: str = "") -> Result:
        """``call`` for plain code, in ``with Session(…) as session``. UsageError inside a running event loop."""
        return self._sync.wait_for(self.call(name, arguments, by=by, id=id), "call_sync")

    async def recap(self) -> str:
        """Return a summary of the work in at most 40 words, written by the cheap model. UsageError if there is no
        message yet, ModelError if the model fails."""
        from callgate.compaction.plain_request import UnusedAnswers  # seldom used
        from callgate.compaction.summaries import recap_of

        if not self.messages:
            raise UsageError("Nothing was said yet, so there is nothing to recap.")
        paid = UnusedAnswers("recap", self._record, self.host.clock, self._opened.price)
        return await recap_of(self.messages, self.cheap or self._work.answerer, paid)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every event of this session and of the sessions inside it from now on. Return a
        function that stops this. The path names the session that wrote the event, see ``SessionEvent``."""
        return self._record.listen(listener)

    def post(self, sent: Input | str) -> None:
        """Send an input without waiting for events. An input that is refused causes an InputRefused event."""
        if self.status == "closed":
            raise StateError("the session is closed")
        sent = Prompt(sent) if isinstance(sent, str) else sent
        known = isinstance(sent, Input) or type(sent) in self._features.inputs
        refusal = misfit(sent) or self._take(sent) if known else f"there is no input {type(sent).__name__}"
        self._history.touched()
        if refusal is not None:
            self._record.publish(InputRefused(self._now(), type(sent).__name__, refusal))

    async def ask(
        self, fields: Sequence[AskedField] = (), *, by: str, text: str = "", name: str = "question", id: str = ""
    ) -> tuple[FieldAnswer, ...] | None:
        """Ask the user a question that belongs to no call, at every interface, and return the answers to the fields;
        None for a no, for no answer in time, and in a mode that never asks. May be cancelled, which withdraws it.

        fields  the fields to fill in; without any, the question is answered by yes or no
        by      who asks
        text    what is asked
        name    a name for the kind of question, shown in place of a tool's
        id      keeps the question open over a restart: the next asker with this id gets the answer, which is given once
        """
        return await self._work.ask(fields, by=by, text=text, name=name, id=id)

    def note(self, text: str) -> None:
        """Put a note for people on record."""
        if self.status != "closed":
            self._record.write(Noted(self._now(), text))

    def inform(self, text: str) -> None:
        """Put a note for people on record, and a notice with the same text for the model."""
        self.note(text)
        if self.status != "closed" and self._notices is not None:
            self._notices.add("server", text)

    def deliver(self) -> bool:
        """Call the listeners with all events so far now, not in the next iteration of the event loop. Return False if
        some events are not durable yet."""
        return self._record.deliver()

    def take_failure(self) -> Exception | None:
        """Return the exception that ended the last work, once."""
        failure, self._work.failure = self._work.failure, None
        return failure

    def _take(self, sent: Input) -> str | None:
        """Act on an input. Return the reason for a refusal."""
        name = type(sent).__name__
        match sent:
            case Prompt():
                self._work.prompt(sent)
            case inputs.EditPrompt() | inputs.WithdrawPrompt():
                return self._work.change_waiting(sent)
            case inputs.Continue():
                return self._work.go_on()
            case inputs.Steer():
                self._work.steer(sent.text)
            case inputs.Interrupt():
                return self._interrupt(sent.reason or "Interrupted by the user.")
            case inputs.CancelCall():
                return self._cancel(sent)
            case inputs.Answer():
                return self.nesting.answer(sent.confirmation)
            case inputs.SetModel():
                return self._set_model(sent.model)
            case inputs.SetEffort():
                return self._set_effort(sent.effort)
            case inputs.SetMode() if (refusal := self.nesting.refuse_mode(sent.mode)) is not None:
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
            return f"this session has no feature that takes {name}"
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
            return None if stopped else "nothing is under way that could be interrupted"
        self._work.set_status("working")
        loop.interrupt(because)
        return None

    def _cancel(self, sent: inputs.CancelCall) -> str | None:
        cancelled = self._work.calls.cancel(sent.call_id, sent.reason or "Cancelled by the user.")
        return None if cancelled else f"there is no call {sent.call_id!r} under way"

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
        """Open a model in a thread, because a command may print its key. Return the reason for a failure."""
        try:
            model = await asyncio.to_thread(open_model, name)
        except CallgateError as error:
            return str(error)
        self._models[model.name] = model
        self._use_model(model)
        return None

    def _use_model(self, model: Model) -> None:
        self._record.write(ModelSet(self._now(), model.name))
        self._work.use_model(model)

    def context_use(self) -> ContextUse:
        """Return the use of the context window by the next request: its tokens, the share of each kind of content, and
        the limits for a warning, a compaction, and a refusal."""
        from callgate.compaction.compaction_feature import CompactionPart

        found = self._opened.part("compaction", CompactionPart)
        return (found or CompactionPart(self._opened, None, automatic=False)).history.use()

    def _set_effort(self, effort: WantedEffort) -> str | None:
        if effort not in (*EFFORTS, "auto"):
            return f"there is no effort {effort!r}; there are {', '.join(EFFORTS)} and auto"
        self._record.write(EffortSet(self._now(), effort))
        self._work.use_effort(effort)
        return None

    # ---- for sessions inside this one ---------------------------------------------------------------------------

    def running_call(self) -> tuple[str, ...]:
        """Return the lineage of the call whose task this is, or of the only running call. A session that is opened
        there uses it and so never waits for locks of that call."""
        executor = self._work.executor
        try:
            task = asyncio.current_task()
        except RuntimeError:  # a tool in a thread
            task = None
        return () if executor is None else executor.lineage_of(task)

    # ---- the end ------------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Stop the current work, wait for its end, and close. A stored session can be continued from there.
        JournalError if its last events could not be written."""
        await asyncio.shield(self._begin_to_end())

    def _begin_to_end(self) -> asyncio.Task[None]:
        if self._end_task is None:
            self._end_task = asyncio.get_running_loop().create_task(self._end())
            # A caller of aclose and a reader of events get its exception; after Close alone no caller waits for it.
            self._end_task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._end_task

    async def _end(self) -> None:
        self._work.closing = self._work.calls.is_closed = True
        await self.nesting.mailbox.aclose()
        self._features.interrupt(CLOSED)
        await self._work.ended(CLOSED)
        await self._features.close(discard=self._discards_pending)
        self.deliver()
        try:
            await self._journal.aclose()
        except JournalError as error:
            self._work.failure = error
            raise
        finally:
            self._work.set_status("closed")
            self.deliver()
            self._work.calls.close()
