"""PossibleFolders a command runs after ``cd``, and which moves are none."""

import pytest

from callgate.shell.analysis import analyse
from callgate.shell.command import Analysis, Script, Simple, Word
from callgate.shell.command_grants import FileTests, Granted, NotGranted, grant, here_by_spelling
from callgate.shell.command_patterns import parse_pattern
from callgate.shell.folders import PossibleFolders, below, folders_of
from tests.rows import rows
from tests.shell.shell_kit import granted


@rows(
    ("command", "folders"),
    [
        ("x", [""]),
        ("cd a && x", ["a"]),
        ("cd a; x", ["", "a"]),
        ("cd a\nx", ["", "a"]),
        ("cd a || x", ["", "a"]),
        ("cd a & x", ["", "a"]),
        ("cd a | x", ["", "a"]),
        ("cd a |& x", ["", "a"]),
        ("cd a && y && x", ["a"]),
        ("cd a && y | x", ["a"]),
        ("cd a && y |& x", ["a"]),
        ("cd a && y; x", ["a", ""]),
        ("cd a && y || x", ["a", ""]),
        ("cd a && y & x", ["", "a"]),
        ("cd a && cd b && x", ["a/b"]),
        ("cd a && cd b; x", ["a", "a/b", ""]),
        ("cd a && cd .. && x", ["a/..", "."]),
        ("cd a/.. && x", ["a/..", "."]),
        ("cd ~/a/.. && x", ["~/a/.."]),
        ("cd a && cd ~/b && x", ["~/b"]),
        ("cd a && cd /b && x", ["/b"]),
        ("cd -P -- a && x", ["a"]),
        ("pushd a && x", ["a"]),
        ("chdir a && x", ["a"]),
        ("cd && x", ["~"]),
        ("(cd a && y) && x", ["", "a"]),
        ("{ cd a && y; } && x", ["", "a"]),
        ("! cd a && x", ["", "a"]),
        ("cd a* && x", ["", "a*"]),
        ("y && x", [""]),
        ("'cd' a && x", ["a"]),
    ],
)
def test_the_folders_are_those_it_may_be_in(command: str, folders: list[str]) -> None:
    assert folders_of(analyse(command))[-1] == PossibleFolders(tuple(folders))


@rows("command", ["cd - && x", "cd -; x", "pushd +1 && x", "cd -P && x"])
def test_where_a_move_leads_is_not_always_known(command: str) -> None:
    assert folders_of(analyse(command))[-1].lost


def test_what_the_shell_fills_in_may_lead_anywhere_and_the_old_folder_counts() -> None:
    assert folders_of(analyse('cd "$x" && y'))[-1].here == ("", "\0")


def test_a_text_that_was_not_read_to_its_end_says_nothing_about_the_order() -> None:
    script = Script((Simple((Word("cd"), Word("a"))), Simple((Word("x"),))), ("&&",))
    assert folders_of(Analysis("", script))[-1] == PossibleFolders(("a",))
    assert folders_of(Analysis("", script, "a reason", whole=False))[-1] == PossibleFolders(("", "a"))
    assert folders_of(Analysis("", Script((*script.commands, Simple(())), ("&&",))))[1] == PossibleFolders(("", "a"))
    assert folders_of(Analysis("", Script((Simple(()),)))) == [PossibleFolders()]


def test_of_too_many_folders_the_first_and_the_latest_count() -> None:
    few = folders_of(analyse("cd a; cd b; cd c; x"))[-1]
    assert (len(few.here), few.lost) == (8, False)
    many = folders_of(analyse("cd a; cd b; cd c; cd /d; x"))[-1]
    assert many.lost
    assert many.here == ("", "b", "a/b", "c", "a/c", "b/c", "a/b/c", "/d")
    assert folders_of(analyse("cd a; cd b; cd c; cd d; y; x"))[-1].lost


