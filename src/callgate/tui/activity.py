"""The wait of the agent at this moment, as a fold of events: for the model, a call, a hook, a lock, the disk, a person.

activity = Activity()
activity.apply(event)          # each event of the session, in order
activity.waits_for             # the Wait, or None while nothing is under way
activity.line(now)             # one line for people; a wait of over two seconds is named
"""

from typing import Literal

from callgate.tui.render.measures import seconds_text
from callgate.words import events as e
from callgate.words.calls import Status
from callgate.words.decisions import Allow
from callgate.words.noun import noun
from callgate.words.turns import PhaseEnded, PhaseStarted

STUCK = 2.0
"""Seconds after which a line says what is waited for."""

WaitKind = Literal["person", "hook", "summary", "retry", "call", "queue", "check", "model", "record"]


@noun
class Wait:
    """``text`` says in words what is waited for, since the moment ``since``; ``until`` is its end, where that is
    known."""

    kind: WaitKind
    text: str
    since: float
    until: float | None = None


@noun
class OpenCall:
    """A call without a result, in its status since a moment."""

    name: str
    status: Status
    since: float


class Activity:
    """Follows the work of one session. Events of nested sessions are those of the call that they work for."""

    def __init__(self) -> None:
        self.status: e.SessionStatus = "idle"
        self._began: float | None = None  # the status became working
        self._heard: float | None = None  # the model's last piece; None while no request is under way
        self._silent = True  # no piece of this answer has come yet
        self._retry: e.RequestRetried | None = None
        self._calls: dict[str, OpenCall] = {}
        self._questions: dict[tuple[str, ...], float] = {}
        self._phases: dict[str, PhaseStarted] = {}
        self._last = 0.0

    def apply(self, event: e.Event) -> None:
        self._last = event.at
        match event:
            case e.StatusChanged():
                self._set_status(event)
            case e.TextStreamed() | e.ThinkingStreamed():
                self._heard, self._silent = event.at, False
            case e.TurnStarted():
                self._heard, self._silent, self._retry = event.at, True, None
                self._calls.clear()
            case e.RequestRetried():
                self._heard, self._silent, self._retry = event.at, True, event
            case e.MessageAdded(message=message) if message.role == "assistant":
                self._heard = None
            case e.TurnEnded() | e.RunEnded() | e.Rewound() | e.Branched():
                self._heard = self._retry = None
                self._calls.clear()
                self._questions.clear()
            case PhaseStarted():
                self._phases[event.id] = event
            case PhaseEnded():
                self._phases.pop(event.id, None)
            case _:
                self._apply_call(event)

    def _apply_call(self, event: e.Event) -> None:
        match event:
            case e.CallArrived():
                self._heard = self._heard and event.at
                self._silent = False
                self._calls[event.call_id] = OpenCall(event.name, Status.VALIDATING, event.at)
            case e.CallDecided() if isinstance(event.decision, Allow):
                self._move(event.call_id, Status.SCHEDULED, event.at)
            case e.CallStarted():
                self._move(event.call_id, Status.EXECUTING, event.at)
            case e.CallSettled():
                self._calls.pop(event.call_id, None)
                self._questions.pop((event.call_id,), None)
            case e.QuestionAsked(question=question):
                self._questions[(*question.path, question.call_id)] = event.at
                if not question.path:
                    self._move(question.call_id, Status.AWAITING_APPROVAL, event.at)
            case e.QuestionAnswered(confirmation=said):
                self._questions.pop((*said.path, said.call_id), None)
                if not said.path:
                    self._move(said.call_id, Status.SCHEDULED, event.at)
            case _:
                pass

    def _set_status(self, event: e.StatusChanged) -> None:
        was, self.status = self.status, event.status
        if event.status == "working" and was not in ("working", "waiting_confirmation"):
            self._began = event.at
        elif event.status in ("idle", "paused", "closed"):
            self._began = self._heard = self._retry = None
            self._calls.clear()
            self._questions.clear()
            self._phases.clear()

    def _move(self, call_id: str, status: Status, at: float) -> None:
        call = self._calls.get(call_id)
        if call is not None:
            self._calls[call_id] = OpenCall(call.name, status, at)

    # ---- what is shown ------------------------------------------------------------------------------------------

    @property
    def waits_for(self) -> Wait | None:
        """The first of these that holds: a person, a hook, a summary, a pause before a retry, a call that runs, one
        that waits for its turn or is checked, the model, the record on disk."""
        if self._questions:
            return Wait("person", "waits for your answer", min(self._questions.values()))
        if self.status != "working":
            return None
        for phase in self._phases.values():
            text = f"waits for {phase.name}" if phase.kind == "hook" else f"{phase.name} writes a summary"
            return Wait(phase.kind, text, phase.at)
        retry = self._retry
        if retry is not None and self._silent and self._heard == retry.at and retry.delay >= STUCK:
            return Wait("retry", f"asks {retry.instead or 'the model'} again", retry.at, retry.at + retry.delay)
        return self._call() or self._model() or Wait("record", "waits for the disk", self._last)

    def _call(self) -> Wait | None:
        calls = self._calls.values()
        running = [each for each in calls if each.status is Status.EXECUTING]
        if running:
            more = f" and {len(running) - 1} more" if len(running) > 1 else ""
            behind = [each.name for each in calls if each.status is Status.SCHEDULED and self._heard is None]
            waits = f" ({behind[0]} waits for {'them' if more else 'it'})" if behind else ""
            return Wait("call", f"runs {running[0].name}{more}{waits}", min(each.since for each in running))
        for call in calls:
            if call.status is Status.SCHEDULED and self._heard is None:
                return Wait("queue", f"{call.name} waits for a lock of another agent, or for the disk", call.since)
            if call.status is Status.VALIDATING:
                return Wait("check", f"{call.name} is checked", call.since)
        return None

    def _model(self) -> Wait | None:
        if self._heard is None:
            return None
        return Wait("model", "waits for the model" if self._silent else "the model is silent", self._heard)

    def line(self, now: float) -> str:
        """The work of the agent in words: empty while it rests; a wait of over two seconds is named with its time."""
        wait = self.waits_for
        if wait is None:
            return ""
        seconds = max(now - wait.since, 0.0)
        if wait.kind == "person":
            return wait.text
        if wait.until is not None:
            return f"{wait.text} in {max(wait.until - now, 0.0):.0f} s"
        if seconds >= STUCK:
            return f"{wait.text}, {seconds_text(seconds)}"
        return f"working, {seconds_text(max(now - self._began, 0.0))}" if self._began is not None else "working"
