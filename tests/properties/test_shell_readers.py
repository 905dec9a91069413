"""What both readers agree on is what bash does: random commands, accepted ones really run and told by what ran.

Nothing is found on the PATH there, so every program ends in bash's own hook for that, which notes its arguments.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from callgate.shell.analysis import analyse
from callgate.shell.command import Redirect, Script, Simple, Word

BASH = shutil.which("bash")

NOTES = """command_not_found_handle() { printf '%s\\0' "$@" > "$NOTED/$BASHPID"; [[ $1 != b* ]]; }\n"""

Argv = tuple[str, ...]


class Bash:
    """Runs commands in an empty folder."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.notes = base / "notes"
        self.notes.write_text(NOTES, encoding="utf-8")

    def ran(self, text: str) -> list[Argv]:
        """The arguments of every program that was started, in no order; those in the background are waited for."""
        with tempfile.TemporaryDirectory(dir=self.base) as folder:
            noted, work = Path(folder, "noted"), Path(folder, "work")
            noted.mkdir()
            work.mkdir()
            ended, running = os.pipe()
            environment = {
                "PATH": str(work / "nowhere"),
                "HOME": str(work),
                "LC_ALL": "C.UTF-8",
                "BASH_ENV": str(self.notes),
                "NOTED": str(noted),
            }
            try:
                subprocess.run(
                    [BASH or "bash", "--norc", "--noprofile", "-c", text],
                    cwd=work,
                    env=environment,
                    pass_fds=(running,),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    check=False,
                )
            finally:
                os.close(running)
            os.read(ended, 1)  # Comes to an end when the last process has closed the other side.
            os.close(ended)
            found = [path.read_bytes().decode("utf-8").split("\0")[:-1] for path in noted.iterdir()]
            return sorted(tuple(argv) for argv in found)


@pytest.fixture(scope="module")
def bash() -> Iterator[Bash]:
    if BASH is None:
        if os.environ.get("CALLGATE_REQUIRE_TOOLS") == "1":
            pytest.fail("there is no bash (CALLGATE_REQUIRE_TOOLS=1)")
        pytest.skip("there is no bash to compare with")
    with tempfile.TemporaryDirectory() as base:
        yield Bash(Path(base))


def explains(words: Sequence[Word], argv: Argv, matches: bool) -> bool:
    """Whether these words may have become these arguments. With ``matches``, there are files for globs to find."""
    if not words:
        return not argv
    word = words[0]
    if word.globs and matches:
        return any(explains(words[1:], argv[count:], matches) for count in range(1, len(argv) + 1))
    return bool(argv) and (word.tilde or word.value == argv[0]) and explains(words[1:], argv[1:], matches)


def all_explained(commands: list[Simple], ran: list[Argv], matches: bool) -> bool:
    if not ran:
        return True
    return any(
        (explains(simple.words, ran[0], matches) or explains(run_by_bash(simple.words), ran[0], matches))
        and all_explained(commands[:index] + commands[index + 1 :], ran[1:], matches)
        for index, simple in enumerate(commands)
    )


def told(script: Script) -> list[list[str | None]]:
    return [[word.value for word in simple.words] for simple in script.commands]


