"""Real servers, written with the SDK: over standard input and output, streamable HTTP and SSE, in both eras."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate.mcp.server import Server
from callgate.mcp.server_config import ServerConfig
from callgate.testing import PlainRun
from callgate.words.decisions import FieldAnswer
from callgate.words.messages import Image, Resource, Text
from tests.mcp.client_kit import FRIENDLY, OWN, Answering, ToldRun, connected, friendly, place_in, use


@contextmanager
def served(kind: str) -> Iterator[int]:
    """The port of the friendly server, which runs until the end."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    program = subprocess.Popen([sys.executable, str(FRIENDLY), kind, str(port)], stderr=subprocess.PIPE, text=True)
    try:
        assert program.stderr is not None
        for line in program.stderr:
            if "Uvicorn running" in line:
                break
        yield port
    finally:
        program.kill()
        program.communicate()


async def _look_at(server: Server, person: Answering) -> None:
    state = server.state
    assert state.status == "connected", server.log.lines()
    assert {each.spec.name for each in server.tools} == {
        f"mcp__friendly__{name}" for name in ("add", "pixel", "fails", "steps", "never", "weather")
    }
    assert (await use(server, "add", a=1, b=2)).text == '{\n  "total": 3\n}'
    assert isinstance((await use(server, "pixel")).content[0], Image)
    failed = await use(server, "fails")
    assert (failed.is_error, failed.code) == (True, "tool_error")
    run = PlainRun()
    assert (await use(server, "steps", run, count=3)).content == (Text("done"),)
    assert [(each.text, each.current, each.total) for each in run.said] == [
        (f"step {at}", float(at), 3.0) for at in (1, 2, 3)
    ]
    assert {each.get("uri") or each.get("uriTemplate") for each in await server.requests.resources()} == {
        "note://first",
        "note://{name}",
    }
    assert await server.requests.read("note://first") == (
        Resource("note://first", text="remember the milk", media_type="text/plain"),
    )
    assert [each["name"] for each in server.prompts] == ["review"]
    assert await server.requests.prompt_parts("review", {"path": "a.py"}) == (Text("Review a.py with care."),)
    assert (await use(server, "weather")).text == "sunny in Ulm"
    assert person.asked[0][:2] == ("friendly", "Which city?")
    told = ToldRun()
    call = asyncio.create_task(use(server, "never", told))
    await told.told.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await use(server, "add", a=2, b=2)).text == '{\n  "total": 4\n}'


@pytest.mark.spec("MCP-1", "MCP-2", "MCP-7")
@pytest.mark.parametrize("kind", ["stdio", "http", "sse"])
def test_all_that_a_server_offers_works_over_every_transport(tmp_path: Path, kind: Any) -> None:
    async def main(config: ServerConfig) -> str:
        person = Answering((FieldAnswer(text="Ulm"),))
        async with connected(place_in(tmp_path, person=person), config) as servers:
            server = servers.servers["friendly"]
            await _look_at(server, person)
            return server.state.version

    if kind == "stdio":
        assert asyncio.run(main(friendly())) == "2026-07-28"
        return
    with served(kind) as port:
        url = f"http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}"
        version = asyncio.run(main(ServerConfig("friendly", kind, OWN, url=url)))
        assert version == "2026-07-28"
