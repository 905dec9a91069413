"""The messages in the output of a program: however it is cut into pieces, each line gives its message, in order."""

import asyncio
import json
import os
import stat
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.host.local import LocalHost
from callgate.host.ports import Command
from callgate.mcp import stdio_transport
from callgate.mcp.server_log import ServerLog
from callgate.mcp.stdio_transport import Item, OutputLines, parsed, program_streams
from callgate.transcript.masking import Masker, learn_variables

LONG = 20_000  # more than is parsed on the loop
lines = st.lists(
    st.one_of(
        st.integers(0, 99).map(lambda number: json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}).encode()),
        st.integers(0, 99).map(
            lambda number: json.dumps({"jsonrpc": "2.0", "id": number, "result": {"a": "x" * LONG}}).encode()
        ),
        st.sampled_from([b"", b"  ", b"no message", b'{"id":1}', b'[{"jsonrpc":"2.0","id":7,"result":{}}]', b"\xff"]),
    ),
    max_size=12,
)


@asynccontextmanager
async def output_of(data: bytes, cut: list[int]) -> AsyncGenerator[OutputLines]:
    """Lines whose program writes ``data`` in pieces of these sizes, and ends."""
    reader, writer = os.pipe()
    output = OutputLines(reader, ServerLog("srv", None, lambda: 0.0))
    loop = asyncio.get_running_loop()

    def write() -> None:
        rest, sizes = data, iter(cut)
        while rest:
            size = next(sizes, len(rest))
            rest = rest[os.write(writer, rest[:size]) :]
        os.close(writer)
        loop.call_soon_threadsafe(output.exited)

    program = threading.Thread(target=write)
    program.start()
    try:
        yield output
    finally:
        await output.aclose()
        await asyncio.to_thread(program.join)
        output.release()


def shown(items: list[Item]) -> list[str]:
    return [str(each) if isinstance(each, Exception) else each.message.model_dump_json() for each in items]


@pytest.mark.spec("MCP-3")
@given(lines, st.lists(st.integers(1, 30_000), max_size=10))
def test_every_line_gives_its_message_in_order(sent: list[bytes], cut: list[int]) -> None:
    async def main() -> list[Item]:
        async with output_of(b"".join(line + b"\n" for line in sent), cut) as output:
            return [each async for each in output]

    assert shown(asyncio.run(main())) == shown([each for line in sent if line.strip() for each in parsed(line)])


@pytest.mark.spec("MCP-3")
def test_a_long_line_is_parsed_in_a_thread_and_a_short_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[bool] = []

    def noted(line: bytes | bytearray) -> list[Item]:
        threads.append(threading.current_thread() is threading.main_thread())
        return parsed(line)

    monkeypatch.setattr(stdio_transport, "parsed", noted)

    async def main() -> None:
        async with output_of(b"short\n" + b"x" * LONG + b"\nshort\n", []) as output:
            for _ in range(3):
                assert isinstance(await output.receive(), ValueError)

    asyncio.run(main())
    assert threads == [True, False, True]


