"""`callgate tools rank --jsonl`: tools, then queries, a line in and a line out."""

import io
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.cli.tools_commands import rank_lines
from callgate.search.tool_index import ToolIndex

TOOLS = {
    "tools": [
        {"name": "send_message", "description": "Sends a text."},
        {"name": "mcp__meteo__today", "input_schema": {"properties": {"city": {}}}, "server_description": "Weather."},
        {"name": "empty", "description": None, "server": None, "input_schema": None},
    ]
}


def _answers(*lines: Any) -> tuple[list[dict[str, Any]], int]:
    out = io.StringIO()
    given = [line if isinstance(line, str | bytes) else json.dumps(line) for line in lines]
    code = rank_lines(given, out, ToolIndex())
    return [json.loads(line) for line in out.getvalue().splitlines()], code


@pytest.mark.spec("SRC-3")
def test_tools_are_read_and_queries_answered() -> None:
    again = {"tools": [{"name": "send_message", "description": "Plays music."}]}
    answers, code = _answers(
        TOOLS, {"query": "weather in a city", "k": 1}, "", {"query": "text"}, again, {"query": "text"}
    )
    assert answers == [
        {"ready": True},
        {"names": ["mcp__meteo__today"]},
        {"names": ["send_message"]},
        {"ready": True},
        {"names": []},
    ]
    assert code == 0


BAD = (
    "nonsense",
    "[]",
    "[" * 100_000,
    b"\xff",
    {},
    {"query": 1},
    {"query": "a", "k": 0},
    {"tools": {}},
    {"tools": [1]},
)


def test_a_line_that_cannot_be_used_says_why_and_the_rest_goes_on() -> None:
    worse = ({"tools": [{"name": ""}]}, {"tools": [{"name": "a", "server": 1}]})
    answers, code = _answers(*BAD, *worse, TOOLS, {"query": "text"})
    assert code == 1
    assert [list(answer) for answer in answers[:-2]] == [["error"]] * (len(BAD) + len(worse))
    assert answers[0]["error"].startswith("line 1: write one JSON object per line")
    assert answers[-2:] == [{"ready": True}, {"names": ["send_message"]}]
    (answer,), _ = _answers({"tools": [{"name": "a"}, {"name": "b", "description": 1}]})
    assert answer["error"].startswith('line 1: tool 2: give it a "name"')


def test_without_standard_input_there_is_nothing_to_rank() -> None:
    words = [sys.executable, "-m", "callgate", "tools", "rank", "--jsonl"]
    ran = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, text=True, check=True)
    assert ran.stdout + ran.stderr == ""


@given(st.text(), st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.lists(inner, max_size=2)))
def test_every_query_is_answered(query: str, strange: Any) -> None:
    answers, _ = _answers(TOOLS, {"query": query}, {"query": strange, "k": strange}, {"tools": strange})
    assert "names" in answers[1]
    assert len(answers) == 4
