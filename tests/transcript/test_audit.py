"""The audit: one row for each call, and three ways to show the rows that harm nobody."""

import csv
import json
from io import StringIO

import pytest

from callgate.cli.session_commands import audit_table
from callgate.formats.jsonable import from_json
from callgate.transcript.audit import AuditRow, as_csv, as_json, audit_rows
from callgate.words.calls import Code, Result
from callgate.words.decisions import Allow, ApprovalPolicy, Ask, Confirmation, Decision, Deny, Pattern, Question
from callgate.words.events import (
    CallArrived,
    CallDecided,
    CallSettled,
    CallStarted,
    Durable,
    ModeSet,
    Noted,
    PolicyAdded,
    QuestionAnswered,
    QuestionAsked,
)

NOON = 1763208000.25
NOON_IN_WORDS = "2025-11-15T12:00:00Z"
ASK = Ask("default", "Bash may change something")


def arrived(call_id: str = "c1", message_id: str = "a1", *, hashed: str | None = "hash0") -> CallArrived:
    return CallArrived(
        at=NOON,
        call_id=call_id,
        name="Bash",
        arguments={"command": "ls"},
        index=0,
        message_id=message_id,
        arguments_hash=hashed,
    )


def decided(decision: Decision, call_id: str = "c1", hashed: str = "hash0") -> CallDecided:
    return CallDecided(NOON + 1, call_id, decision, hashed)


def asked(call_id: str = "c1") -> QuestionAsked:
    return QuestionAsked(
        NOON + 2,
        Question(
            call_id=call_id,
            tool="Bash",
            arguments={"command": "ls"},
            arguments_hash="hash0",
            by="default",
            reason="why",
            asked_at=NOON + 2,
        ),
    )


def settled(code: Code = "ok", call_id: str = "c1", lasted: float | None = 12.5) -> CallSettled:
    return CallSettled(NOON + 9, call_id, Result(code=code, details={"effects": "done"}), lasted)


def rows(*events: Durable) -> list[AuditRow]:
    return audit_rows(enumerate(events, start=1))


@pytest.mark.spec("GATE-11")
def test_a_call_that_a_rule_allowed_is_one_row_with_all_there_is_to_know() -> None:
    allowed = Allow("rule Bash(ls)", "it only lists")
    assert rows(Noted(NOON, "x"), arrived(), decided(allowed), CallStarted(NOON + 3, "c1"), settled()) == [
        AuditRow(
            at=NOON,
            n=2,
            call_id="c1",
            message_id="a1",
            tool="Bash",
            arguments_hash="hash0",
            decision="allow",
            by="rule Bash(ls)",
            door="",
            reason="it only lists",
            question="",
            edited=False,
            started_at=NOON + 3,
            outcome="ok",
            effects="done",
            duration_ms=12.5,
            decided_at=NOON + 1,
            about="ls",
        )
    ]


@pytest.mark.spec("GATE-11")
def test_an_answer_shows_the_person_the_door_and_the_rule_that_had_asked() -> None:
    answer = Confirmation(
        call_id="c1", outcome="yes", arguments_hash="hash0", by="Ada", at=NOON + 3, door="terminal", note="go on"
    )
    (row,) = rows(arrived(), decided(ASK), asked(), QuestionAnswered(NOON + 3, answer), decided(Allow("Ada", "go on")))
    assert (row.decision, row.by, row.door, row.question) == ("allow", "Ada", "terminal", "yes")
    assert row.reason == "go on; before: ask by default (Bash may change something)"
    assert (row.edited, row.outcome) == (False, "")


@pytest.mark.spec("GATE-11")
def test_a_no_is_a_denial_by_the_person() -> None:
    answer = Confirmation("c1", "no", "hash0", "Ada", door="web", note="not here", arguments={"command": "x"})
    deny = decided(Deny("Ada", "not here"))
    (row,) = rows(
        arrived(), decided(ASK), asked(), QuestionAnswered(NOON, answer), deny, settled("denied", lasted=None)
    )
    assert (row.decision, row.by, row.door, row.question) == ("deny", "Ada", "web", "no")
    assert (row.edited, row.outcome, row.started_at, row.duration_ms) == (False, "denied", None, None)


@pytest.mark.spec("GATE-11")
def test_changed_arguments_are_told_and_the_hash_is_that_of_what_was_decided() -> None:
    answer = Confirmation("c1", "yes", "hash0", "Ada", arguments={"command": "ls -l"})
    allow = decided(Allow("Ada", "", {"command": "ls -l"}), hashed="hash1")
    (row,) = rows(arrived(), decided(ASK), asked(), QuestionAnswered(NOON, answer), allow)
    assert (row.edited, row.arguments_hash) == (True, "hash1")
    (row,) = rows(arrived(), decided(Allow("hook", "", {"command": "ls"})))
    assert not row.edited


