"""Statuses and their moves, codes and the statuses they belong to."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any, get_args

import pytest

from callgate.words.calls import (
    CODES,
    TERMINAL,
    TRANSITIONS,
    Code,
    Known,
    Result,
    Status,
    ToolCall,
    check_move,
)
from callgate.words.errors import StateError
from callgate.words.messages import Image, Text
from scripts.docs import transitions_mermaid

ROOT = Path(__file__).resolve().parents[2]

# As the specification has it, written out once more.
LEGAL = {
    "validating": {"scheduled", "awaiting_approval", "error", "cancelled"},
    "awaiting_approval": {"scheduled", "cancelled", "error"},
    "scheduled": {"executing", "awaiting_approval", "cancelled", "error"},
    "executing": {"success", "error", "cancelled"},
    "success": set[str](),
    "error": set[str](),
    "cancelled": set[str](),
}
MOVES = [(before, after) for before in Status for after in Status]


@pytest.mark.spec("CALL-1")
def test_there_are_seven_statuses() -> None:
    assert {str(status) for status in Status} == set(LEGAL)
    assert len(Status) == 7


@pytest.mark.spec("CALL-1")
@pytest.mark.parametrize(("before", "after"), [move for move in MOVES if move[1] in LEGAL[move[0]]])
def test_a_move_of_the_table_is_legal(before: Status, after: Status) -> None:
    check_move("c1", before, after)


@pytest.mark.spec("CALL-1")
@pytest.mark.parametrize(("before", "after"), [move for move in MOVES if move[1] not in LEGAL[move[0]]])
def test_every_other_move_raises_a_state_error_that_names_it(before: Status, after: Status) -> None:
    with pytest.raises(StateError, match=f"c1: {before} -> {after}"):
        check_move("c1", before, after)


@pytest.mark.spec("CALL-1")
def test_the_table_is_data_about_every_status() -> None:
    assert set(TRANSITIONS) == set(Status)
    assert all(isinstance(moves, frozenset) for moves in TRANSITIONS.values())


@pytest.mark.spec("CALL-1", "CALL-3")
def test_exactly_three_statuses_are_terminal() -> None:
    assert {Status.SUCCESS, Status.ERROR, Status.CANCELLED} == TERMINAL


# ---- the diagram (CALL-2) ---------------------------------------------------------------------------------------


@pytest.mark.spec("CALL-2")
def test_the_diagram_has_an_arrow_for_every_move_and_no_other() -> None:
    drawn = set(re.findall(r"^ +(\w+) --> (\w+)$", transitions_mermaid(), re.MULTILINE))
    assert drawn == {(before, after) for before, moves in LEGAL.items() for after in moves}


@pytest.mark.spec("CALL-2")
def test_the_diagram_starts_at_validating_and_ends_at_every_terminal_status() -> None:
    text = transitions_mermaid()
    assert "[*] --> validating" in text
    assert set(re.findall(r"(\w+) --> \[\*\]", text)) == {"success", "error", "cancelled"}


@pytest.mark.spec("CALL-2")
def test_the_diagram_in_the_docs_is_not_stale() -> None:
    command = [sys.executable, str(ROOT / "scripts/docs.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert transitions_mermaid() in (ROOT / "docs/reference/statuses.md").read_text(encoding="utf-8")


# ---- codes (CALL-4) ---------------------------------------------------------------------------------------------

BY_STATUS = {
    "success": "ok",
    "cancelled": "denied cancelled_by_user cancelled_by_sibling discarded not_run_truncated never_started skipped",
    "error": "unknown_tool invalid_arguments blocked_by_hook tool_error timed_out limit outcome_unknown",
}


@pytest.mark.spec("CALL-4")
def test_every_code_belongs_to_one_terminal_status() -> None:
    wanted = {code: status for status, codes in BY_STATUS.items() for code in codes.split()}
    assert {code: str(row.status) for code, row in CODES.items()} == wanted
    assert set(get_args(Code)) == set(CODES)


def codes_written(tree: ast.AST) -> Iterator[str]:
    """Codes that a module gives to a result or a denial, or compares with the code of one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            if isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "Result.failed":
                named += node.args[:1]
            if isinstance(node.func, ast.Name) and node.func.id == "Deny":
                named += node.args[2:3]
            yield from texts_of(*named)
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute | ast.Name):
            if (node.left.attr if isinstance(node.left, ast.Attribute) else node.left.id) == "code":
                yield from texts_of(*node.comparators)
        elif isinstance(node, ast.AnnAssign) and "Code" in ast.unparse(node.annotation) and node.value is not None:
            yield from texts_of(*(node.value.values if isinstance(node.value, ast.Dict) else [node.value]))


