"""Bash: what a model reads, how a command ends, and how it goes on in the background."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate.host.ports import Command, HostDecision
from callgate.host.tasks import BackgroundTask
from callgate.testing import MemoryHost, ScriptedCommand
from callgate.tools.builtin.bash import bash
from callgate.tools.commands import command_call
from callgate.tools.commands.command_output import MOST_CHARACTERS, CommandOutput, readable
from callgate.tools.commands.exit_codes import meaning_of
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from tests.rows import rows
from tests.tools.bash_kit import BLOCK, GATE, Shell, shell, until
from tests.tools.fake_run import FakeRun

__all__ = ["shell"]


@pytest.mark.spec("BASH-2")
@rows(
    ("arguments", "effects", "scope"),
    [
        ({"command": "ls -la"}, "none", "paths"),
        ({"command": "git log | head"}, "none", "paths"),
        ({"command": "make"}, "mutating", "exclusive"),
        ({"command": "ls > out"}, "mutating", "exclusive"),
        ({"command": "ls", "run_in_background": True}, "mutating", "exclusive"),
        ({"command": "echo $(date"}, "mutating", "exclusive"),
    ],
)
def test_effects_and_locks_come_from_the_analysis(arguments: dict[str, Any], effects: str, scope: str) -> None:
    traits = bash().traits(arguments)
    assert (traits.effects, traits.locks.scope) == (effects, scope)


@pytest.mark.spec("BASH-2")
@rows("given, seconds", [(None, 120), (1_000, 1), (600_000, 600), (86_400_000, 600), (0, 120), (-5, 120)])
def test_the_timeout_is_clamped(given: float | None, seconds: float) -> None:
    assert bash().traits({"command": "ls", "timeout": given}).timeout == seconds + 30


# ---- results --------------------------------------------------------------------------------------------------------


def test_both_outputs_come_in_their_order_and_a_failure_says_its_code(shell: Shell) -> None:
    result = shell("echo one; echo two >&2; echo three; exit 4")
    assert (result.text, result.is_error, result.code) == ("one\ntwo\nthree\n[exit code 4]", True, "tool_error")
    assert result.details == {"exit_code": 4, "folder": str(shell.host.root), "effects": "unknown"}
    assert shell("kill -9 $$").text == "[ended by signal 9]"


@pytest.mark.spec("BASH-3")
def test_a_code_that_is_an_answer_is_no_error(shell: Shell) -> None:
    result = shell("grep absent /dev/null")
    assert (result.text, result.is_error) == ("[exit code 1: nothing matched]", False)


@pytest.mark.spec("BASH-3")
@rows(
    "command, code, meaning",
    [
        ("grep x f", 1, "nothing matched"),
        ("cat f | grep x", 1, "nothing matched"),
        ("cd a && rg x", 1, "nothing matched"),
        ("make; grep x f", 1, "nothing matched"),
        ("/usr/bin/diff a b", 1, "the contents differ"),
        ("git diff --exit-code", 1, "the contents differ"),
        ("test -f x", 1, "the condition is false"),
        ("[ -f x ]", 1, "the condition is false"),
        ("which nothing", 1, "no such program"),
        ("grep x f", 2, None),
        ("diff a b", 2, None),
        ("make && grep x f", 1, None),
        ("grep x f || make", 1, None),
        ("grep x f | make", 1, None),
        ("make", 1, None),
        ("git push", 1, None),
        ("grep 'x", 1, None),
        ("! grep x f", 1, None),
        ("(grep x f)", 1, None),
        ("if grep x f; then false; fi", 1, None),
        ("grep x f", 0, None),
        ("grep x f", -9, None),
    ],
)
def test_codes_are_explained_where_they_are_answers(command: str, code: int, meaning: str | None) -> None:
    assert meaning_of(command, code) == meaning


@pytest.mark.spec("BASH-3")
def test_long_output_is_cut_in_the_middle_and_whole_in_an_artifact(shell: Shell) -> None:
    result = shell("seq 1 50000")
    whole = "".join(f"{n}\n" for n in range(1, 50_001))
    assert len(result.text) < MOST_CHARACTERS + 300
    assert result.text.startswith("1\n2\n")
    assert result.text.endswith("49999\n50000")
    (artifact,) = result.artifacts
    assert artifact.path in result.text
    assert Path(artifact.path).read_text() == whole
    assert artifact.size == len(whole)


@pytest.mark.parametrize("size", [1, 29_999, 30_000, 30_001, 119_999, 120_000, 120_001, 200_000])
@pytest.mark.parametrize("letter", ["x", "é", "😀"])
def test_no_character_is_lost_or_cut_at_any_size(size: int, letter: str) -> None:
    host = MemoryHost()
    output = CommandOutput(host, "out.txt", lambda text: None)
    data = (letter * size).encode()
    for at in range(0, len(data), 65_537):  # cuts characters in two
        output.take(data[at : at + 65_537])
    text, artifact = output.text()
    if size <= MOST_CHARACTERS:
        assert text == letter * size
    else:
        assert artifact is not None
        assert host.artifacts[artifact.path] == data
        assert text.startswith(letter * 20_000 + "\n…")
        assert text.endswith("…\n" + letter * 10_000)


def test_what_is_meant_for_a_terminal_is_left_out(shell: Shell) -> None:
    result = shell(r"printf '\033[31mred\033[0m\n 10%%\r 50%%\r100%%\nend\r\n\377\n'")
    assert result.text == "red\n100%\nend\r\n\ufffd"


def test_progress_shows_whole_characters() -> None:
    said: list[str] = []
    output = CommandOutput(MemoryHost(), "out.txt", said.append)
    for piece in (b"caf\xc3", b"\xa9 ", b"\xff"):
        output.take(piece)
    assert said == ["caf", "é ", "\ufffd"]


def test_progress_is_live(shell: Shell) -> None:
    async def main() -> Result:
        work = asyncio.ensure_future(shell.begin(f"{GATE} echo so far; {BLOCK}; echo more"))
        await until(lambda: "so far\n" in shell.run.said)
        assert not work.done()
        (shell.host.root / "never").write_text("go\n")
        return await work

    assert asyncio.run(main()).text == "so far\nmore"


# ---- the surroundings of a command ----------------------------------------------------------------------------------


def test_a_program_that_asks_gets_the_end_of_its_input_and_no_terminal(shell: Shell) -> None:
    result = shell('read -p "sure? " answer || echo none; (: </dev/tty) 2>/dev/null || echo no terminal; cat')
    assert result.text == "none\nno terminal"


def test_secrets_and_settings_of_shells_are_not_in_the_environment(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rc").write_text("echo from BASH_ENV\n")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "rc"))
    monkeypatch.setenv("BASH_FUNC_ls%%", "() { echo replaced; }")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-1234567890")
    monkeypatch.setenv("HARMLESS", "seen")
    result = shell('echo "[$OPENAI_API_KEY$BASH_ENV]$HARMLESS $TERM"; ls /dev/null')
    assert result.text == "[]seen dumb\n/dev/null"


def test_the_environment_neither_runs_a_start_up_file_nor_says_where_a_folder_is(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (home / ".bashrc").write_text("echo from .bashrc\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SSH_CLIENT", "192.0.2.1 1 22")  # with it a top-level bash of Debian reads ~/.bashrc
    monkeypatch.setenv("SHLVL", "0")
    monkeypatch.setenv("CDPATH", str(home))
    assert shell("cd sub && pwd").text.startswith(f"{tmp_path / 'work' / 'sub'}\n"), "where the gate judged it to be"


def test_a_folder_whose_name_the_gate_would_refuse_is_not_kept(shell: Shell) -> None:
    for name in (r"b\xff", r"n\nl", r"e\x1b[2J", r"\u202ex"):
        assert shell(f"mkdir $'{name}' && cd $'{name}'").text == ""
    assert shell.context == {}
    assert "[The working folder is now" in shell(r"mkdir $'\u3000 \u00e9' && cd $'\u3000 \u00e9'").text


def test_a_line_shows_what_was_written_last_however_long_it_is() -> None:
    assert readable(b"10 %\r50 %\r100 %\r\nnext\r\nkept\r\r\nopen\r") == "100 %\r\nnext\r\nkept\r\r\nopen\r"
    assert readable(b"a\r" + b"b" * 1_000_000) == "b" * 1_000_000


class Boxed:
    """A sandbox that takes some commands, and shows that it was asked."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def takes(self, call_id: str, text: str) -> bool:
        return "outside" not in text

    def wrap(self, command: Command, on_decision: Callable[[HostDecision], None]) -> Command:
        if "refused" in command.argv[-1]:
            raise ToolFailure("there is no sandbox for it")
        return replace(command, env={**command.env, "BOXED": "yes"})

    def outside(self, command: Command) -> Command:
        return replace(command, env={**command.env, "BOXED": "no"})

    def watch(self, text: str) -> Callable[[bool], Sequence[str]]:
        return lambda rename: ["it is AGENTS.md.from-sandbox now"] if rename and "AGENTS" in text else []

    def report(self, note: str) -> None:
        self.notes.append(note)

    def denied(self, text: str, output: str, returncode: int, hosts: Sequence[HostDecision]) -> str | None:
        return "write access to /etc/x" if "Read-only" in output else None


