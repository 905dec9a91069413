"""Answers that have to fit a JSON Schema."""

import pytest

from callgate.tools.output import Misfit, OutputSchema
from callgate.words.errors import UsageError

COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def test_the_value_is_read_from_plain_json_and_from_a_fence() -> None:
    output = OutputSchema(COUNT)
    assert output.read('{"count": 3}') == {"count": 3}
    assert output.read('Here it is:\n```json\n{"count": 3}\n```\n') == {"count": 3}
    assert "count" in output.instruction


def test_what_does_not_fit_is_named_for_the_model() -> None:
    output = OutputSchema(COUNT)
    found = output.read('{"count": "three"}')
    assert isinstance(found, Misfit)
    assert found.faults == ('$.count: got "three", expected an integer',)
    assert found.faults[0] in output.repair(found)
    assert isinstance(output.read("three"), Misfit)


def test_a_schema_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="the JSON Schema is invalid"):
        OutputSchema({"type": "nothing-known"})
