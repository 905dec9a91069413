"""The command of the status line as a process."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.assembly.settings import Finished, StatusCommand
from callgate.config import Config, load_config
from callgate.testing import ManualClock
from callgate.tui.statusline.status_payload import SAMPLE, payload_bytes
from callgate.words.decisions import Origin


@pytest.fixture
def config(tmp_path: Path) -> Config:
    work = tmp_path / "work"
    work.mkdir()
    return load_config(work, environ={"HOME": str(tmp_path)}, managed=tmp_path / "none")


def set_to(config: Config, command: str, *, from_repository: bool = False) -> Config:
    origin = Origin("project" if from_repository else "user")
    settings = replace(config.settings, statusline_command=command)
    return replace(config, settings=settings, origins={"statusline.command": origin})


@pytest.mark.spec("STL-2")
def test_it_reads_the_payload_in_the_workspace_without_secrets(config: Config) -> None:
    line = 'cat > in.json; printf \'%s|%s|%s\' "$PWD" "$CALLGATE_EVENT" "$MY_API_KEY"'
    environ = {"PATH": os.environ["PATH"], "MY_API_KEY": "sk-secret"}
    end = asyncio.run(StatusCommand(set_to(config, line), environ=environ)(payload_bytes(SAMPLE)))
    assert isinstance(end, Finished)
    assert end.stdout.decode() == f"{config.root}|StatusLine|"
    assert json.loads((config.root / "in.json").read_text()) == SAMPLE


@pytest.mark.spec("STL-4")
@pytest.mark.parametrize("by", ["the limit", "a cancel"])
def test_it_ends_with_everything_it_started(config: Config, by: str) -> None:
    """The FIFO is closed when the last process that holds it open has ended."""
    life = config.root / "life"
    os.mkfifo(life)

    async def main() -> None:
        clock = ManualClock()
        command = StatusCommand(config, clock, command="exec 9>life; (read _ <&8) 8<>hang & echo x >&9; wait")
        os.mkfifo(config.root / "hang")
        running = asyncio.ensure_future(command(b"{}"))
        read = await asyncio.to_thread(os.open, life, os.O_RDONLY)
        assert await asyncio.to_thread(os.read, read, 2) == b"x\n"
        if by == "the limit":
            clock.advance(5)
            end = await running
            assert isinstance(end, Finished)
            assert end.timed_out
        else:
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        assert await asyncio.to_thread(os.read, read, 2) == b""
        os.close(read)

    asyncio.run(main())


@pytest.mark.spec("STL-1")
def test_one_of_a_repository_runs_while_its_files_are_the_trusted_ones(config: Config) -> None:
    file = config.root / ".callgate" / "settings.toml"
    file.parent.mkdir()
    file.write_text("[statusline]\ncommand = 'echo theirs'\n")
    command = StatusCommand(set_to(config, "echo theirs", from_repository=True))
    end = asyncio.run(command(b"{}"))
    assert isinstance(end, Finished)
    assert end.stdout == b"theirs\n"
    file.write_text("[statusline]\ncommand = 'echo others'\n")
    assert "changed since you trusted it" in str(asyncio.run(command(b"{}")))
