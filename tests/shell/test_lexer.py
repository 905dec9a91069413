"""The strict reader on commands: how they are joined, redirected, fed and given variables, as bash does it."""

from callgate.shell.command import Redirect, Word
from tests.rows import rows
from tests.shell.lexer_kit import only, read, refused, values


@rows(
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


@rows(
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


@rows(
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


@rows(
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


@rows(
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
