"""``callgate mcp serve`` over standard input and output, started by a client as others start it."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client

from callgate.cli import main
from tests.mcp_server.kit import ERAS, Person, pending_of, run, text_of
from tests.mcp_server.process_kit import COMMAND, environment, over_stdio, wait_for_end

pytestmark = pytest.mark.spec("MCP-5")

CLIENT = """
import asyncio, json, sys
from mcp import Client, StdioServerParameters

async def main():
    given = json.loads(sys.argv[1])
    async with Client(StdioServerParameters(**given), mode=sys.argv[2]) as client:
        async def hear(progress, total, message):
            print("ready", flush=True)
        command = "echo $$ > shell; echo go; sleep 1000"
        await client.call_tool("Bash", {"command": command}, progress_callback=hear)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_a_real_client_lists_calls_previews_and_answers(era: str, tmp_path: Path) -> None:
    async def talk() -> None:
        person = Person(["yes"])
        server = over_stdio(tmp_path, "--tools", "Read,Write,Bash")
        async with Client(server, mode=era, elicitation_callback=person.fill) as client:
            names = {each.name for each in (await client.list_tools()).tools}
            assert names == {"Read", "Write", "Bash", "resolve"}
            shown = await client.call_tool("Write", {"file_path": "a.txt", "content": "new\n"})
            resolution = {"action": "apply", "reason": "fine", "id": pending_of(shown)}
            assert not (await client.call_tool("resolve", resolution)).is_error
            assert "new" in text_of(await client.call_tool("Read", {"file_path": "a.txt"}))

    run(talk)
    listed = subprocess.run(
        [sys.executable, "-m", "callgate", "session", "list"],
        cwd=tmp_path / "work",
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert "MCP: mcp" in listed.stdout
    audit = subprocess.run(
        [sys.executable, "-m", "callgate", "audit"],
        cwd=tmp_path / "work",
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert "resolve" in audit.stdout


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_is_killed_takes_the_server_and_its_commands_along(
    era: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = over_stdio(tmp_path, "--mode", "bypass").model_dump(mode="json")
    words = [sys.executable, "-c", CLIENT, json.dumps(given), era]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        shell = int((tmp_path / "work/shell").read_text())
        server = int(Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text())
        client.send_signal(signal.SIGKILL)
    wait_for_end(shell)
    wait_for_end(server)
    assert capfd.readouterr().err == ""


def test_nothing_but_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    """Lines that are no messages are answered or passed over, and noise of commands and hooks goes elsewhere."""
    initialize = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "0"},
    }
    lines = [
        "this is no JSON",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "Bash", "arguments": {}}}),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
    ]
    with subprocess.Popen(
        COMMAND,
        cwd=(environment(tmp_path), tmp_path / "work")[1],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{line}\n" for line in lines))
        server.stdin.flush()
        answered: set[int] = set()
        while {2, 3} - answered:
            message = json.loads(server.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            answered.add(message.get("id"))
        server.stdin.close()
        assert server.stdout.read() == ""
    assert server.returncode == 0


@pytest.mark.slow
def test_a_signal_ends_it_although_the_client_is_silent(tmp_path: Path) -> None:
    async def talk() -> None:
        server = await asyncio.create_subprocess_exec(
            *COMMAND,
            cwd=(environment(tmp_path), tmp_path / "work")[1],
            env=environment(tmp_path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        server.stdin.write(f"{json.dumps(ping)}\n".encode())
        await server.stdout.readline()
        server.terminate()
        assert await server.wait() == 128 + signal.SIGTERM
        server.stdin.close()

    run(talk)


@pytest.mark.slow
def test_a_signal_ends_it_although_a_session_cannot_be_closed(tmp_path: Path) -> None:
    env = environment(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/projects").write_text("no folder")
    initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "Glob", "arguments": {"pattern": "*"}}},
    ]
    with subprocess.Popen(
        COMMAND, cwd=tmp_path / "work", env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{json.dumps(line)}\n" for line in lines))
        server.stdin.flush()
        server.stdout.readline()
        assert "the record cannot be written" in server.stdout.readline()
        server.terminate()
        assert server.wait(60) == 128 + signal.SIGTERM


def test_without_the_package_it_says_how_to_install_it(tmp_path: Path) -> None:
    program = "import sys; sys.modules['mcp'] = None; from callgate.cli import main; sys.exit(main(['mcp', 'serve']))"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "pip install 'callgate[mcp]'" in ran.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--port", "80"], "--http"),
        (["--http", "--port", "70000"], "65535"),
        (["--http", "--host", "0.0.0.0"], "the address that clients use"),
        (["--tools", ""], "name the tools"),
        (["--tools", "Raed"], "did you mean Read"),
    ],
    ids=str,
)
def test_wrong_words_are_told_in_a_line(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path / "work")
    code = main(["mcp", "serve", *words])
    out, err = capsys.readouterr()
    assert code in (1, 2)
    assert (out, says in err, err.count("\n")) == ("", True, 1)
