"""The real program in unusual surroundings: late signals, full disks, closed readers, no locale, no home, few
descriptors, a workspace that cannot be written."""

import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.cli.headless.blackbox import Program, calls, ended, program, read_until, says
from tests.providers.servers import HANG, Reply

PYTHON = shlex.quote(sys.executable)
STREAM = ("--output-format", "stream-json")

# Each program sends itself a second signal at another moment of its end.
LATE = {
    "when the loop is closed": """
        import asyncio
        run = asyncio.run
        def patched(main):
            code = run(main)
            os.kill(os.getpid(), number)
            return code
        asyncio.run = patched
    """,
    "at exit": "import atexit; atexit.register(lambda: os.kill(os.getpid(), number))",
    "when modules are cleared": """
        class Last:
            def __del__(self, kill=os.kill, pid=os.getpid(), number=number):
                kill(pid, number)
        sys.last = Last()
    """,
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", LATE)
def test_a_second_signal_never_replaces_the_exit_code(tmp_path: Path, number: int, moment: str) -> None:
    lines = (line[8:] if line.startswith(" " * 8) else line for line in LATE[moment].splitlines())
    script = (
        f"import os, sys\nnumber = {int(number)}\n"
        + "\n".join(lines)
        + "\nfrom callgate.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    with program(tmp_path, Reply([HANG])) as callgate:
        words = [sys.executable, "-c", script, "-p", "Go.", *STREAM]
        process = subprocess.Popen(
            words, cwd=callgate.work, env=callgate.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        read_until(process, "TurnStarted")
        process.send_signal(number)
        assert ended(process).code == 130


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("-p Hi.", 0),
        ("-p Hi. --output-format json", 0),
        ("-p Hi. --output-format stream-json", 0),
        ("-p Hi. --model nothing/known", 2),
        ("-p Hi. --continue", 1),
        ("-p --no-such-flag", 2),
        ("session show no-such-session", 1),
        ("sesion list", 2),
        ("policy explain", 2),
        ("config get no.such.key", 1),
        ("session", 2),
        ("no-such-command --debug", 2),
        ("answer no-such-session yes", 1),
    ],
)
def test_an_error_stream_that_cannot_be_written_changes_no_exit_code(tmp_path: Path, words: str, code: int) -> None:
    with program(tmp_path, *[says("Hello.")] * 3) as callgate:
        line = f"{PYTHON} -m callgate {words}"
        codes = [callgate.run_shell(f"{line} {to}").code for to in ("2> /dev/null", "2> /dev/full", "2>&-")]
    assert codes == [code] * 3


def test_a_closed_reader_of_the_stream_ends_the_run_at_once(tmp_path: Path) -> None:
    """The command prints nothing more, so no event would be written for a long time."""
    waits = calls(("Bash", {"command": "echo ready; exec sleep 600"}))
    words = ("-p", "Go.", *STREAM, "--mode", "bypass")
    with program(tmp_path, waits) as callgate, callgate.start(*words) as process:
        assert process.stdout is not None
        read_until(process, "CallProgressed")
        process.stdout.close()
        try:
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_output_that_cannot_be_written_fails_with_a_sentence(tmp_path: Path, form: str) -> None:
    with program(tmp_path, says("Hello.")) as callgate:
        ran = callgate.run_shell(f"{PYTHON} -m callgate -p Hi. --output-format {form} > /dev/full")
    assert ran.code == 1
    assert ran.err.endswith("callgate: No space left on device: standard output\n")


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_long_answer_arrives_whole_through_a_non_blocking_pipe(tmp_path: Path, form: str) -> None:
    """Node.js gives such pipes to child processes."""
    text = "".join(f"line {n} of a long answer\n" for n in range(20_000))
    with (
        program(tmp_path, says(text)) as callgate,
        _into_small_pipe(callgate, "-p", "Hi.", "--output-format", form) as (
            process,
            out,
        ),
    ):
        said = out.read().decode()
        assert process.wait(60) == 0
    assert (said if form == "text" else json.loads(said.splitlines()[-1])["text"]) == text


def test_a_long_list_arrives_whole_through_a_non_blocking_pipe(tmp_path: Path) -> None:
    text = " ".join(map(str, range(40_000)))
    with program(tmp_path, says(text)) as callgate:
        assert callgate.run("Hi.").code == 0
        with _into_small_pipe(callgate, "session", "export", "latest", "--format", "markdown") as (process, out):
            assert text in out.read().decode()
            assert process.wait(60) == 0


@contextmanager
def _into_small_pipe(callgate: Program, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], BinaryIO]]:
    """Start the program with a small non-blocking pipe as output."""
    reading, writing = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    with open(reading, "rb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "callgate", *words],
            cwd=callgate.work,
            env=callgate.env,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.DEVNULL,
        )
        os.close(writing)
        try:
            yield process, out
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}]
)
def test_without_a_locale_prompts_files_and_answers_keep_their_characters(
    tmp_path: Path, locale: dict[str, str]
) -> None:
    read = calls(("Read", {"file_path": "größe.txt"}))
    with program(tmp_path, read, says("Ä ✓")) as callgate:
        (callgate.work / "größe.txt").write_text("7 µm\n")
        process = subprocess.Popen(
            [sys.executable, "-m", "callgate", "-p", "Wie groß? ü✓"],
            cwd=callgate.work,
            env={**callgate.env, **locale},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        ran = ended(process, "und ß\n".encode())
        sent = json.dumps(callgate.server.requests[0].json["messages"], ensure_ascii=False)
        assert "Wie groß? ü✓" in sent
        assert "und ß" in sent
        assert "7 µm" in callgate.results[0]
    assert (ran.code, ran.out) == (0, "Ä ✓\n"), ran.err


def test_a_data_folder_is_enough_where_there_is_no_home(tmp_path: Path) -> None:
    with program(tmp_path, says("Hello.")) as callgate:
        del callgate.env["HOME"]
        settings = str(callgate.home / ".config/callgate")
        data = {"CALLGATE_DATA_DIR": str(tmp_path / "data"), "CALLGATE_CONFIG_DIR": settings}
        assert ended(callgate.start("-p", "Hi.", **data)).code == 0
        ran = ended(callgate.start("session", "list", **data))
        assert "Hi." in ran.out
        without = callgate.run("Hi.", CALLGATE_CONFIG_DIR=settings)
    assert without.code == 2
    assert "CALLGATE_DATA_DIR" in without.err


@pytest.mark.parametrize("limit", [24, 40, 64, 100])
def test_few_file_descriptors_are_enough_or_named(tmp_path: Path, limit: int) -> None:
    wanted = [("Read", {"file_path": f"{number}.txt"}) for number in range(8)]
    with program(
        tmp_path, calls(*wanted, ("Grep", {"pattern": "x"}), ("Bash", {"command": "ls"})), says("Done.")
    ) as it:
        for number in range(8):
            (it.work / f"{number}.txt").write_text("x\n")
        ran = it.run_shell(f"ulimit -n {limit}; exec {PYTHON} -m callgate -p Go. --mode bypass")
        assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
        failed = [text for text in it.results if text.startswith("Error") and "Too many open files" not in text]
    assert not failed
    assert limit < 64 or "7.txt" in it.results[-1]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_a_workspace_that_cannot_be_written_leaves_no_open_journal(tmp_path: Path) -> None:
    changes = [{"file_path": name, "content": "new\n"} for name in ("b.txt", "new/c.txt")]
    edit = ("Edit", {"file_path": "a.txt", "old_string": "old", "new_string": "new"})
    turns = [calls(("Write", changes[0])), calls(("Write", changes[1])), calls(("Read", {"file_path": "a.txt"}), edit)]
    with program(tmp_path, *turns, says("It cannot be written.")) as callgate:
        (callgate.work / "a.txt").write_text("old\n")
        bound = shlex.join(["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(callgate.work), str(callgate.work)])
        ran = callgate.run_shell(f"{bound} {PYTHON} -m callgate -p Go. --mode bypass")
        if ran.code == 1 and "bwrap:" in ran.err:
            pytest.skip("bubblewrap cannot be used here")
        assert ran.code == 0, ran.err
        data = callgate.home / ".local/share/callgate"
        assert [each for each in data.rglob("*") if each.suffix == ".apply"] == []
        assert sorted(os.listdir(callgate.work)) == ["a.txt"]
