"""The tables of programs come to what is kept beside the tests: whoever changes them sees what else has changed."""

from difflib import unified_diff

import pytest

from callgate.shell.programs.table import PROGRAMS
from tests.shell.listing import LISTINGS, PARTS, listing

HOW = "look at every line; if all is meant: python -m tests.shell.listing"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.rpartition(".")[2])
def test_every_option_and_step_of_a_program_comes_to_what_is_kept(part: str) -> None:
    kept = (LISTINGS / f"{part.rpartition('.')[2]}.txt").read_text(encoding="utf-8")
    changed = unified_diff(kept.splitlines(), listing(part).splitlines(), "kept", "now", lineterm="", n=1)
    assert "\n".join(changed) == "", HOW


def test_every_program_is_listed() -> None:
    listed = {line[:-1].partition(":")[0] or ":" for part in PARTS for line in _heads(part)}
    assert listed == PROGRAMS.keys()


def _heads(part: str) -> list[str]:
    text = (LISTINGS / f"{part.rpartition('.')[2]}.txt").read_text(encoding="utf-8")
    return [paragraph.partition("\n")[0] + " " for paragraph in text.split("\n\n")]
