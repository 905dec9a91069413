"""The wide reader: every command of any text that bash would take, and parts of texts that it would not."""

import sys

import pytest

from callgate.shell import tree
from callgate.shell.command import Redirect, Script, Simple, Unread, Word
from callgate.shell.tree import MOST_SIGNS, parse_widely
from tests.rows import rows


def read_tree(text: str) -> Script | Unread:
    """Every command of a text that the grammar accepts from end to end."""
    script, unread = parse_widely(text)
    return unread or script


def salvage(text: str) -> Script:
    """The commands that can be made out, even where the text as a whole is not understood."""
    return parse_widely(text)[0]


def read(text: str) -> Script:
    script = read_tree(text)
    assert isinstance(script, Script), script
    return script


def only(text: str) -> Simple:
    (simple,) = read(text).commands
    return simple


def values(script: Script) -> list[list[str | None]]:
    return [[word.value for word in simple.words] for simple in script.commands]


@rows(
    ("text", "words"),
    [
        ("x plain 1 -a", ["x", "plain", "1", "-a"]),
        (r"x a\ b \$c \\", ["x", "a b", "$c", "\\"]),
        ("x 'a b' '' 'c\nd'", ["x", "a b", "", "c\nd"]),
        (r'x "a b" "" "\$ \` \" \\ \n"', ["x", "a b", "", '$ ` " \\ \\n']),
        ('x "a$" "$" $', ["x", "a$", "$", "$"]),
        (r"x $'\a\b\e\E\f\n\r\t\v'", ["x", "\a\b\x1b\x1b\f\n\r\t\v"]),
        (r"x $'\'\"\?\101\x41\u0041\U00000041\q'", ["x", "'\"?AAAA\\q"]),
        (r"x $'\UFFFFFFFF'", ["x", r"\UFFFFFFFF"]),
        ("x a'b'\"c\"\\d", ["x", "abcd"]),
        ("x {a,b}{1..3} {}", ["x", "a1", "a2", "a3", "b1", "b2", "b3", "{}"]),
        ("x {1..999}", ["x", "{1..999}"]),
        ("x a=b HEAD^ x@{1} é", ["x", "a=b", "HEAD^", "x@{1}", "é"]),
        ('x a$"b" c', ["x", None, "c"]),
        (r'x "r"\m "a"\b\c "{a,"\b d', ["x", "rm", "abc", "{a,b", "d"]),
        (r'x "a"\b$y', ["x", None]),
        ("[[ a == @(b|c) ]]", ["[[", "a", "==", "@(b|c)", "]]"]),
        ("[[ a == @(b|$c) ]]", ["[[", "a", "==", None, "]]"]),
        ('x $y "a$y" ${y} a${y}b $(y) `y` $((1)) <(y)', ["x", *[None] * 8]),
        ('x $"a"', ["x", None]),
        ("export A=1 B -x C='a b' D=$x", ["export", "A=1", "B", "-x", "C=a b", None]),
        ("declare -x A= B+=2", ["declare", "-x", "A=", "B+=2"]),
        ("unset a b", ["unset", "a", "b"]),
        ("[ -f x ]", ["[", "-f", "x", "]"]),
        ("[ a = b -a ! c != d ]", ["[", "a", "=", "b", "-a", "!", "c", "!=", "d", "]"]),
        ("[[ -n $x && ( a == b ) ]]", ["[[", "-n", None, "&&", "(", "a", "==", "b", ")", "]]"]),
        ("x > f y 2>&1 z", ["x", "y", "z"]),
        ("x - <<E\nE", ["x", "-"]),
        ("x y - <<-E\nE", ["x", "y", "-"]),
        ("coproc x", ["coproc", "x"]),
        ("x # y", ["x"]),
    ],
)
def test_the_words_of_a_command(text: str, words: list[str | None]) -> None:
    assert values(read(text))[0] == words


