"""The strict reader: what it reads, it reads as bash does; everything else it refuses."""

import pytest

from callgate.policy.shell.command import Redirect, Script, Simple, Unread, Word
from callgate.policy.shell.lexer import DECLARING, MOST_COMMANDS, MOST_REDIRECTS, MOST_WORDS, RESERVED, read_strictly
from callgate.policy.shell.quotes import AFTER_DOLLAR, AFTER_DOLLAR_IN_DOUBLE
from callgate.policy.shell.scanner import MOST_BRACKETS, MOST_PIECES


def read(text: str) -> Script:
    script = read_strictly(text)
    assert isinstance(script, Script), script
    return script


def refused(text: str) -> str:
    unread = read_strictly(text)
    assert isinstance(unread, Unread), unread
    return unread.reason


def only(text: str) -> Simple:
    (simple,) = read(text).commands
    return simple


def argument(text: str) -> Word:
    """The one argument of a command."""
    _, word = only(f"x {text}").words
    return word


def values(text: str) -> list[list[str | None]]:
    return [[word.value for word in simple.words] for simple in read(text).commands]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["*", "a*b", "?", "[ab]", "a[", "[!a]", "*'*'"])
def test_a_bare_glob_is_one(text: str) -> None:
    assert argument(text) == Word(text.replace("'", ""), text, globs=True)


@pytest.mark.parametrize("text", ["'*'", '"?"', r"\[", "[", r"$'*'"])
def test_a_quoted_glob_is_none(text: str) -> None:
    assert not argument(text).globs


@pytest.mark.parametrize("text", ["~", "~/x", "~user", "a=~/x", "a=b:~/x"])
def test_a_bare_tilde_is_one(text: str) -> None:
    assert argument(text) == Word(text, text, tilde=True)


@pytest.mark.parametrize("text", ["'~'", r"\~", "a~", "''~", "a'='~"])
def test_a_quoted_or_later_tilde_is_none(text: str) -> None:
    assert not argument(text).tilde


@pytest.mark.parametrize("following", sorted(AFTER_DOLLAR - {"", " ", "\t", "\n", ";", "|", "&", ")"}))
def test_a_dollar_before_a_plain_sign_means_itself(following: str) -> None:
    assert argument(f"a${following}").value == f"a${following}"


@pytest.mark.parametrize("following", [" b", "\tb", "\nb", ";b", "|b", "&b"])
def test_a_dollar_at_the_end_of_a_word_means_itself(following: str) -> None:
    assert read(f"x a${following}").commands[0].words[1].value == "a$"
    assert read("(x $)").commands[0].words[1].value == "$"


@pytest.mark.parametrize("following", sorted(AFTER_DOLLAR_IN_DOUBLE - {'"', "\\"}))
def test_a_dollar_in_quotes_before_a_plain_sign_means_itself(following: str) -> None:
    assert argument(f'"a${following}"').value == f"a${following}"


def test_a_dollar_in_quotes_before_a_backslash_means_itself() -> None:
    assert argument(r'"a$\|b"').value == r"a$\|b"


@pytest.mark.parametrize("following", "a1_@*#?-!({[$+=~^:'<>\"")
def test_a_dollar_before_anything_else_is_refused(following: str) -> None:
    assert refused(f'x "${following}"' if following != '"' else 'x $"a"') == "an expansion"


@pytest.mark.parametrize("following", ["a", "1", "{a}", "(a)", "((1))", "[1]", "+a", "=a", "~a", "^a", "$", "!", "\\a"])
def test_a_bare_dollar_before_anything_else_is_refused(following: str) -> None:
    assert refused(f"x ${following}") == "an expansion"


