"""A value that looks like an option may be one: programs differ, and a table may be wrong. Then both readings count."""

from callgate.shell.command import Word, names
from callgate.shell.programs.program_arguments import scan, uses_in
from callgate.shell.programs.program_entries import Grammar, Program, options_in
from callgate.shell.programs.uses import Use
from tests.rows import rows
from tests.shell.shell_kit import granted

OPTIONS = "-k= -r=read -o=file -x!run -q --key= --out=file --flag"
RULES = Grammar(Program("p", "text", OPTIONS))


def found(command: str, *, stops: bool = False) -> list[str]:
    rules = Grammar(Program("p", "text", OPTIONS, options_first=stops))
    return [f"{each.name} {each.text}" for each in scan(rules, [Word(text) for text in command.split()])]


@rows(
    ("command", "expected"),
    [
        ("p -k v", ["-k v"]),
        ("p -k -x", ["-k -x", "?-x "]),
        ("p --key -x", ["--key -x", "?-x "]),
        ("p --key --out=f", ["--key --out=f", "?--out f"]),
        ("p --key --out f", ["--key --out", "?--out f", " f"]),
        ("p -k -qx", ["-k -qx", "?-x "]),
        ("p -k -of", ["-k -of", "?-o f"]),
        ("p -k -r f", ["-k -r", "?-r f", " f"]),
        ("p -k -q", ["-k -q"]),
        ("p -k --flag", ["-k --flag"]),
        ("p -k --unknown", ["-k --unknown", "?--unknown "]),
        ("p -k -", ["-k -"]),
        ("p -k -- -x", ["-k --", "-x "]),
        ("p -k", ["-k "]),
        ("p -k-x", ["-k -x"]),
        ("p --key=-x", ["--key -x"]),
        ("p -q -- -x", ["-q ", " -x"]),
        ("p -- -x", [" -x"]),
        ("p a -- -x", [" a", " -x"]),
    ],
)
def test_what_may_be_an_option_is_found_twice(command: str, expected: list[str]) -> None:
    assert found(command) == expected


def test_after_a_wrapper_s_options_the_command_is_its_own() -> None:
    assert found("p -q -- a -x", stops=True) == ["-q ", " a", " -x"]


def test_the_second_reading_tells_what_it_would_do() -> None:
    words = [Word("p"), Word("-k"), Word("--out"), Word("f")]
    expected = Use(role="write", text="f", at=2, on=3, why="--out writes a file", target=True)
    assert uses_in(RULES, scan(RULES, words)) == [expected]


def test_it_is_not_mistaken_for_the_option_itself() -> None:
    rules = Grammar(Program("p", "text read", "-k= -e=read", replaces_first="-e"))
    words = [Word("p"), Word("-k"), Word("-e"), Word("a")]
    assert [each.name for each in scan(rules, words)] == ["-k", "?-e", ""]
    assert uses_in(rules, scan(rules, words)) == [Use("read", "a", 2, 3, granted=True)]


def test_two_dashes_are_as_good_as_one_where_names_have_one() -> None:
    assert options_in("--long=text", "-").keys() == {"-long"}
    assert options_in("--long=text").keys() == {"--long"}
    rules = Grammar(Program("p", "text", "--long=load", long_dash="-"))
    found = scan(rules, [Word("p"), Word("--long=x"), Word("-long=x")])
    assert [each.option is not None for each in found] == [True, True]


@rows(
    "command",
    [
        "git log --unified --output=x",
        "git log -U --output x",
        "git log --format=%G?",
        "git log --pretty=%+GS",
        "git log --pretty='format:%h %-GK'",
        "git log '--format=% GG'",
        "git stash list --format=%G?",
        "git show --pretty=%GF",
        "git branch --format='%(signature)'",
        "git branch --sort=signature",
        "git tag --sort=-signature",
        "git tag --format='%(signature:grade)'",
        "git for-each-ref --format='%(signature)'",
        "git for-each-ref --sort=signature",
        "git merge --verify-signatures x",
        "rg --engine --pre pwn a",
        "rg -e --pre=pwn a",
        "fd -e -x pwn",
        "sort -k -o x a",
        "sort -u -- -o x",
    ],
)
def test_a_value_does_not_hide_what_runs_or_writes(command: str) -> None:
    rule = " ".join(command.split()[: 2 if command.startswith("git") else 1])
    assert not granted(f"{rule}:*", command)


@rows(
    "command",
    [
        "git log --author x -n -1",
        "git log --format=%h",
        "git branch --sort=-committerdate",
        "grep -e -foo a.txt",
        "grep -r -- --flag .",
        "head -n -5 a.txt",
    ],
)
def test_a_value_with_a_dash_is_a_value(command: str) -> None:
    rule = " ".join(command.split()[: 2 if command.startswith("git") else 1])
    assert granted(f"{rule}:*", command)


def test_names_are_words() -> None:
    assert names("a b\n c") == {"a", "b", "c"}