def test_how_words_are_marked() -> None:
    words = only("x *.py '*' ~/a '~' {a,b*}").words
    assert words[1:] == (
        Word("*.py", "*.py", globs=True),
        Word("*", "'*'"),
        Word("~/a", "~/a", tilde=True),
        Word("~", "'~'"),
        Word("a", "{a,b*}", braces=True),
        Word("b*", "{a,b*}", braces=True, globs=True),
    )
    assert only("x a$y").words[1] == Word(None, "a$y")


@rows(
    ("text", "commands", "operators"),
    [
        ("a; b & c\nd", ["a", "b", "c", "d"], (";", "&", ";")),
        ("a && b || c", ["a", "b", "c"], ("&&", "||")),
        ("a | b |& c", ["a", "b", "c"], ("|", "|&")),
        ("! a | b", ["a", "b"], ("|",)),
        ("(a; b) && { c; d; }", ["a", "b", "c", "d"], (";", "&&", ";")),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"], (";", ";", ";", ";")),
        ("while a; do b; done", ["a", "b"], (";",)),
        ("until a; do b; done", ["a", "b"], (";",)),
        ("for x in 1 $(a); do b; done", ["a", "b"], (";",)),
        ("for ((; i<$(a); )); do b; done", ["a", "b"], ()),
        ("a[$(b)]=1 c", ["c", "b"], ()),
        ("select x in 1; do a; done", ["a"], ()),
        ("case x in y) a;; z) b;; esac", ["a", "b"], (";",)),
        ("case x in y) a;& z) b;;& *) c;; esac", ["a", "b", "c"], (";", ";")),
        ("case $(a) in y) b;; esac", ["a", "b"], (";",)),
        ("f() { a; b; }", ["a", "b"], (";",)),
        ("function f { a; }", ["a"], ()),
        ("a $(b; c) `d`", ["a", "b", "c", "d"], (";",)),
        ('a "x $(b "$(c)")"', ["a", "b", "c"], ()),
        ("a <(b | c) > >(d)", ["a", "b", "c", "d"], ("|",)),
        ("a ${x:-$(b)} $((1 + $(c)))", ["a", "b", "c"], ()),
        ("A=$(b) a", ["a", "b"], ()),
        ("A=(1 $(b)) a", ["a", "b"], ()),
        ("a <<E\n$(b) $(c)\nE", ["a", "b", "c"], ()),
        ("a <<'E'\n$(b)\nE", ["a"], ()),
        ("a <<< $(b)", ["a", "b"], ()),
        ("a <<E | b && c\nx\nE\nd", ["a", "b", "c", "d"], ("|", "&&", ";")),
        ("a <<E || b\nx\nE", ["a", "b"], ("||",)),
        ("(( $(a) ))", ["a"], ()),
        ("# a\nb", ["b"], ()),
        ("a | # b\nc", ["a", "c"], ("|",)),
        ("a && # b\nc", ["a", "c"], ("&&",)),
        ("a $((1 + 2)) && b", ["a", "b"], ("&&",)),
        ("; ", [], ()),
    ],
)
def test_every_command_is_found(text: str, commands: list[str], operators: tuple[str, ...]) -> None:
    script = salvage(text)
    assert [simple.words[0].value for simple in script.commands] == commands
    assert script.operators == operators


@rows(
    ("text", "within"),
    [
        (
            "a | (b; c) &",
            [("pipe", "background"), ("subshell", "pipe", "background"), ("subshell", "pipe", "background")],
        ),
        ("a & b", [("background",), ()]),
        ("{ a; } | b", [("group", "pipe"), ("pipe",)]),
        ("if a; then b; fi", [("control",), ("control",)]),
        ("while a; do b & done", [("control",), ("background", "control")]),
        ("until a; do b; done", [("control",), ("control",)]),
        ("for x in y; do a; done", [("control",)]),
        ("for ((;;)); do a; done", [("control",)]),
        ("select x in y; do a; done", [("control",)]),
        ("case x in y) a;; esac", [("control",)]),
        ("f() { a; }", [("group", "function")]),
        ("a $(b | c)", [(), ("pipe", "substitution"), ("pipe", "substitution")]),
        ("a <(b)", [(), ("substitution",)]),
        ("a && b 2>&1 | c", [(), ("pipe",), ("pipe",)]),
        ("a | b > f && c", [("pipe",), ("pipe",), ()]),
        ("a |& b", [("pipe",), ("pipe",)]),
        ("a && b <<E | c\nx\nE", [(), ("pipe",), ("pipe",)]),
        ("a | { b; } > f && c", [("pipe",), ("group", "pipe"), ("pipe",), ()]),
        ("(a | b; c) | d", [("pipe", "subshell", "pipe")] * 2 + [("subshell", "pipe"), ("pipe",)]),
        ("a $(b) | c", [("pipe",), ("substitution", "pipe"), ("pipe",)]),
    ],
)
def test_what_a_command_stands_in(text: str, within: list[tuple[str, ...]]) -> None:
    assert [simple.within for simple in salvage(text).commands] == within