def test_a_sandbox_wraps_the_commands_it_takes(tmp_path: Path) -> None:
    shell = Shell(tmp_path, bash(Boxed()))
    assert shell("echo $BOXED").text == "yes"
    assert shell("echo outside $BOXED").text == "outside no"
    denied = shell("echo Read-only file system; exit 1")
    assert "[Blocked by the sandbox: write access to /etc/x. If the command needs this, send the same" in denied.text
    with pytest.raises(ToolFailure, match="not run: there is no sandbox"):
        shell("echo refused")
    assert shell("touch AGENTS.md").text == "[it is AGENTS.md.from-sandbox now]"


def test_a_command_on_the_memory_host_is_scripted() -> None:
    host = MemoryHost()
    tool = bash()
    run = FakeRun(host=host)
    host.processes.scripts["make"] = ScriptedCommand(b"no rule\n", code=2)
    result = asyncio.run(tool.run({"command": "make"}, run))
    assert result.text == "no rule\n[exit code 2]"
    (started,) = host.processes.started
    assert (started.cwd, started.stdin, started.argv[1]) == ("/workspace", b"", "-c")


# ---- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("BASH-2")
@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_a_command_is_ended_with_all_it_started(shell: Shell, how: str) -> None:
    os.mkfifo(shell.host.root / "life")

    async def main() -> None:
        script = f"{GATE} exec 9>life; echo out; (setsid sh -c '{BLOCK}' &); echo >&9; {BLOCK}"
        work = asyncio.ensure_future(shell.begin(script, timeout=1000))
        life = await asyncio.to_thread(os.open, shell.host.root / "life", os.O_RDONLY)
        assert await asyncio.to_thread(os.read, life, 1) == b"\n"
        await until(lambda: shell.run.said and shell.clock.next_timer is not None)
        if how == "timeout":
            shell.clock.advance(1)
            result = await work
            assert (result.code, result.is_error) == ("timed_out", True)
            assert result.text == "out\n[The command took longer than 1 s and was stopped.]"
        else:
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
        assert await asyncio.to_thread(os.read, life, 1) == b""
        os.close(life)

    asyncio.run(main())
    assert shell.clock.next_timer is None


