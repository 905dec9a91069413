"""`callgate demo` as a person runs it. What it shows is judged by its events and its text, never by time."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, suppress
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from callgate import Event, from_json, to_json
from callgate.cli.demo.board import Board
from callgate.cli.demo.facts import Fact, World, facts
from callgate.cli.demo.killed.facts import facts_of_lives
from callgate.cli.demo.killed.lives import Lives
from callgate.cli.demo.killed.play import play_killed
from callgate.cli.demo.script import FILES, TITLES, Stage
from callgate.words.events import (
    CallArrived,
    CallSettled,
    CallStarted,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
    TextStreamed,
)

needs_pty = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
COMMAND = (sys.executable, "-m", "callgate", "demo")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Fast, and with a place of its own for temporary files."""
    bare = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CALLGATE_MAX_CONCURRENCY")}
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    return {**bare, **places, "CALLGATE_DEMO_SPEED": "20", "PYTHONUTF8": "1", "TERM": "xterm", **more}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """Everything that one run printed with --json, each line read back without loss."""
    folder = tmp_path_factory.mktemp("json")
    ran = subprocess.run([*COMMAND, "--json"], env=environment(folder), capture_output=True, timeout=100)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert list(folder.iterdir()) == []
    values = [json.loads(line) for line in ran.stdout.splitlines()]
    read = [from_json(Event, value) for value in values]  # pyright: ignore[reportArgumentType]
    assert [to_json(event) for event in read] == values
    return read


def prompts(events: list[Event]) -> list[int]:
    """Where somebody says something: with each the next session begins."""
    said = (n for n, e in enumerate(events) if isinstance(e, MessageAdded) and e.message.role == "user" and not e.about)
    return list(said)


@pytest.fixture(scope="module")
def events(printed: list[Event]) -> list[Event]:
    """Those of the first eight acts, which are one session."""
    return printed[: prompts(printed)[1]]


@pytest.fixture(scope="module")
def killed(printed: list[Event]) -> list[Event]:
    """Those of the session that is killed and taken up again."""
    return printed[prompts(printed)[1] : prompts(printed)[2]]


@pytest.fixture(scope="module")
def changed(printed: list[Event]) -> list[Event]:
    """Those of the session that rewrites code."""
    return printed[prompts(printed)[2] :]


@dataclass(frozen=True)
class Call:
    """One call of the session, with the places of its events."""

    name: str
    subject: str
    turn: str
    started: int | None
    settled: int
    code: str


@pytest.fixture(scope="module")
def calls(events: list[Event]) -> list[Call]:
    def place(kind: type[CallStarted | CallSettled], call_id: str) -> int | None:
        return next((n for n, each in enumerate(events) if isinstance(each, kind) and each.call_id == call_id), None)

    found: list[Call] = []
    for event in events:
        if isinstance(event, CallArrived):
            settled = place(CallSettled, event.call_id)
            assert settled is not None
            last = events[settled]
            assert isinstance(last, CallSettled)
            subject = event.arguments.get("path") or event.arguments.get("command") or ""
            started = place(CallStarted, event.call_id)
            found.append(Call(event.name, subject, event.message_id, started, settled, last.result.code))
    return found


def of_turn(calls: list[Call], number: int) -> list[Call]:
    return [call for call in calls if call.turn == f"a{number}"]


def message_end(events: list[Event], number: int) -> int:
    return next(n for n, e in enumerate(events) if isinstance(e, MessageAdded) and e.message.id == f"a{number}")


def test_three_reads_overlap_while_the_text_still_streams(events: list[Event], calls: list[Call]) -> None:
    reads = of_turn(calls, 1)
    assert [call.code for call in reads] == ["ok"] * 3
    last_start = max(call.started or 0 for call in reads)
    assert last_start < min(call.settled for call in reads)
    end = message_end(events, 1)
    assert any(isinstance(event, TextStreamed) for event in events[last_start:end])


def test_two_edits_run_in_parallel_after_the_message(events: list[Event], calls: list[Call]) -> None:
    edits = of_turn(calls, 2)
    starts = [call.started or 0 for call in edits]
    assert {call.subject for call in edits} == {"prices.py", "README.md"}
    assert message_end(events, 2) < min(starts) < max(starts) < min(call.settled for call in edits)


def test_an_edit_waits_for_the_read_of_its_file_and_for_no_other(calls: list[Call]) -> None:
    read, edit, other = of_turn(calls, 3)
    assert read.subject == edit.subject != other.subject
    assert (edit.started or 0) > read.settled
    assert (other.started or 0) < read.settled


