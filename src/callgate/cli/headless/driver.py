"""Runs a session without a user: sends inputs, writes events to the output, and detects the end of the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from math import isfinite
from time import monotonic
from typing import TYPE_CHECKING, Any

from callgate.cli.headless.event_output import HeadlessResult, Reason, TextOutput
from callgate.words import events as e
from callgate.words.errors import CallgateError, JournalError
from callgate.words.inputs import Input, Interrupt, Prompt
from callgate.words.messages import Spent, Usage
from callgate.words.model import RunOptions
from callgate.words.turns import INJECTED

if TYPE_CHECKING:
    from callgate import Session
    from callgate.tools.output import OutputSchema


class HeadlessDriver:
    """One headless run.

    wait     the seconds that a question may stay open; None if a question ends the run
    follows  True if inputs come from standard input until it ends
    """

    def __init__(
        self, session: Session, output: TextOutput, *, wait: float | None = None, follows: bool = False
    ) -> None:
        self._session = session
        self._output = output
        self._wait = wait
        self._follows = self._reads_lines = follows
        self._timer: asyncio.TimerHandle | None = None
        self._rests = asyncio.Event()
        self._begun = monotonic()
        self._ended: e.RunEnded | None = None
        self._refused: e.InputRefused | None = None
        self._spent: list[Spent] = []
        self._turns = 0
        self._turn: int | None = None  # the one that this run began and that has not ended
        self._text = ""
        self._interrupted = False
        self._failure: CallgateError | None = None

    async def run(self, sent: Sequence[Input], schema: OutputSchema | None = None) -> HeadlessResult:
        """Send the inputs one after the other, wait until the session is idle, and close it."""
        pump = asyncio.get_running_loop().create_task(self._pump(self._session.events()))
        self._session.listen(self._on_event)
        structured, faults = None, ()
        try:
            for each in sent:
                await self._send(each)
                if self._refused is not None or self._interrupted:
                    break
            if self._follows:
                await self._rest()
            if schema is not None and self._reason == "done":
                structured, faults = await self._checked(schema)
        finally:
            questions = self._session.questions
            if self._turn is not None and (spent := self._session.controls.open_spent) is not None:
                self._spent.append(spent)  # its TurnEnded belongs to the run that takes the turn up again
                self._turn = None
            reason = self._reason
            self._failure = await self._closed(pump)
        if self._failure is not None:
            reason = "error"
        elif faults:
            reason = "misfit"
        return HeadlessResult(
            reason=reason,
            session_id=self._session.id,
            text=self._text,
            structured=structured,
            usage=sum((each.usage for each in self._spent), Usage()),
            cost=_cost(self._spent),
            turns=self._turns,
            duration=round(monotonic() - self._begun, 3),
            changed_files=self._session.controls.changed_files,
            open_questions=questions,
            errors=self._errors(reason, faults),
        )

    def take(self, sent: Input | str | None) -> None:
        """Handle an input from standard input. A string describes an invalid line; None marks the end of standard
        input."""
        if sent is None:
            self._follows = False
            self._look()
        elif isinstance(sent, str):
            self._output.event(e.SessionEvent((), 0, e.InputRefused(0.0, "a line", sent)))
        elif self._session.status != "closed":
            self._rests.clear()
            self._session.post(sent)

    def interrupt(self, because: str) -> None:
        """Stop the run. An open question stays open for a later run."""
        self._interrupted, self._follows = True, False
        if self._session.status == "working":
            self._session.post(Interrupt(because))
        else:
            self._rests.set()

    # ---- inside -------------------------------------------------------------------------------------------------

    async def _closed(self, pump: asyncio.Task[None]) -> CallgateError | None:
        """Close the session and wait until its events are written. Return the error that ended the work of the
        session, such as a log that cannot be written. Any other exception is raised."""
        closing = asyncio.ensure_future(self._session.aclose())
        await asyncio.wait((closing, pump))
        found = [closing.exception(), pump.exception(), self._session.controls.take_failure()]
        for failure in found:
            if failure is not None and not isinstance(failure, CallgateError):
                raise failure
        return next((failure for failure in found if isinstance(failure, CallgateError)), None)

    async def _pump(self, events: AsyncIterator[e.SessionEvent]) -> None:
        async for found in events:
            self._output.event(found)
            await self._output.room()

    async def _send(self, sent: Input) -> None:
        if self._interrupted:
            return
        self._rests.clear()
        self._ended = self._refused = None
        self._session.post(sent)
        await self._rest()

    async def _rest(self) -> None:
        self._session.controls.deliver()  # an input that is refused changes no status
        self._look()
        await self._rests.wait()

    async def _checked(self, schema: OutputSchema) -> tuple[Any, tuple[str, ...]]:
        """Return the value of the answer, or its faults. An answer that does not match the schema is sent back to
        the model once."""
        from callgate.tools.output import Misfit

        found = self._read(schema)
        if isinstance(found, Misfit):
            await self._send(Prompt(schema.repair(found), RunOptions(quoted=True)))
            if self._reason != "done":
                return None, ()
            found = self._read(schema)
        return (None, found.faults) if isinstance(found, Misfit) else (found, ())

    def _read(self, schema: OutputSchema) -> Any:
        """Return the value of the answer. If the whole answer does not match the schema, return the value of its
        last message."""
        from callgate.tools.output import Misfit

        found, last = schema.read(self._text), self._session.controls.last_answer
        return schema.read(last) if isinstance(found, Misfit) and last != self._text else found

    def _on_event(self, path: e.AgentPath, number: int, event: e.Event) -> None:
        if path:
            return
        spent = e.spent_in(event)
        match event:
            case e.MessageAdded() if event.message.role == "assistant":
                self._text = self._session.answer
            case e.TurnStarted():
                self._turns += event.because not in INJECTED  # no request is sent
                self._turn = event.turn
            case e.TurnEnded():
                spent = spent if event.turn == self._turn else None
                self._turn = None
            case e.RunEnded():
                self._ended = event
            case e.InputRefused():
                self._refused = event
                self._look()
            case e.StatusChanged():
                self._look()
            case _:
                pass
        if spent is not None:
            self._spent.append(spent)

    def _look(self) -> None:
        """Set the event ``_rests`` if the session cannot continue without a user."""
        status = self._session.status
        if self._timer is not None and status != "waiting_confirmation":
            self._timer.cancel()
            self._timer = None
        if status == "closed" or (self._interrupted and status != "working"):
            self._rests.set()
        elif status == "working" or self._follows:
            return
        elif status == "waiting_confirmation" and self._wait is not None:
            if self._timer is None and isfinite(self._wait):
                self._timer = asyncio.get_running_loop().call_later(self._wait, self._rests.set)
        else:
            self._rests.set()

    @property
    def _reason(self) -> Reason:
        if self._session.status == "waiting_confirmation":
            return "interrupted" if self._interrupted else "question"
        if self._ended is not None:
            return self._ended.reason
        return "interrupted" if self._interrupted else "refused" if self._refused is not None else "error"

    def _errors(self, reason: Reason, faults: Sequence[str]) -> tuple[str, ...]:
        if self._failure is not None:
            again = f" Here that is callgate -p --resume {self._session.id}" if self._session.id else ""
            return (f"{self._failure}{again if isinstance(self._failure, JournalError) else ''}",)
        if faults:
            return (f"the answer does not match the schema, even after one correction: {'; '.join(faults)}",)
        if reason == "refused" and self._refused is not None:
            hint = "; pass a prompt on the command line or on standard input"
            return (f"this cannot be done: {self._refused.reason}{hint if self._refused.input == 'Continue' else ''}",)
        if reason in ("done", "question"):
            return ()
        if self._ended is None:
            if reason == "error" and self._reads_lines and not self._turns:
                return ('no prompt was received: send a line such as {"type": "Prompt", "content": "…"}',)
            return ("the run was interrupted" if reason == "interrupted" else "the run was left unfinished",)
        return (self._ended.sentence,)


def _cost(spent: Sequence[Spent]) -> float | None:
    """Return the sum in dollars; None if the price of a request is unknown."""
    known = [each.cost for each in spent if each.cost is not None]
    return sum(known) if known and len(known) == len(spent) else None
