"""Servers that change, lie, flood, hang and die: each costs its own calls alone."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.mcp.server_context import ServerLimits
from callgate.mcp.server_list import ServerList
from callgate.mcp.server_log import ServerLog
from callgate.words.calls import Result
from callgate.words.messages import Resource
from tests.mcp.client_kit import ToldRun, connected, place_in, raw, until, use


def called(tmp_path: Path, behaviour: str, value: str = "") -> Result:
    async def main() -> Result:
        async with connected(place_in(tmp_path), raw(behaviour, value)) as servers:
            assert servers.servers["srv"].state.status == "connected", servers.servers["srv"].log.lines()
            return await use(servers.servers["srv"], "add", a=1, b=2)

    return asyncio.run(main())


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize(
    ("behaviour", "text"),
    [("plain", "3"), ("twice", "first"), ("wrong ids", "right"), ("text id", "by text"), ("array", "in an array")],
)
def test_answers_with_odd_ids_and_forms_change_nothing_for_the_right_one(
    tmp_path: Path, behaviour: str, text: str
) -> None:
    assert called(tmp_path, behaviour).text == text


@pytest.mark.spec("MCP-3")
def test_lines_that_are_no_messages_are_passed_over(tmp_path: Path) -> None:
    assert called(tmp_path, "junk").text == "after junk"


@pytest.mark.spec("MCP-3")
def test_an_answer_that_is_too_large_fails_its_call_and_is_not_kept(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("huge", "100")) as servers:
            server = servers.servers["srv"]
            before = _resident()
            result = await use(server, "add", a=1, b=2)
            assert result.is_error
            assert "more than 8 MiB" in result.text
            assert _resident() - before < 16 << 20
            assert server.state.status == "connected"

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize("said", ["no such row", "Connection closed by the database"])
def test_an_error_of_a_server_ends_its_call_and_not_the_connection(said: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("fails", said)) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
            assert (result.text, result.details) == (f"The server srv says: {said}", {})
            assert servers.servers["srv"].state.status == "connected"

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_of_lines_that_are_no_messages_the_log_has_the_first_ones_and_a_reason_names_them() -> None:
    log = ServerLog("srv", None, lambda: 0.0)
    assert log.noise == ""
    for number in range(1_000):
        log.refuse(f"hello {number}\x1b[31m")
    assert len(log.lines()) == 20
    assert log.noise == "invalid lines in its output: 1,000, first: 'hello 0'"


@pytest.mark.spec("MCP-3")
def test_a_server_that_asks_without_end_and_does_not_read_the_answers_is_disconnected(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("asks and does not read")) as servers:
            before = _resident()
            result = await use(servers.servers["srv"], "add", a=1)
            assert "it sends requests but does not read the answers" in result.text
            assert _resident() - before < 64 << 20

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_server_that_does_not_list_again_keeps_its_connection_and_its_tools_and_is_asked_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.mcp.server._REFRESH", 0.01)

    async def main() -> None:
        async with connected(place_in(tmp_path), raw("lists once")) as servers:
            server = servers.servers["srv"]
            assert (await use(server, "add", a=99)).text == "tools/list"
            assert (await use(server, "add", a=1, b=2)).text == "3"
            assert any(line.endswith("but listing them failed: not again") for line in server.log.lines())
            await until(server, lambda: server.state.tools == 1)

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_line_without_end_is_dropped_and_the_call_ends_in_time(tmp_path: Path) -> None:
    async def main() -> None:
        place = place_in(tmp_path, limits=ServerLimits(call=1.0))
        async with connected(place, raw("endless"), raw(name="other")) as servers:
            before = _resident()
            slow = asyncio.create_task(use(servers.servers["srv"], "add", a=1, b=2))
            assert (await use(servers.servers["other"], "add", a=1, b=2)).text == "3"
            assert (await slow).code == "timed_out"
            assert _resident() - before < 32 << 20

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_server_that_dies_in_a_call_gives_one_error_and_is_started_again(tmp_path: Path) -> None:
    async def main() -> None:
        servers = ServerList((raw("dies"),))
        servers.begin(place_in(tmp_path))
        server = servers.servers["srv"]
        states = [server.state.status]

        def seen() -> int:
            if server.state.status != states[-1]:
                states.append(server.state.status)
            return len(states)

        following = asyncio.ensure_future(until(server, lambda: seen() == 4))
        try:
            await servers.settled()
            result = await use(servers.servers["srv"], "add", a=1, b=2)
            assert result.is_error
            assert result.effects == "unknown"
            assert "disconnected during the call (" in result.text
            await following
            assert states == ["connecting", "connected", "connecting", "connected"]
        finally:
            await servers.aclose()

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_server_that_closes_its_output_and_runs_on_is_started_again_before_a_call_finds_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.mcp.stdio_transport._LINGER", 0.0)

    async def main() -> None:
        async with connected(place_in(tmp_path), raw("falls silent")) as servers:
            server = servers.servers["srv"]
            await until(server, lambda: server.state.reason == "it closed its output")

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_resources_that_were_read_are_watched_again_after_a_new_connection(tmp_path: Path) -> None:
    async def main() -> None:
        told, all_told = list[str](), asyncio.Event()

        def inform(text: str) -> None:
            told.append(text)
            if len(told) == 2:
                all_told.set()

        place = place_in(tmp_path, inform=inform)
        async with connected(place, raw("dies once", str(tmp_path / "lived"))) as servers:
            server = servers.servers["srv"]
            for uri in ("note://a", "note://b"):
                await server.requests.read(uri)
            assert told == []
            assert (await use(server, "add", a=1)).effects == "unknown"
            await all_told.wait()
            assert (await use(server, "add", a=1)).text == "1"  # each was told a hundred times before this answer
            assert sorted(told) == [
                f"the resource 'note://{name}' of the MCP server srv changed since it was read" for name in "ab"
            ]

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_call_that_is_never_answered_ends_in_time_and_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path, limits=ServerLimits(call=0.2)), raw("silent")) as servers:
            result = await use(servers.servers["srv"], "add", a=1, b=2)
            assert result.code == "timed_out"
            assert "did not answer within 0.2 s" in result.text
        async with connected(place_in(tmp_path), raw("silent")) as servers:
            server, run = servers.servers["srv"], ToldRun()
            call = asyncio.create_task(use(server, "add", run, a=1, b=2))
            await run.told.wait()
            assert (run.said[0].text, run.said[0].current, run.said[0].total) == ("thinking", 1, 2)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert len(json.loads((await use(server, "add", a=99)).text)) == 1

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("never connects", "did not answer within 0.3 s"),
        ("exits", "it ended with exit status 1"),
        ("prints and exits", "invalid lines in its output: 1, first: 'this is not for you'"),
    ],
)
def test_a_server_that_does_not_connect_says_why_and_the_others_do(tmp_path: Path, behaviour: str, says: str) -> None:
    async def main() -> None:
        place = place_in(tmp_path, limits=ServerLimits(connect=30.0))
        broken = replace(place, limits=ServerLimits(connect=0.3)) if behaviour == "never connects" else place
        async with connected(broken, raw(behaviour, name="bad")) as servers, connected(place, raw()) as others:
            assert says in servers.servers["bad"].state.reason
            assert others.servers["srv"].state.status == "connected"
            if behaviour == "exits":
                assert any("cannot find my settings" in line for line in servers.servers["bad"].log.lines())

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_program_that_is_not_there_is_not_tried_again(tmp_path: Path) -> None:
    async def main() -> None:
        gone = replace(raw(), command="no-such-program")
        async with connected(place_in(tmp_path), gone) as servers:
            state = servers.servers["srv"].state
            assert (state.status, state.reason) == (
                "failed",
                "it cannot be started: No such file or directory: no-such-program",
            )

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_storm_of_notices_is_one_look_at_the_list(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("storm", "10000")) as servers:
            assert (await use(servers.servers["srv"], "add", a=1, b=2)).text == "after the storm"
            assert servers.servers["srv"].state.status == "connected"

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_server_gets_its_own_variables_and_none_of_our_secrets(tmp_path: Path) -> None:
    async def main() -> None:
        config = raw(env={"OWN": "${SECRET_TOKEN:-none}", "PLAIN": "$SECRET_TOKEN"})
        async with connected(place_in(tmp_path), config) as servers:
            found = json.loads((await use(servers.servers["srv"], "env")).text)
            assert {*found} - {"LC_CTYPE"} == {"PATH", "HOME", "OWN", "PLAIN"}
            assert (found["OWN"], found["PLAIN"]) == ("s3cret", "$SECRET_TOKEN")

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_sampling_is_refused(tmp_path: Path) -> None:
    assert "not supported" in called(tmp_path, "samples").text.lower()


@pytest.mark.spec("MCP-7")
def test_a_resource_that_changes_is_told_once_for_each_time_it_was_read(tmp_path: Path) -> None:
    async def main() -> None:
        notes: list[str] = []
        async with connected(place_in(tmp_path, inform=notes.append), raw()) as servers:
            server = servers.servers["srv"]
            assert await server.requests.read("note://a") == (Resource("note://a", text="remember the milk"),)
            await use(server, "add", a=1)  # what the server sent before has been heard when this is answered
            assert notes == ["the resource 'note://a' of the MCP server srv changed since it was read"]

    asyncio.run(main())


@pytest.mark.spec("MCP-4")
def test_the_reason_of_a_failure_is_short_and_holds_no_codes(tmp_path: Path) -> None:
    async def main() -> None:
        said = "\x1b]8;;https://x.example\x07click\x1b]8;;\x07" + "x" * 100_000
        async with connected(place_in(tmp_path), raw("refuses", said)) as servers:
            reason = servers.servers["srv"].state.reason
            assert reason.startswith("clickxxx")
            assert len(reason) < 600

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_the_rest_of_a_list_that_is_too_long_is_cut_off_before_the_loop_reads_it() -> None:
    from callgate.mcp.stdio_transport import parsed

    tools = [{"name": f"t{index}", "inputSchema": {}} for index in range(5_000)]
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "other": [*range(2_000)]}}).encode()
    for written in (line, b"[" + line + b"]"):
        (message,) = parsed(written)
        assert not isinstance(message, Exception)
        result = message.message.result  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        assert (len(result["tools"]), len(result["other"])) == (1_000, 2_000)  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.spec("MCP-3")
def test_an_array_holds_no_text_that_a_message_alone_may_not_hold() -> None:
    from callgate.mcp.stdio_transport import parsed

    line = b'{"jsonrpc":"2.0","method":"a","params":{"half a character":"\\ud800"}}'
    for written in (line, b"[" + line + b"]"):
        (refused,) = parsed(written)
        assert isinstance(refused, ValueError), written


@pytest.mark.spec("MCP-7")
def test_a_resource_is_read_although_its_server_does_not_answer_whether_it_tells_of_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.mcp.server_requests._MOMENT", 0.0)

    async def main() -> None:
        place = place_in(tmp_path, limits=ServerLimits(call=1.0))
        async with connected(place, raw("ignores subscriptions")) as servers:
            found = await servers.servers["srv"].requests.read("note://a")
            assert found == (Resource("note://a", text="remember the milk"),)

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_a_resource_is_read_although_its_server_refuses_to_tell_of_changes(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("refuses subscriptions")) as servers:
            server = servers.servers["srv"]
            found = await server.requests.read("note://a")
            assert found == (Resource("note://a", text="remember the milk"),)
            assert "it does not report changes of note://a" in server.log.lines()[-1]

    asyncio.run(main())


@pytest.mark.spec("MCP-4")
def test_of_many_tools_the_first_are_taken_with_a_note(tmp_path: Path) -> None:
    async def main() -> None:
        notes: list[str] = []
        async with connected(place_in(tmp_path, note=notes.append), raw("many", "2000")) as servers:
            assert servers.servers["srv"].state.tools == 512
        assert notes == ["the server srv has more than 512 tools: only the first 512 are used"]

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_only_a_trusted_server_is_believed_that_it_reads(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw(), raw(name="own", trusted=True)) as servers:
            effects = {each.spec.name: each.traits({}).effects for each in servers.tools() if "__add" in each.spec.name}
            assert effects == {"mcp__srv__add": "mutating", "mcp__own__add": "none"}
            assert {each.traits({}).server for each in servers.servers["own"].tools} == {"own"}

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_a_list_that_changed_is_read_again(tmp_path: Path) -> None:
    async def main() -> None:
        tools = [[{"name": name, "inputSchema": {"type": "object"}}] for name in ("one", "two")]
        config = raw("versions", json.dumps(tools))
        async with connected(place_in(tmp_path), config) as servers:
            server = servers.servers["srv"]
            assert [each.spec.name for each in server.tools] == ["mcp__srv__one"]
            server.list_changed("tools")
            await until(server, lambda: [each.spec.name for each in server.tools] == ["mcp__srv__two"])

    asyncio.run(main())


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
