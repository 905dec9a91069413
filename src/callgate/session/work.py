"""The work of a session: runs the loop for each prompt, continues unfinished runs, and runs tasks between turns."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Literal

from callgate.conversation.allowance import Allowance, budget_in
from callgate.conversation.feature_set import Equipment
from callgate.conversation.injected import ProgramCalls
from callgate.conversation.ledger import Ledger
from callgate.conversation.loop import Loop
from callgate.conversation.message_reader import spent_by
from callgate.conversation.ports import Model
from callgate.conversation.recovery import answered_by
from callgate.conversation.view import AnswerText
from callgate.core.capabilities import model_effort
from callgate.core.executor import CallExecutor
from callgate.session.history import HistoryEdits
from callgate.session.user_questions import NAME as QUESTIONS
from callgate.session.user_questions import UserQuestions
from callgate.tools.staging import TaskSet, outside_calls
from callgate.words import events
from callgate.words.decisions import AskedField, FieldAnswer
from callgate.words.inputs import EditPrompt, Prompt, WithdrawPrompt
from callgate.words.limits import LoopLimits
from callgate.words.messages import Part, Spent, Text
from callgate.words.model import EffortInForce, EffortSource, RunOptions, WantedEffort

BUSY = "interrupt the running work first"
_CONTINUE = "Continue"  # the key of a run that is continued


class PromptRun:
    """The run of one prompt in this process, from the queue to its end.

    check    returns the prompt that sends an invalid answer back to the model, or None; called once with ``answer`` and
             ``last``
    state    the state of the prompt
    refusal  the reason if the prompt was refused or withdrawn
    after    the number of the last event before the run
    ended    the end of the run
    answer   the text of the model since its last tool call
    last     the last complete message in ``answer``
    failure  the exception that ended the work of the session
    """

    def __init__(self, check: Callable[[str, str], Prompt | None] | None = None) -> None:
        self.check = check
        self.state: Literal["queued", "running", "refused", "ended"] = "queued"
        self.refusal = self.answer = self.last = ""
        self.after = 0
        self.ended: events.RunEnded | None = None
        self.failure: Exception | None = None

    def begin(self, after: int) -> None:
        if self.state == "queued":
            self.state, self.after = "running", after

    def refuse(self, why: str) -> None:
        self.state, self.refusal = "refused", why

    def end(self, ended: events.RunEnded | None, answer: AnswerText) -> Prompt | None:
        """Record the end of the run. Return a prompt that continues it, or None."""
        self.answer, self.last = answer.text, answer.last
        again = None
        if self.check is not None and ended is not None and ended.reason == "done":
            again, self.check = self.check(self.answer, self.last), None
        if again is None and ended is not None:
            self.state, self.ended = "ended", ended
        return again


class Work:
    """The work of one session. It runs one task at a time: the loop, or an edit between turns.

    status   the status of the session
    notes    notes for the user, which the first work writes as Noted events
    record   the record of the session
    loop     the running loop; None if no loop is running
    calls    the calls of programs
    closing  True if no further work may begin
    failure  the exception that ended the last work
    run      the current or last run
    """

    def __init__(
        self, equipment: Equipment, history: HistoryEdits, limits: LoopLimits | None, notes: tuple[str, ...]
    ) -> None:
        self.equipment = equipment
        self._features = equipment.features
        self.record = self._record = equipment.record
        self._now = equipment.host.clock.now
        self._limits = limits
        self.notes = notes
        self._history = history
        self._beside = TaskSet(lambda: self.set_status(self._own_status))
        self.status: events.SessionStatus = self._at_rest()
        self._own_status: events.SessionStatus = self.status
        self._prompt: Prompt | None = None  # sent without work in progress, so it is not queued
        self._runs: dict[str, PromptRun] = {}  # by the id of the queued prompt; empty without one
        self.run: PromptRun | None = None
        self._delivers = False  # prompts queued by an earlier program wait until an input is sent
        self._continues = False  # the user has continued a paused run
        self._makes_calls = False  # of programs, outside of a run
        self._may_resume = False  # an input was sent that continues an unfinished run
        self._is_woken = False
        self._woken_for: set[str] = set()  # ids of notices, each of which starts at most one turn
        self._task: asyncio.Task[None] | None = None
        self.loop: Loop | None = None
        self._allowance: Allowance | None = None
        self.calls = ProgramCalls(equipment.record, start=self._start, executor=lambda: self.executor)
        self.closing = False
        self.failure: Exception | None = None

    async def ask(
        self, fields: Sequence[AskedField] = (), *, by: str, text: str = "", name: str = "question", id: str = ""
    ) -> tuple[FieldAnswer, ...] | None:
        """Ask the user a question outside of a call, see ``Session.ask``."""
        questions = self._features.parts[QUESTIONS]
        assert isinstance(questions, UserQuestions)
        return await questions.ask(fields, by=by, text=text, name=name, id=id)

    def take_failure(self) -> Exception | None:
        """Return the exception that ended the last work and clear it; None if there was no exception."""
        failure, self.failure = self.failure, None
        return failure

    def set_status(self, status: events.SessionStatus) -> None:
        """Set the status and publish a change. While background work runs, the published status is ``working``."""
        self._own_status = status
        shown: events.SessionStatus = "working" if self._beside and status != "closed" else status
        if shown != self.status:
            self.status = shown
            self._record.publish(events.StatusChanged(self._now(), shown))

    @property
    def executor(self) -> CallExecutor | None:
        """The executor of the current message; None if no loop is running."""
        return None if self.loop is None else self.loop.executor

    @property
    def loop_of_events(self) -> asyncio.AbstractEventLoop | None:
        """The asyncio event loop of the current work; None without current work."""
        return None if self._task is None else self._task.get_loop()

    @property
    def open_spent(self) -> Spent | None:
        """Tokens and price of the recorded message of the open turn, or None. The TurnEnded event is not recorded
        yet."""
        opened, kit = self._ledger.open_message, self.equipment
        if opened is None:
            return None
        return spent_by(answered_by(opened.message, kit.model, kit.fallback), opened.message.usage, kit.price)

    @property
    def is_busy(self) -> bool:
        return self._task is not None

    @property
    def _ledger(self) -> Ledger:
        return self._record.ledger

    def prompt(self, sent: Prompt, run: PromptRun | None = None) -> None:
        """Start a run for the prompt, or queue the prompt."""
        sent = _with_budget(sent)
        self._delivers = self._may_resume = True
        if self._task is None and self._prompt is None and not self._ledger.waiting:
            self._prompt, queued = sent, ""
        else:
            queued = f"q{self._ledger.queued + 1}"
            self._record.write(events.PromptQueued(self._now(), queued, sent.parts, options=sent.options))
        if run is not None:
            self._runs[queued] = run
        self._start()

    def has(self, run: PromptRun) -> bool:
        """Return True if the run is queued or begins with the current work."""
        return run in self._runs.values()

    def change_waiting(self, sent: EditPrompt | WithdrawPrompt) -> str | None:
        """Change or remove a queued prompt. Return None, or the reason if no such prompt is queued."""
        queued = self._ledger.waiting.get(sent.id)
        if queued is None:
            return f"no prompt {sent.id!r} is queued: it was delivered or withdrawn"
        if isinstance(sent, EditPrompt):
            self._record.write(replace(queued, at=self._now(), parts=sent.parts))
        else:
            self._record.write(events.PromptDequeued(self._now(), sent.id, "withdrawn"))
            self._refuse_run(sent.id, "the prompt was withdrawn")
        return None

    def go_on(self, run: PromptRun | None = None) -> str | None:
        """Continue an unfinished or paused run. Return None, or the reason if there is no such run."""
        if self.status != "paused" and (self._task is not None or not self._ledger.continues):
            return "no work is unfinished"
        open_turn = self._ledger.open_turn
        self._continues = open_turn is None or open_turn.because != "call"
        self._delivers = self._may_resume = True
        if run is not None and self._task is None and not self._ledger.waiting:
            self._runs[_CONTINUE] = run
        self._start()
        return None

    def steer(self, text: str, run: PromptRun | None = None) -> None:
        """Deliver the text after the current calls of the run. If no run is active, the text is sent as a prompt."""
        if self.loop is None or self._makes_calls:
            self.prompt(Prompt(text), run)
        else:
            self.loop.steer(text)

    def end_message(self) -> None:
        """Close the message of a program for further calls, because one of its calls waits for the end of the
        message."""
        if self.loop is not None:
            self.loop.end_message()

    def use_model(self, model: Model) -> None:
        """Use this model from the next request on."""
        self._equip(replace(self.equipment, model=model))

    @property
    def effort(self) -> EffortInForce:
        """The effort of the next request and its source."""
        own = self._ledger.options if self._ledger.running else None
        turn = None if own is None or own.request is None else own.request.effort
        wanted = turn or self.equipment.options.effort
        source: EffortSource = "turn" if turn is not None else "session" if wanted is not None else "model"
        found = model_effort(self.equipment.model)
        if found is not None:
            return found(wanted, source)
        return EffortInForce(wanted, source, None if wanted == "auto" else wanted)

    def use_effort(self, effort: WantedEffort) -> None:
        """Use this effort from the next request on, except for prompts with their own effort."""
        self._equip(replace(self.equipment, options=replace(self.equipment.options, effort=effort)))

    def _equip(self, equipment: Equipment) -> None:
        self.equipment = equipment
        if self.loop is not None:
            self.loop.equipment = equipment

    def wake(self) -> None:
        """Start a turn if the session is idle and a feature has a new reason for a turn."""
        reasons = {*self._features.wakes} - self._woken_for
        if reasons and self._task is None and not self.closing and self.failure is None and self.status == "idle":
            self._woken_for |= reasons
            self._is_woken = True
            self._start()

    def warn(self, text: str) -> None:
        """Add a note for the user. The first work writes it as a Noted event."""
        self.notes = (*self.notes, text)

    def run_between(self, name: str, work: Coroutine[Any, Any, str | None]) -> str | None:
        """Run an edit as the current task. Return None, or the reason if another task is running."""
        if self._task is not None:
            work.close()
            return BUSY
        self.set_status("working")
        edit = self._do_between(name, work)
        self._task = asyncio.get_running_loop().create_task(edit, context=outside_calls())
        return None

    def run_beside(self, name: str, work: Coroutine[Any, Any, str | None]) -> None:
        """Run the coroutine concurrently with the turn."""
        self._beside.start(self._do(name, work))
        self.set_status(self._own_status)

    async def ended(self, because: str) -> None:
        """Stop the current work and wait for its end. In a stored session the turn stays open, so that it can be
        resumed."""
        if self._task is not None and not self._task.done():
            self._features.interrupt(because)
            if self.loop is not None:
                end = self.loop.leave if self.equipment.resumable else self.loop.interrupt
                end(because)
            await asyncio.wait((self._task,))
        await self._beside.finished()

    async def _do_between(self, name: str, work: Coroutine[Any, Any, str | None]) -> None:
        try:
            await self._do(name, work)
        finally:
            self._task = None
            self._come_to_rest()

    async def _do(self, name: str, work: Coroutine[Any, Any, str | None]) -> None:
        try:
            refusal = await work
            if refusal is not None:
                self._record.publish(events.InputRefused(self._now(), name, refusal))
        except Exception as error:
            self.failure = error

    # ---- turns --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._task is None:
            self.set_status("working")
            self._task = asyncio.get_running_loop().create_task(self._run(self._new_loop()), context=outside_calls())

    def _new_loop(self) -> Loop:
        self.loop = loop = Loop(
            self.equipment,
            self._limits,
            calls=self.calls,
            on_waiting=lambda: self.set_status("waiting_confirmation"),
            on_resumed=lambda: self.set_status("working"),
        )
        self._allowance = loop.allowance
        return loop

    @property
    def allowance(self) -> Allowance:
        """The limits of the current or last run, used by nested sessions."""
        if self._allowance is None:
            kit = self.equipment
            self._allowance = Allowance(
                self._limits or LoopLimits(), kit.record, kit.host.clock, kit.price, kit.unsettled, kit.outer
            )
        return self._allowance

    async def _run(self, loop: Loop) -> None:
        try:
            await self.recover()
            self._write_notes()
            while True:
                loop = await self._take_calls(loop)
                if not await self._has_work(loop):
                    return
                self._continues = self._is_woken = self._may_resume = False
                if self.closing:
                    return
                assert self.run is not None
                ended = await loop.run()
                again = self.run.end(ended, self._ledger.answer)
                if again is not None:
                    self._prompt, self._runs[""] = again, self.run
                if self.closing or not (self._more or self.calls.next_by is not None):
                    return
                loop = self._new_loop()
        except Exception as error:  # a bug, or a record that cannot be written: a reader of events gets it
            self.failure = error
            self.calls.failed(str(error))
            for run in (self.run, *self._runs.values()):
                if run is not None and run.state != "ended":
                    run.failure = error
            self._runs.clear()
        finally:
            self.loop = self._task = None
            self._come_to_rest()

    async def _take_calls(self, loop: Loop) -> Loop:
        """Run the queued calls of programs. Return the loop for the next run."""
        open_turn = self._ledger.open_turn
        if open_turn is not None and open_turn.because != "call":
            while self.calls.next_by is not None and not self._may_resume:
                self.calls.refuse(self.calls.take(), "a turn is unfinished; send Continue first")
            return loop
        if open_turn is None and self.calls.next_by is None:
            return loop
        self._makes_calls = True
        try:
            await loop.take_calls()
        finally:
            self._makes_calls = False
        return self._new_loop()  # an interrupt of the calls does not interrupt the run

    async def recover(self) -> None:
        """Rebuild the ledger if it is outdated, and let the features recover from a crash."""
        await self._history.read_again()
        await self._features.recover()

    async def _has_work(self, loop: Loop) -> bool:
        """Record the next prompt that the features accept. Return True if the loop has a prompt or may continue a
        run."""
        if self._ledger.running and self._may_resume:
            self._begin_run(_CONTINUE)
            return self._allowed("Continue", await self._features.starting(resumed=True))
        while self._more:
            sent: Prompt | events.PromptQueued | None
            sent, self._prompt, queued = self._prompt, None, None
            if sent is None:
                sent = queued = next(iter(self._ledger.waiting.values()))
            parts = await self._prompted(sent.parts)
            if isinstance(parts, str):
                self._allowed("Prompt", parts)
            if queued is not None and self._ledger.waiting.get(queued.id) != queued:
                continue  # edited or withdrawn while the hooks ran
            id = "" if queued is None else queued.id
            if not isinstance(parts, str):
                self._begin_run(id)
                loop.say(parts, queued, sent.options)
                return True
            self._refuse_run(id, parts)
            if queued is not None:
                self._record.write(events.PromptDequeued(self._now(), queued.id, "refused"))
        if self._is_woken and self._features.wakes:
            self._begin_run("")
            loop.wake()
            return await self._features.starting(resumed=bool(self._ledger.added)) is None
        self._begin_run(_CONTINUE)
        return self._ledger.continues and self._continues

    def _begin_run(self, key: str) -> None:
        self.run = self._runs.pop(key, None) or PromptRun()
        self.run.begin(self._record.number)

    def _refuse_run(self, key: str, why: str) -> None:
        refused = self._runs.pop(key, None)
        if refused is not None:
            refused.refuse(why)

    async def _prompted(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | str:
        """Return the prompt with the additions of the features, or the reason if a feature refuses the prompt."""
        refusal = await self._features.starting(resumed=bool(self._ledger.added))
        return await self._features.prompted(parts) if refusal is None else refusal

    def _allowed(self, name: str, refusal: str | None) -> bool:
        if refusal is not None:
            self._record.publish(events.InputRefused(self._now(), name, refusal))
        return refusal is None

    def _write_notes(self) -> None:
        notes, self.notes = self.notes, ()
        for note in notes:
            self._record.write(events.Noted(self._now(), note, "warning"))

    def _come_to_rest(self) -> None:
        if self.closing:
            return
        self.set_status(self._at_rest())
        if (self._more and self.failure is None) or self.calls.next_by is not None:
            self._start()
        else:
            self.wake()

    @property
    def _more(self) -> bool:
        return self._prompt is not None or (self._delivers and bool(self._ledger.waiting))

    def _at_rest(self) -> events.SessionStatus:
        ledger = self._ledger
        unfinished = ledger.running or ledger.open_turn is not None
        return "paused" if unfinished or ledger.paused or ledger.waiting else "idle"


def _with_budget(sent: Prompt) -> Prompt:
    """Return the prompt with the token budget that its text contains. A prompt with a budget is returned unchanged."""
    options = sent.options or RunOptions()
    text = "".join(part.text for part in sent.parts if isinstance(part, Text))
    budget = budget_in(text) if options.budget is None and not options.quoted else None
    return sent if budget is None else replace(sent, options=replace(options, budget=budget))
