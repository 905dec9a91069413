"""What the strict reader does not understand as bash does, it refuses, and says why and where."""

from callgate.shell.command import Unread
from callgate.shell.lexer import DECLARING, MOST_COMMANDS, MOST_REDIRECTS, MOST_WORDS, RESERVED, parse_strictly
from callgate.shell.scanner import MOST_BRACKETS, MOST_PIECES
from tests.rows import rows
from tests.shell.lexer_kit import argument, only, read, refused, values


@rows("word", sorted(RESERVED - {"time"}))
def test_a_word_that_begins_something_else_is_refused_as_a_command(word: str) -> None:
    for text in (f"{word} a", f"a; {word}", f"A=1 {word} a", f"(a) {word}", f">f {word} a"):
        assert isinstance(parse_strictly(text), Unread) or (word == "!" and text == "! a")
    if word not in ("{", "}", "!"):
        assert refused(f"{word} a") in (
            f"the word {word} at the start of a command",
            "a command that begins like a shell option",
        )
        assert values(f"a {word}") == [["a", word]]


@rows("word", sorted(DECLARING))
def test_a_declaration_with_a_brace_form_is_refused(word: str) -> None:
    assert values(f"{word} A=1 B") == [[word, "A=1", "B"]]
    assert refused(f"{word} A={{1,2}}") == "a brace expansion in a declaration"
    assert values(f"x {word} {{1,2}}") == [["x", word, "1", "2"]]


@rows(
    ("text", "reason"),
    [
        ("", "no command"),
        ("  \n ", "no command"),
        ("# a", "no command"),
        ("()", "no command"),
        ("{ }", "no command"),
        ("x `y`", "a command substitution"),
        ('x "`y`"', "an expansion"),
        ("x '", "an unterminated quote"),
        ('x "a', "an unterminated quote"),
        ("x $'a", "an unterminated quote"),
        ("x $'a\\", "an escape that shells parse differently"),
        ("x \\", "a line continuation"),
        ("x \\\ny", "a line continuation"),
        ('x "a\\\nb"', "a line continuation"),
        ("x # a\\\ny", "a comment that ends like a line continuation"),
        ("x # a\\", "a comment that ends like a line continuation"),
        (r"x $'\q'", "an escape that shells parse differently"),
        (r"x $'\cA'", "an escape that shells parse differently"),
        (r"x $'\0'", "an escape that shells parse differently"),
        (r"x $'\x00'", "an escape that shells parse differently"),
        (r"x $'\x80'", "an escape that shells parse differently"),
        (r"x $'\200'", "an escape that shells parse differently"),
        (r"x $'\u00e9'", "an escape that shells parse differently"),
        (r"x $'\xg'", "an escape that shells parse differently"),
        (";", "a command is missing"),
        ("a ;; b", "an operator that is valid only in case"),
        ("a ;& b", "an operator that is valid only in case"),
        ("a ;| b", "an operator that is valid only in case"),
        ("a; ; b", "a command is missing"),
        ("a & ; b", "a command is missing"),
        ("a &| b", "an operator of zsh"),
        ("a &! b", "an operator of zsh"),
        ("&& a", "a command is missing"),
        ("a &&", "a command is missing"),
        ("a || ; b", "a command is missing"),
        ("a | | b", "a command is missing"),
        ("a ||| b", "a command is missing"),
        ("| a", "a command is missing"),
        ("!", "the word ! at the start of a command"),
        ("! ! a", "the word ! at the start of a command"),
        ("!\na", "the word ! at the start of a command"),
        ("!(a)", "the word ! at the start of a command"),
        ("!a", "a ! that may be a history expansion"),
        ("x a!b", "a ! that may be a history expansion"),
        ("x !!", "a ! that may be a history expansion"),
        ("((1))", "arithmetic"),
        ("(a", "unexpected text after a command"),
        ("(a;", "a command is missing"),
        ("{ a;", "a command is missing"),
        ("{ a }", "an unmatched }"),
        ("{ a; }b", "an unmatched }"),
        ("(a) b", "a word after a compound command"),
        ("(a) A=1", "a word after a compound command"),
        ("(a)b", "a word after a compound command"),
        ("(a)(b)", "a parenthesis in a word"),
        ("a)", "unexpected text after a command"),
        ("a (b)", "a parenthesis in a word"),
        ("a() { b; }", "a parenthesis in a word"),
        ("x *(e:a:)", "a parenthesis in a word"),
        ("x @(a|b)", "a parenthesis in a word"),
        ("x =(a)", "a parenthesis in a word"),
        ("x =ls", "a word that begins with ="),
        ("=ls", "a word that begins with ="),
        ("x {=ls,b}", "a word that begins with ="),
        ("x ===", "a word that begins with ="),
        ("A+=1 x", "an assignment to an array, or one that appends"),
        ("A[0]=1 x", "an assignment to an array, or one that appends"),
        ("A=(1 2) x", "a parenthesis in a word"),
        ("A={1,2} x", "a brace that shells parse differently"),
        ("A=} x", "a brace that shells parse differently"),
        ("x > {a,b}", "a brace that shells parse differently"),
        ("x <<< {a,b}", "a brace that shells parse differently"),
        ("x {fd}>f", "a brace in front of a redirection, which may name a descriptor"),
        ("x {fd}<f", "a brace in front of a redirection, which may name a descriptor"),
        ("{fd}>f", "a brace in front of a redirection, which may name a descriptor"),
        ("x >", "a word is missing"),
        ("x > ;", "a word is missing"),
        ("x > # f", "a word is missing"),
        ("x 10>f", "a redirection that shells parse differently"),
        ("x >!f", "a redirection that shells parse differently"),
        ("x >>!f", "a redirection that shells parse differently"),
        ("x >>|f", "a redirection that shells parse differently"),
        ("x >&|f", "a redirection that shells parse differently"),
        ("x &>|f", "a redirection that shells parse differently"),
        ("x >>&f", "a redirection that shells parse differently"),
        ("x >(a)", "a redirection that shells parse differently"),
        ("x <(a)", "a redirection that shells parse differently"),
        ("x > >(a)", "a word is missing"),
        ("x ><f", "a redirection that shells parse differently"),
        ("x <<<<f", "a redirection that shells parse differently"),
        ("x <<>f", "a redirection that shells parse differently"),
        ("x <1-5>", "a redirection that shells parse differently"),
        ("x <->f", "a redirection that shells parse differently"),
        ("x >2>f", "a number that may be a target or a descriptor"),
        ("x <2<f", "a number that may be a target or a descriptor"),
        ("x >&2f", "a redirection whose target may be a descriptor or a file"),
        ("x >&-f", "a redirection whose target may be a descriptor or a file"),
        ("x >&12", "a redirection whose target may be a descriptor or a file"),
        ("x 2>&f", "a redirection whose target may be a descriptor or a file"),
        ("x 2>&1-", "a redirection whose target may be a descriptor or a file"),
        ("x <&f", "a redirection whose target may be a descriptor or a file"),
        ("x 2>&'1'", "a redirection whose target may be a descriptor or a file"),
        ("x a；b", "a character outside quotes that looks like another character"),
        ("x “a”", "a character outside quotes that looks like another character"),
        ("x –a", "a character outside quotes that looks like another character"),
        ("x a\x01", "an invisible character"),
        ("-x", "a command that begins like a shell option"),
        ("+x", "a command that begins like a shell option"),
        ("%1", "a job specification"),
        (r"\%1", "a job specification"),
        ("a; - b", "the word - at the start of a command"),
    ],
)
def test_whatever_is_not_understood_is_refused(text: str, reason: str) -> None:
    assert refused(text) == reason


