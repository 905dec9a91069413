"""The real program killed, interrupted, asked, answered and read slowly. Each story has several processes."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.headless.blackbox import Alive, Program, calls, ended, program, read_until, says
from tests.providers.servers import HANG, Reply

pytestmark = pytest.mark.slow

STREAM = ("--output-format", "stream-json")
BYPASS = ("--mode", "bypass")
SLEEPS = calls(
    ("Read", {"file_path": "a.txt"}),
    ("Bash", {"command": Alive.COMMAND}),
    ("Write", {"file_path": "later.txt", "content": "later\n"}),
)
WRITES = calls(("Write", {"file_path": "b.txt", "content": "new\n"}))


def asks(callgate: Program, *words: str) -> "subprocess.Popen[bytes]":
    """A run that waits with a question."""
    process = callgate.start("-p", "Write.", *STREAM, *words)
    read_until(process, "QuestionAsked")
    return process


@pytest.mark.spec("TRS-7")
def test_after_a_kill_the_next_run_tells_the_truth_about_each_call_and_nothing_is_left_running(tmp_path: Path) -> None:
    with program(tmp_path, SLEEPS, says("I see.")) as callgate:
        (callgate.work / "a.txt").write_text("read me\n")
        alive = Alive(callgate.work)
        process = callgate.start("-p", "Go.", *BYPASS, *STREAM)
        with alive:
            process.kill()
            process.communicate()
            alive.until_gone()
        assert not (callgate.work / "later.txt").exists()
        ran = callgate.run("--continue", "--output-format", "json")
        assert (ran.code, ran.json["text"]) == (0, "I see."), ran.err
        read, bash, write = callgate.results
    assert "read me" in read
    assert "unknown" in bash or "may have" in bash
    assert "not reached" not in bash
    assert (callgate.work / "later.txt").exists() == ("never" not in write)
    assert len(callgate.store.list()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_commands_and_leaves_a_history_to_go_on_with(tmp_path: Path, number: int) -> None:
    with program(tmp_path, SLEEPS, says("Good.")) as callgate:
        (callgate.work / "a.txt").write_text("read me\n")
        alive = Alive(callgate.work)
        process = callgate.start("-p", "Go.", *BYPASS, "--output-format", "json")
        with alive:
            process.send_signal(number)
            ran = ended(process)
            alive.until_gone()
        assert (ran.code, ran.json["reason"], ran.json["exit_code"]) == (130, "interrupted", 130)
        assert ": interrupting the run; press again to exit immediately" in ran.err
        ran = callgate.run("And now?", "--continue")
        assert (ran.code, ran.out) == (0, "Good.\n"), ran.err
        assert len(callgate.results) == 3
    assert not (callgate.work / "later.txt").exists()


def test_the_second_signal_ends_a_run_whose_server_is_silent(tmp_path: Path) -> None:
    with program(tmp_path, Reply([HANG])) as callgate:
        process = callgate.start("-p", "Go.", *STREAM)
        read_until(process, "TurnStarted")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        assert ended(process).code == 130


@pytest.mark.spec("CLI-2")
def test_a_question_is_answered_by_another_process_and_the_next_run_finishes(tmp_path: Path) -> None:
    with program(tmp_path, WRITES, says("Written.")) as callgate:
        ran = callgate.run("Write.")
        assert (ran.code, ran.out) == (3, "")
        session = callgate.store.list()[0].session
        assert f"callgate answer {session} call_1 yes|no" in ran.err
        assert callgate.answer(session, "call_1", "yes").code == 0
        ran = callgate.run("--resume", session)
        assert (ran.code, ran.out) == (0, "Written.\n"), ran.err
    assert (callgate.work / "b.txt").read_text() == "new\n"


@pytest.mark.spec("CLI-2")
def test_a_run_that_waits_goes_on_the_moment_an_answer_comes(tmp_path: Path) -> None:
    with program(tmp_path, WRITES, says("Written.")) as callgate:
        process = asks(callgate, "--wait")
        assert callgate.answer("latest", "yes").code == 0
        last = read_until(process, "result")
        assert (ended(process).code, last["text"]) == (0, "Written.")
    assert (callgate.work / "b.txt").read_text() == "new\n"


def test_a_run_that_waits_gives_up_after_its_time_and_the_question_stays(tmp_path: Path) -> None:
    with program(tmp_path, WRITES) as callgate:
        assert callgate.run("Write.", "--wait=0.1").code == 3
        assert len(callgate.store.questions()) == 1


@pytest.mark.spec("TRS-16")
def test_a_session_that_another_process_holds_is_passed_over_and_named(tmp_path: Path) -> None:
    with program(tmp_path, says("First."), WRITES, says("Again.")) as callgate:
        callgate.run("Old.")
        (old,) = callgate.store.list()
        process = asks(callgate, "--wait")
        held = callgate.store.list()[0].session
        ran = callgate.run("More.", "--continue", "--output-format", "json")
        assert (ran.code, ran.json["session_id"]) == (0, old.session), ran.err
        assert f"is open in process {process.pid}" in ran.err
        process.send_signal(signal.SIGINT)
        assert ended(process).code == 130
        assert len(callgate.store.questions(held)) == 1


@pytest.mark.spec("CLI-9")
def test_standard_input_that_stays_silent_is_not_waited_for_longer_than_it_says(tmp_path: Path) -> None:
    with program(tmp_path, says("Hello.")) as callgate:
        reading, writing = os.pipe()
        try:
            ran = ended(callgate.start("-p", "Hi.", stdin=reading))
        finally:
            os.close(reading)
            os.close(writing)
    assert (ran.code, ran.out) == (0, "Hello.\n")
    assert "no data on standard input for 3 seconds" in ran.err


def test_an_answer_of_megabytes_arrives_whole_and_a_reader_that_leaves_is_no_fault(tmp_path: Path) -> None:
    text = "".join(f"line {n}: äöü ✓\n" for n in range(60_000))
    with program(tmp_path, says(text), says(text)) as callgate:
        ran = callgate.run("Say much.")
        assert (ran.code, ran.out) == (0, text)
        with callgate.start("-p", "Say much.", *STREAM) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert json.loads(process.stdout.readline())["type"] == "start"
            process.stdout.close()
            err = process.stderr.read().decode()
        assert process.returncode in (0, 130)
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_a_conversation_over_lines_steers_answers_and_ends(tmp_path: Path) -> None:
    with (
        program(tmp_path, WRITES, says("Written."), says("Bye.")) as callgate,
        callgate.start("-p", "--input-format", "stream-json", *STREAM, stdin=subprocess.PIPE) as process,
    ):
        assert process.stdin is not None

        def send(**line: object) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps(line).encode() + b"\n")
            process.stdin.flush()

        send(type="Prompt", content="Write.")
        question = read_until(process, "QuestionAsked")["question"]
        about = {"call_id": question["call_id"], "outcome": "yes", "arguments_hash": question["arguments_hash"]}
        send(type="Answer", confirmation=about)
        assert read_until(process, "RunEnded")["reason"] == "done"
        send(type="Prompt", content="And bye.")
        assert read_until(process, "RunEnded")["reason"] == "done"
        process.stdin.close()
        result = read_until(process, "result")
        assert (process.wait(60), result["text"], result["turns"]) == (0, "Bye.", 3)
    assert (callgate.work / "b.txt").read_text() == "new\n"


@pytest.mark.spec("CLI-10")
def test_a_budget_stops_before_the_request_that_would_pass_it(tmp_path: Path) -> None:
    read = calls(("Read", {"file_path": "a.txt"}))
    with program(tmp_path, read, read, read) as callgate:
        row = "prices = { input = 0.000001, output = 10000 }"  # a cent for a token of output, and 200 are the fewest
        (callgate.home / ".config/callgate/models.toml").write_text(f'[models."fake/fake-1"]\n{row}\n')
        ran = callgate.run("Read.", "--max-budget", "2.04", "--output-format", "json")
        assert (ran.code, ran.json["reason"]) == (4, "budget"), ran
        assert len(callgate.server.requests) == ran.json["turns"] == 1
        assert ran.json["cost"] == pytest.approx(0.05, abs=1e-4)


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_a_record_that_cannot_be_written_is_a_result_like_others_and_is_gone_on_with(tmp_path: Path, form: str) -> None:
    """The size of files is limited, in place of a disk that is full."""
    write = calls(("Write", {"file_path": "b.txt", "content": "b" * 30_000}))
    with program(tmp_path, write, says("I see.")) as callgate:
        start = f"exec {shlex.quote(sys.executable)} -m callgate -p Write. --mode bypass --output-format {form}"
        ran = callgate.run_shell(f"ulimit -f 40; {start}")
        result = ran.lines[-1]
        assert (ran.code, result["type"], result["reason"], result["turns"]) == (1, "result", "error", 1), ran
        assert result["usage"]["input"] == 10
        (error,) = result["errors"]
        assert "the record cannot be written" in error
        assert f"callgate -p --resume {result['session_id']}" in error
        assert "Traceback" not in ran.err
        assert not (callgate.work / "b.txt").exists()
        ran = callgate.run("--resume", result["session_id"])
        assert (ran.code, ran.out) == (0, "I see.\n"), ran.err
        assert all("Never started" in told for told in callgate.results)  # where the call is on record at all