@pytest.mark.parametrize(
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
        assert isinstance(read_strictly(f"x {text}"), Unread)
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


@pytest.mark.parametrize(
    ("text", "commands", "operators"),
    [
        ("a; b", [["a"], ["b"]], (";",)),
        ("a;b;", [["a"], ["b"]], (";",)),
        ("a\n\n b\n", [["a"], ["b"]], (";",)),
        ("a&b", [["a"], ["b"]], ("&",)),
        ("a & ! b", [["a"], ["b"]], ("&",)),
        ("a&&b||c", [["a"], ["b"], ["c"]], ("&&", "||")),
        ("a &&\n\n b ||# c\nd", [["a"], ["b"], ["d"]], ("&&", "||")),
        ("a|b|&c", [["a"], ["b"], ["c"]], ("|", "|&")),
        ("a |\n b", [["a"], ["b"]], ("|",)),
        ("a # b; c\nd", [["a"], ["d"]], (";",)),
        ("# a\nb", [["b"]], ()),
        ("a;#b", [["a"]], ()),
        ("! a", [["a"]], ()),
        ("!\ta", [["a"]], ()),
        ("a; (b; c) && d", [["a"], ["b"], ["c"], ["d"]], (";", ";", "&&")),
        ("{ a; b; } | c", [["a"], ["b"], ["c"]], (";", "|")),
        ("{ a & } && c", [["a"], ["c"]], ("&&",)),
        ("{\na\n}", [["a"]], ()),
        ("{\ta; }", [["a"]], ()),
        ("( ( a ) )", [["a"]], ()),
        ("(a\n)", [["a"]], ()),
        ("a\tb", [["a", "b"]], ()),
        ("a if", [["a", "if"]], ()),
        (r"\if", [["if"]], ()),
        ("'if' a", [["if", "a"]], ()),
        ("ifx", [["ifx"]], ()),
    ],
)
def test_commands_and_what_joins_them(text: str, commands: list[list[str]], operators: tuple[str, ...]) -> None:
    assert values(text) == commands
    assert read(text).operators == operators


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("a", [()]),
        ("a | b", [("pipe",), ("pipe",)]),
        ("a && b &", [("background",), ("background",)]),
        ("a & b", [("background",), ()]),
        ("(a)", [("subshell",)]),
        ("{ a; }", [("group",)]),
        ("{ a; };", [("group",)]),
        ("{ a; }&", [("group", "background")]),
        ("({ a; })", [("group", "subshell")]),
        ("a; (b | { c & }) &", [(), ("pipe", "subshell", "background")]),
    ],
)
def test_what_a_command_stands_in(text: str, within: list[tuple[str, ...]]) -> None:
    found = [simple.within for simple in read(text).commands]
    assert found[: len(within)] == within
    if len(found) == 3:
        assert found[2] == ("background", "group", "pipe", "subshell", "background")


@pytest.mark.parametrize(
    ("text", "operator", "target", "fd"),
    [
        ("> f", ">", "f", None),
        (">f", ">", "f", None),
        (">>f", ">>", "f", None),
        (">|f", ">|", "f", None),
        ("< f", "<", "f", None),
        ("<>f", "<>", "f", None),
        ("&>f", "&>", "f", None),
        ("&>>f", "&>>", "f", None),
        ("&>1", "&>", "1", None),
        (">&f", ">&", "f", None),
        (">&2", ">&", "2", None),
        (">& 2", ">&", "2", None),
        ("2>&1", ">&", "1", 2),
        ("2>&-", ">&", "-", 2),
        ("<&3", "<&", "3", None),
        ("0<&-", "<&", "-", 0),
        ("2>/dev/null", ">", "/dev/null", 2),
        ("9>f", ">", "f", 9),
        ("<<<w", "<<<", "w", None),
        ("<<< 'a b'", "<<<", "a b", None),
        ("> 'a b'", ">", "a b", None),
        (">''", ">", "", None),
    ],
)
def test_redirections(text: str, operator: str, target: str, fd: int | None) -> None:
    simple = only(f"x {text} y")
    (redirect,) = simple.redirects
    assert (redirect.operator, redirect.target.value, redirect.fd, redirect.body) == (operator, target, fd, None)
    assert [word.value for word in simple.words] == ["x", "y"]


def test_a_number_is_a_descriptor_only_where_it_is_a_word_of_its_own() -> None:
    assert only("x a2>f").words[1].value == "a2"
    assert only("x '2'>f").words[1].value == "2"
    assert only("x 2 >f").words[1].value == "2"
    assert only("A=2>f").assignments == (("A", Word("2", "2")),)
    assert only("2>f").redirects == (Redirect(">", Word("f", "f"), 2),)


def test_the_target_of_a_redirection_may_be_a_glob_or_have_a_tilde() -> None:
    assert only("x > *").redirects[0].target.globs
    assert only("x > ~/f").redirects[0].target.tilde


def test_the_redirections_of_a_compound_command_are_a_command_of_their_own() -> None:
    script = read("{ a; b; } > f 2>&1; c")
    assert [len(simple.words) for simple in script.commands] == [1, 1, 0, 1]
    assert [redirect.operator for redirect in script.commands[2].redirects] == [">", ">&"]
    assert script.commands[2].within == ()
    assert script.operators == (";", ";")
    assert read("(a)>f | b").commands[1].within == ("pipe",)


