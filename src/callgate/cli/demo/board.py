"""Folds events into the acts of the demo: per act the calls with their status, lane and times."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from callgate import Confirmation, Event, Question, Result, Status
from callgate.words.calls import TERMINAL
from callgate.words.decisions import Allow, Deny
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallReleased,
    CallSettled,
    CallStarted,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
    TextStreamed,
    TurnEnded,
    TurnStarted,
)
from callgate.words.model import WHOLE, StopReason
from callgate.words.traits import Traits


@dataclass(slots=True)
class Row:
    """One call. ``*_at`` are times, the ``*_nth`` positions among all events: order comes from those."""

    number: int
    id: str
    name: str
    subject: str
    traits: Traits | None
    arrived_at: float
    status: Status = Status.VALIDATING
    started_at: float | None = None
    started_nth: int | None = None
    settled_at: float | None = None
    settled_nth: int | None = None
    released_nth: int | None = None
    allowed_nth: int | None = None
    attempt: int = 0
    result: Result | None = None

    @property
    def title(self) -> str:
        return f"{self.name} {self.subject}".rstrip()

    def elapsed(self, now: float) -> float | None:
        """None also where no event of the end arrived."""
        if self.started_at is None or (self.result is not None and self.result.code == "outcome_unknown"):
            return None
        return max(0.0, (self.settled_at or now) - self.started_at)


@dataclass(slots=True)
class Act:
    """One turn: a message and its calls."""

    number: int
    began_at: float
    text: str = ""
    rows: list[Row] = field(default_factory=list[Row])
    message_at: float | None = None
    message_nth: int | None = None
    stop: StopReason | None = None
    question: Question | None = None
    answer: Confirmation | None = None
    answered_at: float | None = None
    ended_at: float | None = None

    def row(self, name: str, subject: str = "") -> Row:
        """The first call of that tool (on that subject)."""
        return next(row for row in self.rows if row.name == name and row.subject.startswith(subject))

    @property
    def message_state(self) -> str:
        if self.stop is None:
            return "streaming"
        return "whole" if self.stop in WHOLE else "cut off"


TraitsOf = Callable[[str, Mapping[str, Any]], Traits | None]


class Board:
    """``traits_of`` gives the traits of a call, or None for a tool that is not there. So many turns and calls were
    shown before on another one: the numbers go on."""

    def __init__(self, traits_of: TraitsOf, *, turns: int = 0, calls: int = 0) -> None:
        self.acts: list[Act] = []
        self._traits_of = traits_of
        self._turns = turns
        self._calls = calls
        self._rows: dict[str, Row] = {}
        self._nth = 0

    @property
    def act(self) -> Act | None:
        return self.acts[-1] if self.acts else None

    @property
    def heard(self) -> int:
        """The number of events folded so far."""
        return self._nth

    @property
    def rows(self) -> list[Row]:
        return list(self._rows.values())

    def hear(self, event: Event) -> None:
        self._nth += 1
        if isinstance(event, TurnStarted):
            self.acts.append(Act(self._turns + event.turn, event.at))
        elif self.acts:
            self._about_act(self.acts[-1], event)
            self._about_call(self.acts[-1], event)

    def _about_act(self, act: Act, event: Event) -> None:
        match event:
            case TextStreamed():
                act.text += (" " if act.text and not event.text[:1].isspace() else "") + event.text
            case MessageAdded() if event.message.role == "assistant":
                act.message_at, act.message_nth, act.stop = event.at, self._nth, event.stop_reason
            case QuestionAsked():
                act.question = event.question
                self._rows[event.question.call_id].status = Status.AWAITING_APPROVAL
            case QuestionAnswered():
                act.answer, act.answered_at = event.confirmation, event.at
            case TurnEnded():
                act.ended_at = event.at
            case _:
                pass

    def _about_call(self, act: Act, event: Event) -> None:
        match event:
            case CallArrived():
                arguments = event.arguments or _written(event.raw_arguments)
                traits = self._traits_of(event.name, arguments)
                number = self._calls + len(self._rows) + 1
                row = Row(number, event.call_id, event.name, _subject(arguments), traits, event.at)
                self._rows[event.call_id] = row
                act.rows.append(row)
            case CallDecided():
                row = self._rows[event.call_id]
                row.allowed_nth = self._nth if isinstance(event.decision, Allow) else None
                row.status = row.status if isinstance(event.decision, Deny) else Status.SCHEDULED
            case CallStarted():
                row = self._rows[event.call_id]
                row.status, row.started_at, row.started_nth = Status.EXECUTING, event.at, self._nth
                row.attempt = event.attempt
            case CallSettled():
                row = self._rows[event.call_id]
                row.status, row.result = event.result.status, event.result
                row.settled_at, row.settled_nth = event.at, self._nth
                if not event.held:
                    row.released_nth = self._nth
            case CallReleased():
                self._rows[event.call_id].released_nth = self._nth
            case _:
                pass


def lane(row: Row, act: Act) -> str:
    """The locks the call waits for or holds; after its end, the reason it did not finish."""
    if row.status in TERMINAL:
        return _ending(row, act)
    if row.status is Status.AWAITING_APPROVAL:
        return "waits for a yes"
    return waits_for(row, act) or _held(row)


def short_lane(row: Row, act: Act) -> str:
    """The same where there is little room: the call's own subject is not repeated."""
    shown = lane(row, act).removesuffix(f" {row.subject}").removeprefix("not run: ")
    shown = shown.replace("message not whole", "not whole yet")
    return shown.replace("waits for", "behind" if "#" in shown else "needs")


