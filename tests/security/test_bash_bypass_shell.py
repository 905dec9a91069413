"""The corpora on the level of the shell: allow rows against grants, deny and ask rows against reaches."""

import re

from callgate.shell.analysis import analyse
from callgate.shell.command_grants import Granted, grant
from callgate.shell.command_patterns import ShellPattern, parse_pattern
from callgate.shell.reach import doubt, reaches
from tests.security.corpora import Row, rows_of, rules_of, wrong


def patterns(rules: list[str]) -> list[ShellPattern]:
    """Those with brackets; a bare ``Bash`` has no pattern."""
    return [parse_pattern(found.group(1)) for rule in rules if (found := re.fullmatch(r"Bash\((.*)\)", rule, re.S))]


def outcome(row: Row) -> str:
    """The decision of the shell part alone: no hard safety, no modes, no Edit rules."""
    rules = rules_of(row)
    analysis = analyse(row["command"])
    if any(reaches(analysis, pattern) for pattern in patterns(rules["deny"])):
        return "deny"
    if any(reaches(analysis, pattern) for pattern in patterns(rules["ask"])):
        return "ask"
    if isinstance(grant(analysis, patterns(rules["allow"])), Granted):
        return "allow"
    whole = "Bash" in rules["allow"] and not (rules["deny"] and doubt(analysis))
    return "allow" if whole else "ask"


def test_every_row_comes_to_an_outcome_that_it_accepts() -> None:
    bad = wrong(rows_of("bash_bypass"), outcome)
    assert not bad, "\n".join(bad)


def test_nothing_that_the_execution_oracle_found_is_allowed_any_more() -> None:
    bad = wrong(rows_of("oracle_bash"), lambda row: outcome(row | {"list": "allow"}))
    assert not bad, "\n".join(bad)
