"""The feature ``nesting``: connects a session with its parent session and its nested sessions.

Questions are passed to the root, answers to the session that asked, and remembered answers to all sessions. Events
and costs are passed to all parent sessions, and the limits of a session apply to all its nested sessions.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, TypeVar, cast

from callgate._version import __version__
from callgate.conversation.feature import Feature, FeaturePart, OpenSession
from callgate.conversation.ledger import Ledger
from callgate.session.user_questions import NAME as QUESTIONS
from callgate.session.user_questions import AnswerMailbox, UserQuestions
from callgate.transcript.session_paths import agent_log
from callgate.words import events
from callgate.words.decisions import ASK_PREFIX, ApprovalPolicy, Confirmation, Question
from callgate.words.errors import StateError, UsageError, in_words
from callgate.words.messages import Spent
from callgate.words.modes import MODES, Mode, strictest

if TYPE_CHECKING:
    from callgate.conversation.allowance import Allowance
    from callgate.conversation.ports import Journal, Masking, Model
    from callgate.core.ports import Gate, Host, Tool
    from callgate.session.work import Work

NAME = "nesting"
CUT_OFF = "the parent session is closed"
LOOSEST: Mode = min(MODES, key=lambda mode: MODES[mode].strictness)
T = TypeVar("T")
_UNFIT = re.compile(r"[^\w .'()+,@-]+")
"""Characters of a label that are replaced in the name of the session, because the name is also a file name."""
_LONGEST_NAME = 40


class NestingPart(FeaturePart):
    """A session in a tree of sessions, with its open nested sessions.

    path           the path of the session in the tree
    parent         the part of the parent session; None for the root
    gate           the gate of this session, without the gates of its parent sessions
    inherits_gate  True if the gate has only checks of this session, and the rules of the parent sessions apply
    tools          the tools that are bound to the session
    aclose         closes the session
    """

    gate: Gate
    aclose: Callable[[], Coroutine[Any, Any, None]]
    inherits_gate = False
    tools: Sequence[Tool] = ()

    def __init__(self, opened: OpenSession, parent: NestingPart | None) -> None:
        self._opened = opened
        self._record = opened.record
        self._now = opened.now
        self.parent = parent
        self._wanted: Mode = LOOSEST
        self._forced: Mode | None = None  # mode required by the parent session
        self.path = opened.path
        self._children: dict[str, NestingPart] = {}
        self._outside_calls = opened.needed(QUESTIONS, UserQuestions)
        self._outside_calls.modes = lambda: (part.mode for part in (*self.around, self))
        self._is_listening = self._is_closed = False
        self._is_live = False  # false while events on record are folded again
        self._is_charged = False  # all costs on record, of earlier programs too
        self.given: list[ApprovalPolicy] = []
        """The answers that were given in the tree while the session was open. Answers that it had before, such as in
        an older log, are not included."""
        self.folds = {events.PolicyAdded: self._policy_added}
        if parent is not None:
            self.folds |= dict.fromkeys(events.SPENDING, self._spent)
            self._record.listen(parent._relay)  # before the first event
        self.mailbox = AnswerMailbox(
            opened.journal,
            opened.host.clock,
            take=self._take_left,
            waits=lambda: bool(self._own),
            report=self._warn,
        )

    @property
    def _work(self) -> Work:
        return cast("Work", self._opened.session)

    def begin(self) -> None:
        parent = self.parent
        if parent is not None:
            parent._children[self.path[-1]] = self
            parent._listen()
        if parent is not None or self._opened.journal.session:
            self._listen()

    def _listen(self) -> None:
        if not self._is_listening:
            self._is_listening = True
            self._record.on_event(self._on_event)

    async def close(self, *, discard: bool) -> None:
        """Close the nested sessions, because they use the modes, questions and costs of this session."""
        children = tuple(self._children.values())
        ends = await asyncio.gather(*(child._close_inside() for child in children), return_exceptions=True)
        for child, error in zip(children, ends, strict=True):
            if isinstance(error, Exception):
                self._warn(f"the nested session {child.path[-1]} could not be closed cleanly: {in_words(error)}")
        self._is_closed = True
        if self.parent is not None:
            self.parent._children.pop(self.path[-1], None)

    async def _close_inside(self) -> None:
        """Close this nested session in the thread of its event loop. If the event loop is not running, do nothing:
        ``starting`` and the gate then refuse all work."""
        loop = self._work.loop_of_events
        if loop is None or loop is _running_loop():
            await self.aclose()
        elif loop.is_running():
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.aclose(), loop))

    @property
    def is_cut_off(self) -> bool:
        """True if a parent session is closed."""
        return any(part._is_closed for part in self.around)

    async def starting(self, *, resumed: bool) -> str | None:
        return CUT_OFF if self.is_cut_off else None

    def _relay(self, path: events.AgentPath, number: int, event: events.Event) -> None:
        self._in_own_thread(lambda: self._record.relay(path, number, event), wait=False)

    # ---- names --------------------------------------------------------------------------------------------------

    @property
    def around(self) -> tuple[NestingPart, ...]:
        """The NestingParts of all parent sessions, beginning with the root session."""
        return () if self.parent is None else (*self.parent.around, self.parent)

    @property
    def host(self) -> Host:
        return self._opened.host

    @property
    def cheap(self) -> Model | None:
        return self._opened.cheap

    @cached_property
    def root(self) -> str:
        """The folder of the session, resolved."""
        return self.host.resolve_path(".").resolved

    @property
    def id(self) -> str:
        """A unique id of the session."""
        return self._opened.lineage[-1]

    def running_call(self) -> tuple[str, ...]:
        """Return the lineage of the call that runs in the current task, or of the only running call; empty if there is
        no such call.

        A nested session with this lineage never waits for locks of that call.
        """
        executor = self._work.executor
        try:
            task = asyncio.current_task()
        except RuntimeError:  # a tool in a thread
            task = None
        return () if executor is None else executor.lineage_of(task)

    def has_log_of(self, journal: Journal) -> bool:
        """Return True if the log of the journal is in the folder for nested sessions of this session."""
        own, log = self._opened.journal.path, journal.path
        return own is not None and log is not None and log == agent_log(own, journal.session)

    def open_agent(self, label: str, name: str, journal: Masking) -> tuple[events.AgentPath, Masking]:
        """Return the path and the journal of a nested session. Raise UsageError if the name is unknown, or if the
        nested session is already open.

        name     the name of a recorded nested session to reopen; the journal may also name it
        journal  replaced for a new nested session if it stores nothing and this session has a log
        """
        if self._is_closed:
            raise StateError("the session is closed")
        name = name or (journal.session if self.has_log_of(journal) else "")
        if name:
            if name not in self._record.ledger.agents:
                raise UsageError(f"no nested session {name!r} is recorded")
            if name in self._children:
                raise UsageError(f"the nested session {name!r} is already open")
        else:
            name, own = self._in_own_thread(partial(self._new_name, label)), self._opened.journal
            from callgate.transcript.disk_journal import DiskJournal  # loaded already if there is one

            if isinstance(own, DiskJournal) and not journal.session and journal.number == 0:
                journal = own.new_agent(name)
                workspace = self._opened.host.resolve_path(".").resolved
                journal.append(events.SessionOpened(self._now(), __version__, workspace))
        return (*self.path, name), journal

    def _new_name(self, label: str) -> str:
        stem = _UNFIT.sub("-", label).strip(" .-")[:_LONGEST_NAME] or "agent"
        taken = {name.casefold() for name in self._record.ledger.agents}
        numbered = chain((stem,), (f"{stem}-{n}" for n in count(2)))
        name = next(each for each in numbered if each.casefold() not in taken and not self._has_log(each))
        self._record.write(events.AgentOpened(self._now(), name, label))
        return name

    def _has_log(self, name: str) -> bool:
        """Return True if a log of this name exists. After a crash the log may exist although its name is not
        recorded."""
        own = self._opened.journal.path
        return own is not None and agent_log(own, name).exists()

    def _in_own_thread(self, step: Callable[[], T], *, wait: bool = True) -> T:
        """Call the function in the thread of this session's event loop. Another thread waits for the result, unless
        ``wait`` is False."""
        loop = self._work.loop_of_events
        if loop is None or not loop.is_running() or _running_loop() is loop:
            return step()
        done = Future[T]()
        loop.call_soon_threadsafe(lambda: done.set_result(step()))
        return done.result() if wait else cast(T, None)

    # ---- costs --------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        self._is_live = False

    def folded(self, ledger: Ledger) -> None:
        self._is_live = True

    def _spent(self, event: events.Event) -> None:
        spent = events.spent_in(event)
        if self._is_live and spent is not None:
            self._charge(self._opened.journal.number, spent)

    def _charge(self, number: int, spent: Spent) -> None:
        """Record costs of this session in the parent session, which charges its own parent session."""
        assert self.parent is not None
        charge = events.AgentSpent(self._now(), self.path[-1], number, spent)
        self.parent._in_own_thread(partial(self.parent._write_charge, charge))

    def _write_charge(self, charge: events.AgentSpent) -> None:
        if not self._is_closed:  # otherwise ``recover`` charges the costs later
            self._record.write(charge)

    async def recover(self) -> None:
        """Charge the parent session with the costs that were not recorded there because of a crash."""
        if self.parent is None or self._is_charged:
            return
        self._is_charged = True
        charged = self.parent._record.ledger.charged.get(self.path[-1], 0)
        due: list[tuple[int, Spent]] = []
        for number, event in await self._opened.journal.after(charged):
            spent = events.spent_in(event)
            if isinstance(event, events.Forked):
                due.clear()  # these are costs of the session that was copied
            elif spent is not None:
                due.append((number, spent))
        for number, spent in due:
            self._charge(number, spent)

    def unsettled(self) -> Iterator[Spent]:
        """Yield the costs of messages in open turns, for this session and its nested sessions."""
        if self._work.open_spent is not None:
            yield self._work.open_spent
        for child in tuple(self._children.values()):
            yield from child.unsettled()

    @property
    def allowance(self) -> Allowance:
        """The limits of this session, used by its nested sessions."""
        return self._work.allowance

    # ---- questions and answers ----------------------------------------------------------------------------------

    @property
    def _own(self) -> tuple[Question, ...]:
        about_calls = () if self._work.executor is None else self._work.executor.questions
        return (*about_calls, *self._outside_calls.open)

    @property
    def open(self) -> tuple[Question, ...]:
        """The open questions of this session and of its nested sessions."""
        below = (question for child in self._children.values() for question in child.open)
        return (*self._own, *below)

    def answer(self, confirmation: Confirmation) -> str | None:
        """Apply an answer to a question of this session or of a nested session. Return None, or the reason if the
        answer is refused."""
        if confirmation.path != self.path:
            below = confirmation.path[: len(self.path)] == self.path
            child = self._children.get(confirmation.path[len(self.path)]) if below else None
            where = " / ".join(confirmation.path)
            return f"no agent {where} is running in this session" if child is None else child.answer(confirmation)
        if confirmation.call_id.startswith(ASK_PREFIX):
            return self._outside_calls.answer(confirmation)
        executor = self._work.executor
        refusal = "no question is open" if executor is None else executor.answer(confirmation)
        if refusal is None:
            self._work.set_status("working")  # until the turn waits again
        return refusal

    def _on_event(self, event: events.Event) -> None:
        if isinstance(event, events.QuestionAsked):
            self.mailbox.open()
        elif isinstance(event, events.PolicyAdded):
            if self._work.executor is not None and self._work.executor.reconsider():
                self._work.set_status("working")
        elif isinstance(event, events.ModeSet):
            self._wanted = self._wanted if event.mode == self._forced else event.mode
            self._forced = None
            for part in (self, *self._children.values()):
                part._follow_mode()

    def _policy_added(self, event: events.PolicyAdded) -> None:
        if self._is_live:
            self.given.append(event.policy)
            for part in (*self._children.values(), *(() if self.parent is None else (self.parent,))):
                if part.root == self.root:  # paths in an answer are relative to the folder
                    part._in_own_thread(partial(part._adopt, event.policy), wait=False)

    def _adopt(self, policy: ApprovalPolicy) -> None:
        if policy not in self._record.ledger.policies and not self._work.closing:
            self._record.write(events.PolicyAdded(self._now(), policy))

    # ---- restrictions -------------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        return self._record.ledger.mode

    @property
    def policies(self) -> Sequence[ApprovalPolicy]:
        return self._record.ledger.policies

    @property
    def configs(self) -> tuple[Any, ...]:
        """The configs of all parent sessions, the root first, and of this session."""
        return tuple(config for config, _ in self.rooted_configs)

    @property
    def rooted_configs(self) -> tuple[tuple[Any, str], ...]:
        """The configs of all parent sessions and of this session, each with the folder of its session."""
        parts = (*self.around, self)
        return tuple((part._opened.config, part.root) for part in parts if part._opened.config is not None)

    def open_mode(self, wanted: Mode | None) -> None:
        """Set the mode of a newly opened nested session: the requested mode, or the mode of the parent session if
        that mode is stricter. Copy the remembered answers of the parent session."""
        self._wanted = wanted or LOOSEST
        assert self.parent is not None
        mode = strictest(self._wanted, self.parent.mode)
        if mode != self.mode:
            self._forced = mode
            self._record.write(events.ModeSet(self._now(), mode))
        if not self.inherits_gate:
            for policy in self.parent.policies:
                if policy.scope == "session" and policy not in self.policies:
                    self._record.write(events.PolicyAdded(self._now(), policy))
            self.given.clear()

    def refuse_mode(self, wanted: Mode) -> str | None:
        """Return the reason why the session cannot use this mode, or None."""
        if self.parent is None or strictest(wanted, self.parent.mode) == wanted:
            return None
        return f"the parent session is in mode {self.parent.mode}, which is stricter than {wanted}"

    def _follow_mode(self) -> None:
        if self.parent is None or self._is_closed:
            return
        mode = strictest(self._wanted, self.parent.mode)
        if mode != self.mode:
            self._forced = mode
            self._in_own_thread(lambda: self._record.write(events.ModeSet(self._now(), mode)), wait=False)

    def _take_left(self, confirmation: Confirmation) -> bool:
        """Apply an answer from another program. If the question is not open yet, return False; the answer then stays
        in the mailbox."""
        if confirmation.call_id not in {question.call_id for question in self._own}:
            return False
        refusal = self.answer(confirmation)
        if refusal is not None:
            self._warn(f"the answer of {confirmation.by} was refused: {refusal}", confirmation.call_id)
        return True

    def _warn(self, text: str, call_id: str | None = None) -> None:
        self._record.write(events.Noted(self._now(), text, "warning", call_id))


def nesting_feature(parent: NestingPart | None) -> Feature:
    """Return the feature that connects a session with its parent session; None for a root session."""
    return Feature(NAME, lambda opened: NestingPart(opened, parent), needs=frozenset({QUESTIONS}))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