def test_a_path_with_a_tilde_is_not_below_a_folder() -> None:
    assert [below("a", path) for path in ("b", "/b", "~/b", "~", "a~")] == ["a/b", "/b", "~/b", "~", "a/a~"]


@rows(
    ("path", "here"),
    [("", True), (".", True), ("./", True), ("./.", True), ("/", False), ("a", False), ("a/..", False), ("..", False)],
)
def test_by_its_letters_a_folder_is_the_first_one(path: str, *, here: bool) -> None:
    assert here_by_spelling(path) is here


def test_a_move_that_leads_nowhere_else_is_none() -> None:
    assert granted("npm test:*", "cd . && npm test")
    assert granted("git status:*", "cd ./ && git status")
    assert not granted("git status:*", "cd a && git status")
    assert not granted("git status:*", "cd a/.. && git status")


@pytest.mark.spec("GATE-14")
def test_a_folder_of_the_workspace_is_entered_without_a_rule_but_not_for_git_or_a_relative_write() -> None:
    for command in ("cd web && npm test", "cd web && npm test 2>&1 | tail -5", "(cd web && npm test)", "cd a && cat b"):
        assert granted("npm test:* | cat:*", command), command
    for command in ("cd web && git status", "cd web && rm x", "cd web && ./npm test", "cd web && npm test > log"):
        assert not granted("npm test:* | git status:* | rm:* | ./npm:*", command), command
    for command in ("cd .. && npm test", "cd / && npm test", "cd - && npm test", "cd $x && npm test"):
        assert not granted("npm test:*", command), command


@rows(
    "command",
    [
        "cd /ws && npm test",
        "cd /ws; npm test > out",
        "cd /ws/a && cd .. && npm test",
        "npm --prefix /ws test",
        "git -C /ws status",
        "git -C . status",
    ],
)
def test_whoever_knows_the_folder_may_say_which_moves_are_none(command: str) -> None:
    patterns = [parse_pattern(each) for each in ("npm:*", "git:*")]
    answer = grant(
        analyse(command),
        patterns,
        FileTests(may_write=lambda path: True, may_read=lambda path: True, stays=in_workspace),
    )
    assert isinstance(answer, Granted)


def in_workspace(path: str) -> bool:
    return path in ("", ".", "/ws", "/ws/a/..")


def test_whoever_went_elsewhere_does_not_come_back_by_an_option() -> None:
    command = analyse("cd /ws/a && git -C .. status")
    answer = grant(command, [parse_pattern("git:*")], FileTests(may_read=lambda path: True, stays=in_workspace))
    assert answer == NotGranted("the command changes the folder and then runs git", by=0)


@rows(
    ("rule", "command"),
    [
        ("git:*", "git -C a status"),
        ("make:*", "make -C a"),
        ("make:*", "make --directory=a"),
        ("npm:*", "npm --prefix a test"),
        ("pnpm:*", "pnpm --dir a test"),
        ("pnpm:*", "pnpm -C a test"),
        ("yarn:*", "yarn --cwd a test"),
        ("cargo:*", "cargo -C a test"),
        ("go:*", "go test -C a"),
        ("terraform:*", "terraform -chdir=a plan"),
    ],
)
def test_a_program_that_works_in_another_folder_is_granted_with_it(rule: str, command: str) -> None:
    patterns = [parse_pattern(rule)]
    assert isinstance(grant(analyse(command), patterns), NotGranted)
    inside = grant(analyse(command), patterns, FileTests(stays=lambda path: path in ("", "a")))
    assert isinstance(inside, Granted)
    assert isinstance(grant(analyse(command), [parse_pattern(command)]), Granted)


@rows(("letters", "lost"), [(200, False), (201, True)])
def test_a_folder_whose_name_takes_long_to_read_is_not_followed(letters: int, lost: bool) -> None:
    folder = "a" * letters
    assert folders_of(analyse(f"cd {folder}; x"))[1] == PossibleFolders(("",) if lost else ("", folder), lost)
