"""The nine clauses of the allow side."""

from posixpath import normpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.shell.analysis import analyse
from callgate.shell.command import Analysis, Redirect, Script, Simple, Word
from callgate.shell.command_grants import FileTests, Granted, NotGranted, grant, within_by_spelling
from callgate.shell.command_patterns import parse_pattern
from tests.rows import rows
from tests.shell.shell_kit import granted, judged

MANY = "the command names too many paths"


def words(text: str) -> tuple[Word, ...]:
    return tuple(Word(each, each) for each in text.split())


def made(*commands: Simple, expands: bool = False) -> Analysis:
    return Analysis("", Script(commands, expands=expands))


def why(rules: str, command: str) -> str:
    answer = judged(rules, command)
    assert isinstance(answer, NotGranted), answer
    return answer.why


@pytest.mark.spec("GATE-14")
def test_every_simple_command_needs_a_rule_unless_it_needs_none_alone() -> None:
    assert granted("make test:* | npm test:*", "make test | npm test")
    assert why("make test:*", "make test | npm test") == "no rule covers npm"
    assert granted("npm test:*", "npm test 2>&1 | tail -20")
    assert granted("npm test:*", "echo start && timeout 60 npm test | grep -v ok | sort | uniq -c")
    assert why("ls:*", "ls | tee out") == "no rule covers tee"
    assert why("npm test:*", "npm test | cat /etc/passwd") == "cat: /etc/passwd is outside the workspace"
    assert why("npm test:*", "npm test && git status") == "no rule covers git"
    assert judged("npm test:*", "ls") == NotGranted("no rule covers the command")
    assert not granted("ls:*", "(ls; pwn)")
    assert not granted("ls:*", "ls\npwn")
    assert not granted("ls:*", "ls & pwn")


def test_the_patterns_that_were_used_are_named_in_order_and_once() -> None:
    assert judged("pwd | wc:* | ls:*", "ls && ls | wc -l") == Granted((1, 2))


def test_the_first_pattern_that_covers_is_the_one_used() -> None:
    assert judged("sort -o out.txt a | sort:*", "sort a") == Granted((1,))
    assert judged("sort:* | sort -o out.txt a", "sort -o out.txt a") == Granted((1,))


def test_the_reason_is_that_of_the_first_rule_that_came_close() -> None:
    assert why("sort:* | sort --output x:*", "sort -o out a") == "sort: -o writes out, which no Edit rule covers"


def test_what_cannot_be_read_is_never_granted() -> None:
    assert why("echo:*", "echo 'x") != ""
    assert why("echo:*", "echo $(ls)")
    broken = Analysis("ls", Script((Simple(words("ls")),)), "a reason")
    assert grant(broken, [parse_pattern("ls")]) == NotGranted("a reason")


def test_an_expansion_is_not_granted_even_where_both_readers_take_it() -> None:
    assert grant(made(Simple(words("ls")), expands=True), [parse_pattern("ls")]) == NotGranted(
        "an expansion is known only when the command runs"
    )
    hidden = Simple((Word("ls"), Word(None, "$x")))
    assert grant(made(hidden), [parse_pattern("ls:*")]) == NotGranted(
        "an expansion is known only when the command runs"
    )


def test_nothing_is_no_command() -> None:
    assert grant(made(), [parse_pattern("ls")]) == NotGranted("the text contains no command")
    assert not granted("ls", "# ls")


@rows("within", ["function", "substitution", "control"])
def test_commands_inside_other_forms_are_not_granted(within: str) -> None:
    simple = Simple(words("ls"), within=(within,))  # pyright: ignore[reportArgumentType]
    assert grant(made(simple), [parse_pattern("ls")]) == NotGranted(
        "a command in a function, a substitution or a control structure"
    )


@rows("within", ["plain", "pipe", "subshell", "group", "background"])
def test_commands_in_pipes_and_groups_are(within: str) -> None:
    simple = Simple(words("ls"), within=(within,))  # pyright: ignore[reportArgumentType]
    assert grant(made(simple), [parse_pattern("ls")]) == Granted((0,))


@rows(
    "program",
    [
        Word(None, "$x"),
        Word("l*", "l*", globs=True),
        Word("ls", "{ls,x}", braces=True),
        Word("~/ls", "~/ls", tilde=True),
    ],
)
def test_the_program_is_a_plain_name(program: Word) -> None:
    answer = grant(made(Simple((program,))), [parse_pattern("ls:*"), parse_pattern("l'*'"), parse_pattern("~/ls")])
    assert isinstance(answer, NotGranted)
    assert "is not a literal name" in answer.why


