"""``callgate session export`` and ``import``."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.cli import main
from tests.cli.session_kit import Desk

pytestmark = pytest.mark.spec("TRS-12")

CLAUDE = Path(__file__).parents[1] / "data" / "claude"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capsys)


def line(uuid: str, parent: str | None, kind: str, content: object, **more: object) -> str:
    message = {"role": kind, "content": content, **({"id": f"m-{uuid}", "model": "claude-x"} if kind != "user" else {})}
    return json.dumps({"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **more})


# ---- export -------------------------------------------------------------------------------------------------------


def test_a_session_is_exported_in_three_forms(desk: Desk) -> None:
    desk.session("Fix the tests")
    markdown = desk.good("session", "export", "--format", "markdown").out
    assert markdown.startswith("# Fix the tests\n")
    assert "### Call `read`" in markdown
    page = desk.good("session", "export", "--format", "html").out
    assert page.startswith("<!doctype html>")
    assert '<h1 dir="auto">Fix the tests</h1>' in page
    messages = json.loads(desk.good("session", "export", "--format", "ai-sdk").out)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]


def test_the_form_is_asked_for(desk: Desk) -> None:
    desk.session()
    ran = desk.run("session", "export")
    assert (ran.code, ran.out) == (2, "")
    assert "--format" in ran.err


def test_an_export_goes_to_a_file_for_its_owner_alone_and_never_over_another(desk: Desk) -> None:
    desk.session("Fix the tests")
    words = ("session", "export", "--format", "markdown", "-o", "out.md")
    assert desk.good(*words).out == ""
    file = desk.work / "out.md"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == desk.good("session", "export", "--format", "markdown").out
    file.write_text("mine")
    file.chmod(0o644)
    assert desk.run(*words) == (1, "", "callgate: out.md already exists: add --force to replace it\n")
    assert file.read_text() == "mine"
    desk.good(*words, "--force")
    assert file.read_text().startswith("# Fix the tests\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in desk.work.iterdir()) == ["out.md"]


def test_a_file_that_cannot_be_written_is_one_line(desk: Desk) -> None:
    desk.session()
    ran = desk.run("session", "export", "--format", "html", "-o", "missing/out.html")
    assert (ran.code, ran.err) == (1, "callgate: No such file or directory: missing/out.html\n")


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["new", "force"])
@pytest.mark.parametrize("name", ["there", "new/"])
def test_a_folder_is_no_file_to_write_to(name: str, force: tuple[str, ...], desk: Desk) -> None:
    desk.session()
    (desk.work / "there").mkdir()
    ran = desk.run("session", "export", "--format", "html", "-o", name, *force)
    assert (ran.code, ran.err) == (1, f"callgate: {name} is a folder: name a file in it\n")
    assert [path.name for path in desk.work.rglob("*")] == ["there"]


@pytest.mark.spec("GATE-11")
def test_an_export_says_that_lines_are_missing(desk: Desk) -> None:
    log = desk.session("Fix the tests")
    lines = log.read_bytes().splitlines(True)
    log.write_bytes(b"".join((*lines[:5], *lines[6:])))
    ran = desk.run("session", "export", "--format", "markdown")
    assert (ran.code, ran.lines[0]) == (0, "# Fix the tests")
    assert ran.err == f"callgate: lines are missing; see `callgate session verify {log.stem}`\n"


def test_an_export_of_a_damaged_log_says_that_something_is_left_out(desk: Desk) -> None:
    log = desk.session("Fix the tests")
    log.with_suffix(".index").unlink()
    log.write_bytes(b"junk\n" + log.read_bytes())
    ran = desk.run("session", "export", "--format", "markdown")
    assert (ran.code, ran.lines[0]) == (0, "# Fix the tests")
    assert ran.err == (f"callgate: 1 damaged place of the log left out; see `callgate session verify {log.stem}`\n")


def test_a_dash_is_standard_output(desk: Desk) -> None:
    desk.session("Fix the tests")
    assert desk.good("session", "export", "--format", "markdown", "-o", "-").out.startswith("# Fix the tests\n")


def test_an_export_is_utf_8_whatever_the_terminal_speaks(desk: Desk) -> None:
    desk.session("Grün 日本")
    ran = subprocess.run(
        [sys.executable, "-m", "callgate", "session", "export", "--format", "markdown"],
        env={"CALLGATE_DATA_DIR": str(desk.data), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.decode().startswith("# Grün 日本\n")


# ---- import -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(CLAUDE.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_transcript_of_claude_code_becomes_a_session(file: Path, desk: Desk) -> None:
    ran = desk.run("session", "import", str(file))
    if ran.code:
        assert "contains no conversation of Claude Code" in ran.err
        assert not desk.data.exists()
        return
    session = ran.lines[0]
    assert "message" in ran.lines[1]
    assert session in desk.good("session", "list").out
    assert desk.good("session", "verify", session).lines[0] == f"{session}: sound"
    assert desk.good("session", "show", session).code == 0


def test_an_import_says_what_it_took_and_what_it_skipped(desk: Desk) -> None:
    file = desk.work / "chat.jsonl"
    lines = [
        json.dumps({"type": "summary", "summary": "All about it", "leafUuid": "a1"}),
        line("u1", None, "user", "Hello", cwd="/somewhere/else"),
        "not json",
        line("a1", "u1", "assistant", [{"type": "text", "text": "Hi."}]),
    ]
    file.write_text("\n".join(lines) + "\n")
    before = file.read_bytes()
    ran = desk.good("session", "import", "chat.jsonl", "--format", "claude-code")
    session, counts, title, where, skipped, one = ran.lines
    assert counts == "  2 messages, 0 calls, 1 other line left out"
    assert (title, where) == ("  title: All about it", "  recorded in /somewhere/else")
    assert (skipped, one) == ("  skipped 1 line:", "    line 3: not JSON")
    assert file.read_bytes() == before
    shown = desk.good("session", "show", session)
    assert shown.lines[0] == "All about it"
    assert f"from claude-code {file} (/somewhere/else)" in shown.lines
    assert (
        "- From 1970-01-01 00:00:00 UTC to 1970-01-01 00:00:00 UTC"
        in desk.good("session", "export", session, "--format", "markdown").lines
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "chat.jsonl contains no conversation of Claude Code\n"),
        ("\x00\x01", "contains no conversation of Claude Code; 1 lines could not be read, line 1: not JSON\n"),
    ],
    ids=["empty", "junk"],
)
def test_a_file_with_nothing_in_it_leaves_nothing(text: str, said: str, desk: Desk) -> None:
    (desk.work / "chat.jsonl").write_text(text)
    ran = desk.run("session", "import", "chat.jsonl")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith(said)
    assert not desk.data.exists()


def test_a_file_that_is_not_there_is_one_line(desk: Desk) -> None:
    assert desk.run("session", "import", "chat.jsonl") == (1, "", "callgate: No such file or directory: chat.jsonl\n")
    assert main(["session", "import"]) == 2


def test_a_transcript_can_come_from_standard_input(desk: Desk) -> None:
    text = line("u1", None, "user", "Hello") + "\n"
    ran = subprocess.run(
        [sys.executable, "-m", "callgate", "session", "import", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Hello" in desk.good("session", "show", ran.stdout.splitlines()[0]).lines
