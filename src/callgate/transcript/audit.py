"""Every decision on record as rows: who or which rule let a call through, on which arguments, and what came out."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from io import StringIO
from json import dumps
from typing import Any
from unicodedata import combining, east_asian_width

from callgate.formats.display import visible
from callgate.formats.jsonable import to_json
from callgate.words.calls import Result
from callgate.words.decisions import Allow, ApprovalPolicy, Confirmation, Decision, Deny, Question
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    ModeSet,
    PolicyAdded,
    QuestionAnswered,
    QuestionAsked,
)
from callgate.words.noun import noun


@noun
class AuditRow:
    """One call, from its arrival (``at``, and ``n`` in the log) to its outcome; or a policy or mode that was set.

    ``decision`` is the last one, ``by`` who made it and ``decided_at`` when; what was decided or answered before it is
    told in ``reason``. A call that was refused before anybody decided has the decision ``none``. ``question`` is
    empty, ``asked``, or the answer; ``door`` is where that answer was given. The hash is that of the arguments which
    were decided about, and ``edited`` says that the model had written others. ``origin`` is where the rule that decided
    stands: its layer, file and line.
    """

    at: float
    n: int
    call_id: str
    message_id: str
    tool: str
    arguments_hash: str
    decision: str
    by: str
    door: str
    reason: str
    question: str
    edited: bool
    started_at: float | None
    outcome: str
    effects: str
    duration_ms: float | None
    decided_at: float | None = None
    origin: str = ""


def audit_rows(events: Iterable[tuple[int, Durable]]) -> list[AuditRow]:
    """Rows in the order of the log, for events with their ``n``. Events of calls that never arrived are left out."""
    found: list[_Call | AuditRow] = []
    calls: dict[str, _Call] = {}
    for n, event in events:
        match event:
            case CallArrived():
                before = calls.get(event.call_id)
                if before is None or before.result is not None or before.arrived.message_id != event.message_id:
                    calls[event.call_id] = call = _Call(n, event)
                    found.append(call)
            case CallDecided() if event.call_id in calls:
                calls[event.call_id].decide(event)
            case QuestionAsked() if event.question.call_id in calls:
                calls[event.question.call_id].ask(event.question)
            case QuestionAnswered() if event.confirmation.call_id in calls:
                calls[event.confirmation.call_id].answer(event.confirmation)
            case CallStarted() if event.call_id in calls:
                calls[event.call_id].started_at = event.at
            case CallSettled() if event.call_id in calls:
                calls[event.call_id].settle(event)
            case PolicyAdded():
                found.append(_policy_row(n, event))
            case ModeSet():
                found.append(_row(n, event.at, "(mode)", reason=f"the mode is now {event.mode}"))
            case _:
                pass
    return [each.row() if isinstance(each, _Call) else each for each in found]


@dataclass(slots=True)
class _Call:
    """The facts of the log about one call so far."""

    n: int
    arrived: CallArrived
    decided: CallDecided | None = None
    question: Question | None = None
    answered: Confirmation | None = None
    before: list[str] = field(default_factory=list[str])
    edited: bool = False
    started_at: float | None = None
    result: Result | None = None
    duration_ms: float | None = None

    def decide(self, event: CallDecided) -> None:
        if self.decided is not None and self.decided.decision != event.decision:
            self.before.append(_told(self.decided.decision))
        self.decided = event
        if not isinstance(event.decision, Deny):
            self._take(event.decision.arguments)

    def ask(self, question: Question) -> None:
        if self.answered is not None:  # other arguments, or a restart: it is a new question
            door = f" at {self.answered.door}" if self.answered.door else ""
            self.before.append(f"{self.answered.outcome} by {self.answered.by}{door}")
            self.answered = None
        self.question = question

    def answer(self, confirmation: Confirmation) -> None:
        self.answered = confirmation
        if confirmation.outcome != "no":
            self._take(confirmation.arguments)

    def settle(self, event: CallSettled) -> None:
        if self.result is None:
            self.result = event.result
            self.duration_ms = event.duration_ms

    def _take(self, arguments: Mapping[str, Any] | None) -> None:
        if arguments is not None:
            self.edited = arguments != self.arrived.arguments

    def row(self) -> AuditRow:
        decision = None if self.decided is None else self.decided.decision
        result, answered, lasted = self.result, self.answered, self.duration_ms
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
            duration_ms=lasted
            if lasted is not None and lasted >= 0
            else None,  # a clock that jumped back measured nothing
            decided_at=None if self.decided is None else self.decided.at,
            origin=str((decision and decision.origin) or ""),
        )

    def _reason(self, decision: Decision | None) -> str:
        if decision is None:
            refusal = "" if self.result is None or not self.result.is_error else self.result.text.strip()
            reason = refusal.partition("\n")[0]
        else:
            reason = decision.reason
        earlier = f"before: {', '.join(dict.fromkeys(self.before))}" if self.before else ""
        return "; ".join(filter(None, (reason, earlier)))


def _word(decision: Decision | None) -> str:
    if decision is None:
        return "none"
    return "allow" if isinstance(decision, Allow) else "deny" if isinstance(decision, Deny) else "ask"


def _told(decision: Decision) -> str:
    why = f" ({decision.reason})" if decision.reason else ""
    return f"{_word(decision)} by {decision.by}{why}"


def _policy_row(n: int, event: PolicyAdded) -> AuditRow:
    policy = event.policy
    exact = policy.pattern.value if policy.pattern is not None and policy.pattern.kind == "exact" else ""
    reason = "; ".join(filter(None, (_reach(policy), policy.note)))
    return _row(n, event.at, "(policy)", reason, decision=policy.effect, by=policy.origin, hashed=exact)


def _reach(policy: ApprovalPolicy) -> str:
    pattern = policy.pattern
    if pattern is None:
        what = "every call"
    elif pattern.kind == "exact":
        what = "exactly these arguments"
    else:
        what = f"{pattern.field} {pattern.kind} {pattern.value}"
    until = "" if policy.expires_at is None else f", until {_iso(policy.expires_at)}"
    return f"{policy.effect} {policy.tool}: {what}, for the {policy.scope}{until}"


def _row(
    n: int, at: float, tool: str, reason: str, *, decision: str = "none", by: str = "", hashed: str = ""
) -> AuditRow:
    return AuditRow(
        at=at,
        n=n,
        call_id="",
        message_id="",
        tool=tool,
        arguments_hash=hashed,
        decision=decision,
        by=by,
        door="",
        reason=reason,
        question="",
        edited=False,
        started_at=None,
        outcome="",
        effects="",
        duration_ms=None,
        decided_at=at,
    )


# ---- shown --------------------------------------------------------------------------------------------------------


def as_json(rows: Iterable[AuditRow]) -> str:
    """A list with a row on each line. Times are seconds since the epoch, exactly as in the log."""
    lines: list[str] = []
    for row in rows:
        data = to_json(row)
        del data["type"]
        lines.append(dumps(data).replace("\x7f", "\\u007f"))
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def as_csv(rows: Iterable[AuditRow]) -> str:
    """RFC 4180 with a header, times in UTC. No cell is a formula to a spreadsheet or a command to a terminal."""
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
            return _iso(value, "milliseconds") if name.endswith("at") else str(value)
        case _:
            text = visible(str(value))
            return f"'{text}" if text.lstrip()[:1] in tuple("=+-@＝＋－＠") else text


_COLUMNS: tuple[tuple[str, int, Callable[[AuditRow], str]], ...] = (
    ("time", 20, lambda row: _iso(row.at)),
    ("tool", 14, lambda row: row.tool),
    ("decision", 8, lambda row: row.decision),
    ("by", 24, lambda row: row.by),
    ("outcome", 12, lambda row: row.outcome),
    ("reason", 30, lambda row: row.reason),
    ("origin", 24, lambda row: row.origin),
    ("answer", 10, lambda row: row.question),
    ("hash", 13, lambda row: row.arguments_hash[:12] + ("…" if len(row.arguments_hash) > 12 else "")),
    ("door", 8, lambda row: row.door),
    ("effects", 7, lambda row: row.effects),
    ("call", 12, lambda row: row.call_id),
    ("edited", 6, lambda row: "yes" if row.edited else ""),
    ("took", 7, lambda row: "" if row.duration_ms is None else _lasted(row.duration_ms)),
    ("n", 4, lambda row: str(row.n)),
    ("decided", 20, lambda row: "" if row.decided_at is None else _iso(row.decided_at)),
    ("started", 20, lambda row: "" if row.started_at is None else _iso(row.started_at)),
    ("message", 12, lambda row: row.message_id),
)
"""Name, room in which most of its cells fit, cell; the most important first."""
_ALWAYS = 5
_LEAST = 8
_LEFT_TO_RIGHT = (
    *("n", "time", "call", "message", "tool", "hash", "edited", "decision", "by", "origin", "answer", "door"),
    "decided",
    *("started", "outcome", "effects", "took", "reason"),
)
_GAP = "  "


def as_table(rows: Sequence[AuditRow], width: int) -> str:
    """Lines of at most ``width`` columns. What has no room is left out from the least important column on, and named
    below; a cell that is cut ends in ``…``."""
    if not rows:
        return "Nothing was decided yet.\n"
    cells = {name: [visible(cell(row)) for row in rows] for name, _, cell in _COLUMNS}
    wanted = {name: max(map(_columns, [name, *cells[name]])) for name in cells}
    widths = _fitted(wanted, width)
    order = [name for name in _LEFT_TO_RIGHT if name in widths]
    lines = [_line((name, widths[name]) for name in order)]
    lines += [_line((cells[name][at], widths[name]) for name in order) for at in range(len(rows))]
    missing = [name for name in cells if name not in widths and any(cells[name])]
    if missing:
        lines.append(_clipped(f"Not shown for lack of room: {', '.join(missing)}.", width))
    return "\n".join(lines) + "\n"


def _fitted(wanted: Mapping[str, int], width: int) -> dict[str, int]:
    """The columns that have room, each with its share. A few are always there, however narrow; a further one only when
    none before it has to suffer. What is left over goes to all that would like it."""
    needs = [(name, min(wanted[name], room)) for name, room, _ in _COLUMNS]
    given, left = _in_turn(needs, width)
    if len(given) < _ALWAYS:
        narrow = [(name, min(need, _LEAST) if name != "time" else need) for name, need in needs[:_ALWAYS]]
        given, left = _in_turn(narrow, width)
    while left > 0 and (hungry := [name for name in given if given[name] < wanted[name]]):
        for name in hungry[:left]:
            given[name] += 1
            left -= 1
    return given


def _in_turn(needs: Iterable[tuple[str, int]], width: int) -> tuple[dict[str, int], int]:
    """As many as fit, one after the other, and the room that is left."""
    given: dict[str, int] = {}
    left = width
    for name, need in needs:
        gap = len(_GAP) if given else 0
        if need + gap > left and given:
            break
        given[name] = min(need, left)
        left -= given[name] + gap
    return given, left


def _line(cells: Iterable[tuple[str, int]]) -> str:
    padded: list[str] = []
    for text, room in cells:
        shown = _clipped(text, room)
        padded.append(shown + " " * (room - _columns(shown)))
    return _GAP.join(padded).rstrip()


def _lasted(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1000:.0f} s"


def _iso(at: float, precision: str = "seconds") -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at)
    except (OverflowError, ValueError):  # no time that a calendar has
        return str(at)
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(sign) in "WF" else 0 if combining(sign) else 1 for sign in text)


def _clipped(text: str, room: int) -> str:
    if _columns(text) <= room:
        return text
    kept, used = "", 0
    for sign in text:
        used += _columns(sign)
        if used > room - 1:
            break
        kept += sign
    return f"{kept}…"