def test_a_program_in_a_folder_needs_a_rule_that_spells_it() -> None:
    assert not granted("git status:*", "/usr/bin/git status")
    assert not granted("git status:*", "./git status")
    assert granted("./gradlew:*", "./gradlew build")
    assert granted("/usr/bin/git status:*", "/usr/bin/git status")
    assert not granted("/usr/bin/git:*", "/usr/bin/git -c a=b status")


def test_a_glob_never_stands_for_a_word_of_the_rule() -> None:
    assert not granted("echo '*'", "echo *")
    assert granted("echo '*'", "echo '*'")
    assert granted("echo:*", "echo *")


@rows(
    "prefix",
    ["LANG=C", "LC_ALL=en_US.UTF-8", "TZ=Europe/Berlin", "NO_COLOR=1", "CI=true", "TERM=dumb", "GIT_PAGER=cat", "TZ="],
)
def test_a_few_variables_may_be_set_for_a_command(prefix: str) -> None:
    assert granted("git status:*", f"{prefix} git status")


@rows(
    "prefix",
    [
        "PATH=x",
        "LD_PRELOAD=x",
        "GIT_DIR=x",
        "GIT_PAGER=pwn",
        "PAGER=cats",
        "HOME=x",
        "LANG=/x",
        "LANG=../x",
        "TZ=a/../b",
        "LANG=~",
        "LANG=*",
        "IFS=",
        "LANG=C PATH=x",
        "BASH_ENV=x",
        "lang=C",
    ],
)
def test_no_other_variable_may(prefix: str) -> None:
    assert not granted("git status:*", f"{prefix} git status")


def test_a_variable_set_from_something_unknown_is_not_safe() -> None:
    for value in (Word(None, "$x"), Word("a", braces=True)):
        simple = Simple(words("ls"), (("LANG", value),))
        answer = grant(made(simple), [parse_pattern("ls")])
        assert answer == NotGranted("the value of LANG is unknown")


def test_an_assignment_or_a_redirection_alone_is_not_granted() -> None:
    assert why("ls:*", "LANG=C; ls") == "an assignment or a redirection without a command"
    assert why("ls:*", "> /dev/null; ls") == "an assignment or a redirection without a command"


@rows(
    "tail",
    [
        "2>/dev/null",
        ">/dev/null 2>&1",
        "&>/dev/null",
        ">>/dev/null",
        "</dev/null",
        "2>&1",
        ">&2",
        "2>&-",
        "<&0",
        "3<&0",
    ],
)
def test_redirections_to_nothing_and_between_numbers_are_free(tail: str) -> None:
    assert granted("echo:*", f"echo x {tail}")


@rows(
    "tail",
    [">x", ">>x", ">|x", "&>x", "&>>x", ">&x", "<>x", ">~/x", ">/x", ">'a b'", ">/dev/tcp/h/1", "<~", "</x", "<../x"],
)
def test_any_other_target_is_not(tail: str) -> None:
    assert not granted("echo:*", f"echo x {tail}")


def test_an_edit_rule_opens_a_target() -> None:
    def logs(path: str) -> bool:
        return path == "x.log"

    rules = [parse_pattern("echo:*"), parse_pattern("tee:*"), parse_pattern("sort:*")]
    for command in ("echo a > x.log", "echo a >> x.log 2>&1", "echo a | tee x.log", "echo a | tee -a x.log"):
        assert isinstance(grant(analyse(command), rules, FileTests(may_write=logs)), Granted)
    for command in ("sort -o x.log a", "sort --output=x.log a", "echo a >& x.log", "echo a &>> x.log"):
        assert isinstance(grant(analyse(command), rules, FileTests(may_write=logs)), Granted)
    for command in (
        "echo a > y.log",
        "echo a > x.*",
        "tee y.log",
        "tee x.log y.log",
        "sort -o y.log a",
        "sort -T x.log a",
        "echo > ~x.log",
    ):
        assert isinstance(grant(analyse(command), rules, FileTests(may_write=logs)), NotGranted)
    assert isinstance(
        grant(analyse("cd sub && echo a > x.log"), [*rules, parse_pattern("cd:*")], FileTests(may_write=logs)),
        NotGranted,
    )
    assert isinstance(
        grant(analyse("cd sub && tee x.log"), [*rules, parse_pattern("cd:*")], FileTests(may_write=logs)), NotGranted
    )


@rows("mark", ["globs", "tilde", "braces"])
def test_a_target_that_the_shell_fills_in_is_not_known(mark: str) -> None:
    target = Word("x", "x", **{mark: True})
    simple = Simple(words("echo"), redirects=(Redirect(">", target),))
    answer = grant(made(simple), [parse_pattern("echo")], FileTests(may_write=lambda path: True))
    assert answer == NotGranted("the target x of a redirection is unknown")


def test_an_operator_that_nobody_knows_is_refused() -> None:
    simple = Simple(words("echo"), redirects=(Redirect("<&", Word("x")),))
    assert grant(made(simple), [parse_pattern("echo")], FileTests(may_write=lambda path: True)) == NotGranted(
        "the redirection operator <&"
    )