@rows(
    ("text", "redirects"),
    [
        ("x > f", [Redirect(">", Word("f", "f"))]),
        ("x 2>> 'a b'", [Redirect(">>", Word("a b", "'a b'"), 2)]),
        ("x 2>&1 >&2", [Redirect(">&", Word("1", "1"), 2), Redirect(">&", Word("2", "2"))]),
        ("x &> f &>> g", [Redirect("&>", Word("f", "f")), Redirect("&>>", Word("g", "g"))]),
        ("x >| f", [Redirect(">|", Word("f", "f"))]),
        ("x >&- y", [Redirect(">&", Word("-", "-"))]),
        ("x <&-", [Redirect("<&", Word("-", "-"))]),
        ("x 3<&0", [Redirect("<&", Word("0", "0"), 3)]),
        ("< f x", [Redirect("<", Word("f", "f"))]),
        ("> f", [Redirect(">", Word("f", "f"))]),
        ("x <<< 'a b'", [Redirect("<<<", Word("a b", "'a b'"))]),
        ("x > $y", [Redirect(">", Word(None, "$y"))]),
        ("x > *", [Redirect(">", Word("*", "*", globs=True))]),
        ("x > ~/f", [Redirect(">", Word("~/f", "~/f", tilde=True))]),
        ("x <<E\na\nE", [Redirect("<<", Word("E", "E"), None, "a\n")]),
        ("x <<'E' >f\n\n a\nE", [Redirect("<<", Word("E", "'E'"), None, "\n a\n"), Redirect(">", Word("f", "f"))]),
        ('x <<-"E"\n\ta\n\t\tb\n\tE', [Redirect("<<-", Word("E", '"E"'), None, "a\nb\n")]),
        ("x <<E\nE", [Redirect("<<", Word("E", "E"), None, "")]),
        ("x 3<<E # c\na\nE", [Redirect("<<", Word("E", "E"), 3, "a\n")]),
        ("$(< f)", [Redirect("<", Word("f", "f"))]),
    ],
)
def test_redirections(text: str, redirects: list[Redirect]) -> None:
    assert [each for simple in read(text).commands for each in simple.redirects] == redirects


def test_a_redirection_behind_a_list_belongs_to_its_last_command() -> None:
    assert [len(simple.redirects) for simple in read("a && b > f").commands] == [0, 1]
    assert [len(simple.redirects) for simple in read("a | ! b > f").commands] == [0, 1]


def test_the_redirections_of_a_compound_command_are_a_command_of_their_own() -> None:
    for text in ("{ a; b; } > f", "(a; b) > f", "while a; do b; done > f"):
        commands = read(text).commands
        assert [len(simple.words) for simple in commands] == [1, 1, 0]
        assert commands[2] == Simple((), (), (Redirect(">", Word("f", "f")),))


def test_words_behind_a_here_document_belong_to_the_command() -> None:
    assert values(read("x <<E y 'z'\na\nE")) == [["x", "y", "z"]]


def test_assignments() -> None:
    assert only("A=1 B='x y' C= D+=2 E=$f F=(1 2) G=~ x").assignments == (
        ("A", Word("1", "1")),
        ("B", Word("x y", "'x y'")),
        ("C", Word("", "")),
        ("D", Word("2", "2")),
        ("E", Word(None, "$f")),
        ("F", Word(None, "(1 2)")),
        ("G", Word("~", "~", tilde=True)),
    )
    assert only("A=1").assignments == (("A", Word("1", "1")),)
    assert only("A=1 B=2").assignments == (("A", Word("1", "1")), ("B", Word("2", "2")))
    assert only("A[0]=1").assignments == (("A[0]", Word("1", "1")),)