def test_an_approval_shows_the_change_that_is_applied(events: list[Event], calls: list[Call]) -> None:
    kinds = [type(event).__name__ for event in events]
    asked = kinds.index("QuestionAsked")
    (change,) = to_json(events[asked])["question"]["preview"]["files"]
    assert change["path"] == "settings.toml"
    assert kinds.count("QuestionAsked") == kinds.count("QuestionAnswered") == 1
    edit = of_turn(calls, 4)[0]
    assert asked < kinds.index("QuestionAnswered") < (edit.started or 0) < edit.settled
    assert edit.code == "ok"


def test_a_failing_command_cascades(calls: list[Call]) -> None:
    build, checks, edit = of_turn(calls, 5)
    assert checks.code == "tool_error"
    assert build.code == edit.code == "cancelled_by_sibling"
    assert build.started is not None
    assert edit.started is None


def test_an_unknown_tool_is_answered_and_holds_nobody_up(calls: list[Call]) -> None:
    assert [call.code for call in of_turn(calls, 6)] == ["unknown_tool", "ok"]


def test_a_cut_off_message_runs_nothing(calls: list[Call]) -> None:
    cut = of_turn(calls, 7)
    assert [(call.code, call.started) for call in cut] == [("not_run_truncated", None)] * 2


def found_in(events: list[Event], files: dict[int, Any]) -> dict[str, Fact]:
    board = Board(lambda name, arguments: None)
    for event in events:
        board.hear(event)
    return {fact.claim: fact for fact in facts(board, World(files, []))}


def test_the_summary_says_no_where_the_events_say_no(events: list[Event]) -> None:
    files = {turn: {name: text.encode() for name, text in FILES.items()} for turn in range(1, 9)}
    claim = "Three reads overlapped while the text streamed"
    assert found_in(events, files)[claim].holds

    first = next(n for n, e in enumerate(events) if isinstance(e, CallSettled) and e.call_id == "call_1")
    third = next(n for n, e in enumerate(events) if isinstance(e, CallStarted) and e.call_id == "call_3")
    one_by_one = [*events[:third], events[first], *events[third:first], *events[first + 1 :]]
    assert not found_in(one_by_one, files)[claim].holds

    claim = "A truncated message changed nothing"
    assert found_in(events, files)[claim].holds
    assert not found_in(events, {**files, 7: {**files[7], "checks.py": b"changed"}})[claim].holds
    assert not any(fact.holds for fact in found_in([], files).values())


@pytest.mark.spec("TRS-7")
def test_a_killed_session_has_one_result_for_each_call(killed: list[Event]) -> None:
    arrived = [event for event in killed if isinstance(event, CallArrived)]
    assert [event.name for event in arrived] == ["read", "edit", "deploy", "upload", "edit"]
    codes = {event.call_id: event.result.code for event in killed if isinstance(event, CallSettled)}
    assert [codes[event.call_id] for event in arrived] == ["ok", "ok", "outcome_unknown", "ok", "ok"]
    assert sum(isinstance(event, CallSettled) for event in killed) == len(arrived)
    attempts = [[e.attempt for e in killed if isinstance(e, CallStarted) and e.call_id == a.call_id] for a in arrived]
    assert attempts == [[1], [1], [1], [1, 2], [1]]
    asked, again = (event.question for event in killed if isinstance(event, QuestionAsked))
    assert asked.call_id == again.call_id == arrived[4].call_id
    assert asked.preview == again.preview
    assert sum(isinstance(event, QuestionAnswered) for event in killed) == 1


def test_the_act_about_changes_is_there_with_all_its_calls(changed: list[Event]) -> None:
    arrived = [event.name for event in changed if isinstance(event, CallArrived)]
    codes = [event.result.code for event in changed if isinstance(event, CallSettled)]
    assert arrived == ["AstEdit", "resolve", "resolve", "AstEdit", "resolve"]
    assert sorted(codes) == ["ok", "ok", "ok", "ok", "tool_error"]


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Lives:
    """The ninth act alone, with what it leaves in its folder."""
    with chdir(tmp_path_factory.mktemp("killed")):
        for name, text in FILES.items():
            Path(name).write_text(text.replace("USD", "EUR"), encoding="utf-8")
        return asyncio.run(play_killed(Stage(20), "json", StringIO(), calls=0))


def test_what_a_killed_session_shows_holds_and_nothing_of_it_without_one(lives: Lives) -> None:
    assert [fact for fact in facts_of_lives(lives) if not fact.holds] == []
    assert not any(fact.holds for fact in facts_of_lives(Lives(lives.board)))


def start_of(lives: Lives, name: str) -> CallStarted:
    row = lives.board.acts[0].row(name)
    return next(e for e in lives.first if isinstance(e, CallStarted) and e.call_id == row.id)


