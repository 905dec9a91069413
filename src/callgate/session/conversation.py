"""A session as its users see it: takes inputs, gives events, answers questions."""

# An input comes from outside and may not keep to its type.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from callgate.core.record import Listener, Record
from callgate.core.reply import AT_REST, Reply
from callgate.formats.jsonable import misfit
from callgate.session.history import HistoryEdits
from callgate.session.mailbox import AnswerMailbox
from callgate.session.parts import Parts
from callgate.session.run import RunResult, SyncLoop, run
from callgate.session.tree import TreeNode
from callgate.session.view import SessionView
from callgate.session.work import Work
from callgate.session.workspace_changes import WorkspaceChanges
from callgate.words.decisions import ApprovalPolicy, Confirmation, Question
from callgate.words.errors import JournalError, StateError
from callgate.words.events import Event, InputRefused, ModelSet, Noted, PolicyAdded, QuestionAsked, SessionStatus
from callgate.words.inputs import (
    Answer,
    Branch,
    Close,
    Compact,
    Continue,
    EditPrompt,
    Input,
    Interrupt,
    Prompt,
    Resolve,
    Rewind,
    SetMode,
    SetModel,
    SetTags,
    SetTitle,
    Snip,
    Steer,
    Trim,
    Undo,
    WithdrawPrompt,
)
from callgate.words.pending import Staged

if TYPE_CHECKING:
    from callgate.session.hooks import SessionHooks

T = TypeVar("T")
_AT_END: tuple[SessionStatus, ...] = ("idle", "paused", "closed")
_CLOSED = "The session was closed."


