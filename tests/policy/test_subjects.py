"""What a call is about, found in its arguments and in what the tool declared."""

from dataclasses import replace
from typing import Any

from callgate.policy.subjects import Subject, may_use_paths
from callgate.words.resolved_path import ResolvedPath
from callgate.words.traits import Traits, exclusive, reads, shared, writes
from tests.policy.gate_kit import HOME, ROOT, case_of, place, shell
from tests.rows import rows


def subject(name: str, /, traits: Traits | None = None, **arguments: Any) -> Subject:
    return Subject(case_of(name, arguments, traits=traits), root=ROOT, home=HOME)


def command(text: str, **more: Any) -> Subject:
    return Subject(shell(text, **more), root=ROOT, home=HOME)


def seen(about: Subject) -> set[tuple[str, str]]:
    return {(touch.way, touch.path.resolved) for touch in about.accesses}


def test_the_command_is_the_declared_one_or_else_the_argument_that_looks_like_it() -> None:
    assert subject("Bash", command="ls").command == "ls"
    assert subject("Bash", command=["ls", "-l"]).command == "ls -l"
    assert subject("Bash").command is None
    assert subject("Other", command="ls").command == "ls"
    assert subject("Other", text="ls").command is None
    assert subject("Bash", command=3).analysis is None


def test_another_argument_can_be_read_as_a_command() -> None:
    about = subject("Run", line="ls -l")
    analysis = about.analysis_of("line")
    assert analysis is not None
    assert analysis.text == "ls -l"
    assert about.analysis_of("other") is None
    bash = subject("Bash", command="ls")
    assert bash.analysis_of("command") is bash.analysis


def test_the_effects_are_the_tools_word_except_for_a_declared_command() -> None:
    assert subject("Other", Traits("none"), command="touch x").effects == "mutating", "guessed, against the call"
    assert subject("Other", Traits("mutating"), command="ls").effects == "mutating", "guessed, and not for it"
    assert subject("Other", Traits("none")).effects == "none"
    assert subject("Other", Traits("idempotent")).effects == "idempotent"
    assert subject("Bash", Traits("none"), command="touch x").effects == "mutating"
    assert subject("Bash", Traits("mutating"), command="ls").effects == "none"
    assert subject("Bash", Traits("none"), command=3).effects == "mutating"


def test_a_command_is_in_doubt_when_nobody_can_say_what_it_does() -> None:
    assert command("ls").doubt is None
    unread = subject("Bash", command=3).doubt
    assert unread is not None
    assert unread.kind == "unread"
    interpreter = command("python x.py").doubt
    assert interpreter is not None
    assert interpreter.kind == "interpreter"
    assert subject("Other", command=3).doubt is None


@rows(
    ("text", "why"),
    [
        ("cat a b", None),
        ("cat {a,b}", None),
        ("cat a | grep x", None),
        ("grep git a", None),
        ("cat *.py", "a pattern"),
        ("cat a | grep x *", "a pattern"),
        ("cat $X", "known only when the command runs"),
        ("cat 'a", "known only when the command runs"),
        ("cat < *.py", "a pattern"),
        ("git --version", None),
        ("git status", "does not exist yet"),
        ("git --version && git status", "does not exist yet"),
        ("ls && timeout 5 git log", "does not exist yet"),
    ],
)
def test_what_a_command_hides_is_told(text: str, why: str | None) -> None:
    hidden = command(text).hidden
    assert hidden is None if why is None else why in str(hidden)


def test_a_call_of_another_tool_hides_nothing() -> None:
    assert subject("Read", file_path="*").hidden is None
    assert subject("Bash", command=3).hidden is not None


@rows(
    ("traits", "expected"),
    [
        (Traits(declared_locks=reads("a") | writes("b")), {("read", f"{ROOT}/a"), ("write", f"{ROOT}/b")}),
        (Traits(declared_locks=exclusive | writes("b")), {("write", f"{ROOT}/b")}),
        (Traits(declared_locks=shared), set()),
        (Traits(), set()),
        (Traits("none"), set()),
    ],
)
def test_places_are_those_the_tool_declares(traits: Traits, expected: set[tuple[str, str]]) -> None:
    assert seen(subject("Other", traits, n=3)) == expected


