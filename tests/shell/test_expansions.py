"""What a command may come to where its variables are known."""

from callgate.shell.analysis import analyse
from callgate.shell.expansions import known_expansions
from tests.rows import rows


def texts(command: str) -> list[str]:
    return [each.text for each in known_expansions(analyse(command))]


@rows(
    ("command", "expected"),
    [
        ("rm $HOME", "rm ~"),
        ("rm ${HOME}/x", "rm ~/x"),
        ('rm "${HOME:?}"', 'rm "~"'),
        ("rm ${HOME:?not set}", "rm ~"),
        ("rm ${HOME:-/}", "rm ~"),
        ("rm ${HOME%/}/x", "rm ~/x"),
        ("rm $PWD", "rm ."),
        ("rm ${PWD:?}", "rm ."),
        ('rm "$(pwd)"', 'rm "."'),
        ("rm $( pwd -P )", "rm ."),
        ("rm `pwd`/x", "rm ./x"),
        ("rm $(git rev-parse --show-toplevel)", "rm ."),
        ("rm ~+", "rm ."),
        ("rm ~+/x", "rm ./x"),
        ("dd of=$HOME/.bashrc", "dd of=~/.bashrc"),
        ("sh -c 'cat $HOME/a'", "sh -c 'cat ~/a'"),
        ("cat $(echo ~/a)", "cat ~/a"),
        ("cat $(printf %s ~/a)", "cat ~/a"),
        ("cat `echo -n a`", "cat a"),
        ("f=~/a; cat $f", "f=~/a; cat ~/a"),
        ("f=a; cat ${f}/b ${f:-c}", "f=a; cat a/b a"),
        ("export f=a; cat $f", "export f=a; cat a"),
        ("f=$HOME/a; g=$f/b; cat $g", "f=~/a; g=~/a/b; cat ~/a/b"),
    ],
)
def test_what_is_known_is_filled_in(command: str, expected: str) -> None:
    assert texts(command) == [expected]


def test_each_word_of_a_loop_is_a_reading_of_its_own() -> None:
    assert [each.rpartition(" cat ")[2] for each in texts("for f in a 'b'; do cat $f; done")] == ["a; done", "b; done"]
    many = " ".join(f"n{number}" for number in range(50))
    assert len(texts(f"for f in {many}; do cat $f; done")) == 8


@rows(
    "command",
    [
        "cat a",
        "cat $x",
        "cat $HOMER $1 ${HOME:+x}",
        "cat a~+ ~+x",
        "f='a;b'; cat $f",
        "f=$(date); cat $f",
        "printenv f=a; cat $f",
        "for f in $(ls); do cat $f; done",
        "cat $HOME" + " " * 20_000,
    ],
)
def test_what_is_not_known_stays(command: str) -> None:
    assert texts(command) == []


def test_values_made_of_each_other_have_an_end() -> None:
    assert len(texts("a=$b$b; b=$a$a; cat $a")) <= 1
    assert texts("a=x; b=$a; c=$b; d=$c; e=$d; cat $e") == ["a=x; b=x; c=x; d=x; e=$d; cat $e"]
    long = "x" * 399
    assert all(len(each) < 30_000 for each in texts(f"a={long}; cat " + "$a" * 60))


@rows("command", ["cat '$HOME'", 'cat "\\$HOME"', "cat \\$\\H\\O\\M\\E", "echo '`pwd`' '~+'"])
def test_what_is_quoted_comes_to_nothing_else(command: str) -> None:
    assert texts(command) == []


@rows("command", ["sh -c 'rm $HOME'", "eval 'rm $HOME'", "watch 'rm $HOME'"])
def test_what_is_quoted_for_another_shell_does(command: str) -> None:
    assert texts(command) == [command.replace("$HOME", "~")]