def run_by_bash(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The word ``time``, read as a program here, is a word of bash's own at the beginning of a pipeline, and so is its
    option."""
    if not words or words[0].raw != "time":
        return words
    return words[2:] if [word.raw for word in words[1:2]] == ["-p"] else words[1:]


def check(bash: Bash, text: str) -> None:
    analysis = analyse(text)
    if analysis.fault:
        return
    script = analysis.script
    ran = bash.ran(text)
    note(f"{text!r} was read as {told(script)}; bash ran {ran}")
    redirects = [redirect for simple in script.commands for redirect in simple.redirects]
    assert all_explained([*script.commands], ran, bool(redirects))
    programs = [words[0] for simple in script.commands if (words := run_by_bash(simple.words))]
    if "|" in script.operators and any(run_by_bash(simple.words) != simple.words for simple in script.commands):
        return  # behind a pipe it may be a program
    if not redirects and not {"&&", "||"} & set(script.operators) and not any(word.tilde for word in programs):
        assert len(ran) == sum(1 for word in programs if word.value not in BUILTINS)


# The hook is not asked about these.
BUILTINS = ("export", "alias", "declare", ":", "[")

SNIPPETS = (
    *("aa", "bb", "cc", "é", "1", "2", "-", "-n", "E", "a,b", "..", ":", "@", "%", "+", "^", ",", "x"),
    *(" ", " ", " ", "\t", "\n", ";", "&", "&&", "||", "|", "|&", "(", ")", "{", "}", "{ ", "; }", "! ", "!"),
    *("'", "'", '"', '"', "\\", "$", "`", "#", " #", "''", '""', "$'", "\\n", "\\x41", "\\101", "$(", "${", "$aa"),
    *("<", "<<", "<<<", "<<-", "<&", "<>", ">", "&>", ">&", ">|", "2>&1", "2>", ">&2", "{x}>", "<<E\n", "<<'E'\n"),
    *("\nE\n", "\nE", "*", "?", "[", "]", "[ ", " ]", "~", "=", "==", " = ", "+=", "A=", "A=1 ", "A[1]="),
    *("{a,b}", "{1..3}", "{}", "{0}", "if ", "then ", "fi", "[[ ", " ]]", "time ", "export ", "alias ", "declare "),
)
texts = st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=14).map("".join)
commands = st.builds(str.__add__, st.sampled_from(["aa ", "bb ", "cc "]), texts)


@given(st.one_of(texts, commands))
def test_what_is_read_in_random_snippets_is_what_bash_runs(bash: Bash, text: str) -> None:
    check(bash, text)


LETTERS = "ab1 .,:;&|<>(){}[]*?~=^!#$`'\"\\\n\t-+%@é"

values = st.text(LETTERS, max_size=6)


@st.composite
def quoted(draw: st.DrawFn, value: str) -> str:
    """The value in one of the ways to write it so that nothing in it means anything."""
    ways = ["'" + value.replace("'", "'\\''") + "'"]
    if not set(value) & set("\n"):
        ways.append('"' + "".join("\\" + letter if letter in '$`"\\' else letter for letter in value) + '"')
        # The grammar stumbles over some blanks behind a backslash, which is a fault and nothing worse.
        if value and not set(value) & set(" \t"):
            ways.append("".join(letter if letter.isalnum() else "\\" + letter for letter in value))
    escapes = {"'": "\\'", "\n": "\\n", "\t": "\\t"}
    # … and over a backslash at the end of a $'…'.
    if value.isascii() and "\\" not in value:
        ways.append("$'" + "".join(escapes.get(letter, letter) for letter in value) + "'")
    return draw(st.sampled_from(ways))


@st.composite
def words(draw: st.DrawFn) -> tuple[str, Word]:
    """A word as written, and as it must be read."""
    kind = draw(st.sampled_from(["plain", "quoted", "both", "glob"]))
    if kind == "plain":
        text = draw(st.sampled_from(["aa", "-x", "a.b/c", "a=b", "--a=b,c", "é", "HEAD^", "x@{1}", "{}", "a#b"]))
        return text, Word(text)
    if kind == "glob":
        text = draw(st.sampled_from(["*.py", "?", "[ab]", "a*"]))
        return text, Word(text, globs=True)
    value = draw(values)
    text = draw(quoted(value))
    return (text, Word(value)) if kind == "quoted" else (f"a{text}b", Word(f"a{value}b"))


@st.composite
def simples(draw: st.DrawFn) -> tuple[str, Simple]:
    program = draw(st.sampled_from(["aa", "bb", "cc"]))
    arguments = draw(st.lists(words(), max_size=3))
    redirect = draw(st.sampled_from([None, ("2>&1", ">&", "1", 2), ("> out", ">", "out", None)]))
    blank = draw(st.sampled_from([" ", "  ", "\t"]))
    text = blank.join([program, *(written for written, _ in arguments)])
    if redirect is None:
        return text, Simple((Word(program), *(word for _, word in arguments)))
    written, operator, target, fd = redirect
    redirects = (Redirect(operator, Word(target), fd),)
    return f"{text} {written}", Simple((Word(program), *(word for _, word in arguments)), (), redirects)


def plainly(simple: Simple) -> Simple:
    """Without what stands in the text but not in the meaning."""
    return Simple(
        tuple(Word(word.value, "", word.globs, word.braces) for word in simple.words),
        simple.assignments,
        tuple(Redirect(each.operator, Word(each.target.value), each.fd) for each in simple.redirects),
    )


@given(st.lists(st.tuples(simples(), st.sampled_from([" && ", " || ", "; ", "\n", " | ", "&&", "|"])), min_size=1))
def test_what_is_built_from_plain_parts_is_read_as_built(
    bash: Bash, parts: list[tuple[tuple[str, Simple], str]]
) -> None:
    text = "".join(
        written + (joint if index < len(parts) - 1 else "") for index, ((written, _), joint) in enumerate(parts)
    )
    analysis = analyse(text)
    if "\n" in text and "|" in text and ("jumps over" in (fault := analysis.fault or "") or "two ways" in fault):
        return  # The grammar takes the newline of `a && b | c | d⏎e && f` for a blank; the other reader does not.
    assert analysis.fault is None
    assert [plainly(simple) for simple in analysis.script.commands] == [simple for (_, simple), _ in parts]
    joints = [joint.strip(" ").replace("\n", ";") for _, joint in parts[:-1]]
    assert list(analysis.script.operators) == joints
    check(bash, text)


@given(st.text(), st.integers(1, 400))
def test_no_text_is_too_strange_to_be_looked_at(text: str, times: int) -> None:
    for each in (text, text * times):
        analysis = analyse(each)
        assert analysis.text == each
        assert analysis.fault is not None or analysis.whole


@given(st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join), st.integers(1, 60))
def test_no_snippet_is_too_strange_to_be_repeated(text: str, times: int) -> None:
    assert analyse(text * times).text == text * times
