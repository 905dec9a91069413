"""The strict reader on words: quotes, globs, tildes, dollars and brace forms are what they are to bash."""

from callgate.shell.command import Unread, Word
from callgate.shell.lexer import parse_strictly
from callgate.shell.scanner import AFTER_DOLLAR, AFTER_DOLLAR_IN_DOUBLE
from tests.rows import rows
from tests.shell.lexer_kit import argument, only, read, refused


@rows(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("-a.b/c:d,e@f%g+h_9", "-a.b/c:d,e@f%g+h_9"),
        ("a=b", "a=b"),
        ("'a b'", "a b"),
        ("''", ""),
        ('""', ""),
        ("'a\nb'", "a\nb"),
        ("'$5 `x` \\'", "$5 `x` \\"),
        ('"a b"', "a b"),
        ('"a\nb"', "a\nb"),
        ('"it\'s"', "it's"),
        (r'"\$ \` \" \\ \n \a"', '$ ` " \\ \\n \\a'),
        (r"\$HOME", "$HOME"),
        (r"a\ b", "a b"),
        (r"a\;b", "a;b"),
        (r"\\", "\\"),
        ("a'b'\"c\"\\d", "abcd"),
        ("a#b", "a#b"),
        ("HEAD^", "HEAD^"),
        ("a!", "a!"),
        ("!=", "!="),
        ("!", "!"),
        ("=", "="),
        ("==", "=="),
        ("'=ls'", "=ls"),
        ("stash@{0}", "stash@{0}"),
        ("{}", "{}"),
        ("{a}", "{a}"),
        ("$", "$"),
        ("a$", "a$"),
        ('"$"', "$"),
        ('"a!b"', "a!b"),
        ("é日本", "é日本"),
        ("e\u0301", "e\u0301"),
        ("'；“'", "；“"),
        ("'['", "["),
        ("]", "]"),
        ("$'a b'", "a b"),
        ("$''", ""),
        (r"$'\a\b\e\E\f\n\r\t\v'", "\a\b\x1b\x1b\f\n\r\t\v"),
        (r"""$'\\ \' \" \?'""", "\\ ' \" ?"),
        (r"$'\101\60\1'", "A0\x01"),
        (r"$'\x41\x4g\x7f'", "A\x04g\x7f"),
        (r"$'\u0041\u41g\U00000041'", "AAgA"),
        ("$'\n'", "\n"),
        ("a$'b'c", "abc"),
    ],
)
def test_a_word_without_its_quotes(text: str, value: str) -> None:
    assert argument(text) == Word(value, text)


@rows("text", ["*", "a*b", "?", "[ab]", "a[", "[!a]", "*'*'"])
def test_a_bare_glob_is_one(text: str) -> None:
    assert argument(text) == Word(text.replace("'", ""), text, globs=True)


@rows("text", ["'*'", '"?"', r"\[", "[", r"$'*'"])
def test_a_quoted_glob_is_none(text: str) -> None:
    assert not argument(text).globs


@rows("text", ["~", "~/x", "~user", "a=~/x", "a=b:~/x"])
def test_a_bare_tilde_is_one(text: str) -> None:
    assert argument(text) == Word(text, text, tilde=True)


@rows("text", ["'~'", r"\~", "a~", "''~", "a'='~"])
def test_a_quoted_or_later_tilde_is_none(text: str) -> None:
    assert not argument(text).tilde


@rows("following", sorted(AFTER_DOLLAR - {"", " ", "\t", "\n", ";", "|", "&", ")"}))
def test_a_dollar_before_a_plain_sign_means_itself(following: str) -> None:
    assert argument(f"a${following}").value == f"a${following}"


@rows("following", [" b", "\tb", "\nb", ";b", "|b", "&b"])
def test_a_dollar_at_the_end_of_a_word_means_itself(following: str) -> None:
    assert read(f"x a${following}").commands[0].words[1].value == "a$"
    assert read("(x $)").commands[0].words[1].value == "$"


