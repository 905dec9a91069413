"""All recorded decisions as rows: which user or rule allowed a call, with which arguments, and its result."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from io import StringIO
from json import dumps
from typing import Any, cast

from callgate.formats.display import visible
from callgate.formats.jsonable import to_json
from callgate.words import events as e
from callgate.words.calls import Result
from callgate.words.decisions import Allow, ApprovalPolicy, Confirmation, Decision, Deny, Question
from callgate.words.noun import noun


@noun
class AuditRow:
    """One call, from its arrival (``at``, line number ``n``) to its result; or a policy or mode that was set.

    decision        the last decision, ``none`` for a call that was refused before one was made
    by, decided_at  author and time of that decision
    reason          its reason, and earlier decisions and answers
    question        empty, ``asked``, or the answer; ``door`` is the interface where it was given
    arguments_hash  the hash of the arguments that were decided about
    edited          the model had sent other arguments
    origin          the rule that decided: settings layer, file and line
    about           the first text among the arguments, such as a path or a command, shortened to one line
    """

    at: float
    n: int
    call_id: str = ""
    message_id: str = ""
    tool: str = ""
    arguments_hash: str = ""
    decision: str = "none"
    by: str = ""
    door: str = ""
    reason: str = ""
    question: str = ""
    edited: bool = False
    started_at: float | None = None
    outcome: str = ""
    effects: str = ""
    duration_ms: float | None = None
    decided_at: float | None = None
    origin: str = ""
    about: str = ""


_LONGEST_ABOUT = 120


def audit_rows(events: Iterable[tuple[int, e.Durable]]) -> list[AuditRow]:
    """Return the rows in log order, for events with their line numbers. Events of calls without an arrival are
    ignored."""
    found: list[_Call | AuditRow] = []
    calls: dict[str, _Call] = {}
    for n, event in events:
        match event:
            case e.CallArrived():
                before = calls.get(event.call_id)
                if before is None or before.result is not None or before.arrived.message_id != event.message_id:
                    calls[event.call_id] = call = _Call(n, event)
                    found.append(call)
            case e.CallDecided() if event.call_id in calls:
                calls[event.call_id].decide(event)
            case e.QuestionAsked() if event.question.call_id in calls:
                calls[event.question.call_id].ask(event.question)
            case e.QuestionAnswered() if event.confirmation.call_id in calls:
                calls[event.confirmation.call_id].answer(event.confirmation)
            case e.CallStarted() if event.call_id in calls:
                calls[event.call_id].started_at = event.at
            case e.CallSettled() if event.call_id in calls:
                calls[event.call_id].settle(event)
            case e.PolicyAdded():
                found.append(_policy_row(n, event))
            case e.ModeSet():
                text = f"the mode is now {event.mode}"
                found.append(AuditRow(event.at, n, tool="(mode)", reason=text, decided_at=event.at))
            case _:
                pass
    return [each.row() if isinstance(each, _Call) else each for each in found]


@dataclass(slots=True)
class _Call:
    """The recorded facts about one call so far."""

    n: int
    arrived: e.CallArrived
    decided: e.CallDecided | None = None
    question: Question | None = None
    answered: Confirmation | None = None
    before: list[str] = field(default_factory=list[str])
    edited: bool = False
    taken: Mapping[str, Any] | None = None
    started_at: float | None = None
    result: Result | None = None
    duration_ms: float | None = None

    def decide(self, event: e.CallDecided) -> None:
        if self.decided is not None and self.decided.decision != event.decision:
            self.before.append(_told(self.decided.decision))
        self.decided = event
        if not isinstance(event.decision, Deny):
            self._take(event.decision.arguments)

    def ask(self, question: Question) -> None:
        if self.answered is not None:  # a new question, after changed arguments or a restart
            door = f" at {self.answered.door}" if self.answered.door else ""
            self.before.append(f"{self.answered.outcome} by {self.answered.by}{door}")
            self.answered = None
        self.question = question

    def answer(self, confirmation: Confirmation) -> None:
        self.answered = confirmation
        if confirmation.outcome != "no":
            self._take(confirmation.arguments)

    def settle(self, event: e.CallSettled) -> None:
        if self.result is None:
            self.result = event.result
            self.duration_ms = event.duration_ms

    def _take(self, arguments: Mapping[str, Any] | None) -> None:
        if arguments is not None:
            self.edited = arguments != self.arrived.arguments
            self.taken = arguments

    def row(self) -> AuditRow:
        decision = None if self.decided is None else self.decided.decision
        result, answered = self.result, self.answered
        lasted = self.duration_ms if (self.duration_ms or 0) >= 0 else None  # negative if the clock was set back
        hashed = self.arrived.arguments_hash if self.decided is None else self.decided.arguments_hash
        return AuditRow(
            at=self.arrived.at,
            n=self.n,
            call_id=self.arrived.call_id,
            message_id=self.arrived.message_id,
            tool=self.arrived.name,
            arguments_hash=hashed or "",
            decision=_word(decision),
            by="" if decision is None else decision.by,
            door="" if answered is None else answered.door,
            reason=self._reason(decision),
            question=answered.outcome if answered is not None else "" if self.question is None else "asked",
            edited=self.edited,
            started_at=self.started_at,
            outcome="" if result is None else result.code,
            effects="" if result is None else str(result.effects or ""),
            duration_ms=lasted,
            decided_at=None if self.decided is None else self.decided.at,
            origin=str((decision and decision.origin) or ""),
            about=_about(self.arrived.arguments if self.taken is None else self.taken),
        )

    def _reason(self, decision: Decision | None) -> str:
        if decision is None:
            refusal = "" if self.result is None or not self.result.is_error else self.result.text.strip()
            reason = refusal.partition("\n")[0]
        else:
            reason = decision.reason
        earlier = f"before: {', '.join(dict.fromkeys(self.before))}" if self.before else ""
        return "; ".join(filter(None, (reason, earlier)))


def _about(arguments: object) -> str:
    texts = (
        (each for each in cast(Mapping[str, object], arguments).values() if isinstance(each, str))
        if isinstance(arguments, Mapping)
        else ()
    )
    line = next(iter(texts), "").strip().partition("\n")[0]
    return line if len(line) <= _LONGEST_ABOUT else f"{line[:_LONGEST_ABOUT]}…"


def _word(decision: Decision | None) -> str:
    if decision is None:
        return "none"
    return "allow" if isinstance(decision, Allow) else "deny" if isinstance(decision, Deny) else "ask"


def _told(decision: Decision) -> str:
    why = f" ({decision.reason})" if decision.reason else ""
    return f"{_word(decision)} by {decision.by}{why}"


def _policy_row(n: int, event: e.PolicyAdded) -> AuditRow:
    policy = event.policy
    exact = policy.pattern.value if policy.pattern is not None and policy.pattern.kind == "exact" else ""
    reason = "; ".join(filter(None, (_reach(policy), policy.note)))
    return AuditRow(
        at=event.at,
        n=n,
        tool="(policy)",
        arguments_hash=exact,
        decision=policy.effect,
        by=policy.origin,
        reason=reason,
        decided_at=event.at,
    )


def _reach(policy: ApprovalPolicy) -> str:
    pattern = policy.pattern
    if pattern is None:
        what = "every call"
    elif pattern.kind == "exact":
        what = "exactly these arguments"
    else:
        what = f"{pattern.field} {pattern.kind} {pattern.value}"
    until = "" if policy.expires_at is None else f", until {utc(policy.expires_at)}"
    return f"{policy.effect} {policy.tool}: {what}, for the {policy.scope}{until}"


# ---- shown --------------------------------------------------------------------------------------------------------


def as_json(rows: Iterable[AuditRow]) -> str:
    """Return a JSON list with a row on each line. Times are seconds since the epoch, as in the log."""
    lines: list[str] = []
    for row in rows:
        data = to_json(row)
        del data["type"]
        lines.append(dumps(data).replace("\x7f", "\\u007f"))
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def as_csv(rows: Iterable[AuditRow]) -> str:
    """Return CSV (RFC 4180) with a header and times in UTC. Cells are escaped against formulas in spreadsheets and
    control sequences."""
    out = StringIO()
    write = csv.writer(out)
    names = [each.name for each in fields(AuditRow)]
    write.writerow(names)
    for row in rows:
        write.writerow([_csv_cell(name, getattr(row, name)) for name in names])
    return out.getvalue()


def _csv_cell(name: str, value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return utc(value, "milliseconds") if name.endswith("at") else str(value)
        case _:
            text = visible(str(value))
            return f"'{text}" if text.lstrip()[:1] in tuple("=+-@＝＋－＠") else text


def utc(at: float, precision: str = "seconds") -> str:
    """Format a time; if it is outside the calendar, return the number."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at)
    except (OverflowError, ValueError):  # outside the calendar
        return str(at)
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
