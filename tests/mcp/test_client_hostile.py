"""Servers that change, lie, flood, hang and die: each costs its own calls alone."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate.core.ports import Run
from callgate.host.local import LocalHost
from callgate.mcp.calling import CallsUnderWay
from callgate.mcp.log import ServerLog
from callgate.mcp.place import ServerLimits
from callgate.mcp.questions import ServerQuestions
from callgate.mcp.servers import ServerList
from callgate.testing import PlainRun
from callgate.words.calls import Result
from callgate.words.decisions import FieldAnswer
from callgate.words.messages import Resource
from tests.mcp.client_kit import Answering, ToldRun, connected, place_in, raw, until, use


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
    assert log.noise == "lines of its output that are no messages: 1,000, first: 'hello 0'"


@pytest.mark.spec("MCP-3")
def test_a_server_that_asks_without_end_and_does_not_read_the_answers_is_disconnected(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("asks and does not read")) as servers:
            before = _resident()
            result = await use(servers.servers["srv"], "add", a=1)
            assert "does not take the answers" in result.text
            assert _resident() - before < 64 << 20

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_of_many_questions_at_once_the_first_ones_wait_and_the_others_are_declined(tmp_path: Path) -> None:
    class Slow:
        """A Person who answers when all questions have arrived."""

        def __init__(self) -> None:
            self.arrived = asyncio.Event()
            self.asked = 0

        async def ask(self, run: Run | None, server: str, text: str, fields: Any) -> tuple[FieldAnswer, ...]:
            self.asked += 1
            await self.arrived.wait()
            return (FieldAnswer(text="x"),)

    async def main() -> None:
        person, calls = Slow(), CallsUnderWay(LocalHost(tmp_path).clock, 60.0)
        questions = ServerQuestions("srv", calls, person, lambda text: None)
        with calls.begun(PlainRun()):
            asking = [asyncio.ensure_future(questions.elicit({"requestedSchema": CITY})) for _ in range(1_000)]
            await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            assert sum(each.done() for each in asking) == 990
            person.arrived.set()
            assert sum(action == "accept" for action, _ in await asyncio.gather(*asking)) == person.asked == 10

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
            assert any(line.endswith("does not list them: not again") for line in server.log.lines())
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
            assert "was lost during the call" in result.text
            await following
            assert states == ["connecting", "connected", "connecting", "connected"]
        finally:
            await servers.aclose()

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_server_that_closes_its_output_and_runs_on_is_started_again_before_a_call_finds_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.mcp.stdio._LINGER", 0.0)

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
                await server.requests.read(uri, PlainRun())
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
        ("prints and exits", "lines of its output that are no messages: 1, first: 'this is not for you'"),
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


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.spec("MCP-2")
@pytest.mark.parametrize(
    ("asked", "answers", "got"),
    [
        ({"requestedSchema": CITY}, (FieldAnswer(text="Ulm"),), {"action": "accept", "content": {"city": "Ulm"}}),
        ({"requestedSchema": CITY}, None, {"action": "decline"}),
        (
            {
                "requestedSchema": {
                    "type": "object",
                    "properties": {
                        "n": {"type": "integer"},
                        "sure": {"type": "boolean"},
                        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"]},
                    },
                }
            },
            (FieldAnswer(text="3"), FieldAnswer(("Yes",)), FieldAnswer(("large",))),
            {"action": "accept", "content": {"n": 3, "sure": True, "size": "l"}},
        ),
    ],
)
def test_a_question_of_a_server_goes_to_the_person(
    tmp_path: Path, asked: dict[str, object], answers: tuple[FieldAnswer, ...] | None, got: object
) -> None:
    async def main() -> None:
        person = Answering(answers)
        value = json.dumps({"message": "Which \x1b[31mone?", **asked})
        async with connected(place_in(tmp_path, person=person), raw("elicits", value)) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
        assert json.loads(result.text) == got
        assert person.asked[0][:2] == ("srv", "Which one?")

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_a_form_is_asked_again_while_an_answer_does_not_keep_to_its_limits(tmp_path: Path) -> None:
    nights = {"type": "integer", "minimum": 1, "maximum": 10}
    colour = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "default": "r"}
    form = {"type": "object", "properties": {"n": nights, "mail": {"type": "string", "format": "email"}, "c": colour}}

    def given(count: str, mail: str) -> tuple[FieldAnswer, ...]:
        return FieldAnswer(text=count), FieldAnswer(text=mail), FieldAnswer()

    async def main() -> None:
        person = Answering(given("99", "a@b.c"), given("9", "nomail"), given("9", "a@b.c"))
        value = json.dumps({"message": "Well?", "requestedSchema": form})
        async with connected(place_in(tmp_path, person=person), raw("elicits", value)) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
        assert json.loads(result.text)["content"] == {"n": 9, "mail": "a@b.c", "c": "r"}
        first, second, third = [text for _, text, _ in person.asked]
        assert first == "Well?"
        assert second.startswith("$.n: ")
        assert third == "mail: email is wanted\nWell?"
        fields = person.asked[0][2]
        assert fields[0].question == "n (a whole number, 1 to 10)"
        assert (fields[2].default, fields[2].question) == ("Red", "c; Red unless said")

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_the_fields_of_a_form_take_answers_of_their_kind_alone(tmp_path: Path) -> None:
    kinds = {
        "text": {"type": "string", "format": "date"},
        "number": {"type": "number"},
        "integer": {"type": "integer"},
        "option": {"type": "string", "enum": ["s", "l"]},
        "sure": {"type": "boolean"},
        "any": {"type": "array", "items": {"enum": ["a", "b"]}},
    }

    async def main() -> None:
        person = Answering(None)
        value = json.dumps({"message": "Which?", "requestedSchema": {"type": "object", "properties": kinds}})
        async with connected(place_in(tmp_path, person=person), raw("elicits", value)) as servers:
            await use(servers.servers["srv"], "add", a=1)
        asked = [each.kind for each in person.asked[0][2]]
        assert asked == ["text", "number", "integer", "option", "option", "option"]

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_after_a_no_the_same_call_asks_nothing_more(tmp_path: Path) -> None:
    async def main() -> None:
        person = Answering(None)
        value = json.dumps({"message": "Well?", "requestedSchema": CITY})
        async with connected(place_in(tmp_path, person=person), raw("nags", value)) as servers:
            assert json.loads((await use(servers.servers["srv"], "add", a=1)).text) == ["decline"] * 3
        assert len(person.asked) == 1

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_a_resource_that_changes_is_told_once_for_each_time_it_was_read(tmp_path: Path) -> None:
    async def main() -> None:
        notes: list[str] = []
        async with connected(place_in(tmp_path, inform=notes.append), raw()) as servers:
            server, run = servers.servers["srv"], PlainRun()
            assert await server.requests.read("note://a", run) == (Resource("note://a", text="remember the milk"),)
            await use(server, "add", a=1)  # what the server sent before has been heard when this is answered
            assert notes == ["the resource 'note://a' of the MCP server srv changed since it was read"]

    asyncio.run(main())


@pytest.mark.spec("MCP-3")
def test_a_question_is_withdrawn_when_its_server_dies(tmp_path: Path) -> None:
    class Slow:
        """A Person who does not answer. ``gone``: the question was taken back."""

        def __init__(self) -> None:
            self.gone = asyncio.Event()

        async def ask(self, run: Run | None, server: str, text: str, fields: Any) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.gone.set()

    async def main() -> None:
        person = Slow()
        value = json.dumps({"message": "Well?", "requestedSchema": CITY})
        async with connected(place_in(tmp_path, person=person), raw("asks and dies", value)) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
            assert "what it did is not known" in result.text
            await person.gone.wait()

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
    from callgate.mcp.stdio import parsed

    tools = [{"name": f"t{index}", "inputSchema": {}} for index in range(5_000)]
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "other": [*range(2_000)]}}).encode()
    for written in (line, b"[" + line + b"]"):
        (message,) = parsed(written)
        assert not isinstance(message, Exception)
        result = message.message.result  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        assert (len(result["tools"]), len(result["other"])) == (1_000, 2_000)  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.spec("MCP-3")
def test_an_array_holds_no_text_that_a_message_alone_may_not_hold() -> None:
    from callgate.mcp.stdio import parsed

    line = b'{"jsonrpc":"2.0","method":"a","params":{"half a character":"\\ud800"}}'
    for written in (line, b"[" + line + b"]"):
        (refused,) = parsed(written)
        assert isinstance(refused, ValueError), written


@pytest.mark.spec("MCP-7")
def test_a_resource_is_read_although_its_server_does_not_answer_whether_it_tells_of_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.mcp.requests._MOMENT", 0.0)

    async def main() -> None:
        place = place_in(tmp_path, limits=ServerLimits(call=1.0))
        async with connected(place, raw("ignores subscriptions")) as servers:
            found = await servers.servers["srv"].requests.read("note://a", PlainRun())
            assert found == (Resource("note://a", text="remember the milk"),)

    asyncio.run(main())


@pytest.mark.spec("MCP-7")
def test_a_resource_is_read_although_its_server_refuses_to_tell_of_changes(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(place_in(tmp_path), raw("refuses subscriptions")) as servers:
            server = servers.servers["srv"]
            found = await server.requests.read("note://a", PlainRun())
            assert found == (Resource("note://a", text="remember the milk"),)
            assert "it does not tell of changes of note://a" in server.log.lines()[-1]

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
@pytest.mark.parametrize(
    "asked",
    [
        {"requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}}},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "title": "Your API key"}}}},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "object"}}}},
        {"message": "Paste your API key", "requestedSchema": CITY},
        {"message": "Your pass\u200bword?", "requestedSchema": CITY},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "title": "Pass\u00adphrase"}}}},
        {"message": "Your recovery phrase?", "requestedSchema": CITY},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "oneOf": [{"title": "x"}]}}}},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "oneOf": "x"}}}},
        {"requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "enum": 7}}}},
        {"mode": "url", "elicitationId": "1", "url": "javascript:alert(1)"},
        {"mode": "url", "elicitationId": "1", "url": "file:///etc/passwd"},
        {"mode": "url", "elicitationId": "1", "url": "https://user:pw@x.example/"},
        {"mode": "url", "elicitationId": "1", "url": "https://x.example/\x1b[2J"},
        {"mode": "url", "elicitationId": "1", "url": f"https://x.example/{'a' * 5000}"},
    ],
)
def test_secrets_and_odd_addresses_are_never_asked_for(tmp_path: Path, asked: dict[str, object]) -> None:
    async def main() -> None:
        person = Answering()
        async with connected(
            place_in(tmp_path, person=person), raw("elicits", json.dumps({"message": "m", **asked}))
        ) as servers:
            result = await use(servers.servers["srv"], "add", a=1)
        assert json.loads(result.text) == {"action": "decline"}
        assert person.asked == []

    asyncio.run(main())


@pytest.mark.spec("MCP-2")
def test_an_address_is_shown_with_its_host(tmp_path: Path) -> None:
    async def main() -> None:
        person = Answering(())
        asked = {"mode": "url", "message": "Log in", "elicitationId": "1", "url": "https://login.example/x?y=1"}
        async with connected(place_in(tmp_path, person=person), raw("elicits", json.dumps(asked))) as servers:
            assert json.loads((await use(servers.servers["srv"], "add", a=1)).text) == {"action": "accept"}
        assert "https://login.example/x?y=1\n(on the host login.example)" in person.asked[0][1]

    asyncio.run(main())


@pytest.mark.spec("MCP-4")
def test_of_many_tools_the_first_are_taken_with_a_note(tmp_path: Path) -> None:
    async def main() -> None:
        notes: list[str] = []
        async with connected(place_in(tmp_path, note=notes.append), raw("many", "2000")) as servers:
            assert servers.servers["srv"].state.tools == 512
        assert notes == ["the server srv has more than 512 tools: the first 512 are taken"]

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
            server.heard_of("tools")
            await until(server, lambda: [each.spec.name for each in server.tools] == ["mcp__srv__two"])

    asyncio.run(main())


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
