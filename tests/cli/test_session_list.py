"""``callgate session list``, and what all commands about sessions have in common."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.admin import sessions
from callgate.admin.sessions import ago
from callgate.cli.terminal import width
from tests.cli.session_kit import BAD, ESCAPE, Desk

pytestmark = pytest.mark.spec("TRS-12")

CLAUDE = Path(__file__).parents[1] / "data" / "claude"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


def test_a_folder_without_sessions_says_so_in_words(desk: Desk) -> None:
    assert (
        desk.good("session", "list").out == "No sessions in this folder yet; --all lists the sessions of all folders.\n"
    )
    assert desk.good("session", "list", "--all").out == "No sessions yet.\n"
    assert desk.good("session", "list", "--json").out == ""
    assert not desk.data.exists()


def test_sessions_are_listed_last_used_first_by_title_or_first_prompt(desk: Desk) -> None:
    first, second = desk.session("Fix the tests"), desk.session("", "Look at both.")
    header, *rows = desk.good("session", "list").lines
    assert header.split() == ["id", "used", "msgs", "title"]
    assert [row.split()[0] for row in rows] == [second.stem, first.stem]
    assert rows[0].endswith("now     4  Look at both.")
    assert rows[1].endswith("now     4  Fix the tests")


def test_marks_are_explained_below(desk: Desk) -> None:
    log = desk.unanswered()
    _, row, legend = desk.good("session", "list").lines
    assert row.startswith(f"? {log.stem}")
    assert legend == "? a question waits"
    assert json.loads(desk.good("session", "list", "--json").out)["asking"] is True
    log.write_bytes(b"".join(line for line in log.read_bytes().splitlines(True) if b"question_asked" not in line))
    _, row, legend = desk.good("session", "list").lines
    assert row.startswith(f"* {log.stem}")
    assert legend == "* unfinished"


def test_a_log_that_cannot_be_read_is_in_the_list_with_its_fault(desk: Desk) -> None:
    good = desk.session()
    good.with_name("20250101-000000-00000000.jsonl").symlink_to(good)
    ran = desk.good("session", "list")
    assert "1 log cannot be read:" in ran.out
    assert "! 20250101-000000-00000000: " in ran.out
    assert "is a symbolic link" in ran.lines[-1]
    assert good.stem in ran.out


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 130, 200])
@pytest.mark.parametrize("scope", [(), ("--all",)], ids=["here", "all"])
def test_the_list_fits_the_terminal(columns: int, scope: tuple[str, ...], desk: Desk) -> None:
    desk.session("日本語の長い題名 " * 10)
    desk.session("", "A long prompt, " * 20)
    desk.wide(columns)
    ran = desk.good("session", "list", *scope)
    assert max(map(width, ran.lines)) <= columns
    assert ran.out.count("A long prompt") >= 1
    assert ("work" in ran.out) == bool(scope)


def test_nothing_in_a_list_reaches_the_terminal_as_a_command(desk: Desk) -> None:
    desk.session(f"Title {ESCAPE}", f"Prompt {ESCAPE}")
    desk.session("", f"Prompt {ESCAPE}")
    for words in (("--all",), (), ("--json",)):
        assert not BAD.search(desk.good("session", "list", *words).out)


def test_all_folders_are_listed_on_demand(desk: Desk) -> None:
    here = desk.session("Here")
    desk.go("elsewhere")
    there = desk.session("There")
    assert here.stem not in desk.good("session", "list").out
    found = desk.good("session", "list", "--all")
    assert [line.split()[0] for line in found.lines[1:]] == [there.stem, here.stem]
    assert str(desk.work) in found.lines[1]


def test_a_limit_cuts_the_list_and_says_so(desk: Desk) -> None:
    logs = [desk.session(f"Number {n}") for n in range(3)]
    ran = desk.good("session", "list", "--limit", "1")
    assert logs[2].stem in ran.out
    assert logs[1].stem not in ran.out
    assert ran.lines[-1] == "and 2 more"
    assert len(desk.good("session", "list", "--limit", "2", "--json").lines) == 2


def test_programs_get_a_line_of_json_for_each(desk: Desk) -> None:
    log = desk.session("Fix the tests")
    (line,) = desk.good("session", "list", "--json").lines
    found = json.loads(line)
    assert found["session"] == log.stem
    assert found["path"] == str(log)
    assert found["size"] == log.stat().st_size
    assert (found["title"], found["messages"], found["workspace"]) == ("Fix the tests", 4, str(desk.work))
    assert (found["unfinished"], found["asking"], found["asked"], found["fault"]) == (False, False, [], "")


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        (5, "now"),
        (120, "2 min"),
        (7200, "2 h"),
        (3 * 86400, "3 d"),
        (30 * 86400, "2023-10-15"),
        (-86400, "2023-11-15"),
    ],
)
def test_times_are_short(passed: float, said: str) -> None:
    assert ago(1_700_000_000 - passed, 1_700_000_000) == said


def test_a_time_that_no_calendar_has_is_unknown() -> None:
    assert ago(0.0, 1e9) == ago(1e300, 1e9) == "unknown"


# ---- which session ------------------------------------------------------------------------------------------------


@pytest.mark.spec("TRS-9")
def test_a_session_is_found_by_id_beginning_title_words_and_file(desk: Desk) -> None:
    log = desk.session("Fix the tests", "Why do they fail?")
    desk.session("Another one", "Something else.")
    begun = log.stem if desk.run("session", "lock", log.stem[:15]).code else log.stem[:15]
    for which in (log.stem, begun, "Fix the tests", "why fail", str(log)):
        assert f"session {log.stem}" in desk.good("session", "lock", which).out


@pytest.mark.spec("TRS-9")
def test_a_session_of_another_folder_is_found_by_its_id_or_a_beginning_of_it(desk: Desk) -> None:
    log = desk.session("There")
    desk.go("elsewhere")
    for which in (log.stem, log.stem[:-2]):
        assert log.stem in desk.good("session", "lock", which).out
    mine = desk.session("Here")
    for which in (log.stem, log.stem[:-2]):
        assert log.stem in desk.good("session", "lock", which).out
    assert mine.stem in desk.good("session", "lock").out


@pytest.mark.spec("TRS-9")
@pytest.mark.parametrize("command", [("show",), ("export", "--format", "html"), ("verify",), ("lock",)])
def test_a_session_that_is_not_there_is_one_line_that_says_what_to_do(command: tuple[str, ...], desk: Desk) -> None:
    ran = desk.run("session", *command)
    assert (ran.code, ran.out, ran.err) == (1, "", "callgate: this workspace has no sessions yet\n")
    desk.session("Fix the tests")
    ran = desk.run("session", *command, "Fix the test")
    assert (ran.code, ran.out) == (0, ran.out)
    ran = desk.run("session", *command, "Fyx thy tests")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("did you mean 'Fix the tests'?\n")
    ran = desk.run("session", *command, "nowhere/at/all.jsonl")
    assert (ran.code, ran.err) == (1, "callgate: nowhere/at/all.jsonl cannot be opened: No such file or directory\n")
    desk.go("elsewhere")
    ran = desk.run("session", *command)
    assert ran.err == (
        "callgate: this workspace has no sessions yet; "
        "`callgate session list --all` lists the sessions of all folders\n"
    )


@pytest.mark.parametrize("command", [("session", "show"), ("audit",), ("session", "verify"), ("session", "lock")])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("./", "./ is a folder and no log of a session: give the file of a log"),
        ("/dev/null", "/dev/null is not a regular file and no log of a session: give the file of a log"),
        ("./link", "./link is a symbolic link and no log of a session: give the file it leads to"),
    ],
    ids=["folder", "device", "link"],
)
def test_a_path_that_is_no_file_says_what_to_give_instead(
    command: tuple[str, ...], given: str, said: str, desk: Desk
) -> None:
    (desk.work / "link").symlink_to("elsewhere.jsonl")
    ran = desk.run(*command, given)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"callgate: {said}, or an id (`callgate session list` shows them)\n"


@pytest.mark.parametrize("command", [("session", "show"), ("session", "export", "--format", "html"), ("audit",)])
@pytest.mark.parametrize(
    "data", [b"Dear diary,\nnothing.\n", bytes(range(256)), b"{}\n[]\n"], ids=["text", "bytes", "json"]
)
def test_a_file_that_is_no_log_is_not_an_empty_session(command: tuple[str, ...], data: bytes, desk: Desk) -> None:
    (desk.work / "copy.jsonl").write_bytes(data)
    ran = desk.run(*command, "copy.jsonl")
    said = "callgate: no line of copy.jsonl is valid, so the file is not the log of a session\n"
    assert (ran.code, ran.out, ran.err) == (1, "", said)


@pytest.mark.parametrize("command", [("session", "show"), ("session", "export", "--format", "html"), ("audit",)])
def test_a_transcript_of_claude_code_is_told_how_to_be_taken_in(command: tuple[str, ...], desk: Desk) -> None:
    (desk.work / "my chat.jsonl").write_bytes((CLAUDE / "parallel.jsonl").read_bytes())
    ran = desk.run(*command, "my chat.jsonl")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("transcript of Claude Code: `callgate session import 'my chat.jsonl'` imports it\n")


@pytest.mark.parametrize("command", [("session", "show"), ("session", "export", "--format", "html"), ("audit",)])
def test_a_hint_about_a_file_repeats_the_path_that_was_given(command: tuple[str, ...], desk: Desk) -> None:
    log = desk.session()
    lines = log.read_bytes().splitlines(True)
    (desk.work / "a copy.jsonl").write_bytes(b"".join((*lines[:3], b"junk\n", *lines[3:])))
    ran = desk.run(*command, "./a copy.jsonl")
    assert "see `callgate session verify './a copy.jsonl'`" in ran.out + ran.err


def test_a_beginning_that_several_have_is_not_enough(desk: Desk) -> None:
    logs = sorted((desk.session().stem, desk.session().stem))
    desk.go("elsewhere")
    ran = desk.run("session", "lock", logs[0][:5])
    assert ran.code == 1
    assert "several sessions match" in ran.err
    assert all(log in ran.err for log in logs)


# ---- arguments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("session", "lst"), "callgate session: there is no command 'lst'; did you mean list?"),
        (("sesion", "list"), "callgate: there is no command 'sesion'; did you mean session?"),
        (("adit",), "callgate: there is no command 'adit'; did you mean audit?"),
        (
            ("session", "list", "--al"),
            "callgate session list: --al is not known here, did you mean --all; see callgate session list --help",
        ),
        (
            ("session", "list", "--limit", "0"),
            "callgate session list: argument --limit: must be a whole number above 0, not '0'; "
            "see callgate session list --help",
        ),
        (
            ("session", "show", "--tail", "\x1b"),
            "callgate session show: argument --tail: must be a whole number above 0, not '\\x1b'; "
            "see callgate session show --help",
        ),
        (
            ("session", "export", "--format", "markdwn"),
            "callgate session export: argument --format: there is no 'markdwn'; did you mean markdown?; "
            "see callgate session export --help",
        ),
        (
            ("session", "export", "--format", "html", "--force"),
            "callgate session export: --force requires --output; see callgate session export --help",
        ),
        (
            ("session", "gc", "--older-than", "30"),
            "callgate session gc: argument --older-than: must be a number of hours, days or weeks such as 12h, 30d or "
            "6w, not '30'; see callgate session gc --help",
        ),
        (
            ("session", "verify", "--head", "abc"),
            "callgate session verify: argument --head: must be a head printed by `callgate session verify`, "
            "32 hexadecimal digits, not 'abc'; see callgate session verify --help",
        ),
        (
            ("session", "verify", "--all", "x"),
            "callgate session verify: say --all, or which one; see callgate session verify --help",
        ),
        (
            ("session", "remove"),
            "callgate session remove: the following arguments are required: ID; see callgate session remove --help",
        ),
        (("session", "show", "a", "b"), "callgate session show: b is not known here; see callgate session show --help"),
    ],
    ids=lambda value: "-".join(value)[:30].replace("\x1b", "ESC") if isinstance(value, tuple) else "",
)
def test_a_fault_is_one_line_that_says_what_to_do(words: tuple[str, ...], said: str, desk: Desk) -> None:
    assert desk.run(*words) == (2, "", said + "\n")


NAMES = ["list", "show", "export", "import", "verify", "gc", "remove", "lock"]


def test_every_command_has_help_that_names_the_data_folder(desk: Desk) -> None:
    for words in [("audit",), ("session",), *(("session", name) for name in NAMES)]:
        ran = desk.good(*words, "--help")
        assert ran.out.startswith(f"usage: callgate {' '.join(words)} ")
        assert "$CALLGATE_DATA_DIR" in ran.out
    assert all(f"\n  {name} " in desk.good("session", "--help").out for name in NAMES)
    ran = desk.run("session")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("usage: callgate session ")


def test_help_and_version_load_nothing_heavy(tmp_path: Path) -> None:
    probe = (
        "import sys, contextlib, io\n"
        "from callgate.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    assert main(['--help']) == main(['session', 'export', '--help']) == main(['--version']) == 0\n"
        "heavy = [name for name in sys.modules if name in ('asyncio', 'json', 'pydantic')]\n"
        "print(heavy, [name for name in sys.modules if name.startswith(('callgate.core', 'callgate.transcript'))])\n"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", probe], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("[] []\n", "")


def test_a_reader_that_has_gone_is_no_reason_to_complain(desk: Desk) -> None:
    desk.session()
    for words in (("session", "list"), ("session", "show"), ("session", "export", "--format", "html"), ("audit",)):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "callgate", *words]
        ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=60)
        os.close(writer)
        assert (ran.returncode, ran.stderr) == (0, b"")


def test_an_interrupt_is_one_word_and_130(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(sessions.Archive, "clean", interrupted)
    assert desk.run("session", "gc") == (130, "", "callgate: interrupted\n")
