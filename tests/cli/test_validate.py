"""`callgate tools validate --jsonl`: a line in, a line out, whatever the line holds."""

import io
import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.cli.tools_commands import validate_lines

TOOL = {
    "name": "read",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
}


def _answers(*lines: Any) -> tuple[list[dict[str, Any]], int]:
    out = io.StringIO()
    code = validate_lines([line if isinstance(line, str | bytes) else json.dumps(line) for line in lines], out)
    return [json.loads(line) for line in out.getvalue().splitlines()], code


@pytest.mark.spec("TOOL-7")
def test_each_line_is_answered_with_its_outcome() -> None:
    answers, code = _answers(
        {"tool": TOOL, "raw": '{"path":"a"}'},
        {"tool": TOOL, "raw": '{"path":"a","limit":"5"}'},
        {"tool": TOOL, "raw": '{"path":"a'},
        {"tool": TOOL, "raw": {"path": "a"}},
        {"tool": TOOL, "raw_b64": b64encode(b'{"path":"\xff"}').decode()},
    )
    assert code == 0
    assert [answer["outcome"] for answer in answers] == ["accepted", "repaired", "rejected", "accepted", "rejected"]
    assert answers[0] == {"outcome": "accepted", "arguments": {"path": "a"}, "repairs": [], "errors": []}
    assert answers[1]["arguments"] == {"path": "a", "limit": 5}
    assert [repair["path"] for repair in answers[1]["repairs"]] == ["$.limit"]
    assert answers[2]["arguments"] is None
    assert "truncated" in answers[2]["errors"][0]
    assert "UTF-8" in answers[4]["errors"][0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "one JSON object per line"),
        (b'{"raw": "\xff"}', "UTF-8"),
        ("[" * 100_000, "one JSON object per line"),
        ("[]", "JSON object"),
        ({"raw": "{}"}, "parameters"),
        ({"tool": "read", "raw": "{}"}, "parameters"),
        ({"tool": {"name": "read"}, "raw": "{}"}, "parameters"),
        ({"tool": TOOL}, "raw"),
        ({"tool": TOOL, "raw": "{}", "raw_b64": ""}, "raw"),
        ({"tool": TOOL, "raw": 5}, "raw"),
        ({"tool": TOOL, "raw_b64": "ü"}, "raw_b64"),
        ({"tool": TOOL, "raw_b64": None}, "raw_b64"),
        ({"tool": {"parameters": {"type": "text"}}, "raw": "{}"}, "mend the schema at #: type"),
    ],
)
def test_a_line_that_cannot_be_used_says_what_to_do_and_the_rest_goes_on(line: Any, words: str) -> None:
    answers, code = _answers({"tool": TOOL, "raw": '{"path":"a"}'}, "", line, {"tool": TOOL, "raw": '{"path":"b"}'})
    assert code == 1
    assert [answer["outcome"] for answer in answers] == ["accepted", "error", "accepted"]
    (error,) = answers[1]["errors"]
    assert error.startswith("line 3: ")
    assert words in error


def test_an_answer_is_out_before_the_next_line_is_read() -> None:
    class Flushed(io.StringIO):
        seen = ""

        def flush(self) -> None:
            self.seen = self.getvalue()

    out = Flushed()

    def lines() -> Iterator[str]:
        for number in range(3):
            assert out.seen.count("\n") == number
            yield json.dumps({"tool": TOOL, "raw": '{"path":"a"}'})

    assert validate_lines(lines(), out) == 0


@given(st.text() | st.binary() | st.text().map(lambda raw: json.dumps({"tool": TOOL, "raw": raw})))
def test_any_line_is_answered_with_one_line_of_ascii_json(line: str | bytes) -> None:
    out = io.StringIO()
    validate_lines([line], out)
    text = out.getvalue()
    assert text.isascii()
    assert text.count("\n") == (1 if line.strip() else 0)
    if text:
        assert json.loads(text)["outcome"] in ("accepted", "repaired", "rejected", "error")
