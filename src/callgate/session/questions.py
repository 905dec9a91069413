"""Questions and answers between the sessions of a tree, the interfaces at its root, and other programs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from callgate.conversation.feature import OpenSession
from callgate.conversation.ports import Journal
from callgate.core.ports import Clock, Timer
from callgate.session.user_questions import NAME, UserQuestions
from callgate.session.work import Work
from callgate.words.decisions import ASK_PREFIX, ApprovalPolicy, Confirmation, Question
from callgate.words.events import AgentOpened, Event, Noted, PolicyAdded, QuestionAsked
from callgate.words.session_event import AgentPath

T = TypeVar("T")
_UNFIT = re.compile(r"[^\w .'()+,@-]+")
"""The characters of a label that its name, which is also the name of a file, does not keep."""
_LONGEST_NAME = 40
_EVERY = 0.25  # seconds; only while a question is open


class AnswerMailbox:
    """Polls the journal for answers while questions are open. ``take`` acts on one; False leaves it in the mailbox.
    ``waits`` is true while a question is open; ``report`` gets a text for each answer that cannot be read."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        take: Callable[[Confirmation], bool],
        waits: Callable[[], bool],
        report: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._take = take
        self._waits = waits
        self._report = report
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def open(self) -> None:
        """Starts polling; it ends with the last open question."""
        if self._timer is None and self._task is None and not self._closed and self._journal.session:
            self._timer = self._clock.call_later(_EVERY, self._look)

    async def aclose(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            await asyncio.wait((self._task,))

    def _forget(self, confirmation: Confirmation) -> None:
        waiting = self._journal.forget_answers((confirmation.call_id,))
        if waiting is not None:  # a record that cannot be written is told where something waits for it
            asyncio.ensure_future(waiting).add_done_callback(lambda done: done.cancelled() or done.exception())

    def _look(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._collect())

    async def _collect(self) -> None:
        try:
            answers = await self._journal.answers()
            for fault in self._journal.answer_faults():
                self._report(fault)
            for confirmation in answers:
                if not self._closed and self._take(confirmation):
                    self._forget(confirmation)
        finally:
            self._task = None
            if self._waits():
                self.open()


class QuestionRouter:
    """One session's node in the tree of nested sessions. Questions go up to the root, answers go down to the session
    that asked, answers to remember go to every session. ``path`` has the labels from the root to here."""

    def __init__(self, opened: OpenSession, work: Work, parent: QuestionRouter | None) -> None:
        self.path = opened.path
        self._record = opened.record
        self._now = opened.now
        self._work = work
        self._outside_calls = opened.needed(NAME, UserQuestions)
        self._parent = parent
        self._children: dict[str, QuestionRouter] = {}
        self._is_listening = False
        self.mailbox = AnswerMailbox(
            opened.journal,
            opened.host.clock,
            take=self._take_left,
            waits=lambda: bool(self._own),
            report=self._warn,
        )
        if parent is not None:
            parent._children[self.path[-1]] = self
            parent._listen()
            self._record.listen(parent._record.relay)
        if parent is not None or opened.journal.session:
            self._listen()

    def open_agent(self, label: str) -> AgentPath:
        """Put a new session inside this one on record, and return its path. Its name is the label, with a number if
        a session inside this one has or had that name."""
        return self._in_own_thread(lambda: self._open_agent(label))

    def _open_agent(self, label: str) -> AgentPath:
        stem = _UNFIT.sub("-", label).strip(" .-")[:_LONGEST_NAME] or "agent"
        taken = {name.casefold() for name in self._record.ledger.agents}
        numbered = (stem, *(f"{stem}-{n}" for n in range(2, len(taken) + 3)))
        name = next(each for each in numbered if each.casefold() not in taken)
        self._record.write(AgentOpened(self._now(), name, label))
        return (*self.path, name)

    def _in_own_thread(self, step: Callable[[], T]) -> T:
        """Call the function in the thread of this session's event loop, and wait for it in any other thread."""
        loop = self._work.loop_of_events
        if loop is None or not loop.is_running() or _running_loop() is loop:
            return step()
        done = Future[T]()
        loop.call_soon_threadsafe(lambda: done.set_result(step()))
        return done.result()

    def leave(self) -> None:
        if self._parent is not None:
            self._parent._children.pop(self.path[-1], None)

    @property
    def _own(self) -> tuple[Question, ...]:
        about_calls = () if self._work.executor is None else self._work.executor.questions
        return (*about_calls, *self._outside_calls.open)

    @property
    def open(self) -> tuple[Question, ...]:
        """The open questions of this session and of those below it."""
        below = (question for child in self._children.values() for question in child.open)
        return (*self._own, *below)

    def answer(self, confirmation: Confirmation) -> str | None:
        """Acts on an answer to a question of this session, or of one below; gives the reason if it cannot."""
        if confirmation.path != self.path:
            below = confirmation.path[: len(self.path)] == self.path
            child = self._children.get(confirmation.path[len(self.path)]) if below else None
            where = " / ".join(confirmation.path)
            return f"no agent {where} is at work here" if child is None else child.answer(confirmation)
        if confirmation.call_id.startswith(ASK_PREFIX):
            return self._outside_calls.answer(confirmation)
        executor = self._work.executor
        refusal = "no question is open" if executor is None else executor.answer(confirmation)
        if refusal is None:
            self._work.set_status("working")  # until the turn says that it waits again
        return refusal

    def _listen(self) -> None:
        if not self._is_listening:
            self._is_listening = True
            self._record.on_event(self._on_event)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, QuestionAsked):
            self.mailbox.open()
        elif isinstance(event, PolicyAdded):
            for router in (*self._children.values(), *(() if self._parent is None else (self._parent,))):
                router._adopt(event.policy)

    def _adopt(self, policy: ApprovalPolicy) -> None:
        """Takes over an answer that was remembered by a session next to this one in the tree."""
        if policy not in self._record.ledger.policies and not self._work.closing:
            self._record.write(PolicyAdded(self._now(), policy))
            if self._work.executor is not None and self._work.executor.reconsider():
                self._work.set_status("working")

    def _take_left(self, confirmation: Confirmation) -> bool:
        """Acts on an answer that another program left. False: its question is not open yet, so the answer stays."""
        if confirmation.call_id not in {question.call_id for question in self._own}:
            return False
        refusal = self.answer(confirmation)
        if refusal is not None:
            self._warn(f"the answer of {confirmation.by} was not taken: {refusal}", confirmation.call_id)
        return True

    def _warn(self, text: str, call_id: str | None = None) -> None:
        self._record.write(Noted(self._now(), text, "warning", call_id))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
