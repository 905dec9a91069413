"""The reference servers, as people install them."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from callgate.mcp.server_config import ServerConfig
from callgate.testing import PlainRun
from callgate.words.messages import Image
from tests.mcp.client_kit import OWN, Answering, connected, place_in, use
from tests.mcp.client_reference import npm_server, python_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def stdio(name: str, command: str, *args: str) -> ServerConfig:
    return ServerConfig(name, "stdio", OWN, command=command, args=args)


@pytest.mark.spec("MCP-2")
def test_everything(tmp_path: Path) -> None:
    async def main() -> None:
        person = Answering()
        async with connected(place_in(tmp_path, person=person), stdio("all", *npm_server("everything"))) as servers:
            server = servers.servers["all"]
            assert server.state.status == "connected", server.log.lines()
            assert (await use(server, "echo", message="hello")).text == "Echo: hello"
            assert "5" in (await use(server, "get-sum", a=2, b=3)).text
            image = await use(server, "get-tiny-image")
            assert any(isinstance(part, Image) for part in image.content)
            run = PlainRun()
            await use(server, "trigger-long-running-operation", run, duration=1, steps=2)
            assert [each.current for each in run.said] == [1, 2]
            assert "temperature" in (await use(server, "get-structured-content", location="Chicago")).text
            assert await server.requests.resources()
            assert server.prompts

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_filesystem(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "a.txt").write_text("hello", encoding="utf-8")
        config = stdio("files", *npm_server("filesystem"), str(tmp_path))
        async with connected(place_in(tmp_path), config) as servers:
            server = servers.servers["files"]
            assert server.state.status == "connected", server.log.lines()
            assert "hello" in (await use(server, "read_text_file", path=str(tmp_path / "a.txt"))).text
            outside = await use(server, "read_text_file", path="/etc/passwd")
            assert outside.is_error
            await use(server, "write_file", path=str(tmp_path / "b.txt"), content="new")

    asyncio.run(main())
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "new"


@pytest.mark.spec("MCP-2")
def test_memory(tmp_path: Path) -> None:
    async def main() -> None:
        node, program = npm_server("memory")
        config = ServerConfig(
            "memory",
            "stdio",
            OWN,
            command=node,
            args=(program,),
            env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")},
        )
        entity = {"name": "Ulm", "entityType": "city", "observations": ["has a high tower"]}
        async with connected(place_in(tmp_path), config) as servers:
            server = servers.servers["memory"]
            assert server.state.status == "connected", server.log.lines()
            await use(server, "create_entities", entities=[entity])
            assert "tower" in (await use(server, "search_nodes", query="tower")).text

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_sequential_thinking(tmp_path: Path) -> None:
    async def main() -> None:
        config = stdio("thinking", *npm_server("sequential-thinking"))
        async with connected(place_in(tmp_path), config) as servers:
            server = servers.servers["thinking"]
            assert server.state.status == "connected", server.log.lines()
            step = {"thought": "first", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
            assert "thoughtNumber" in (await use(server, "sequentialthinking", **step)).text

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("x", encoding="utf-8")

    async def main() -> None:
        config = stdio("git", python_server("git"), "--repository", str(tmp_path))
        async with connected(place_in(tmp_path), config) as servers:
            server = servers.servers["git"]
            assert server.state.status == "connected", server.log.lines()
            assert "new.txt" in (await use(server, "git_status", repo_path=str(tmp_path))).text

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), stdio("time", python_server("time"))) as servers:
            server = servers.servers["time"]
            assert server.state.status == "connected", server.log.lines()
            assert "Asia/Tokyo" in (await use(server, "get_current_time", timezone="Asia/Tokyo")).text

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_fetch(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), stdio("fetch", python_server("fetch"))) as servers:
            server = servers.servers["fetch"]
            assert server.state.status == "connected", server.log.lines()
            refused = await use(server, "fetch", url="http://127.0.0.1:9/")
            assert refused.is_error
            assert [each["name"] for each in server.prompts] == ["fetch"]

    asyncio.run(main())