def test_an_open_question_is_asked_and_one_asked_again_keeps_its_first_answer_in_sight() -> None:
    (row,) = rows(arrived(), decided(ASK), asked())
    assert (row.decision, row.by, row.question) == ("ask", "default", "asked")
    answer = Confirmation("c1", "yes_always", "hash0", "Ada", door="web")
    (row,) = rows(arrived(), decided(ASK), asked(), QuestionAnswered(NOON, answer))
    assert (row.decision, row.question, row.door) == ("ask", "yes_always", "web")
    (row,) = rows(arrived(), decided(ASK), asked(), QuestionAnswered(NOON, answer), asked())
    assert (row.question, row.door) == ("asked", "")
    assert row.reason == "Bash may change something; before: yes_always by Ada at web"


def test_a_question_that_a_policy_answered_says_so() -> None:
    (row,) = rows(arrived(), decided(ASK), asked(), decided(Allow("policy allow Bash [session]", "remembered")))
    assert (row.decision, row.by, row.question) == ("allow", "policy allow Bash [session]", "asked")


@pytest.mark.spec("GATE-11")
def test_a_call_that_was_refused_before_a_decision_is_a_row_too() -> None:
    refusal = Result.failed("unknown_tool", "There is no tool named 'Bush'.\nMore.", effects="none")
    (row,) = rows(arrived(hashed=None), CallSettled(NOON, "c1", refusal))
    assert (row.decision, row.by, row.arguments_hash, row.decided_at) == ("none", "", "", None)
    assert (row.outcome, row.effects, row.reason) == ("unknown_tool", "none", "There is no tool named 'Bush'.")


@pytest.mark.spec("GATE-11")
def test_an_id_that_another_message_uses_again_is_another_row() -> None:
    first, second = rows(
        *(arrived(), decided(Deny("rule")), settled("denied")),
        *(arrived(message_id="a2"), decided(Allow("Ada")), settled()),
    )
    assert (first.n, first.message_id, first.decision, first.outcome) == (1, "a1", "deny", "denied")
    assert (second.n, second.message_id, second.decision, second.outcome) == (4, "a2", "allow", "ok")


def test_the_same_arrival_on_record_twice_is_one_row_and_the_first_result_counts() -> None:
    (row,) = rows(arrived(), decided(ASK), arrived(), decided(ASK), settled("denied"), settled())
    assert (row.outcome, row.reason) == ("denied", ASK.reason)


def test_calls_are_in_order_of_arrival_whatever_the_clock_says() -> None:
    late = CallArrived(at=NOON - 500, call_id="c2", name="Read", arguments={}, index=1, message_id="a1")
    events = [arrived(), late, settled(call_id="c2", lasted=-3.0), settled()]
    found = rows(*events)
    assert [row.call_id for row in found] == ["c1", "c2"]
    assert [row.duration_ms for row in found] == [12.5, None]


def test_events_of_unknown_calls_are_left_out() -> None:
    answer = QuestionAnswered(NOON, Confirmation("c1", "yes", "hash0"))
    assert rows(decided(ASK), asked(), answer, CallStarted(NOON, "c1"), settled()) == []


@pytest.mark.spec("GATE-11")
def test_policies_and_modes_are_rows() -> None:
    policy = ApprovalPolicy(
        effect="allow",
        tool="Bash",
        pattern=Pattern("prefix", "git log", "command"),
        scope="project",
        created_at=NOON,
        expires_at=NOON + 60,
        origin="Ada, call c1",
        note="for now",
    )
    exact = ApprovalPolicy("deny", "Bash", Pattern("exact", "hash0"), origin="Ada")
    whole = ApprovalPolicy("ask", "Edit")
    found = rows(PolicyAdded(NOON, policy), PolicyAdded(NOON, exact), PolicyAdded(NOON, whole), ModeSet(NOON, "bypass"))
    assert [(row.tool, row.decision, row.by) for row in found] == [
        ("(policy)", "allow", "Ada, call c1"),
        ("(policy)", "deny", "Ada"),
        ("(policy)", "ask", ""),
        ("(mode)", "none", ""),
    ]
    assert [row.reason for row in found] == [
        "allow Bash: command prefix git log, for the project, until 2025-11-15T12:01:00Z; for now",
        "deny Bash: exactly these arguments, for the session",
        "ask Edit: every call, for the session",
        "the mode is now bypass",
    ]
    assert found[1].arguments_hash == "hash0"


# ---- shown

NASTY = "\x1b[31mred\x1b[0m\r\n\x07\u202egnp\u200b\x9b2J\x7f"
LONG = AuditRow(
    *(NOON, 12, "toolu_0123456789", "a-long-message-id", "mcp__server__a_tool", "0123456789abcdef" * 4),
    *("allow", "policy allow Bash(git log:*) [project]", "terminal", "because " * 20, "yes_always", True),
    *(NOON + 2, "invalid_arguments", "unknown", 61_000.0, NOON + 1),
)
WIDE = AuditRow(
    at=NOON,
    n=3,
    call_id="c1",
    message_id="a1",
    tool="工具" * 9,
    arguments_hash="h",
    decision="deny",
    by="é" * 30,
    door="",
    reason=NASTY,
    question="",
    edited=False,
    started_at=None,
    outcome="",
    effects="",
    duration_ms=None,
)
SHORT = AuditRow(
    at=NOON,
    n=4,
    call_id="c1",
    message_id="a1",
    tool="Read",
    arguments_hash="h",
    decision="allow",
    by="x",
    door="",
    reason="",
    question="",
    edited=False,
    started_at=NOON,
    outcome="ok",
    effects="none",
    duration_ms=3.2,
    decided_at=NOON,
)


