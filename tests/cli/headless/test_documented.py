"""The reference of headless runs says what the program does: its flags, and the fields of its lines."""

import re

import pytest

from callgate.cli.start_options import read_headless
from callgate.testing import say, turn
from tests.cli.headless.kit import Desk
from tests.house.tree import ROOT

PAGE = (ROOT / "docs/reference/headless.md").read_text(encoding="utf-8")


def fields(heading: str) -> set[str]:
    """The names in the first column of the table below a heading."""
    table = PAGE.partition(heading)[2].partition("|---|---|\n")[2].partition("\n\n")[0]
    return {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_flag_of_the_help_is_in_the_reference_and_none_else(desk: Desk) -> None:
    with pytest.raises(SystemExit):
        read_headless(["-p", "--help"])
    helped = {*re.findall(r"(?<![\w-])--[a-z][a-z-]+", desk.captured())} - {"--help"}
    written = {*re.findall(r"--[a-z][a-z-]+", PAGE.partition("## Flags")[2].partition("## Exit codes")[0])}
    assert helped == written - {"--print"}


def test_the_lines_have_the_fields_that_the_reference_lists(desk: Desk) -> None:
    ran = desk.run(["Hi.", "--output-format", "stream-json"], turn(say("Hello.")))
    start, result = ran.lines[0], ran.lines[-1]
    assert start.keys() - {"type"} == fields("`start`:")
    assert result.keys() - {"type"} == fields("`result`, which")
    assert {*result["usage"]} == {"input", "cache_read", "cache_write", "output", "reasoning", "estimated"}