# ---- the background -------------------------------------------------------------------------------------------------


async def ended(task: BackgroundTask) -> None:
    await until(lambda: task.status != "running")


@pytest.mark.spec("BLT-6")
def test_a_command_in_the_background_comes_back_at_once_and_holds_nothing(shell: Shell) -> None:
    async def main() -> None:
        result = await shell.begin(f"{GATE} echo early; {BLOCK}; echo late; exit 5", run_in_background=True)
        assert result.text.startswith("Started in the background as bg-1.")
        task = shell.host.tasks.get("bg-1")
        assert (task.status, task.record.kind, task.record.owner) == ("running", "command", ("session",))
        await until(lambda: task.output.size)
        assert task.output.read(0, 100) == b"early\n"
        (shell.host.root / "never").write_text("go\n")
        await ended(task)
        assert (task.status, task.detail) == ("failed", "exit code 5")
        assert task.output.read(0, 100) == b"early\nlate\n"

    asyncio.run(main())


@pytest.mark.spec("BLT-5")
@pytest.mark.parametrize("how", ["key", "time"])
def test_a_command_that_is_moved_to_the_background_goes_on_as_the_same_process(shell: Shell, how: str) -> None:
    if how == "time":
        shell = Shell(shell.host.root, bash(background_after=30))

    async def main() -> None:
        work = asyncio.ensure_future(shell.begin(f"{GATE} echo $$; {BLOCK}; echo $$"))
        await until(lambda: shell.run.said and shell.clock.next_timer is not None)
        if how == "key":
            assert shell.host.tasks.move(shell.run.call_id) is None
        else:
            shell.clock.advance(30)
        result = await work
        assert "was moved to the background as bg-1" in result.text
        assert shell.host.tasks.move() is not None  # nothing is left to move
        shell.clock.advance(1000)  # its timeout does not count any more
        (shell.host.root / "never").write_text("go\n")
        task = shell.host.tasks.get("bg-1")
        await ended(task)
        first, second = task.output.read(0, 100).split()
        assert first == second
        assert task.status == "completed"

    asyncio.run(main())


@pytest.mark.spec("BASH-4")
def test_processes_that_a_command_leaves_behind_are_a_background_task(shell: Shell) -> None:
    async def main() -> None:
        result = await shell.begin("sleep 1000 & echo started")
        assert result.text.startswith(
            "started\n[Processes that the command started are still running, as background task bg-1"
        )
        task = shell.host.tasks.get("bg-1")
        stopping = asyncio.ensure_future(task.stop(shell.clock))
        await ended(task)
        shell.clock.advance(1)
        await stopping
        assert task.status == "killed"

    asyncio.run(main())


def test_a_helper_that_ends_a_moment_later_is_no_task(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_call, "_MOMENT", 20)

    async def main() -> None:
        result = await shell.begin("(setsid sleep 0.03 >&- 2>&- &); echo done")
        assert result.text == "done"
        assert shell.host.tasks.all() == []

    asyncio.run(main())


@pytest.mark.spec("BLT-6")
def test_the_tasks_of_a_session_end_with_it(shell: Shell) -> None:
    async def main() -> None:
        for _ in range(3):
            await shell.begin("trap '' HUP; exec sleep 1000", run_in_background=True)
        stopping = asyncio.ensure_future(shell.host.tasks.stop_all(("session",)))
        tasks = shell.host.tasks.all()
        await until(lambda: all(task.status == "killed" for task in tasks))
        shell.clock.advance(1)
        await stopping
        assert [task.detail for task in tasks] == [f"signal {signal.SIGTERM}"] * 3

    asyncio.run(main())