@rows(
    ("text", "expected"),
    [
        ("cat a", {("read", f"{ROOT}/a")}),
        ("rm a", {("remove", f"{ROOT}/a")}),
        ("echo x > a", {("write", f"{ROOT}/a")}),
        ("cat a > /dev/null", {("read", f"{ROOT}/a")}),
        ("cat ~/.ssh/id_rsa", {("read", f"{HOME}/.ssh/id_rsa")}),
        ("rm -rf ~", {("remove", HOME)}),
        ("cat ~other/x", {("read", "/home/other/x")}),
        ("cat ../x", {("read", "/srv/x")}),
        ("cat $HOME/.ssh/id_rsa", {("read", f"{HOME}/.ssh/id_rsa")}),
        ('cat "${HOME}/.ssh/id_rsa"', {("read", f"{HOME}/.ssh/id_rsa")}),
        ("rm -rf $HOME", {("remove", HOME)}),
        ("rm -rf $PWD", {("remove", ROOT)}),
        ('rm -rf "$HOME"/*', {("remove", f"{HOME}/*")}),
        ("echo x > $HOME/.bashrc", {("write", f"{HOME}/.bashrc")}),
        ("cat b $PWD/a", {("read", f"{ROOT}/a"), ("read", f"{ROOT}/b")}),
    ],
)
def test_the_places_of_a_command_are_those_of_its_words(text: str, expected: set[tuple[str, str]]) -> None:
    assert seen(command(text)) >= expected
    assert all(where != "/dev/null" for _, where in seen(command(text)))


def test_only_variables_whose_values_are_known_are_filled_in() -> None:
    assert seen(command("cat $HOMER/a $X/b $HOME/$X")) == set()
    assert seen(command("cat '$HOME'")) == {("read", f"{ROOT}/$HOME")}
    assert ("read", HOME) in seen(command("sh -c 'cat $HOME'"))
    odd = Subject(shell("cat $HOME/a"), root=ROOT, home="/home/a b; c")
    assert seen(odd) == {("read", "/home/a b; c/a")}


def test_a_working_folder_among_the_arguments_is_where_relative_paths_start() -> None:
    assert seen(subject("Bash", command="cat a", cwd="/etc")) == {("read", "/etc/a"), ("read", "/etc")}
    assert seen(subject("Bash", command="cat /a", cwd="/etc")) == {("read", "/a"), ("read", "/etc")}
    assert seen(subject("Bash", command="cat a", cwd=3)) == {("read", f"{ROOT}/a")}
    assert subject("Bash", command="cat a", cwd="sub").resolve_in_shell("b").resolved == f"{ROOT}/sub/b"
    assert subject("Bash", command="cat a", cwd="sub").resolve_in_shell("~/b").resolved == f"{HOME}/b"


def test_what_is_outside_is_told_apart() -> None:
    about = command("cat a /etc/hosts")
    assert [touch.path.resolved for touch in about.outside] == ["/etc/hosts"]


def test_danger_is_told_of_the_first_place_that_has_it() -> None:
    assert subject("Read", file_path="a").danger is None
    assert subject("Write", file_path=".git/config").danger is not None
    assert command("cat ~/.ssh/id_rsa").danger is not None
    assert command("cat a; rm -rf ~").danger is not None


def test_a_path_with_a_fault_is_dangerous() -> None:
    def faulty(path: str) -> ResolvedPath:
        return replace(place(path), fault="a loop of links")

    case = replace(case_of("Read", file_path="a"), resolve_path=faulty)
    assert "a loop of links" in str(Subject(case, root=ROOT, home=HOME).danger)


def test_tools_that_declare_a_written_path_or_show_a_change_edit_files() -> None:
    assert subject("Write").edits_files
    assert not subject("Deploy").edits_files
    shows = case_of("Deploy")
    shows.tool.previews = True  # pyright: ignore[reportAttributeAccessIssue]
    assert Subject(shows, root=ROOT, home=HOME).edits_files


def test_the_host_is_that_of_the_address_to_fetch() -> None:
    assert subject("WebFetch", url="https://Example.com/a").host == "example.com"
    assert subject("WebFetch", url=3).host is None
    assert subject("WebFetch").host is None
    assert subject("Other", url="https://example.com").host == "example.com"
    assert subject("Other", link="https://example.com").host is None


def test_a_tool_answers_to_its_name_and_its_aliases() -> None:
    case = case_of("Shell")
    case.tool.aliases = ("Terminal",)  # pyright: ignore[reportAttributeAccessIssue]
    assert Subject(case, root=ROOT, home=HOME).names == ("Shell", "Terminal")


def test_the_quick_no_is_given_only_where_a_subject_would_find_nothing() -> None:
    names = ("text", "command", "cmd", "url", "path", "files", "cwd")
    values = (1, "", "hello there", "~", "~x", "src", "two\nlines", "x" * 2_000, ["src"], ["a\nb"], {"a": "src"}, {})
    wrong: list[str] = []
    for name in names:
        for value in values:
            case = replace(case_of("Other", {name: value}, traits=Traits("none")), resolve_path=_only_src)
            about = Subject(case, root=ROOT, home=HOME)
            nothing = not about.accesses and about.command is None and about.address is None and about.danger is None
            if not may_use_paths(case) and not nothing:
                wrong.append(f"{name}={value!r}")
    assert not wrong, wrong
    plain = replace(case_of("Other", {"text": "hello there"}, traits=Traits("none")), resolve_path=_only_src)
    assert not may_use_paths(plain), "or the quick no is never given"


def _only_src(path: str) -> ResolvedPath:
    there = path in (".", "src")
    return replace(place(path, None), kind="folder" if there else "missing")
