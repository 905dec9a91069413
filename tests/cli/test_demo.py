"""`callgate demo` as a person runs it: JSON, lines in a terminal, exit codes and signals."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from callgate import Event
from callgate.formats.jsonable import from_json, to_json
from callgate.words.events import (
    CallArrived,
    CallSettled,
    CallStarted,
    MessageAdded,
    QuestionAnswered,
    QuestionAsked,
)
from examples.demo import PLAYS

COMMAND = (sys.executable, "-m", "callgate", "demo")
BEGINNING = 8
"""Lines from the start of the demo, some of them in colours."""
on_unix = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals, other signals")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Fast, and with a place of its own for temporary files."""
    unset = ("NO_COLOR", "COLUMNS", "CALLGATE_MAX_CONCURRENCY")
    bare = {name: value for name, value in os.environ.items() if name not in unset}
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    return {**bare, **places, "CALLGATE_DEMO_SPEED": "20", "PYTHONUTF8": "1", "TERM": "xterm", **more}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[list[Event]]:
    """The events that one run printed with --json, each line read back without loss, one list a prompt."""
    folder = tmp_path_factory.mktemp("json")
    ran = subprocess.run([*COMMAND, "--json"], env=environment(folder), capture_output=True, timeout=100)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert list(folder.iterdir()) == []
    values = [json.loads(line) for line in ran.stdout.splitlines()]
    events = [from_json(Event, value) for value in values]  # pyright: ignore[reportArgumentType]
    assert [to_json(event) for event in events] == values
    prompts = [n for n, e in enumerate(events) if isinstance(e, MessageAdded) and e.message.role == "user"]
    prompts = [n for n in prompts if to_json(events[n]).get("about") is None]
    return [events[begin:end] for begin, end in zip(prompts, [*prompts[1:], None], strict=True)]


def test_json_is_the_events_of_all_sessions_with_one_result_for_each_call(sessions: list[list[Event]]) -> None:
    found = [
        [
            (
                arrived.name,
                [each.result.code for each in events if isinstance(each, CallSettled) and each.call_id == id],
            )
            for arrived in events
            if isinstance(arrived, CallArrived) and (id := arrived.call_id)
        ]
        for events in sessions
    ]
    cancelled, cut = ["cancelled_by_sibling"], ["not_run_truncated"]
    reads_and_edits = [(name, ["ok"]) for name in ("read", "read", "read", "edit", "edit", "read", "edit", "read")]
    streaming = [
        *(*reads_and_edits, ("edit", ["ok"]), ("read", ["ok"])),
        *(("run", cancelled), ("run", ["tool_error"]), ("edit", cancelled)),
        *(("raed", ["unknown_tool"]), ("read", ["ok"]), ("edit", cut), ("edit", cut)),
    ]
    killed = ["ok", "ok", "outcome_unknown", "ok", "ok"]
    rewrite = [("resolve", ["tool_error"]), ("resolve", ["ok"]), ("AstEdit", ["ok"]), ("resolve", ["ok"])]
    assert found == [
        streaming,
        [(name, [code]) for name, code in zip(("read", "edit", "deploy", "upload", "edit"), killed, strict=True)],
        [("AstEdit", ["ok"]), *rewrite],
    ]


@pytest.mark.spec("TRS-7")
def test_a_killed_session_repeats_what_may_be_repeated_and_asks_again(sessions: list[list[Event]]) -> None:
    events = sessions[1]
    arrived = [event for event in events if isinstance(event, CallArrived)]
    attempts = [[e.attempt for e in events if isinstance(e, CallStarted) and e.call_id == a.call_id] for a in arrived]
    assert attempts == [[1], [1], [1], [1, 2], [1]]
    asked, again = (event.question for event in events if isinstance(event, QuestionAsked))
    assert asked.call_id == again.call_id == arrived[4].call_id
    assert asked.preview == again.preview
    assert sum(isinstance(event, QuestionAnswered) for event in events) == 1


