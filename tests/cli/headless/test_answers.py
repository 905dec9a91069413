"""The answer of ``callgate -p`` is complete: the real program on a fake server, in every output format."""

import sys
from pathlib import Path

import pytest

from tests.cli.headless.blackbox import calls, program, says, says_part


@pytest.mark.spec("TRN-15")
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_an_answer_that_the_output_limit_separated_is_joined(output: str, tmp_path: Path) -> None:
    with program(tmp_path, says_part("part one "), says("part two")) as callgate:
        ran = callgate.run("Tell.", "--output-format", output)
    assert ran.code == 0, ran.err
    if output == "text":
        assert ran.out == "part one part two\n"
    else:
        found = ran.json if output == "json" else ran.lines[-1]
        assert (found["text"], found["reason"]) == ("part one part two", "done")


@pytest.mark.spec("TRN-15")
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_a_run_that_ends_at_the_output_limit_writes_the_text_so_far(output: str, tmp_path: Path) -> None:
    with program(tmp_path, *[says_part(f"{n} ") for n in range(8)]) as callgate:
        ran = callgate.run("Count.", "--output-format", output)
    assert ran.code == 4
    if output == "text":
        assert ran.out.startswith("0 1 2 3 ")
        assert "limit of its output" in ran.err
    else:
        found = ran.json if output == "json" else ran.lines[-1]
        assert (found["text"][:8], found["reason"], found["exit_code"]) == ("0 1 2 3 ", "output_limit", 4)
        assert "limit of its output" in found["errors"][0]


@pytest.mark.spec("TRN-15")
def test_a_run_that_ends_at_a_turn_limit_writes_the_text_before_its_last_call(tmp_path: Path) -> None:
    with program(tmp_path, calls(("Read", {"file_path": "a"}), text="Reading.")) as callgate:
        ran = callgate.run("Read.", "--max-turns", "1")
    assert (ran.code, ran.out) == (4, "Reading.\n")


@pytest.mark.spec("TRN-15")
def test_an_answer_with_a_schema_may_be_cut_off(tmp_path: Path) -> None:
    schema = '{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}'
    with program(tmp_path, says_part('{"a": "on'), says('e"}')) as callgate:
        ran = callgate.run("Tell.", "--json-schema", schema, "--output-format", "json")
    assert (ran.code, ran.json["structured"]) == (0, {"a": "one"})


@pytest.mark.spec("TRN-15")
def test_an_export_shows_a_cut_answer_as_one_message(tmp_path: Path) -> None:
    with program(tmp_path, says_part("part one "), says("part two")) as callgate:
        callgate.run("Tell.")
        for form in ("markdown", "html"):
            written = callgate.run_shell(f"{sys.executable} -m callgate session export --format {form}").out
            assert "part one part two" in written, written
