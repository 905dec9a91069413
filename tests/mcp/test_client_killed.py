"""When Callgate is killed, its servers end too."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, sys
from pathlib import Path
from tests.mcp.client_kit import OWN, connected, place_in
from callgate.mcp.server_config import ServerConfig

async def main(folder):
    start = f"exec {sys.executable} -I -S {sys.argv[2]} plain"
    script = f"exec 9>{folder}/life; echo >&9; (trap '' TERM; sleep 1000) & {start}"
    async with connected(place_in(folder), ServerConfig("srv", "stdio", OWN, command="sh", args=("-c", script))) as all:
        print(all.servers["srv"].state.status, flush=True)
        await asyncio.Event().wait()

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_when_callgate_is_killed_nothing_is_left_of_its_servers(tmp_path: Path, number: signal.Signals) -> None:
    os.mkfifo(tmp_path / "life")
    server = Path(__file__).with_name("client_raw_server.py")
    argv = [sys.executable, "-c", PROGRAM, str(tmp_path), str(server)]
    program = subprocess.Popen(argv, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE)
    try:
        life = os.open(tmp_path / "life", os.O_RDONLY)
        assert program.stdout is not None
        assert program.stdout.readline() == b"connected\n"
        assert os.read(life, 1) == b"\n"
        program.send_signal(number)
        assert os.read(life, 1) == b""  # closed in all of them
        os.close(life)
    finally:
        program.kill()
        program.communicate()