def test_an_absolute_target_after_cd_is_asked_for() -> None:
    rules = [parse_pattern("echo:*"), parse_pattern("tee:*")]

    def anywhere(path: str) -> bool:
        return True

    assert isinstance(grant(analyse("cd sub && echo a > /ws/x"), rules, FileTests(may_write=anywhere)), Granted)


def test_text_for_a_program_that_runs_it_is_never_granted() -> None:
    assert granted("cat:*", "cat <<'E'\nx\nE")
    assert granted("cat:*", "cat <<< x")
    assert not granted("bash:*", "bash <<'E'\npwn\nE")
    assert not granted("python3:*", "python3 <<< 'pwn'")
    assert not granted("echo:* | sh:*", "echo pwn | sh")
    assert not granted("echo:* | sh", "echo pwn | sh")


def test_what_a_rule_writes_out_is_granted() -> None:
    assert granted("sort -o out.txt:*", "sort -o out.txt a.txt")
    assert granted("sort -o out.txt a.txt", "sort -o out.txt a.txt")
    assert not granted("sort -o:*", "sort -o out.txt a.txt")
    assert not granted("sort -o out.txt:*", "sort -o out.txt -T /x a.txt")
    assert granted("cat /etc/hosts", "cat /etc/hosts")
    assert granted("ls /tmp:*", "ls /tmp")
    assert not granted("ls /tmp:*", "ls /tmp /etc")
    assert granted("ls /tmp/*", "ls /tmp/x")
    assert granted("printenv HOME", "printenv HOME")
    assert not granted("env:*", "env")


def test_a_command_inside_another_needs_a_rule_that_spells_it_or_its_own() -> None:
    assert granted("timeout:* | ls:*", "timeout 5 ls")
    assert not granted("timeout:*", "timeout 5 make")
    assert granted("ls:*", "timeout 5 ls")
    assert not granted("ls:*", "timeout 5 pwn")
    assert granted("timeout 5 rg:*", "timeout 5 rg x")
    assert not granted("timeout 5 rg:*", "timeout 5 rg --pre x y")
    assert not granted("sudo:* | ls:*", "sudo ls")
    assert granted("sudo ls:*", "sudo ls -l")
    assert granted("command -v:*", "command -v git")
    assert not granted("command:* | ls:*", "command pwn")


def test_what_gets_more_words_from_elsewhere_must_be_harmless_with_any() -> None:
    assert granted("xargs wc:*", "xargs wc -l")
    assert not granted("xargs rg:*", "xargs rg x")
    assert granted("xargs rg x", "xargs rg x")
    assert not granted("xargs:* | wc:*", "xargs wc")


def test_commands_in_each_other_have_an_end() -> None:
    assert granted("ls", "timeout 1 " * 8 + "ls")
    assert why("ls", "timeout 1 " * 9 + "ls") == "commands are nested too deeply"


def test_a_command_has_at_most_a_thousand_words() -> None:
    few, many = (made(Simple(words("echo" + " a" * count))) for count in (999, 1000))
    assert grant(few, [parse_pattern("echo:*")]) == Granted((0,))
    assert grant(many, [parse_pattern("echo:*")]) == NotGranted("the command has more than 1,000 words")


@rows("command", ["cd src && ls -la", "cd src; cat a.txt", "(cd src && ls)", "cd a && cd b && ls"])
def test_cd_goes_along_with_commands_that_only_read(command: str) -> None:
    assert granted("ls:* | cat:*", command)


@rows(
    "command",
    [
        "cd x && git status",
        "(cd x && git status)",
        "cd x; git status",
        "cd x || git status",
        "cd x && ./run",
        "cd x && rm y",
        "cd x && timeout 5 git status",
        "cd x && unknown y",
        "cd .. && ls",
        "cd / && ls",
        "cd ~ && ls",
        "cd - && ls",
        "cd && ls",
        "cd a* && ls",
        "cd a && cd .. && cd .. && ls",
        "cd a && ls ../..",
        "cd a; cd b; cd c; cd d; ls",
        "cd src",
    ],
)
def test_cd_before_anything_else_asks(command: str) -> None:
    rules = "git status:* | ls:* | make test:* | ./run:* | rm:* | python3:* | unknown:*"
    assert not granted(rules, command)


def test_cd_with_a_rule_of_its_own_is_no_different() -> None:
    assert granted("cd:*", "cd src")
    assert granted("pushd:* | ls:*", "pushd src && ls")
    assert not granted("cd:* | git status:*", "cd x && git status")
    assert granted("cd -", "cd -")
    assert not granted("cd - | ls:*", "cd - && ls")