class Conversation(SessionView):
    """One conversation with a model that may call tools, made of its parts; ``callgate.Session`` makes the parts.

    It works on without a reader of its events; several doors may listen and send at once.
    """

    def __init__(self, parts: Parts) -> None:
        self._record = parts.equipment.record
        self.host = parts.equipment.host
        self.deps = parts.equipment.deps
        self._now = self.host.clock.now
        self._journal = parts.journal
        self._staging = parts.staging
        self._models = parts.models
        self._hooks = parts.hooks
        self._remembered = parts.remembered
        self._node = parts.node
        self._mailbox = AnswerMailbox(
            parts.journal, self.host.clock, take=self._take_left, waits=self._waits, report=self._warn
        )
        leaving = partial(parts.staging.stack.clear, "the conversation went on from another place")
        self._history = HistoryEdits(parts, leaving)
        self._changes = WorkspaceChanges(self.host, self._record, self._now, parts.staging.stack)
        self._work = Work(parts, self._history, self._changes)
        self._end_task: asyncio.Task[None] | None = None
        self._discard_pending = False  # when it is closed
        self._attending = False
        self._sync = SyncLoop()
        if self._remembered is not None:
            self._remembered.apply_to(self._ledger)
        self._node.join(self)
        if self._node.nested or self._remembered is not None or self._journal.session:
            self.attend()

    async def __aenter__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        """For plain code, together with ``run_sync``."""
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
        """The same after every restart; empty when the session is not kept."""
        return self._journal.session

    @property
    def status(self) -> SessionStatus:
        """``paused`` means that a turn on record was left unfinished, or that prompts wait since an earlier life: send
        Continue, or a new Prompt."""
        return self._work.status

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions of this session and of those inside it."""
        return (*self._own_questions, *self._node.questions)

    @property
    def _own_questions(self) -> tuple[Question, ...]:
        return () if self._work.executor is None else self._work.executor.questions

    @property
    def pending(self) -> tuple[Staged, ...]:
        """The pending actions, to be applied or discarded, newest first."""
        return tuple(self._staging.stack.newest())

    # ---- inputs and events --------------------------------------------------------------------------------------

    def send(self, sent: Input | str, *, until: Literal["rest", "idle"] = "rest") -> Reply:
        """Sends an input (a text is a Prompt) and gives the events that follow: iterate over the reply, or await it.

        It ends when the session rests, an open question included; with ``until="idle"`` it goes on past questions, for
        answers that come from another door.
        """
        reply = Reply(self, AT_REST if until == "rest" else _AT_END)
        self.post(sent)
        return reply

    @overload
    async def run(self, sent: Input | str) -> RunResult[str]: ...
    @overload
    async def run(self, sent: Input | str, *, output: type[T]) -> RunResult[T]: ...
    async def run(self, sent: Input | str, *, output: Any = str) -> RunResult[Any]:
        """Sends an input and waits until the session rests. With ``output``, a type, the model is told its JSON Schema
        and the answer is validated; one that does not fit is sent back once. See RunResult."""
        return await run(self, sent, output)

    @overload
    def run_sync(self, sent: Input | str) -> RunResult[str]: ...
    @overload
    def run_sync(self, sent: Input | str, *, output: type[T]) -> RunResult[T]: ...
    def run_sync(self, sent: Input | str, *, output: Any = str) -> RunResult[Any]:
        """``run`` for plain code, in ``with Session(…) as session``. The session works while this call waits, and not
        between two calls. UsageError inside a running event loop."""
        return self._sync.wait_for(self.run(sent, output=output), "run_sync")

    def events(self, *, after: int | None = None) -> Reply:
        """Every event from now on, until the session is closed: for a door that stays.

        With ``after``, the ``position`` of an earlier stream of this session, the durable events since then come first,
        each once: also after a restart, and those that were rewound. Events that are not on record are not repeated.
        """
        return Reply(self, ending=("closed",), after=after)

    @property
    def position(self) -> int:
        """The record number of the last event that was emitted."""
        return self._record.position

    async def told_after(self, number: int) -> Sequence[tuple[int, Event]]:
        """The events on record after this number, as they are there: without secrets in a session that is kept."""
        return await self._journal.after(number)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls the listener with every event from now on; the function that comes back stops it."""
        return self._record.listen(listener)

    def post(self, sent: Input | str) -> None:
        """Sends an input without listening. An input that cannot be acted on is answered by an InputRefused event."""
        if self.status == "closed":
            raise StateError("the session is closed")
        sent = Prompt(sent) if isinstance(sent, str) else sent
        known = isinstance(sent, Input)
        refusal = misfit(sent) or self._take(sent) if known else f"there is no input {type(sent).__name__}"
        self._history.touched()
        if refusal is not None:
            self._record.tell(InputRefused(self._now(), type(sent).__name__, refusal))

    def deliver(self) -> bool:
        """Delivers the events so far to listeners now, instead of at the loop's next iteration. False: some of them
        wait until they are durable."""
        return self._record.deliver()

    def take_failure(self) -> Exception | None:
        """The exception that ended the last work, once."""
        failure, self._work.failure = self._work.failure, None
        return failure

    def _take(self, sent: Input) -> str | None:
        """Acts on an input; gives the reason if it cannot."""
        name = type(sent).__name__
        match sent:
            case Prompt():
                self._work.prompt(sent.parts)
            case EditPrompt() | WithdrawPrompt():
                return self._work.change_waiting(sent)
            case Continue():
                if self.status != "paused" and (self._work.busy or not self._ledger.continues):
                    return "nothing was left unfinished"
                self._work.go_on()
            case Steer():
                return self._take(Prompt(sent.text)) if self._work.loop is None else self._work.loop.steer(sent.text)
            case Interrupt():
                return self._interrupt(sent.reason or "Interrupted by the user.")
            case Answer():
                return self.take_answer(sent.confirmation)
            case SetModel():
                return self._set_model(sent.model)
            case SetMode() | SetTitle() | SetTags() | Snip() | Trim():
                return self._history.settle(sent)
            case Rewind() | Branch():
                return self._work.run_between(name, self._history.move(sent))
            case Compact():
                return self._work.run_between(name, self._history.compact(sent))
            case Undo():
                return self._work.run_between(name, self._changes.undo(sent))
            case Resolve():
                return self._resolve(sent)
            case Close():
                return self._close(sent)
        return None

    def _interrupt(self, because: str) -> str | None:
        if self._hooks is not None:
            self._hooks.interrupt()
        stopped = self._staging.people.interrupt(because)
        loop = self._work.loop
        if loop is None:
            return None if stopped else self._history.interrupt()
        self._work.set_status("working")
        loop.interrupt(because)
        return None

    def _resolve(self, sent: Resolve) -> str | None:
        """Between two turns, or beside the one under way."""
        work = self._staging.people.resolve(sent, self._changes.recover)
        if not self._work.busy:
            return self._work.run_between("Resolve", work)
        self._work.run_beside("Resolve", work)
        return None

    def _set_model(self, name: str) -> str | None:
        model = self._models.get(name)
        if model is None:
            return f"there is no model {name!r}; this session has {', '.join(sorted(self._models))}"
        self._record.write(ModelSet(self._now(), name))
        self._work.use_model(model)
        return None

    # ---- answers ------------------------------------------------------------------------------------------------

    @property
    def node(self) -> TreeNode:
        """For a session that works inside a call of this one."""
        return self._node

    def running_call(self) -> tuple[str, ...]:
        """The lineage of the call in whose task this is called, or of the only one that runs. A session made there
        takes it, so that it never waits for locks that the call around it holds."""
        executor = None if self._work.loop is None else self._work.loop.executor
        return () if executor is None else executor.lineage_of(asyncio.current_task())

    def hooks_for(self, node: TreeNode, record: Record) -> SessionHooks | None:
        """This session's hooks for one inside it that has none of its own."""
        if self._hooks is None:
            return None
        from callgate.session.hooks import agent_of  # loaded already, with the hooks

        return self._hooks.for_agent(agent_of(node, record), record.write)

    def take_answer(self, confirmation: Confirmation) -> str | None:
        """Acts on an answer to a question of this session, or of one inside it; gives the reason if it cannot."""
        if confirmation.path != self._node.path:
            return self._node.answer(confirmation)
        executor = self._work.executor
        refusal = "no question is open" if executor is None else executor.answer(confirmation)
        if refusal is None:
            self._work.set_status("working")  # until the turn says that it waits again
        return refusal

    def adopt(self, policy: ApprovalPolicy) -> None:
        """Takes over an answer that was remembered by a session inside this one, or around it."""
        if policy not in self._ledger.policies and not self._work.closing:
            self._record.write(PolicyAdded(self._now(), policy))
            if self._work.executor is not None and self._work.executor.reconsider():
                self._work.set_status("working")

    def relay(self, event: Event) -> None:
        """Publishes a question that was asked by a session further below."""
        self._record.relay(event)

    def attend(self) -> None:
        """Starts listening to questions and answers, for other sessions, hooks and other programs."""
        if not self._attending:
            self._attending = True
            self._record.listen(self._hear)

    def _hear(self, event: Event) -> None:
        self._node.hear(event)
        if isinstance(event, QuestionAsked) and event.question.path == self._node.path:
            self._mailbox.open()
            if self._hooks is not None:
                self._hooks.asked(event.question)
        elif isinstance(event, PolicyAdded) and event.policy.scope != "session" and self._remembered is not None:
            self._remembered.keep(event.policy)

    def _take_left(self, confirmation: Confirmation) -> bool:
        """Acts on an answer that another program left. False: its question is not open yet, so the answer stays."""
        if confirmation.call_id not in {question.call_id for question in self._own_questions}:
            return False
        refusal = self.take_answer(confirmation)
        if refusal is not None:
            self._warn(f"the answer of {confirmation.by} was not taken: {refusal}", confirmation.call_id)
        return True

    def _waits(self) -> bool:
        return bool(self._own_questions)

    def _warn(self, text: str, call_id: str | None = None) -> None:
        self._record.write(Noted(self._now(), text, "warning", call_id))

    # ---- the end ------------------------------------------------------------------------------------------------

    def _close(self, sent: Close) -> str | None:
        if sent.pending not in ("keep", "discard"):
            return f"pending is keep or discard, not {sent.pending!r}"
        self._work.set_status("working")
        self._discard_pending = sent.pending == "discard"
        self._begin_to_end()
        return None

    async def aclose(self) -> None:
        """Stops the work under way, waits for its end, and closes. A session that is kept goes on from there another
        time; JournalError when the last of it could not be written."""
        await asyncio.shield(self._begin_to_end())

    def _begin_to_end(self) -> asyncio.Task[None]:
        if self._end_task is None:
            self._end_task = asyncio.get_running_loop().create_task(self._end())
            # A caller of aclose and a reader of events get its exception; after Close alone nobody waits for it.
            self._end_task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return self._end_task

    async def _end(self) -> None:
        self._work.closing = True
        await self._mailbox.aclose()
        if self._hooks is not None:
            self._hooks.interrupt()
        self._staging.people.interrupt(_CLOSED)
        await self._work.ended(_CLOSED)
        if self._discard_pending:
            await self._staging.stack.clear("the session was left for another one")
        if self._hooks is not None:
            await self._hooks.ended("closed")
        if self._remembered is not None:
            await self._remembered.written()
        self._node.leave()
        self.deliver()
        try:
            await self._journal.aclose()
        except JournalError as error:
            self._work.failure = error
            raise
        finally:
            self._work.set_status("closed")
            self.deliver()
