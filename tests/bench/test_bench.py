"""The benchmark runs and says what it found in the agreed shape. Nothing here looks at how long anything took."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import arguments, main
from benchmarks.measure import Size, interleaved, ratio, spread
from benchmarks.peers import rows as peer_rows
from benchmarks.report import Row, as_json, over, table
from benchmarks.rows import ROWS

TINY = Size(
    calls=5,
    rounds=2,
    gaps=3,
    latency_rounds=1,
    second=0.02,
    turns=60,
    turn_rounds=1,
    imports=1,
    messages=3,
    calls_a_message=5,
    growth=200,
)
GROWN = ("growth_executors", "growth_writers", "growth_edited")
LIMITED: dict[str, set[str]] = {
    "calls": {"calls", "calls_shared"},
    "growth": {*GROWN, *(f"{name}_memory" for name in GROWN)},
    "gap": {"gap_iterations"},
    "latency": {"latency", "latency_tail", "latency_slow"},
    "turns": {"turns"},
    "import": {"first_turn_cpu", "import_foreign", "import_names_foreign", "import_tool_foreign"},
    "memory": {"memory", "memory_session"},
    "apply": {"apply"},
    "files": {"read_1mb", "read_parallel", "grep"},
    "processes": {"bash_start"},
    "sandbox": {"sandbox_start"},
    "streams": {
        f"stream_{kind}_{name}"
        for kind in ("text", "arguments")
        for name in ("anthropic", "gemini", "openai", "openai-chat")
    },
    "headless": {f"headless_{name}" for name in ("start", "memory", "call", "reads", "early", "late")},
    "prompt": {"prompt_start"},
    "terminal": {"terminal_stream_flat", "terminal_again", "terminal_session_flat"},
    "mcp": {"mcp_call"},
    "structural": {"structural_rewrite", "structural_rewrite_clock"},
    "previews": {"preview_file", "preview_files", "preview_worst"},
    "decisions": {"decision_half", "decision_most", "decision_corpus", "decision_worst"},
    "search": {f"search_{name}" for name in ("build", "add", "half", "most")},
    "retrieval": {"retrieval_words", "retrieval_vectors"},
    "append": {"append", "append_lag"},
    "durable": set(),
    "list": {"list"},
    "load": {"load"},
    "history": {"history_rewound", "history_rewound_peak", "history_compacted", "history_compacted_peak"},
}


SLOW = ("import", "growth", "structural", "previews", "history", "files", "streams", "headless", "prompt")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in ROWS])
def test_each_kind_of_work_gives_measured_rows_and_judges_those_with_a_limit(name: str) -> None:
    rows = ROWS[name](TINY)
    assert all(row.measured is not None and row.measured >= 0 for row in rows)
    assert len({row.name for row in rows}) == len(rows)
    assert {row.name for row in rows if row.limit is not None} == LIMITED[name]
    assert all(row.verdict in ("within", "OVER") for row in rows if row.limit is not None)
    assert all(row.verdict == "reported" for row in rows if row.limit is None)
    told = json.loads(json.dumps(as_json(rows, "--rows x"), allow_nan=False))
    assert [row["name"] for row in told["rows"]] == [row.name for row in rows]
    assert {"work", "measured", "yardstick", "ratio", "limit", "of_limit", "verdict", "unit"} <= told["rows"][0].keys()


def test_a_run_prints_the_table_and_writes_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "numbers" / "found.json"
    assert main(["--quick", "--rows", "gap", "--json", str(written)]) == 0
    printed = capsys.readouterr().out
    assert "of limit" in printed.splitlines()[0]
    assert [row["name"] for row in json.loads(written.read_text())["rows"]] == ["gap", "gap_iterations"]


def test_a_row_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(["--rows", "calls,nonsense"])
    assert "nonsense" in capsys.readouterr().err


def test_an_interpreter_that_cannot_be_asked_is_a_row_that_says_why(tmp_path: Path) -> None:
    (row,) = peer_rows(str(tmp_path / "python"), TINY)
    assert row.verdict == "missing"
    assert "No such file" in row.note
    assert row.note in table([row])


def test_a_limit_is_for_the_ratio_if_there_is_one_and_else_for_the_amount() -> None:
    by_ratio = Row("a", "a", "µs", 60.0, 10.0, ratio=6.0, limit=5.0)
    by_amount = Row("b", "b", "bytes", 60.0, limit=200.0)
    nothing = Row("c", "c", "", 0, limit=0)
    something = Row("d", "d", "", 1, limit=0)
    assert over([by_ratio, by_amount, nothing, something]) == [by_ratio, something]
    assert by_ratio.of_limit == pytest.approx(1.2)
    assert as_json([something], "")["rows"][0]["of_limit"] == "over"


def test_rounds_alternate_after_one_that_warms_up() -> None:
    order: list[str] = []

    def measure(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = interleaved({"a": lambda: measure("a"), "b": lambda: measure("b")}, 2)
    assert order == ["a", "b", "a", "b", "b", "a"]
    assert found == {"a": [3.0, 6.0], "b": [4.0, 5.0]}


def test_a_round_that_was_slow_for_both_does_not_change_the_ratio() -> None:
    assert ratio([2.0, 20.0, 2.0], [1.0, 10.0, 1.0]) == 2.0
    assert spread([1.0, 1.0, 1.0, 1.0]) == 0.0


def test_a_yardstick_that_took_no_time_is_no_fault() -> None:
    assert ratio([2.0, 0.0, 3.0], [1.0, 0.0, 0.0]) == 2.0
