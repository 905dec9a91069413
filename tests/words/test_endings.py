"""The two tables of endings belong together."""

from callgate.words.endings import ENDINGS, EXIT_CODES, EXIT_CODES_LINE


def test_every_cause_ends_with_an_exit_code_that_has_a_meaning() -> None:
    assert {ending.exit_code for ending in ENDINGS.values()} <= EXIT_CODES.keys()
    assert EXIT_CODES_LINE.startswith("exit codes: 0 done, 1 failed, 2 usage, 3 ")