def texts_of(*nodes: ast.AST) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.IfExp):
            yield from texts_of(node.body, node.orelse)
        elif isinstance(node, ast.Tuple):
            yield from texts_of(*node.elts)


@pytest.mark.spec("CALL-4")
def test_every_code_in_the_table_is_used_and_every_code_that_is_used_is_in_the_table() -> None:
    source = ROOT / "src" / "callgate"
    unused, wrong = set[str](CODES), list[str]()
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name in ("calls.py", "call_rows.py") or not re.search(r"\bcode\b|Code\b|Result\.failed|Deny\(", text):
            continue
        for code in codes_written(ast.parse(text)):
            unused.discard(code)
            wrong += [f"{path.relative_to(source)}: {code}"] if code not in CODES else []
    assert not wrong
    assert not unused


@pytest.mark.spec("CALL-4")
def test_every_code_is_in_the_reference_with_its_meaning() -> None:
    reference = (ROOT / "docs" / "reference" / "statuses.md").read_text(encoding="utf-8")
    lines = {code: f"| `{code}` | {row.status} | {row.meaning} |" for code, row in CODES.items()}
    assert [code for code, line in lines.items() if line not in reference] == []


@pytest.mark.spec("CALL-4")
@pytest.mark.parametrize("code", get_args(Code))
def test_a_result_knows_the_status_of_its_code(code: Any) -> None:
    assert Result(code=code).status is CODES[code].status


@pytest.mark.spec("CALL-4")
def test_the_details_say_what_is_known_about_the_world() -> None:
    assert Result.failed("tool_error", "broke", effects="unknown").effects == "unknown"
    assert Result().effects is None
    assert set(get_args(Known)) == {"none", "unknown", "done"}


@pytest.mark.spec("CALL-4")
def test_a_result_that_failed_has_its_message_for_the_model() -> None:
    result = Result.failed("denied", "Not run.", by="Ada")
    assert (result.is_error, result.text, result.details) == (True, "Not run.", {"by": "Ada"})


def test_the_text_of_a_result_leaves_out_what_is_not_text() -> None:
    assert Result((Text("a"), Image("image/png", b""), Text("b"))).text == "ab"


# ---- the call ---------------------------------------------------------------------------------------------------


def test_one_structure_serves_every_status_and_what_does_not_apply_is_none() -> None:
    fresh = ToolCall("c1", "Read")
    assert fresh.status is Status.VALIDATING
    optional = ("result", "question", "decision", "edited", "started_at", "ended_at", "duration_ms", "raw_arguments")
    assert {getattr(fresh, name) for name in optional} == {None}
    assert {field.name for field in fields(ToolCall)} >= {
        *optional,
        *("id", "name", "arguments", "index", "message_id", "status", "live_output"),
    }


@pytest.mark.spec("CALL-3")
@pytest.mark.parametrize("status", Status)
def test_a_call_is_settled_in_a_terminal_status_only(status: Status) -> None:
    assert ToolCall("c1", "Read", status=status).settled is (status in TERMINAL)


@pytest.mark.parametrize(("noun", "field"), [(ToolCall("c1", "Read"), "id"), (Result(), "code"), (Text("x"), "text")])
def test_nouns_are_frozen(noun: object, field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(noun, field, "other")