def in_terminal(env: dict[str, str], *options: str, most: int = 10**9) -> tuple[int, list[str]]:
    """Runs it on a pseudo terminal of 60 columns, until it has written so many bytes; its exit code and its lines."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    command = [*COMMAND, "--lines", *options]
    started = subprocess.Popen(command, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    written = b""
    for data in until_closed(ours):
        if len(written) < most <= len(written) + len(data):
            started.terminate()  # once: a second signal may arrive while the event loop closes
        written += data
    os.close(ours)
    return started.wait(timeout=100), written.decode(errors="ignore").removesuffix("\r\n").split("\r\n")


def until_closed(descriptor: int) -> Iterator[bytes]:
    with suppress(OSError):  # Linux: nobody has the other end open any more
        while data := os.read(descriptor, 65536):
            yield data


@on_unix
def test_a_terminal_of_60_columns_shows_every_heading_and_claim_in_colours(tmp_path: Path) -> None:
    code, lines = in_terminal(environment(tmp_path))
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    assert code == 0
    assert lines[:BEGINNING] != plain[:BEGINNING]
    assert [line for line in plain if not line.isprintable() or len(line) >= 60] == []
    text = " ".join(" ".join(plain).split())
    assert [each for play in PLAYS for each in play.titles.values() if each not in text] == []
    assert [claim for play in PLAYS for claim, _ in play.claims if f"✓ {claim}: " not in text] == []
    assert "✗" not in text
    assert "23 of 23 kept" in text
    assert list(tmp_path.iterdir()) == []


@on_unix
@pytest.mark.parametrize(("setting", "options"), [({"NO_COLOR": "1"}, ()), ({}, ("--no-color",))], ids=str)
def test_no_colours_where_none_are_wanted(tmp_path: Path, setting: dict[str, str], options: tuple[str, ...]) -> None:
    _, lines = in_terminal(environment(tmp_path, **setting), *options, most=BEGINNING * 60)
    assert len(lines) > BEGINNING
    assert [line for line in lines if not line.isprintable() or len(line) >= 60] == []


@pytest.mark.slow
def test_a_claim_that_does_not_hold_makes_the_demo_fail(tmp_path: Path) -> None:
    # One call at a time: nothing can overlap, and the demo must say so.
    env = environment(tmp_path, CALLGATE_MAX_CONCURRENCY="1")
    ran = subprocess.run(COMMAND, env=env, capture_output=True, encoding="utf-8", timeout=100)
    assert ran.returncode == 1
    assert "callgate demo: not kept: Three reads overlap while the text streams: " in ran.stderr
    assert "\n✗ Three reads overlap" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def started(folder: Path, until: str) -> subprocess.Popen[str]:
    """The demo at the moment when it has printed this text."""
    env = environment(folder, CALLGATE_DEMO_SPEED="2")
    process = subprocess.Popen(COMMAND, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    if not any(until in line for line in process.stdout):
        pytest.fail(f"it ended by itself: {process.communicate()[1]}")
    return process


def processes_in(folder: Path) -> list[str]:
    """The processes whose current folder is inside, also when it is removed already, as far as the system tells."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone, or of another user
            if os.readlink(process / "cwd").startswith(str(folder)):
                found.append((process / "cmdline").read_text())
    return found


@on_unix
@pytest.mark.parametrize(
    ("until", "sent"),
    [
        ("callgate demo", signal.SIGTERM),
        ("run python build.py      started", signal.SIGINT),
        pytest.param("The log is on disk.", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("a colleague adds a line", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_a_signal_in_the_middle_ends_it_and_leaves_nothing_behind(
    tmp_path: Path, until: str, sent: signal.Signals
) -> None:
    process = started(tmp_path, until)
    assert [path.name[:14] for path in tmp_path.iterdir()] == ["callgate-demo-"]
    process.send_signal(sent)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert complaint == ("callgate: interrupted\n" if sent is signal.SIGINT else "")
    assert list(tmp_path.iterdir()) == []
    assert processes_in(tmp_path) == []


@pytest.mark.slow
@on_unix
def test_the_process_that_is_to_be_killed_does_not_outlive_the_one_that_kills(tmp_path: Path) -> None:
    process = started(tmp_path, "The log is on disk.")
    process.kill()
    # Both hold the other end of this pipe: it ends when both are gone.
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == -signal.SIGKILL
