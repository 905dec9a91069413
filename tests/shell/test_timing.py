"""The word ``time``: it measures the command behind it, and is read as a program that runs it."""

from tests.rows import rows
from tests.shell.lexer_kit import refused, values


@rows("text", ["time a", "time -p a -p", "! time a b", "x | time a", "time 'if' a", "time >f a"])
def test_the_word_time_may_stand_before_a_simple_command(text: str) -> None:
    assert values(text)[-1][0] == "time"


@rows(
    ("text", "why"),
    [
        ("time", "the word time without a command"),
        ("time; a", "the word time without a command"),
        ("time -p", "the word time without a command"),
        ("time >f", "the word time without a command"),
        ("time time a", "the word time at the start of a command"),
        ("time -p time a", "the word time at the start of a command"),
        ("A=1 time a", "the word time at the start of a command"),
        (">f time a", "the word time at the start of a command"),
        ("time { a; }", "the word { at the start of a command"),
        ("time ! a", "the word ! at the start of a command"),
        ("time -p if a", "the word if at the start of a command"),
        ("time (a)", "a parenthesis in a word"),
        ("time A=1 a", "something other than a command after the word time"),
        ("time -v a", "something other than a command after the word time"),
        ("time -p -p a", "something other than a command after the word time"),
        ("time -p A=1 a", "something other than a command after the word time"),
        ("time -- a", "something other than a command after the word time"),
        ("time %1", "a job specification"),
        ("time -p %1", "a job specification"),
    ],
)
def test_the_word_time_stands_before_nothing_else(text: str, why: str) -> None:
    assert refused(text) == why