FILES_BEFORE = {name: text.encode() for name, text in FILES.items()}
SPOILED: dict[str, tuple[str, Callable[[Lives], Lives]]] = {
    "it ended by itself": ("as it was left", lambda it: replace(it, code=0)),
    "nothing was left to do": ("as it was left", lambda it: replace(it, status="idle")),
    "one more was told": (
        "Nothing acknowledged",
        lambda it: replace(it, first=[*it.first, replace(start_of(it, "deploy"), attempt=7)]),
    ),
    "a line is damaged": ("line of the log", lambda it: replace(it, left=replace(it.left, damages=1))),
    "the read ran again": ("had finished", lambda it: replace(it, second=[*it.second, start_of(it, "read")])),
    "the read was told in other words": (
        "had finished",
        lambda it: replace(it, results=[(it.results[0][0], "?"), *it.results[1:]]),
    ),
    "it was deployed twice": ("not repeated", lambda it: replace(it, left=replace(it.left, deployed=["shop"] * 2))),
    "deploying began again": ("not repeated", lambda it: replace(it, second=[*it.second, start_of(it, "deploy")])),
    "there are two keys": (
        "the same key",
        lambda it: replace(it, left=replace(it.left, uploads={**it.left.uploads, "other": ["attempt 2"]})),
    ),
    "it was not asked again": (
        "asked again",
        lambda it: replace(it, second=[e for e in it.second if not isinstance(e, QuestionAsked)]),
    ),
    "the settings are others": ("asked again", lambda it: replace(it, left=replace(it.left, files=FILES_BEFORE))),
    "a result was sent twice": ("one result", lambda it: replace(it, results=[*it.results, it.results[2]])),
}


@pytest.mark.parametrize("what", SPOILED)
def test_the_summary_says_no_where_a_life_went_wrong(lives: Lives, what: str) -> None:
    claim, spoil = SPOILED[what]
    (broken,) = [fact.claim for fact in facts_of_lives(spoil(lives)) if not fact.holds]
    assert claim in broken


