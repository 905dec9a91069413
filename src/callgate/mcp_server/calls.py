"""The session of one client: its calls go in, and the progress, questions and result of each come out."""

from __future__ import annotations

from asyncio import Event as Flag
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

from callgate import Session
from callgate.mcp_server.client_model import ClientModel
from callgate.words.calls import Result
from callgate.words.decisions import Confirmation, Question
from callgate.words.errors import StateError
from callgate.words.events import CallProgressed, CallSettled, Event, InputRefused, QuestionAsked, StatusChanged
from callgate.words.inputs import Answer, CancelCall, Interrupt, Prompt
from callgate.words.session_event import AgentPath

Outcome = CallProgressed | Question | Result
"""The outcomes of a call in order: progress and questions, any number of them, then its result."""

_LONGEST_PROGRESS = 2_000
_GONE = "The client is gone."


class ServedCall:
    """One call; ``next`` gives its outcomes, the result last."""

    def __init__(self, session: ServedSession, call_id: str) -> None:
        self.id = call_id
        self._session = session
        self._told: deque[Outcome] = deque()
        self._more = Flag()

    async def next(self) -> Outcome:
        while not self._told:
            self._more.clear()
            await self._more.wait()
        return self._told.popleft()

    def tell(self, outcome: Outcome) -> None:
        """Progress that was not fetched yet is joined, so that a slow caller holds up nothing."""
        last = self._told[-1] if self._told else None
        if isinstance(outcome, CallProgressed) and isinstance(last, CallProgressed):
            text = f"{last.text}{outcome.text}"[-_LONGEST_PROGRESS:]
            self._told[-1] = replace(outcome, text=text)
        else:
            self._told.append(outcome)
        self._more.set()

    def answer(self, confirmation: Confirmation) -> None:
        self._session.post(Answer(confirmation))

    def cancel(self, because: str) -> None:
        """Ends the call with all it has started, unless it has settled."""
        self._session.cancel(self.id, because)


class ServedSession:
    """``model`` is that of the session. A run begins with the first call, and lasts until the client is gone."""

    def __init__(self, session: Session, model: ClientModel) -> None:
        self.session = session
        self._model = model
        self._calls: dict[str, ServedCall] = {}
        self._numbers = count(1)
        self._refused = ""
        self._resting = Flag()
        self._resting.set()
        session.listen(self._on_event)

    @property
    def busy(self) -> bool:
        return bool(self._calls)

    def begin(self, name: str, arguments: Mapping[str, Any]) -> ServedCall:
        call = ServedCall(self, f"call_{next(self._numbers)}")
        self._calls[call.id] = call
        self._model.call(call.id, name, arguments)
        self._run()
        return call

    def post(self, sent: Answer | CancelCall) -> None:
        with suppress(StateError):  # the session is closed: the call has its result already
            self.session.post(sent)

    def cancel(self, call_id: str, because: str) -> None:
        if call_id not in self._calls:
            return
        if self._model.withdraw(call_id):
            self._settle(call_id, Result.failed("cancelled_by_user", because, effects="none"))
        else:
            self.post(CancelCall(call_id, because))

    async def aclose(self) -> None:
        """Ends what still runs, with its processes, and closes the record."""
        if self.session.status != "closed":
            self._model.end()
            if self._calls:
                self.session.post(Interrupt(_GONE))
            await self._resting.wait()
        await self.session.aclose()

    # ---- inside -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Begins a run unless one is under way: a hook may have ended the last one."""
        if self.session.status == "closed":
            self._rest()
        elif self.session.status != "working":
            self._refused = ""
            self._resting.clear()
            self.session.post(Prompt(f"{self._model.name} calls tools."))

    def _on_event(self, path: AgentPath, number: int, event: Event) -> None:
        if path and not isinstance(event, QuestionAsked):
            return
        match event:
            case CallProgressed() if event.call_id in self._calls:
                self._calls[event.call_id].tell(event)
            case QuestionAsked() if event.question.call_id in self._calls:
                self._calls[event.question.call_id].tell(event.question)
            case CallSettled():
                self._settle(event.call_id, event.result)
            case InputRefused(input="Prompt"):
                self._refused = event.reason
            case StatusChanged() if event.status in ("idle", "paused", "closed"):
                self._rest()
            case _:
                pass

    def _settle(self, call_id: str, result: Result) -> None:
        self._model.settled(call_id)
        call = self._calls.pop(call_id, None)
        if call is not None:
            call.tell(result)

    def _rest(self) -> None:
        """The run is over. Calls that came at its end get another; those that it lost are told why."""
        failure = self.session.take_failure()
        why = str(failure) if failure is not None else self._refused or "The session ended before it."
        ended = failure is not None or bool(self._refused) or self.session.status == "closed"
        for call_id in [*self._calls]:
            if not self._model.waits(call_id):
                self._settle(
                    call_id, Result.failed("outcome_unknown", f"Its end is not known. {why}", effects="unknown")
                )
            elif ended:
                self._model.withdraw(call_id)
                self._settle(call_id, Result.failed("never_started", f"Not run: {why}", effects="none"))
        self._resting.set()
        if self._calls:
            self._run()