@pytest.mark.spec("MCP-3")
def test_what_nobody_takes_is_left_in_the_pipe() -> None:
    line = b"x" * 500

    async def main() -> None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        output = OutputLines(reader, ServerLog("srv", None, lambda: 0.0))
        written = 0
        try:
            for _ in range(50):
                try:
                    written += os.write(writer, (line + b"\n") * 100)
                except BlockingIOError:
                    break
                await asyncio.sleep(0)
            else:
                raise AssertionError("the program never had to wait")
            for _ in range(written // (len(line) + 1)):
                assert isinstance(await output.receive(), ValueError)
        finally:
            output.release()
            os.close(writer)

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_pipe_that_another_program_holds_open_ends_with_the_program() -> None:
    async def main() -> None:
        reader, writer = os.pipe()
        output = OutputLines(reader, ServerLog("srv", None, lambda: 0.0))
        os.write(writer, b"last words\n")
        output.exited()
        try:
            assert isinstance(await output.receive(), ValueError)
            with pytest.raises(anyio.EndOfStream):
                await output.receive()
        finally:
            output.release()
            os.close(writer)

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_wait_for_a_message_that_is_given_up_loses_none() -> None:
    async def main() -> list[Item | BaseException]:
        found: list[Item | BaseException] = []
        async with output_of(b"".join(b"%d\n" % number for number in range(100)), []) as output:
            while not (found and isinstance(found[-1], anyio.EndOfStream)):
                waiting = asyncio.create_task(output.receive())
                await asyncio.sleep(0)
                waiting.cancel()
                found += await asyncio.gather(waiting, return_exceptions=True)
        return found

    taken = [each for each in asyncio.run(main()) if isinstance(each, ValueError)]
    assert len(taken) == 100


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize("line", [b"x\n", b"[]\n"], ids=["no message", "empty batch"])
def test_many_short_lines_leave_others_on_the_loop_their_turn(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def counted(line: bytes | bytearray) -> list[Item]:
        nonlocal count
        count += 1
        return parsed(line)

    monkeypatch.setattr(stdio_transport, "parsed", counted)

    async def main() -> None:
        reader, writer = os.pipe()
        os.write(writer, line * 10_000)
        output = OutputLines(reader, ServerLog("srv", None, lambda: 0.0))

        async def receive_all() -> None:
            for _ in range(10_000):
                await output.receive()

        receiving = asyncio.create_task(receive_all())
        try:
            while count < 10_000:
                before = count
                await asyncio.sleep(0)
                assert count - before <= 500
        finally:
            receiving.cancel()
            await asyncio.wait([receiving])
            output.release()
            os.close(writer)

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_flood_of_empty_batches_is_slowed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_transport, "_BURST", 100)
    monkeypatch.setattr(stdio_transport, "_PER_SECOND", 1e-3)

    async def main() -> None:
        reader, writer = os.pipe()
        os.write(writer, b"[]\n" * 200)
        output = OutputLines(reader, ServerLog("srv", None, lambda: 0.0))
        waiting = asyncio.create_task(output.receive())
        try:
            for _ in range(100):
                await asyncio.sleep(0)
            os.write(writer, b'{"jsonrpc":"2.0","method":"a"}\n')
            for _ in range(100):
                await asyncio.sleep(0)
            assert not waiting.done()
        finally:
            waiting.cancel()
            await asyncio.wait([waiting])
            output.release()
            os.close(writer)

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_flood_in_one_array_is_a_flood_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_transport, "_BURST", 100)
    monkeypatch.setattr(stdio_transport, "_PER_SECOND", 1e-3)
    one = b'{"jsonrpc":"2.0","method":"a"}'

    async def main() -> None:
        reader, writer = os.pipe()
        os.write(writer, b"[" + b",".join([one] * 200) + b"]\n")
        output = OutputLines(reader, ServerLog("srv", None, lambda: 0.0))
        try:
            for _ in range(200):
                await output.receive()
            os.write(writer, one + b"\n")
            waiting = asyncio.create_task(output.receive())
            for _ in range(100):
                await asyncio.sleep(0)
            assert not waiting.done()
            waiting.cancel()
        finally:
            output.release()
            os.close(writer)

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_second_cancel_while_the_program_ends_leaves_no_pipe_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, pipe = list[tuple[int, int]](), os.pipe

    def noted() -> tuple[int, int]:
        reader, writer = pipe()
        made.append((reader, os.fstat(reader).st_ino))
        return reader, writer

    async def main() -> None:
        entered, host = asyncio.Event(), LocalHost(tmp_path)

        async def use() -> None:
            log = ServerLog("srv", None, lambda: 0.0)
            command = Command(("sh", "-c", "trap '' TERM; while :; do sleep 1; done"), str(tmp_path), dict(os.environ))
            async with program_streams(command, host, log, lambda why: None):
                entered.set()
                await asyncio.Event().wait()

        using = asyncio.create_task(use())
        await entered.wait()
        for _ in range(2):
            using.cancel()
            await asyncio.sleep(0)
        await asyncio.wait({using})

    monkeypatch.setattr(stdio_transport.os, "pipe", noted)
    asyncio.run(main())
    reader, pipe_number = made[1]
    with suppress(OSError):
        assert os.fstat(reader).st_ino != pipe_number


@pytest.mark.spec("MCP-4")
def test_the_end_of_a_program_whose_input_was_closed_is_not_reported(tmp_path: Path) -> None:
    reported: list[str] = []

    async def main() -> None:
        log, host = ServerLog("srv", None, lambda: 0.0), LocalHost(tmp_path)
        async with program_streams(Command(("cat",), str(tmp_path), dict(os.environ)), host, log, reported.append) as (
            output,
            lines,
        ):
            await lines.aclose()
            with pytest.raises(anyio.EndOfStream):
                await output.receive()

    asyncio.run(main())
    assert reported == []


@pytest.mark.spec("TRS-13")
def test_the_log_of_a_server_is_private_and_has_no_secrets(tmp_path: Path) -> None:
    file = tmp_path / "mcp-logs" / "srv.log"
    file.parent.mkdir()
    file.write_text("of an earlier start")
    file.chmod(0o644)
    learn_variables({"Authorization": "Bearer plain-words-of-a-server", "X-Team": "research", "PIN_SECRET": "73915024"})
    said = (
        "connecting with plain-words-of-a-server",
        "GET https://example.com/?token=q7Zx2Kp9Lm4Tn8Wb failed",
        "Authorization: Bearer q7Zx2Kp9Lm4Tn8Wb",
        "API_KEY=q7Zx2Kp9Lm4Tn8Wb",
        "x" * 1_990 + " API_KEY=q7Zx2Kp9Lm4Tn8Wb",
        "the pin is 73915024, the team is research",
    )
    log = ServerLog("srv", tmp_path, lambda: 0.0, Masker({}).text)
    for line in said[:3]:
        log.say(line)
    log.take("\n".join([*said[3:], ""]).encode())
    log.refuse("DB_PASSWORD=q7Zx2Kp9Lm4Tn8Wb")
    asyncio.run(log.flush())
    text = "\n".join((file.read_text(), *log.lines(), log.noise))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not [part for part in ("plain-words", "q7Zx2", "73915024") if part in text]
    assert "the team is research" in text
