"""Regular expressions that are compiled with their first use."""

import re

import pytest

from callgate.words.late_pattern import late_pattern


def test_a_late_pattern_does_what_a_compiled_one_does() -> None:
    late, compiled = late_pattern(r"(?P<name>[a-z]+)=(\d+)", re.IGNORECASE), re.compile(r"([a-z]+)=(\d+)", re.I)
    text = "A=1, b=22"
    assert late.pattern == r"(?P<name>[a-z]+)=(\d+)"
    assert late.findall(text) == compiled.findall(text)
    assert [found.span() for found in late.finditer(text)] == [found.span() for found in compiled.finditer(text)]
    assert late.sub(r"\2", text) == "1, 22"
    assert late.groups == 2
    assert dict(late.groupindex) == {"name": 1}
    assert late_pattern(rb"\d").fullmatch(b"7")


def test_a_fault_in_a_late_pattern_is_found_with_its_first_use() -> None:
    late = late_pattern("(")
    with pytest.raises(re.error):
        late.match("(")