@rows(
    "text",
    [
        "x $y",
        'x "$y"',
        "x `y`",
        "x <(y)",
        "x $((1))",
        'x $"y"',
        "A=$y",
        "> $y",
        "x <<E\n$y\nE",
        "export A=$y",
        "[ $y ]",
    ],
)
def test_an_expansion_is_told(text: str) -> None:
    assert read(text).expands


@rows(
    "text", ["x y", "x '$y'", "x *", "x {a,b}", "x ~", "x <<'E'\n$y\nE", "x <<E\ny\nE", "export A=1", "[ a ]", "a | b"]
)
def test_without_an_expansion_none_is_told(text: str) -> None:
    assert not read(text).expands


def test_what_the_grammar_does_not_know_is_unread_and_what_it_does_is_kept() -> None:
    assert read_tree("a; b 'c") == Unread("syntax that the grammar of bash does not contain", 4)
    assert read_tree("é; b )") == Unread("syntax that the grammar of bash does not contain", 5)
    for text in (
        "echo hi; rm -rf x; if then",
        "a `rm -rf x` ( if || b",
        "a a ( `rm -rf x` ;; > |",
        "! ) < < $(rm -rf x) <<E",
    ):
        assert ["rm", "-rf", "x"] in values(salvage(text)), text
    assert read_tree("a <<E\n$(b") != salvage("a <<E\n$(b")


@rows("opening", ["(", "( ", "{ ", "$(", "`", '"$(', "if ", "a=$(", "${a:-", "<(", "[[ ( ", "((", "f() { "])
def test_no_nesting_is_too_deep_to_come_back_from(opening: str) -> None:
    for text in (opening * 3_000, "a " + opening * 3_000 + "b"):
        assert isinstance(read_tree(text), Unread)
        salvage(text)


def test_a_well_formed_nest_that_is_too_deep_is_unread() -> None:
    assert isinstance(read_tree("$(" * 15 + "a" + ")" * 15), Script)
    assert read_tree("$(" * 45 + "a" + ")" * 45) == Unread("commands nested too deeply")


def test_a_long_list_is_not_a_deep_one() -> None:
    assert len(read("a && " * 190 + "b").commands) == 191


def test_limits_are_reached_and_not_passed() -> None:
    assert len(read("a;" * MOST_SIGNS).commands) == MOST_SIGNS
    text = "a;" * (MOST_SIGNS + 1)
    assert read_tree(text) == Unread("too many special characters", len(text) - 1)
    assert len(salvage(text).commands) == MOST_SIGNS + 1
    assert read_tree("a " * 5_000) == Unread("too many parts to check")
    assert read_tree("A=1 " * 150 + "x" + " y" * 3_000) == Unread("too many parts to check")
    assert read_tree("x " + "{1..256} " * 40) == Unread("too many parts to check")
    assert len(salvage("x " + "{1..256} " * 40).commands) == 1


def test_the_grammar_never_sees_a_character_beyond_ascii() -> None:
    assert tree.shadow("a\tb\né\x00\x7f\ud800\U0010ffff\r~") == b"a\tb\n%%%%%%~"
    # With this one, the grammar's own scanner reads behind the end of a table.
    assert values(salvage("x {\U001009bd..1}")) == [["x", "{\U001009bd..1}"]]
    assert values(salvage("rm \ud800 é; 日 'ü'")) == [["rm", "\ud800", "é"], ["日", "ü"]]


@pytest.mark.parametrize("missing", ["tree_sitter", "tree_sitter_bash"])
def test_without_the_packages_nothing_is_read(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    tree.bash_parsers.cache_clear()
    try:
        assert read_tree("ls") == Unread("tree-sitter is not installed: pip install callgate")
        assert salvage("ls") == Script(())
    finally:
        tree.bash_parsers.cache_clear()