def columns(text: str) -> int:
    return sum(2 if sign in "工具" else 1 for sign in text)


@pytest.mark.spec("GATE-11")
@pytest.mark.parametrize("width", [10, 40, 60, 81, 120, 200])
def test_a_table_fits_its_width(width: int) -> None:
    lines = audit_table([LONG, WIDE, SHORT], width).splitlines()
    assert len(lines) == 4
    assert all(columns(line) <= width and line.isprintable() for line in lines)
    if width >= 60:
        assert lines[0].split()[:4] == ["time", "call", "decision", "outcome"]
        assert all((NOON_IN_WORDS if width >= 100 else "12:00:00") in line for line in lines[1:])


@pytest.mark.spec("GATE-11")
@pytest.mark.parametrize("width", [50, 55, 60, 66, 70, 80, 90, 100, 110, 120, 160])
def test_a_table_has_no_column_that_is_too_narrow_to_read(width: int) -> None:
    head, *lines = audit_table([LONG, WIDE, SHORT], width).splitlines()
    assert "…" not in head
    assert len(lines) == 3
    if width >= 70:
        assert "by" in head.split()


def test_short_rows_need_no_mark() -> None:
    assert "…" not in audit_table([SHORT], 100)
    assert audit_table([], 80) == "Nothing was decided yet.\n"


@pytest.mark.spec("GATE-11")
@pytest.mark.parametrize("show", [lambda found: audit_table(found, 400), as_json, as_csv], ids=["table", "json", "csv"])
def test_nothing_that_is_shown_commands_a_terminal(show: object) -> None:
    assert callable(show)
    nasty = AuditRow(
        *(NOON, 1, NASTY, NASTY, NASTY, NASTY, NASTY, NASTY, NASTY, NASTY, NASTY, False, None, NASTY, NASTY, None)
    )
    shown = str(show([nasty]))
    assert all(sign.isprintable() or sign in "\r\n" for sign in shown)
    assert ("\\u001b[31mred" if show is as_json else "<U+001B>[31mred") in shown
    assert shown.count("\n") <= 4


@pytest.mark.spec("GATE-11")
def test_json_reads_back_as_the_same_rows() -> None:
    found = [LONG, WIDE, SHORT]
    assert [from_json(AuditRow, data) for data in json.loads(as_json(found))] == found
    assert json.loads(as_json([])) == []


@pytest.mark.spec("GATE-11")
def test_csv_has_a_header_times_in_utc_and_quoted_cells() -> None:
    row = AuditRow(
        at=NOON,
        n=1,
        call_id="c,1",
        message_id='a"1',
        tool="Bash",
        arguments_hash="h",
        decision="allow",
        by="Ada",
        door="",
        reason="a, b",
        question="",
        edited=True,
        started_at=NOON,
        outcome="ok",
        effects="",
        duration_ms=1.5,
        decided_at=None,
    )
    text = as_csv([row])
    assert text.endswith("\r\n")
    assert text.count("\r\n") == text.count("\n") == 2
    (read,) = csv.DictReader(StringIO(text))
    assert (read["at"], read["started_at"], read["decided_at"]) == (
        "2025-11-15T12:00:00.250Z",
        "2025-11-15T12:00:00.250Z",
        "",
    )
    assert (read["call_id"], read["message_id"], read["reason"]) == ("c,1", 'a"1', "a, b")
    assert (read["edited"], read["duration_ms"], read["n"]) == ("yes", "1.5", "1")


@pytest.mark.spec("GATE-11")
@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", " =1+1", "\t=1", "＝1", '=HYPERLINK("x")'])
def test_no_cell_of_csv_is_a_formula(cell: str) -> None:
    row = AuditRow(
        at=NOON,
        n=1,
        call_id=cell,
        message_id="",
        tool=cell,
        arguments_hash="",
        decision="deny",
        by=cell,
        door="",
        reason=cell,
        question="",
        edited=False,
        started_at=None,
        outcome="",
        effects="",
        duration_ms=None,
    )
    (read,) = csv.DictReader(StringIO(as_csv([row])))
    for name in ("call_id", "tool", "by", "reason"):
        assert not read[name].lstrip().startswith(("=", "+", "-", "@", "＝"))


@pytest.mark.parametrize("at", [1e30, -1e30, float("nan"), float("inf")])
def test_a_time_that_no_calendar_has_is_shown_as_a_number(at: float) -> None:
    row = AuditRow(
        at=at,
        n=1,
        call_id="c1",
        message_id="",
        tool="Bash",
        arguments_hash="",
        decision="deny",
        by="x",
        door="",
        reason="",
        question="",
        edited=False,
        started_at=None,
        outcome="",
        effects="",
        duration_ms=None,
    )
    assert str(at) in audit_table([row], 100)
    assert str(at) in as_csv([row])
