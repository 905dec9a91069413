"""The audit table of a session: for each call the user or rule that allowed the call, the arguments and the result."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from io import StringIO
from json import dumps
from typing import Any

from callgate.formats.display import visible
from callgate.formats.jsonable import to_json
from callgate.words import events as e
from callgate.words.calls import Result
from callgate.words.decisions import Allow, ApprovalPolicy, Confirmation, Decision, Deny
from callgate.words.noun import noun


@noun
class AuditRow:
    """One row of the audit table: a call from its arrival (``at``, line number ``n``) to its result, or a change of the
    policy or the permission mode.

    decision        the last decision, or ``none`` if the call was refused before a decision
    by, decided_at  author and time of the last decision
    reason          the reason of the last decision, and the earlier decisions and answers
    question        empty, ``asked``, or the answer; ``door`` is the interface where the answer was given
    arguments_hash  the hash of the arguments of the last decision
    edited          the arguments differ from the arguments that the model sent
    origin          the rule of the last decision: settings layer, file and line
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
    """Return the rows in log order, for pairs of line number and event. Events of calls without an arrival are
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
                calls[event.question.call_id].ask()
            case e.QuestionAnswered() if event.confirmation.call_id in calls:
                calls[event.confirmation.call_id].answer(event.confirmation)
            case e.CallStarted() if event.call_id in calls:
                calls[event.call_id].fields["started_at"] = event.at
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


class _Call:
    def __init__(self, n: int, arrived: e.CallArrived) -> None:
        self.arrived = arrived
        self.result: Result | None = None
        self._decision: Decision | None = None
        self._answered: Confirmation | None = None
        self._before: list[str] = []  # earlier decisions and answers
        self.fields: dict[str, Any] = {
            "at": arrived.at,
            "n": n,
            "call_id": arrived.call_id,
            "message_id": arrived.message_id,
            "tool": arrived.name,
            "arguments_hash": arrived.arguments_hash or "",
            "about": _about(arrived.arguments),
        }

    def decide(self, event: e.CallDecided) -> None:
        before, decision = self._decision, event.decision
        if before is not None and before != decision:
            why = f" ({before.reason})" if before.reason else ""
            self._before.append(f"{_word(before)} by {before.by}{why}")
        self._decision = decision
        self.fields |= {"decision": _word(decision), "by": decision.by, "decided_at": event.at}
        self.fields |= {"origin": str(decision.origin or ""), "arguments_hash": event.arguments_hash}
        if not isinstance(decision, Deny):
            self._take(decision.arguments)

    def ask(self) -> None:
        if self._answered is not None:  # a new question, after changed arguments or a restart
            door = f" at {self._answered.door}" if self._answered.door else ""
            self._before.append(f"{self._answered.outcome} by {self._answered.by}{door}")
            self._answered = None
        self.fields |= {"question": "asked", "door": ""}

    def answer(self, answer: Confirmation) -> None:
        self._answered = answer
        self.fields |= {"question": answer.outcome, "door": answer.door}
        if answer.outcome != "no":
            self._take(answer.arguments)

    def settle(self, event: e.CallSettled) -> None:
        if self.result is None:
            self.result = event.result
            lasted = event.duration_ms if (event.duration_ms or 0) >= 0 else None  # negative if the clock was set back
            self.fields |= {"outcome": event.result.code, "duration_ms": lasted}
            self.fields["effects"] = str(event.result.effects or "")

    def _take(self, arguments: Mapping[str, Any] | None) -> None:
        if arguments is not None:
            self.fields |= {"edited": arguments != self.arrived.arguments, "about": _about(arguments)}

    def row(self) -> AuditRow:
        if self._decision is not None:
            reason = self._decision.reason
        else:
            refusal = "" if self.result is None or not self.result.is_error else self.result.text.strip()
            reason = refusal.partition("\n")[0]
        earlier = f"before: {', '.join(dict.fromkeys(self._before))}" if self._before else ""
        return AuditRow(**self.fields, reason="; ".join(filter(None, (reason, earlier))))


def _about(arguments: Mapping[str, Any]) -> str:
    line = next((each for each in arguments.values() if isinstance(each, str)), "").strip().partition("\n")[0]
    return line if len(line) <= _LONGEST_ABOUT else f"{line[:_LONGEST_ABOUT]}…"


def _word(decision: Decision) -> str:
    return "allow" if isinstance(decision, Allow) else "deny" if isinstance(decision, Deny) else "ask"


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
    """Return the rows as a JSON list with one row per line. Times are seconds since the epoch, as in the log."""
    lines: list[str] = []
    for row in rows:
        data = to_json(row)
        del data["type"]
        lines.append(dumps(data).replace("\x7f", "\\u007f"))
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def as_csv(rows: Iterable[AuditRow]) -> str:
    """Return the rows as CSV (RFC 4180) with a header and times in UTC. Cells are escaped so that spreadsheets run
    no formulas and terminals no control sequences."""
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
    """Return a time in UTC as ISO 8601, or the plain number if the time is outside the calendar."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at)
    except (OverflowError, ValueError):  # outside the calendar
        return str(at)
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