def waits_for(row: Row, act: Act) -> str:
    """The calls that keep a decided call from starting, as far as events and traits tell."""
    if row.status is not Status.SCHEDULED:
        return ""
    ahead = [f"#{each.number}" for each in act.rows[: act.rows.index(row)] if _in_the_way(each, row)]
    if ahead:
        return f"waits for {' '.join(ahead)}"
    has_effects = row.traits is not None and row.traits.effects != "none"
    return "message not whole" if has_effects and act.stop is None else ""


def _ending(row: Row, act: Act) -> str:
    assert row.result is not None
    match row.result.code:
        case "ok":
            return _held(row)
        case "cancelled_by_sibling":
            numbers = [each.number for each in act.rows if each.result is not None and each.result.code == "tool_error"]
            return f"#{numbers[0]} failed" if numbers else "a sibling failed"
        case "not_run_truncated":
            return "not run: cut off"
        case code:
            return code.replace("_", " ")


def _held(row: Row) -> str:
    if row.attempt > 1:
        return f"attempt {row.attempt}"
    if row.traits is None:
        return ""
    locks = row.traits.locks
    if locks.scope != "paths":
        return locks.scope
    parts = (("reads", locks.reads), ("writes", locks.writes))
    return ", ".join(f"{verb} {'all' if '.' in paths else ' '.join(paths)}" for verb, paths in parts if paths)


def _in_the_way(earlier: Row, later: Row) -> bool:
    if earlier.status in TERMINAL or earlier.traits is None or later.traits is None:
        return False
    mine, theirs = later.traits.locks, earlier.traits.locks
    if "exclusive" in (mine.scope, theirs.scope):
        return True
    pairs = ((mine.reads, theirs.writes), (mine.writes, theirs.writes), (mine.writes, theirs.reads))
    return any(_overlap(one, other) for ones, others in pairs for one in ones for other in others)


def _overlap(one: str, other: str) -> bool:
    return "." in (one, other) or one == other or one.startswith(other + "/") or other.startswith(one + "/")


def _subject(arguments: Mapping[str, Any]) -> str:
    return next((value for value in arguments.values() if isinstance(value, str)), "")


def _written(raw: str | None) -> Mapping[str, Any]:
    """The arguments of a call that never came to be read; of one that was cut off, as far as it came."""
    try:
        value = json.loads(raw or "{}")
    except ValueError:
        return {"": raw or ""}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