@rows("following", sorted(AFTER_DOLLAR_IN_DOUBLE - {'"', "\\"}))
def test_a_dollar_in_quotes_before_a_plain_sign_means_itself(following: str) -> None:
    assert argument(f'"a${following}"').value == f"a${following}"


def test_a_dollar_in_quotes_before_a_backslash_means_itself() -> None:
    assert argument(r'"a$\|b"').value == r"a$\|b"


@rows("following", "a1_@*#?-!({[$+=~^:'<>\"")
def test_a_dollar_before_anything_else_is_refused(following: str) -> None:
    assert refused(f'x "${following}"' if following != '"' else 'x $"a"') == "an expansion"


@rows("following", ["a", "1", "{a}", "(a)", "((1))", "[1]", "+a", "=a", "~a", "^a", "$", "!", "\\a"])
def test_a_bare_dollar_before_anything_else_is_refused(following: str) -> None:
    assert refused(f"x ${following}") == "an expansion"


@rows(
    ("text", "words"),
    [
        ("{a,b}", ["a", "b"]),
        ("x{a,b}y", ["xay", "xby"]),
        ("{a,b}{1..3}", ["a1", "a2", "a3", "b1", "b2", "b3"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"]),
        ("x{,y}", ["x", "xy"]),
        ("{,y}", ["y"]),
        ("{'a b',c}", ["a b", "c"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{08..10}", ["08", "09", "10"]),
        ("{8..010}", ["008", "009", "010"]),
        ("{1..7..3}", ["1", "4", "7"]),
        ("{7..1..3}", ["7", "4", "1"]),
        ("{a..c}", ["a", "b", "c"]),
        ("{C..A}", ["C", "B", "A"]),
        ("{a..c,d}", ["a..c", "d"]),
        ("{0}{a,b}", ["{0}a", "{0}b"]),
        ("{}{a,b}", ["{}a", "{}b"]),
        ("{1..1}", ["1"]),
        ("{a,b", None),
        ("a}", None),
        ("}", None),
        ("{a,b}}", None),
        ("{a,{b}}", None),
        ("{{a}}", None),
        ("{{a,b}}", None),
        ("{a,{}}", None),
        ("{,}", None),
        ("{a,b}''", None),
        ("{1..'3'}", None),
        ("{1..a}", None),
        ("{1..}", None),
        ("{a..C}", None),
        ("{a..e..2}", None),
        ("{1..9..0}", None),
        ("{1..9..-2}", None),
        ("{-01..3}", None),
        ("{01..-3}", None),
        ("{1..1000000000}", None),
        ("{1..257}", None),
        ("{1..16}{1..17}", None),
        ("{x{1..16}{1..17},y}", None),
        ("{a,b}" * 9, None),
        ("{a," * 9 + "b" + "}" * 9, None),
        ("{1..256}" + "x" * 300, None),
    ],
)
def test_brace_forms(text: str, words: list[str] | None) -> None:
    if words is None:
        assert isinstance(parse_strictly(f"x {text}"), Unread)
        return
    made = only(f"x {text}").words[1:]
    assert [word.value for word in made] == words
    assert all(word.raw == text and word.braces for word in made)


def test_as_many_words_as_the_limit_are_made() -> None:
    assert len(only("x {1..256}").words) == 257
    assert len(only("x {1..16}{1..16}").words) == 257
    assert len(only("x " + "{a," * 8 + "b" + "}" * 8).words) == 10


def test_globs_and_tildes_of_brace_forms_are_found_word_by_word() -> None:
    assert only("x {~,a*,'*'}").words[1:] == (
        Word("~", "{~,a*,'*'}", braces=True, tilde=True),
        Word("a*", "{~,a*,'*'}", braces=True, globs=True),
        Word("*", "{~,a*,'*'}", braces=True),
    )