def test_paths_after_cd_count_from_both_folders() -> None:
    asked: list[str] = []

    def may_read(path: str) -> bool:
        asked.append(normpath(path))
        return True

    answer = grant(analyse("cd a; cat b < c"), [parse_pattern("cat:*")], FileTests(may_read=may_read))
    assert answer == Granted((0,), free=True)
    assert set(asked) == {"a", "b", "a/b", "c", "a/c"}
    asked.clear()
    answer = grant(analyse("cd a && cat b < c"), [parse_pattern("cat:*")], FileTests(may_read=may_read))
    assert answer == Granted((0,), free=True)
    assert set(asked) == {"a", "a/b", "a/c"}


def test_what_a_wrapper_adds_to_a_command_is_not_known() -> None:
    for command in ("xargs sort", "parallel sort", "entr sort"):
        assert not granted(f"{command}:*", command)
        assert granted(f"{command}:*".replace("sort", "echo"), command.replace("sort", "echo"))


def test_an_empty_word_is_no_path() -> None:
    assert granted("cat:*", "cat ''")
    assert not granted("cat:*", "LANG=.. cat a")


def test_whoever_knows_the_folder_may_say_what_is_inside() -> None:
    command = analyse("cat /ws/a.txt")
    assert isinstance(grant(command, [parse_pattern("cat:*")]), NotGranted)
    assert isinstance(
        grant(command, [parse_pattern("cat:*")], FileTests(may_read=lambda path: path.startswith("/ws/"))), Granted
    )
    device = analyse("cat /dev/tcp/h/1 - /dev/null")
    assert isinstance(grant(device, [parse_pattern("cat:*")], FileTests(may_read=lambda path: True)), NotGranted)
    assert isinstance(grant(analyse("cat - /dev/null"), [parse_pattern("cat:*")]), Granted)


def test_the_words_of_an_unknown_program_are_paths_too() -> None:
    assert granted("mytool run a/b", "mytool run a/b")
    for word in ("/etc/x", "~/x", "../x", "--out=/etc/x", "-I/etc", "-o~", "--x=../y", "-f../y"):
        assert not granted("mytool:*", f"mytool {word}")


@rows(
    ("path", "inside"),
    [
        ("a", True),
        ("./a/b", True),
        ("a/../b", True),
        ("a/../../b", False),
        ("..", False),
        ("...", True),
        ("a..b", True),
        ("/a", False),
        ("~", False),
        ("~x", False),
        ("/dev/null", True),
        ("/dev/nullx", False),
        (".*", True),
        (".x", True),
        ("*", True),
        ("", True),
        ("a//../..", False),
    ],
)
def test_a_path_leads_out_by_its_letters(path: str, *, inside: bool) -> None:
    assert within_by_spelling(path) is inside


WORDS = st.lists(
    st.sampled_from("ls git status log -s --output=x -o x.txt src ../y /etc rm find . -exec sort timeout 5".split()),  # noqa: SIM905
    min_size=1,
    max_size=5,
)
RULES = st.lists(
    st.sampled_from(["ls:*", "git status", "git log:*", "git *", "find:*", "sort -o x.txt:*", "timeout:*", "rm *"]),
    max_size=4,
)


@given(WORDS, RULES, st.sampled_from(["ls:*", "git status:*", "sort:*", "timeout 5:*", "* x", "cd:*"]), st.data())
def test_one_more_pattern_never_takes_anything_away(
    spoken: list[str], rules: list[str], more: str, data: st.DataObject
) -> None:
    command = analyse(" ".join(spoken))
    before = grant(command, [parse_pattern(rule) for rule in rules])
    at = data.draw(st.integers(0, len(rules)))
    after = grant(command, [parse_pattern(rule) for rule in [*rules[:at], more, *rules[at:]]])
    if isinstance(before, Granted):
        assert isinstance(after, Granted)


QUOTES = st.sampled_from(["{}", "'{}'", '"{}"', "\\{}", "''{}", '{}""'])


@given(WORDS, RULES, st.data())
def test_requoting_a_word_never_opens_anything(spoken: list[str], rules: list[str], data: st.DataObject) -> None:
    patterns = [parse_pattern(rule) for rule in rules]
    plain = grant(analyse(" ".join(spoken)), patterns)
    quoted = " ".join(data.draw(QUOTES).format(word) for word in spoken)
    again = grant(analyse(quoted), patterns)
    if isinstance(plain, NotGranted):
        assert isinstance(again, NotGranted)


@rows(("names", "answer"), [(187, Granted((0,), free=True)), (188, NotGranted(MANY, by=0))])
def test_names_and_folders_are_looked_at_up_to_a_number(names: int, answer: Granted | NotGranted) -> None:
    command = f"cd a; cd b; cd c; cat {' '.join(['x'] * names)}"
    assert judged("cat:*", command) == answer