@pytest.mark.parametrize(
    ("text", "operator", "body"),
    [
        ("x <<E\na b\nE", "<<", "a b\n"),
        ("x <<E\nE\n", "<<", ""),
        ("x << E\n\n a\n\tE\nE \nE", "<<", "\n a\n\tE\nE \n"),
        ("x <<-E\n\ta\n\t\tb\n \tc\n\tE", "<<-", "a\nb\n \tc\n"),
        ("x <<'E'\n$a `b` \\c\nE", "<<", "$a `b` \\c\n"),
        ('x <<"E"\n$a\nE', "<<", "$a\n"),
        ("x <<\\E\n$a\nE", "<<", "$a\n"),
        ("x <<E # c\na\nE", "<<", "a\n"),
    ],
)
def test_here_documents(text: str, operator: str, body: str) -> None:
    (redirect,) = only(text).redirects
    assert (redirect.operator, redirect.target.value, redirect.body) == (operator, "E", body)


def test_the_line_of_a_here_document_goes_on_and_so_does_the_text() -> None:
    script = read("x 3<<A y <<-B | z > f; v\n1\nA\n2\n\tB\nw")
    assert [[word.value for word in simple.words] for simple in script.commands] == [["x", "y"], ["z"], ["v"], ["w"]]
    assert script.commands[0].redirects == (
        Redirect("<<", Word("A", "A"), 3, "1\n"),
        Redirect("<<-", Word("B", "B"), None, "2\n"),
    )
    assert script.operators == ("|", ";", ";")
    assert values("(x <<E\na\nE\n) && y") == [["x"], ["y"]]


@pytest.mark.parametrize(
    "text",
    [
        "x <<E",
        "x <<E\na",
        "x <<E\na\nE ",
        "x <<E\n$a\nE",
        "x <<E\n`a`\nE",
        "x <<E\na\\\nE",
        "x <<''\na\n\n",
        "x <<'E\na\nE",
        "x <<E'\na\nE",
        "x <<'E\"\na\nE",
        'x <<E"F"\na\nEF',
        "x <<'a b'\na\na b",
        "x <<$E\na\nE",
        "x <<-\na\n",
        "x <<E 'a\nE\n'\nE\n",
        'x <<E "a\nE\n"\nE\n',
        "x <<E $'a\nE\n'\nE\n",
    ],
)
def test_a_doubtful_here_document_is_refused(text: str) -> None:
    assert "here-document" in refused(text) or "quote" in refused(text)


def test_assignments() -> None:
    simple = only("A=1 B_2='x y' C= D=~/a:~/b E=* x F=1")
    assert simple.assignments == (
        ("A", Word("1", "1")),
        ("B_2", Word("x y", "'x y'")),
        ("C", Word("", "")),
        ("D", Word("~/a:~/b", "~/a:~/b", tilde=True)),
        ("E", Word("*", "*", globs=True)),
    )
    assert [word.value for word in simple.words] == ["x", "F=1"]
    assert only("A=1").words == ()
    assert only(">f A=1 x").assignments == (("A", Word("1", "1")),)
    assert values("'A'=1 x") == [["A=1", "x"]]
    assert values("1A=1 x") == [["1A=1", "x"]]


@pytest.mark.parametrize("word", sorted(RESERVED - {"time"}))
def test_a_word_that_begins_something_else_is_refused_as_a_command(word: str) -> None:
    for text in (f"{word} a", f"a; {word}", f"A=1 {word} a", f"(a) {word}", f">f {word} a"):
        assert isinstance(read_strictly(text), Unread) or (word == "!" and text == "! a")
    if word not in ("{", "}", "!"):
        assert refused(f"{word} a") in (
            f"the word {word} at the start of a command",
            "a command that begins like an option of the shell",
        )
        assert values(f"a {word}") == [["a", word]]