def test_a_first_life_that_ends_too_early_is_reported_and_not_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # a module that ends the process before it has begun
    (tmp_path / "sitecustomize.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    with chdir(tmp_path):
        out = StringIO()
        lives = asyncio.run(play_killed(Stage(20), "lines", out, calls=0))
    assert "It did not get where it was to be killed." in out.getvalue()
    assert (lives.code, lives.second) == (3, [])
    assert not any(fact.holds for fact in facts_of_lives(lives))


@pytest.mark.slow
def test_a_promise_that_is_not_kept_makes_the_demo_fail(tmp_path: Path) -> None:
    # One at a time: then nothing can overlap, and the demo must say so.
    ran = subprocess.run(
        COMMAND,
        env=environment(tmp_path, CALLGATE_MAX_CONCURRENCY="1"),
        capture_output=True,
        encoding="utf-8",
        timeout=100,
    )
    assert ran.returncode == 1
    assert "not kept: Three reads overlapped while the text streamed" in ran.stderr
    assert "\n✗ Three reads overlapped" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_there_is_a_line_for_every_change(tmp_path: Path) -> None:
    ran = subprocess.run(COMMAND, env=environment(tmp_path), capture_output=True, encoding="utf-8", timeout=100)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert all(line.isprintable() for line in ran.stdout.splitlines())
    for number, title in TITLES.items():
        assert f"\n{number}. {title}\n" in ran.stdout
    assert re.search(r"#7 edit cart.py +scheduled +waits for #6\n", ran.stdout)
    assert re.search(r"#9 edit settings.toml +awaiting_approval +waits for a yes\n", ran.stdout)
    assert '\n    -currency = "USD"\n    +currency = "EUR"\n' in ran.stdout
    assert re.search(r"\n  Process \d+ was killed: it ended with -?\d+\.\n", ran.stdout)
    for call, before, after in (
        ("read checks.py", "✓ finished", "finished: from cart import total"),
        ("edit README.md", "✓ finished", "finished: Applied"),
        ("deploy shop", "● in the middle", "Outcome unknown: it had started"),
        ("upload prices.py", "● in the middle", r"run again with the same key \(attempt 2\)\n"),
        ("edit settings.toml", r"\? asked", "asked again, then run once\n"),
    ):
        assert re.search(rf"\n #\d\d {call} +{before} +{after}", ran.stdout), call
    assert "✗" not in ran.stdout
    assert re.search(r"^(\d+) of \1 kept", ran.stdout, re.MULTILINE)


def in_terminal(env: dict[str, str], columns: int, rows: int = 24) -> tuple[int, str]:
    """Run it on a pseudo terminal of that size; its exit code and everything it wrote."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    started = subprocess.Popen(COMMAND, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    written = b"".join(_until_closed(ours))
    os.close(ours)
    return started.wait(timeout=100), written.decode()


def _until_closed(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # Linux says so when nobody has the other end open any more
            return
        if not data:
            return
        yield data


def as_seen(written: str, rows: int) -> list[str]:
    """What a terminal with endless history shows in the end. It knows the sequences the demo may use, and no other."""
    lines, at, column = [""], 0, 0
    for piece in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+|.", written):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            at += 1
            lines += [""] * (at + 1 - len(lines))
        elif piece.startswith("\x1b"):
            if up := re.fullmatch(r"\x1b\[(\d+)A", piece):
                assert int(up[1]) < rows, "the live part must fit, or its top could not be redrawn"
                at -= int(up[1])
            elif piece == "\x1b[K":
                lines[at] = lines[at][:column]
            elif piece == "\x1b[J":
                lines[at:] = [lines[at][:column]]
            else:
                assert piece in ("\x1b[?25l", "\x1b[?25h") or re.fullmatch(r"\x1b\[[\d;]*m", piece), repr(piece)
        else:
            assert piece.isprintable(), repr(piece)
            lines[at] = lines[at][:column].ljust(column) + piece + lines[at][column + len(piece) :]
            column += len(piece)
    return lines


@needs_pty
@pytest.mark.parametrize(("columns", "rows"), [(100, 24), (60, 24), (40, 24), (30, 8)])
def test_on_a_terminal_the_live_part_is_redrawn_and_the_rest_stays(tmp_path: Path, columns: int, rows: int) -> None:
    code, written = in_terminal(environment(tmp_path, CALLGATE_DEMO_SPEED="8"), columns, rows)
    assert code == 0
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")
    seen = as_seen(written, rows)
    assert max(len(line) for line in seen) < columns
    for number in range(1, 23):
        assert sum(line.startswith(f"{f'#{number}':>4} ") and "✓" in line for line in seen) <= 1
    for number, title in TITLES.items():
        first = f"{number}. {title}"[: columns // 2].rpartition(" ")[0]
        assert sum(line.startswith(first) for line in seen) == 1, title
    assert sum(line.startswith("✓") for line in seen) == 23
    assert not any(line.startswith("✗") for line in seen)
    assert "● executing" in written
    if columns >= 60:
        assert "┄" in written or columns < 90
        assert any(line.split() == ["call", "status", "lane", "elapsed"] for line in seen)
    assert "● in the middle" in written
    told = "Outcome unknown: it had started when the program ended. Check before repeating it."
    assert told in " ".join(" ".join(seen).split())
    assert list(tmp_path.iterdir()) == []


@needs_pty
@pytest.mark.parametrize("setting", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_that_wants_no_colours_gets_plain_lines(tmp_path: Path, setting: dict[str, str]) -> None:
    code, written = in_terminal(environment(tmp_path, **setting), 60)
    assert code == 0
    assert all(line.isprintable() for line in written.split("\r\n"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize(
    ("until", "sent"),
    [
        ("callgate demo", signal.SIGINT),
        ("callgate demo", signal.SIGTERM),
        ("#11 run python build.py", signal.SIGINT),
        ("#11 run python build.py", signal.SIGTERM),
        ("> Put the shop online.", signal.SIGTERM),
        ("All of this is on disk.", signal.SIGINT),
        ("All of this is on disk.", signal.SIGTERM),
        ("Another one opens its session", signal.SIGINT),
    ],
)
def test_a_signal_in_the_middle_ends_it_and_leaves_nothing_behind(
    tmp_path: Path, until: str, sent: signal.Signals
) -> None:
    started = subprocess.Popen(
        COMMAND,
        env=environment(tmp_path, CALLGATE_DEMO_SPEED="5"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert started.stdout is not None
    for line in started.stdout:
        if until in line:
            break
    else:
        pytest.fail(f"it ended by itself: {started.communicate()[1]}")
    assert [path.name[:14] for path in tmp_path.iterdir()] == ["callgate-demo-"]
    started.send_signal(sent)
    _, complaint = started.communicate(timeout=60)
    assert started.returncode == 128 + sent
    assert complaint == ("callgate: interrupted\n" if sent is signal.SIGINT else "")
    assert list(tmp_path.iterdir()) == []
    assert at_work_in(tmp_path) == []


def at_work_in(folder: Path) -> list[str]:
    """The processes whose current folder is inside, also when it is removed already; where the system tells."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone, or not ours
            if os.readlink(process / "cwd").startswith(str(folder)):
                found.append((process / "cmdline").read_text())
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
def test_the_process_that_is_to_be_killed_does_not_outlive_the_one_that_kills(tmp_path: Path) -> None:
    started = subprocess.Popen(
        COMMAND,
        env=environment(tmp_path, CALLGATE_DEMO_SPEED="5"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert started.stdout is not None
    assert any("All of this is on disk." in line for line in started.stdout)
    started.kill()
    # Both hold the other end of this pipe: it ends when both are gone.
    assert started.communicate(timeout=60)[1] == ""
    assert started.returncode == -signal.SIGKILL
