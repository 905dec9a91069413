"""What stands between the brackets of a shell rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.shell.command_patterns import LONE, matches, parse_pattern, stretch
from tests.rows import rows


@rows(
    ("content", "kind", "pieces"),
    [
        ("git status", "exact", (("git",), ("status",))),
        ("git  status", "exact", (("git",), ("status",))),
        ("git log:*", "prefix", (("git",), ("log",))),
        ("npm run test:*", "prefix", (("npm",), ("run",), ("test",))),
        ("bash -c :", "exact", (("bash",), ("-c",), (":",))),
        ("[[:*", "prefix", (("[[",),)),
        ("npm run *", "wildcard", (("npm",), ("run",), LONE)),
        ("curl https://docs.test/*", "wildcard", (("curl",), ("https://docs.test/", ""))),
        ("a*b*c x", "wildcard", (("a", "b", "c"), ("x",))),
        ("git commit -m 'a; b * c'", "exact", (("git",), ("commit",), ("-m",), ("a; b * c",))),
        ('echo "it\'s" x', "exact", (("echo",), ("it's",), ("x",))),
        ("echo a'b c'd", "exact", (("echo",), ("ab cd",))),
        ("echo ''", "exact", (("echo",), ("",))),
        ("echo a#b", "exact", (("echo",), ("a#b",))),
        ("echo http:x", "exact", (("echo",), ("http:x",))),
        ("*", "wildcard", (LONE,)),
        ("* --version", "wildcard", (LONE, ("--version",))),
        ("'/opt/my app/run' x", "exact", (("/opt/my app/run",), ("x",))),
        ("2=1 x", "exact", (("2=1",), ("x",))),
        ("make A=1", "exact", (("make",), ("A=1",))),
    ],
)
def test_a_pattern_is_exact_a_prefix_or_has_stars(content: str, kind: str, pieces: object) -> None:
    pattern = parse_pattern(content)
    assert (pattern.content, pattern.kind, pattern.pieces) == (content, kind, pieces)


@rows(
    ("content", "says", "at"),
    [
        ("", "is empty", 1),
        ("   ", "is empty", 1),
        (" git", "remove the blank at the beginning or end", 1),
        ("git ", "remove the blank at the beginning or end", 4),
        (":*", "no word before ':*'", 1),
        ("git :*", "remove the blank before ':*'", 4),
        ("git * x:*", "cannot be combined", 5),
        ("git:* status", "only at the end", 4),
        ("ls; rm", "is an operator", 3),
        ("ls && rm", "is an operator", 4),
        ("ls | rm", "is an operator", 4),
        ("ls > x", "is an operator", 4),
        ("ls < x", "is an operator", 4),
        ("(ls)", "groups commands", 1),
        ("ls $x", "starts an expansion", 4),
        ("ls `x`", "starts an expansion", 4),
        ('ls "$x"', "starts an expansion", 5),
        ('ls "`x"', "starts an expansion", 5),
        ("ls \\x", "escapes", 4),
        ('ls "\\x"', "escapes", 5),
        ("ls #x", "starts a comment", 4),
        ("ls 'x", "the quote is not closed", 4),
        ('ls "x', "the quote is not closed", 4),
        ("'' x", "is empty", 1),
        ("ls\nx", "U+000A is not allowed", 3),
        ("ls\tx", "U+0009 is not allowed", 3),
        ("ls\u00a0x", "U+00A0 is not allowed", 3),
        ("ls \u202ex", "U+202E is not allowed", 4),
        ("ls '\u200b'", "U+200B is not allowed", 5),
        ("git log:**", "':*' has only one star", 10),
        ("FOO=1 npm test", "a rule must begin with the program: remove the variable FOO=", 1),
        ("_a2+=x:*", "remove the variable _a2+=", 1),
        ('"git log"', "the name of a program has no blanks: remove the quotes", 1),
        ("'git log':*", "the name of a program has no blanks", 1),
        ("l" * 2001, "longer than 2000", 2001),
    ],
)
def test_what_is_no_pattern_says_what_is_wrong_and_where(content: str, says: str, at: int) -> None:
    with pytest.raises(ValueError) as caught:
        parse_pattern(content)
    assert says in str(caught.value)
    assert str(caught.value).endswith(f", at character {at}")


def test_a_pattern_may_have_two_thousand_characters() -> None:
    assert parse_pattern("l" * 2000).program == "l" * 2000


@rows(
    ("content", "words", "spelled"),
    [
        ("git status", "git status", {0, 1}),
        ("git status", "git status -s", None),
        ("git status", "git", None),
        ("git status", "git log", None),
        ("git status:*", "git status -s", {0, 1}),
        ("git status:*", "git status", {0, 1}),
        ("git status:*", "git statusx", None),
        ("git status:*", "git", None),
        ("npm run *", "npm run build", {0, 1}),
        ("npm run *", "npm run build --x y", {0, 1}),
        ("npm run *", "npm run", None),
        ("npm run *", "npm x run build", None),
        ("git * main", "git push origin main", {0, 3}),
        ("git * main", "git main main", {0, 2}),
        ("git * main", "git main", None),
        ("git * main", "git push main x", None),
        ("a * b * c", "a 1 b 2 b 3 c", {0, 2, 6}),
        ("a * b * c", "a 1 b c", None),
        ("curl https://docs.test/*", "curl https://docs.test/x", {0, 1}),
        ("curl https://docs.test/*", "curl https://docs.test/", {0, 1}),
        ("curl https://docs.test/*", "curl https://docs.test/x -o y", None),
        ("curl https://docs.test/*", "curl https://docs.test@evil/", None),
        ("curl https://docs.test/*", "curl https://docs.test/a/../b", None),
        ("curl https://docs.test/*", "curl https://docs.test/{a,b}", None),
        ("curl https://docs.test/*", "curl https://docs.test/[1-2]", None),
        ("curl https://docs.test/*", "curl https://docs.test/x@y", None),
        ("sort --output=*", "sort --output=x", {0, 1}),
        ("sort -*", "sort -o", {0}),
        ("npm run test-*", "npm run test-unit", {0, 1}),
        ("* --version", "node --version", None),
        ("*", "ls", None),
        ("g* status", "git status", None),
    ],
)
def test_a_pattern_matches_whole_words_and_says_which_it_writes_out(
    content: str, words: str, spelled: set[int] | None
) -> None:
    found = parse_pattern(content).spelled(words.split())
    assert found == (None if spelled is None else frozenset(spelled))


def test_only_a_pattern_that_names_its_program_has_one() -> None:
    assert parse_pattern("git *").program == "git"
    assert parse_pattern("g* x").program is None
    assert parse_pattern("*").everything
    assert not parse_pattern("* x").everything
    assert not parse_pattern("ls").everything


@rows(
    ("piece", "word", "fits"),
    [
        (("a",), "a", True),
        (("a",), "b", False),
        (("a", ""), "abc", True),
        (("a", "c"), "abc", True),
        (("a", "c"), "ac", True),
        (("ab", "bc"), "abc", False),
        (("a", "b", "c"), "axbxc", True),
        (("a", "b", "c"), "axc", False),
        (("a", "b", "b", "c"), "abxc", False),
        (("a", "b", "b", "c"), "abbc", True),
        (("", ""), "", True),
        (("x", ""), "abc", False),
        (("", "x"), "abc", False),
    ],
)
def test_stars_inside_a_word_stay_inside_it(piece: tuple[str, ...], word: str, *, fits: bool) -> None:
    assert matches(piece, word) is fits


def test_a_lone_star_may_be_told_to_take_no_word_at_all() -> None:
    pieces = parse_pattern("rm *").pieces
    assert stretch(pieces, ["rm"], least=0) is not None
    assert stretch(pieces, ["rm"]) is None
    assert stretch(pieces, ["rm", "a", "b"], least=0) is not None


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.lists(st.sampled_from("abc*"), min_size=1, max_size=6)
)
def test_stars_match_what_a_plain_search_says(words: list[str], pattern: list[str]) -> None:
    def fits(pieces: list[str], rest: list[str]) -> bool:
        if not pieces:
            return not rest
        if pieces[0] == "*":
            return any(fits(pieces[1:], rest[count:]) for count in range(1, len(rest) + 1))
        return bool(rest) and pieces[0] == rest[0] and fits(pieces[1:], rest[1:])

    pieces = [LONE if each == "*" else (each,) for each in pattern]
    assert (stretch(pieces, words) is not None) is fits(pattern, words)