@pytest.mark.parametrize("word", sorted(DECLARING))
def test_a_declaration_with_a_brace_form_is_refused(word: str) -> None:
    assert values(f"{word} A=1 B") == [[word, "A=1", "B"]]
    assert refused(f"{word} A={{1,2}}") == "a brace form in a declaration"
    assert values(f"x {word} {{1,2}}") == [["x", word, "1", "2"]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no command"),
        ("  \n ", "no command"),
        ("# a", "no command"),
        ("()", "no command"),
        ("{ }", "no command"),
        ("x `y`", "a command substitution"),
        ('x "`y`"', "an expansion"),
        ("x '", "a quote without an end"),
        ('x "a', "a quote without an end"),
        ("x $'a", "a quote without an end"),
        ("x $'a\\", "an escape that shells take differently"),
        ("x \\", "a line continuation"),
        ("x \\\ny", "a line continuation"),
        ('x "a\\\nb"', "a line continuation"),
        ("x # a\\\ny", "a comment that ends like a line continuation"),
        ("x # a\\", "a comment that ends like a line continuation"),
        (r"x $'\q'", "an escape that shells take differently"),
        (r"x $'\cA'", "an escape that shells take differently"),
        (r"x $'\0'", "an escape that shells take differently"),
        (r"x $'\x00'", "an escape that shells take differently"),
        (r"x $'\x80'", "an escape that shells take differently"),
        (r"x $'\200'", "an escape that shells take differently"),
        (r"x $'\u00e9'", "an escape that shells take differently"),
        (r"x $'\xg'", "an escape that shells take differently"),
        (";", "a command is missing"),
        ("a ;; b", "an operator that only belongs into a case"),
        ("a ;& b", "an operator that only belongs into a case"),
        ("a ;| b", "an operator that only belongs into a case"),
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
        ("!a", "a ! that may call the history"),
        ("x a!b", "a ! that may call the history"),
        ("x !!", "a ! that may call the history"),
        ("((1))", "arithmetic"),
        ("(a", "something unexpected after a command"),
        ("(a;", "a command is missing"),
        ("{ a;", "a command is missing"),
        ("{ a }", "an unmatched }"),
        ("{ a; }b", "an unmatched }"),
        ("(a) b", "a word behind a compound command"),
        ("(a) A=1", "a word behind a compound command"),
        ("(a)b", "a word behind a compound command"),
        ("(a)(b)", "a parenthesis in a word"),
        ("a)", "something unexpected after a command"),
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
        ("A={1,2} x", "a brace in a place where shells differ about it"),
        ("A=} x", "a brace in a place where shells differ about it"),
        ("x > {a,b}", "a brace in a place where shells differ about it"),
        ("x <<< {a,b}", "a brace in a place where shells differ about it"),
        ("x {fd}>f", "a brace in front of a redirection, which may name a descriptor"),
        ("x {fd}<f", "a brace in front of a redirection, which may name a descriptor"),
        ("{fd}>f", "a brace in front of a redirection, which may name a descriptor"),
        ("x >", "a word is missing"),
        ("x > ;", "a word is missing"),
        ("x > # f", "a word is missing"),
        ("x 10>f", "a redirection that shells take differently"),
        ("x >!f", "a redirection that shells take differently"),
        ("x >>!f", "a redirection that shells take differently"),
        ("x >>|f", "a redirection that shells take differently"),
        ("x >&|f", "a redirection that shells take differently"),
        ("x &>|f", "a redirection that shells take differently"),
        ("x >>&f", "a redirection that shells take differently"),
        ("x >(a)", "a redirection that shells take differently"),
        ("x <(a)", "a redirection that shells take differently"),
        ("x > >(a)", "a word is missing"),
        ("x ><f", "a redirection that shells take differently"),
        ("x <<<<f", "a redirection that shells take differently"),
        ("x <<>f", "a redirection that shells take differently"),
        ("x <1-5>", "a redirection that shells take differently"),
        ("x <->f", "a redirection that shells take differently"),
        ("x >2>f", "a number that may be a target or a descriptor"),
        ("x <2<f", "a number that may be a target or a descriptor"),
        ("x >&2f", "a redirection to something between a descriptor and a file"),
        ("x >&-f", "a redirection to something between a descriptor and a file"),
        ("x >&12", "a redirection to something between a descriptor and a file"),
        ("x 2>&f", "a redirection to something between a descriptor and a file"),
        ("x 2>&1-", "a redirection to something between a descriptor and a file"),
        ("x <&f", "a redirection to something between a descriptor and a file"),
        ("x 2>&'1'", "a redirection to something between a descriptor and a file"),
        ("x a；b", "a sign outside quotes that may be taken for another"),
        ("x “a”", "a sign outside quotes that may be taken for another"),
        ("x –a", "a sign outside quotes that may be taken for another"),
        ("x a\x01", "a character that is not to be seen"),
        ("-x", "a command that begins like an option of the shell"),
        ("+x", "a command that begins like an option of the shell"),
        ("%1", "a job of the shell"),
        (r"\%1", "a job of the shell"),
        ("a; - b", "the word - at the start of a command"),
    ],
)
def test_whatever_is_not_understood_is_refused(text: str, reason: str) -> None:
    assert refused(text) == reason


def test_the_place_of_what_is_refused_is_told() -> None:
    assert read_strictly("git log $x") == Unread("an expansion", 9)
    assert read_strictly("a; b | `c`") == Unread("a command substitution", 8)
    assert read_strictly("x <<E") == Unread("a here-document whose end is not plain", 4)
    assert read_strictly("-a") == Unread("a command that begins like an option of the shell", 0)
    assert read_strictly("(x <<E )") == Unread("a here-document without a body", 8)


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
    assert "pieces" in refused("x " + "''" * (MOST_PIECES + 1))
    assert len(read("( " * 16 + "a" + ")" * 16).commands) == 1
    assert refused("( " * 17 + "a" + ")" * 17) == "commands nested too deep"
