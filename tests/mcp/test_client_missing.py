"""The package of the SDK: not loaded without a server, and named where it is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MISSING = """
import asyncio, sys
from pathlib import Path
sys.modules["mcp"] = None
from tests.mcp.client_kit import connected, place_in, raw

async def main():
    async with connected(place_in(Path(sys.argv[1])), raw()) as servers:
        print(servers.servers["srv"].state.status, servers.servers["srv"].state.reason)

asyncio.run(main())
"""
UNUSED = """
import asyncio, sys
from pathlib import Path
from callgate.assembly.agent import agent_session
from callgate.config import load_config
from callgate.testing import ScriptedModel, say, turn

async def main():
    config = load_config(sys.argv[1], environ={"HOME": sys.argv[1]}, home=sys.argv[1])
    async with await agent_session(config, ScriptedModel(turn(say("Done.")))) as session:
        await session.send("go")
    print(sorted(name for name in sys.modules if name.partition(".")[0] == "mcp" or name.startswith("callgate.mcp.")))

asyncio.run(main())
"""


def printed(program: str, folder: Path) -> str:
    argv = [sys.executable, "-c", program, str(folder)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.spec("MCP-1")
def test_without_the_package_a_server_says_what_to_install(tmp_path: Path) -> None:
    assert printed(MISSING, tmp_path) == "failed MCP servers need a package: pip install 'callgate[mcp]'\n"


@pytest.mark.spec("MCP-1")
def test_without_a_server_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    assert printed(UNUSED, tmp_path) == "[]\n"
