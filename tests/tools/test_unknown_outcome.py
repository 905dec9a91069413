"""Commands whose guard was killed: nothing says that they were not run."""

import errno
from typing import Any

import pytest

from callgate.host.command_launcher import GuardLine
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from tests.rows import rows
from tests.tools.bash_kit import Shell, shell

__all__ = ["shell"]

REPORTS = GuardLine.reports

KILLS = [
    "echo x >> f; kill -9 $PPID",
    "echo x >> f; kill -KILL $PPID; true",
    "echo x >> f; echo printed; kill -9 $PPID",
    "echo x >> f; kill -9 $PPID; echo y >> f",
    "echo x >> f && exec bash -c 'kill -9 $PPID'",
    "echo x >> f; exec python3 -c 'import os; os.kill(os.getppid(), 9)'",
    "echo x | tee -a f; kill -9 $PPID",
    "(echo x >> f); kill -s KILL $PPID",
    "cd sub; echo x >> ../f; kill -9 $PPID",
    "echo x >> f; set -- $PPID; kill -9 $1; exit 3",
    "echo x >> f; sleep 0; kill -9 $PPID",
    "echo x >> f; trap 'kill -9 $PPID' EXIT",
]


def is_unknown(result: Result) -> bool:
    assert result.code == "outcome_unknown"
    assert result.is_error
    assert result.effects == "unknown"
    assert "exit_code" not in result.details
    assert "may have run" in result.text
    assert "Check before repeating it" in result.text
    return "not run" not in result.text


@pytest.mark.spec("EXE-18")
@rows("command", KILLS)
def test_the_outcome_of_a_command_that_kills_its_guard_is_unknown(command: str, shell: Shell) -> None:
    assert is_unknown(shell(command))
    assert (shell.host.root / "f").read_text().startswith("x\n")


@pytest.mark.spec("EXE-18")
@rows("command", ["echo x >> f", "echo x >> f; echo printed", "echo x >> f; exit 4", "echo x >> f; kill -9 $$"])
@pytest.mark.parametrize("background", [False, True])
def test_a_guard_that_is_lost_before_its_first_report_leaves_an_unknown_outcome(
    command: str, background: bool, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = REPORTS

    def lost(line: GuardLine) -> Any:
        found: set[bytes] = set()
        while b"g" not in found:
            letters = {letter for letter, _ in reports(line)}
            assert letters
            found |= letters
        return []

    monkeypatch.setattr(GuardLine, "reports", lost)
    result = shell(command, **({"run_in_background": True} if background else {}))
    assert is_unknown(result)
    assert ("printed" in result.text) is ("printed" in command)
    assert (shell.host.root / "f").read_text().endswith("x\n")


@pytest.mark.spec("EXE-18")
def test_a_command_that_cannot_be_started_was_not_run(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.tools.commands.command_call._shell", lambda: "/no/such/shell")
    with pytest.raises(ToolFailure, match="The command was not run"):
        shell("echo x >> f")
    assert not (shell.host.root / "f").exists()


@pytest.mark.spec("EXE-18")
def test_a_background_command_without_an_output_file_is_ended(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(name: str) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shell.host, "new_output", full)
    started: list[Any] = []
    start = type(shell.host.processes).start

    async def noted(*given: Any) -> Any:
        started.append(await start(*given))
        return started[-1]

    monkeypatch.setattr(type(shell.host.processes), "start", noted)
    with pytest.raises(OSError, match="No space"):
        shell("exec 9<>/dev/zero; cat <&9 >/dev/null", run_in_background=True)
    assert started[0]._ordered == 2, "killed"
