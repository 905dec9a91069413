"""Calls of MCP clients: listed, judged, run, recorded, cancelled."""

import asyncio
import os
from pathlib import Path

import anyio
import pytest
from mcp import MCPError
from mcp_types import ImageContent

from callgate import Result, tool
from callgate.core.ports import Run
from callgate.mcp_server.protocol import result_of
from callgate.mcp_server.server import McpToolServer
from callgate.words.events import CallDecided, CallSettled
from callgate.words.messages import Image, Text
from tests.mcp_server.kit import ERAS, bench, code_of, run, text_of
from tests.sessions import with_event

pytestmark = pytest.mark.spec("MCP-5")
era_of = pytest.mark.parametrize("era", ERAS)


@pytest.mark.spec("BLT-4")
@era_of
def test_tools_are_listed_with_titles_and_hints_from_their_traits(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made, made.client(era) as client:
            found = {each.name: each for each in (await client.list_tools()).tools}
            assert "TodoWrite" not in found
            assert found["Read"].title == "Read a file"
            hints = {name: each.annotations for name, each in found.items() if each.annotations is not None}
            assert hints["Read"].read_only_hint
            assert hints["WebFetch"].open_world_hint
            assert hints["Edit"].read_only_hint, "it stages, and changes nothing"
            for name in ("Bash", "resolve"):
                assert (hints[name].read_only_hint, hints[name].destructive_hint) == (False, True), name
            assert "id" in found["resolve"].input_schema["required"]

    run(main)


@era_of
def test_a_call_runs_through_the_gate_and_is_on_record(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, deny=["Read(secret.txt)"]) as made, made.client(era) as client:
            made.write("a.txt", "hello\n")
            made.write("secret.txt", "key\n")
            good = await client.call_tool("Read", {"file_path": "a.txt"})
            bad = await client.call_tool("Read", {"file_path": "secret.txt"})
        assert "hello" in text_of(good)
        assert (bad.is_error, code_of(bad)) == (True, "denied")
        assert "Read(secret.txt)" in text_of(bad)
        listed = made.store.list()
        assert [(each.about.title, each.about.model, each.about.unfinished) for each in listed] == [
            ("MCP: mcp", "mcp/mcp", False)
        ]
        events = made.store.read().events
        assert len([each for each in events if isinstance(each, CallDecided)]) == 2
        assert [each.result.code for each in events if isinstance(each, CallSettled)] == ["ok", "denied"]

    run(main)


@era_of
def test_bad_arguments_are_an_error_result_and_an_unknown_tool_an_error_of_the_protocol(
    era: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made, made.client(era) as client:
            bad = await client.call_tool("Read", {"path": 7})
            assert (bad.is_error, code_of(bad)) == (True, "invalid_arguments")
            assert "file_path" in text_of(bad)
            with pytest.raises(MCPError, match="Unknown tool: Raed"):
                await client.call_tool("Raed", {})
            unnamed = await client.call_tool("resolve", {"action": "apply", "reason": "yes"})
            assert (unnamed.is_error, code_of(unnamed)) == (True, "invalid_arguments")
            assert "Pass the id" in text_of(unnamed)

    run(main)


def test_images_and_huge_texts_keep_to_the_protocol_and_to_the_limits(tmp_path: Path) -> None:
    @tool(effects="none")
    def picture() -> Result:
        return Result((Image("image/png", b"\x89PNG"),))

    @tool(effects="none")
    def flood() -> str:
        return "x" * 5_000_000

    async def main() -> None:
        async with bench(tmp_path, own=[picture, flood]) as made, made.client("auto") as client:
            shown = (await client.call_tool("picture", {})).content[0]
            assert isinstance(shown, ImageContent)
            assert (shown.mime_type, shown.data) == ("image/png", "iVBORw==")
            text = text_of(await client.call_tool("flood", {}))
            assert len(text) < 40_000
            assert str(tmp_path) in text, "it names the file with all of it"

    run(main)


def test_an_object_is_structured_content_too_and_a_text_that_looks_like_one_is_not(tmp_path: Path) -> None:
    @tool(effects="none")
    def count() -> dict[str, int]:
        return {"lines": 3}

    @tool(effects="none")
    def file() -> str:
        return '{ "lines": 3 }'

    async def main() -> None:
        async with bench(tmp_path, own=[count, file]) as made, made.client("auto") as client:
            found = await client.call_tool("count", {})
            assert (found.structured_content, text_of(found)) == ({"lines": 3}, '{"lines":3}')
            assert (await client.call_tool("file", {})).structured_content is None

    run(main)


def test_an_object_that_a_message_cannot_carry_is_text_alone() -> None:
    deep = '{"a":' * 250 + "1" + "}" * 250
    for text in ('{"a":NaN}', '{"a":[-Infinity]}', deep):
        assert result_of(Result((Text(text),))).structured_content is None, text[:20]
    assert result_of(Result((Text('{"a":[1,{"b":null}]}'),))).structured_content == {"a": [1, {"b": None}]}


@era_of
def test_a_tool_that_a_rule_denies_as_a_whole_is_neither_listed_nor_called(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        deny = ["Bash", "Read(secret.txt)"]
        async with bench(tmp_path, deny=deny, mode="bypass") as made, made.client(era) as client:
            names = {each.name for each in (await client.list_tools()).tools}
            assert "Bash" not in names
            assert "Read" in names, "some of its calls may run"
            with pytest.raises(MCPError, match="Unknown tool: Bash"):
                await client.call_tool("Bash", {"command": "touch made"})
            assert not (made.work / "made").exists()

    run(main)


def test_a_workspace_whose_name_is_no_text_can_be_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path) as made:
            told = McpToolServer(made.sessions, "/w\udcff").server.instructions
            assert told is not None
            assert b"/w<U+DCFF>" in told.encode()

    run(main)


@era_of
def test_calls_that_do_not_conflict_overlap_and_a_failure_cancels_no_other(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        go_on, begun = asyncio.Event(), asyncio.Event()

        @tool(effects="none")
        async def slow() -> str:
            begun.set()
            await go_on.wait()
            return "slow"

        @tool(effects="none", cascade=True)
        def failing() -> str:
            raise ValueError("no")

        async with bench(tmp_path, own=[slow, failing]) as made, made.client(era) as client:
            first = asyncio.ensure_future(client.call_tool("slow", {}))
            await begun.wait()
            for _ in range(3):
                assert (await client.call_tool("failing", {})).is_error
            go_on.set()
            assert text_of(await first) == "slow"

    run(main)


@era_of
def test_progress_is_told_with_rising_numbers(era: str, tmp_path: Path) -> None:
    @tool(effects="none")
    async def slow(run: Run) -> str:
        for text in ("one", "two"):
            run.progress(text)
            await asyncio.sleep(0)
        run.progress("", current=50, total=100)
        return "done"

    async def main() -> None:
        told: list[tuple[float, float | None, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        async with bench(tmp_path, own=[slow]) as made, made.client(era) as client:
            assert text_of(await client.call_tool("slow", {}, progress_callback=hear)) == "done"
        numbers = [each[0] for each in told]
        assert numbers == sorted(set(numbers))
        assert told[-1][:2] == (50, 100)

    run(main)


@era_of
def test_a_cancel_by_the_client_ends_the_call_and_its_processes(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, mode="bypass") as made, made.client(era) as client:
            scope = anyio.CancelScope()

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                if "ready" in (message or ""):
                    scope.cancel()

            with scope:
                command = "sleep 1000 & echo $! > pid; echo ready; wait"
                await client.call_tool("Bash", {"command": command}, progress_callback=hear)
            assert scope.cancelled_caught
            after = await client.call_tool("Bash", {"command": "echo after"})  # waits for the lock of the other
            assert text_of(after) == "after"
            with pytest.raises(ProcessLookupError):
                os.kill(int((made.work / "pid").read_text()), 0)
        settled = [each.result.code for each in made.store.read().events if isinstance(each, CallSettled)]
        assert settled == ["cancelled_by_user", "ok"]

    run(main)


def test_a_client_that_leaves_takes_its_commands_along(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, mode="bypass") as made:
            served = await made.sessions.of("", "client")
            assert served is not None
            call = served.begin("Bash", {"command": "sleep 1000 & echo $! > pid; echo ready; wait"})
            while "ready" not in getattr(await call.next(), "text", ""):
                pass
            await made.sessions.aclose()
            with pytest.raises(ProcessLookupError):
                os.kill(int((made.work / "pid").read_text()), 0)
            late = await served.begin("Glob", {"pattern": "*"}).next()
            assert getattr(late, "code", "") == "never_started"

    run(main)


def test_sessions_of_connections_that_fell_silent_are_closed(tmp_path: Path) -> None:
    async def main() -> None:
        async with bench(tmp_path, idle=0.0) as made:
            served = await made.sessions.of("one", "client")
            assert served is not None
            closed = asyncio.Event()
            served.session.listen(with_event(lambda event: closed.set() if served.session.status == "closed" else None))
            await closed.wait()
            other = await made.sessions.of("one", "client")
            assert other is not served

    run(main)


@era_of
def test_each_of_many_calls_at_once_gets_its_own_answer(era: str, tmp_path: Path) -> None:
    async def main() -> None:
        found: dict[int, str] = {}
        async with bench(tmp_path) as made, made.client(era) as client:

            async def call(number: int) -> None:
                if number % 10:
                    result = await client.call_tool("Read", {"file_path": f"{number}.txt"})
                else:
                    change = {"file_path": f"new {number}.txt", "content": f"text {number}\n"}
                    result = await client.call_tool("Write", change)
                found[number] = text_of(result)

            for number in range(120):
                made.write(f"{number}.txt", f"text {number}\n")
            async with anyio.create_task_group() as tasks:
                for number in range(120):
                    tasks.start_soon(call, number)
        assert [number for number in range(120) if f"text {number}\n" not in f"{found[number]}\n"] == []

    run(main)