def test_the_place_of_what_is_refused_is_told() -> None:
    assert parse_strictly("git log $x") == Unread("an expansion", 9)
    assert parse_strictly("a; b | `c`") == Unread("a command substitution", 8)
    assert parse_strictly("x <<E") == Unread("a here-document with an unclear end", 4)
    assert parse_strictly("-a") == Unread("a command that begins like a shell option", 0)
    assert parse_strictly("(x <<E )") == Unread("a here-document without a body", 8)


def test_a_job_is_one_only_in_the_place_of_a_program() -> None:
    assert values("x %1") == [["x", "%1"]]


def test_limits_are_reached_and_not_passed() -> None:
    assert len(read("a;" * MOST_COMMANDS).commands) == MOST_COMMANDS
    assert "commands" in refused("a;" * (MOST_COMMANDS + 1))
    assert len(only("a " * MOST_WORDS).words) == MOST_WORDS
    assert "words" in refused("a " * (MOST_WORDS + 1))
    assert "words" in refused("x " + "{1..256} " * 4)
    assert len(only("A=1 " * MOST_WORDS).assignments) == MOST_WORDS
    assert "words" in refused("A=1 " * (MOST_WORDS + 1))
    assert len(only("a" + ">f" * MOST_REDIRECTS).redirects) == MOST_REDIRECTS
    assert "redirections" in refused("a" + ">f" * (MOST_REDIRECTS + 1))
    assert argument("{a}[]" * (MOST_BRACKETS // 4)).globs
    assert "brackets" in refused("x " + "{a}[]" * (MOST_BRACKETS // 4) + " ]")
    assert "brackets" in refused("x " + "$ " * (MOST_BRACKETS + 1))
    assert "brackets" in refused("x " + "a@" * (MOST_BRACKETS + 1))
    assert "brackets" in refused("x " + "a?" * (MOST_BRACKETS + 1))
    assert argument("''" * MOST_PIECES).value == ""
    assert "parts" in refused("x " + "''" * (MOST_PIECES + 1))
    assert len(read("( " * 16 + "a" + ")" * 16).commands) == 1
    assert refused("( " * 17 + "a" + ")" * 17) == "commands nested too deeply"
