"""Every row of the corpus of hostile MCP servers, and of requests to a server of ours."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from httpx2 import ASGITransport, AsyncClient

from callgate import Nesting, Session
from callgate.assembly.servers import KeptSecrets
from callgate.mcp.server_config import ServerConfig, read_text
from callgate.mcp.server_questions import form_fields, shown_address
from callgate.mcp.server_tool import described
from callgate.mcp.tool_definitions import MOST_TOOLS, read_definition, tool_names
from callgate.mcp_server.http import HttpServer, names_of
from callgate.testing import PlainTool, ScriptedModel, call, say, turn
from callgate.words.events import CallSettled, QuestionAsked
from callgate.words.inputs import Prompt, Steer
from callgate.words.traits import Traits
from tests.mcp.client_kit import OWN, Answering, connected, place_in, raw, use
from tests.mcp.client_login_server import LoginServer, running
from tests.mcp.test_client_session import asked, config_in, extra, flags, ran, texts
from tests.mcp_server.kit import bench
from tests.mcp_server.process_kit import over_http

CORPUS = Path(__file__).parents[1] / "data" / "security" / "mcp_cases.jsonl"
ROWS: dict[str, dict[str, Any]] = {
    row["id"]: row for row in map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())
}
Row = dict[str, Any]


async def _changed(row: Row, folder: Path) -> None:
    """Approved under an allow rule, the tool asks again, once, when its definition is the other one."""
    config = config_in(folder, allow=["mcp__srv"])
    name = f"mcp__srv__{row['server']['tools@1'][0]['name']}"
    before, after = (flags(raw("tools", json.dumps(row["server"][key]))) for key in ("tools@1", "tools@2"))
    assert asked(await ran(config, before, extra(name))) == []
    (question,) = asked(await ran(config, after, extra(name)))
    assert "changed since it was approved" in question.reason
    assert "\n+" in question.reason


async def _shadows_core(row: Row, folder: Path) -> None:
    config = config_in(folder, allow=["Bash", "Edit", "Read"])
    given = flags(raw("tools", json.dumps(row["server"]["tools"])))
    for name in ("Bash", "Edit", "Read"):
        (question,) = asked(await ran(config, given, extra(f"mcp__srv__{name}")))
        assert question.tool == f"mcp__srv__{name}"


async def _shadows_another(row: Row, folder: Path) -> None:
    config = config_in(folder, allow=["mcp__a__send_mail"])
    servers = flags(*(raw("tools", json.dumps(row["server"][name]), name=name) for name in "ab"))
    assert asked(await ran(config, servers, extra("mcp__a__send_mail"))) == []
    assert len(asked(await ran(config, servers, extra("mcp__b__send_mail")))) == 1
    other = read_definition(row["server"]["b"][0])
    assert "data, not instructions" in described("b", other)
    assert other.suspicion


async def _odd_names(row: Row, folder: Path) -> None:
    given = [each["name"] for each in row["server"]["tools"]]
    assert tool_names("srv", given) == {}
    async with connected(place_in(folder), raw("tools", json.dumps(row["server"]["tools"]))) as servers:
        assert servers.servers["srv"].tools == ()
        assert sum("is ignored:" in line for line in servers.servers["srv"].log.lines()) == len(given)


async def _many(row: Row, folder: Path) -> None:
    async with connected(place_in(folder), raw("many", str(row["server"]["tools_count"]))) as servers:
        assert servers.servers["srv"].state.tools == MOST_TOOLS


async def _orders(row: Row, folder: Path) -> None:
    config = config_in(folder, allow=["mcp__srv"])
    given = flags(raw("tools", json.dumps(row["server"]["tools"])))
    (question,) = asked(await ran(config, given, extra("mcp__srv__x")))
    assert "its description contains an instruction to the model: …" in question.reason
    assert "data, not instructions" in described("srv", read_definition(row["server"]["tools"][0]))


async def _tool_use(row: Row, folder: Path) -> None:
    answer = json.dumps({"content": [row["server"]["call_result"]]})
    events = await ran(config_in(folder, allow=["mcp__srv"]), flags(raw("result", answer)), extra("mcp__srv__add"))
    assert [event.call_id for event in events if isinstance(event, CallSettled)] == ["call_1"]
    assert "the answer violates the protocol:" in texts(events)[0]


async def _huge(row: Row, folder: Path) -> None:
    megabytes = row["server"]["call_result_bytes"] >> 20
    async with connected(place_in(folder), raw("huge", str(megabytes))) as servers:
        assert "more than 8 MiB" in (await use(servers.servers["srv"], "add")).text
    large = json.dumps({"content": [{"type": "text", "text": "x" * 3_000_000}]})
    config = config_in(folder, allow=["mcp__big"])
    entry = folder / "answer.json"
    entry.write_text(large, encoding="utf-8")
    events = await ran(config, flags(raw("result file", str(entry), name="big")), extra("mcp__big__add"))
    (settled,) = [event.result for event in events if isinstance(event, CallSettled)]
    assert len(settled.text) < 500_000
    assert [os.stat(each.path).st_mode & 0o077 for each in settled.artifacts] == [0]


async def _dies(row: Row, folder: Path) -> None:
    events = await ran(config_in(folder, allow=["mcp__srv"]), flags(raw("dies")), extra("mcp__srv__add", a=1))
    (settled,) = [event.result for event in events if isinstance(event, CallSettled)]
    assert (settled.is_error, settled.effects) == (True, "unknown")


def _answers(behaviour: str, text: str) -> Callable[[Row, Path], Awaitable[None]]:
    async def check(row: Row, folder: Path) -> None:
        async with connected(place_in(folder), raw(behaviour)) as servers:
            assert (await use(servers.servers["srv"], "add", a=1, b=2)).text == text
            assert servers.servers["srv"].state.status == "connected"

    return check


async def _storm(row: Row, folder: Path) -> None:
    async with connected(place_in(folder), raw("storm", "10000")) as servers:
        server = servers.servers["srv"]
        assert (await use(server, "add", a=1, b=2)).text == "after the storm"
        listed = json.loads((await use(server, "add", a=99)).text)
        assert listed <= 3  # at the connection, at once, and at most once more a second later


async def _asks_for_secrets(row: Row, folder: Path) -> None:
    person = Answering()
    asked = {"message": "m", "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}}}
    async with connected(place_in(folder, person=person), raw("elicits", json.dumps(asked))) as servers:
        assert json.loads((await use(servers.servers["srv"], "add")).text) == {"action": "decline"}
    assert person.asked == []
    with pytest.raises(ValueError, match="secrets"):
        form_fields({"properties": {"x": {"type": "string", "format": "password"}}})


async def _odd_addresses(row: Row, folder: Path) -> None:
    for url in (
        "javascript:alert(1)",
        "file:///etc/passwd",
        f"https://x/{'a' * 5000}",
        "https://x/\x1b[2J",
        "http://x/",
    ):
        with pytest.raises(ValueError, match=r"."):
            shown_address(url)
    assert "on the host login.example" in shown_address("https://login.example/x")


async def _wrong_issuer(row: Row, folder: Path) -> None:
    with running(LoginServer(issuer=row["server"]["issuer"])) as server:
        config = ServerConfig("web", "http", OWN, url=f"{server.base}/mcp")
        async with connected(place_in(folder, tokens=KeptSecrets(folder)), config) as servers:
            assert servers.servers["web"].state.status != "connected"
            assert "issuer" in servers.servers["web"].state.reason
        assert (server.logins, server.codes) == (0, {})


async def _headers_helper(row: Row, folder: Path) -> None:
    config = config_in(folder)
    helper, trace = folder / "work" / "x.sh", folder / "trace"
    helper.write_text(f"#!/bin/sh\nenv > {trace}\necho '{{}}'\n", encoding="utf-8")
    helper.chmod(0o755)
    entry = {"type": "http", "url": "http://127.0.0.1:9/mcp", "headersHelper": row["server"]["headersHelper"]}
    (config.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"web": entry}}), encoding="utf-8")
    async with await _session(config_in(folder)) as session:
        assert session.controls.mcp_servers == ()
    assert not trace.exists()
    place = place_in(folder, roots=(str(config.root),))
    (server,) = read_text(json.dumps({"mcpServers": {"web": entry}}), "user").servers
    async with connected(place, server):
        pass
    assert "s3cret" not in trace.read_text(encoding="utf-8")


async def _session(config: Any) -> Session:
    from callgate.assembly.agent import agent_session

    return await agent_session(config, ScriptedModel(turn(say("Done."))))


async def _list_spawns(row: Row, folder: Path) -> None:
    from callgate.admin.servers import list_servers

    config = config_in(folder)
    trace = folder / "started"
    entry = {"command": "touch", "args": [str(trace)]}
    (config.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"srv": entry}}), encoding="utf-8")
    rows, _ = await asyncio.to_thread(list_servers, 5.0, config_in(folder))
    assert [each.state.status for each in rows] == ["disabled"]
    assert not trace.exists()


async def _inherited_deny(row: Row, folder: Path) -> None:
    """A nested session with the same settings: the tool is not listed, and denied where it is called all the same."""
    config = config_in(folder, deny=row["server"]["parent_deny"])
    events = await ran(config, flags(raw(name="db")), extra("mcp__db__add"))
    assert "no tool" in texts(events)[0].lower()
    query = PlainTool("mcp__db__query", traits=Traits(server="db"))
    outer_model, inner_model = (
        ScriptedModel(turn(say("x"))),
        ScriptedModel(turn(call("mcp__db__query")), turn(say("x"))),
    )
    async with (
        Session(outer_model, config=config) as outer,
        Session(inner_model, [query], config=config, nesting=Nesting(parent=outer, label="helper")) as inner,
    ):
        denied = [event async for event in inner.send("go") if isinstance(event, CallSettled)]
    assert [each.result.code for each in denied] == ["denied"]


async def _words_of_a_peer(row: Row, folder: Path) -> None:
    """A question stays open whatever texts say: only an Answer at a door answers it."""
    model = ScriptedModel(turn(call("push")), otherwise=turn(say("x")))
    async with Session(model, [PlainTool("push", traits=Traits())]) as session:
        events = [event async for event in session.send("go")]
        assert len([event for event in events if isinstance(event, QuestionAsked)]) == 1
        session.post(Steer(row["server"]["text"]))
        session.post(Prompt(row["server"]["text"]))
        session.controls.deliver()
        assert [each.tool for each in session.questions] == ["push"]


def _served(method: str, headers: dict[str, str], *statuses: int) -> Callable[[Row, Path], Awaitable[None]]:
    """`callgate mcp serve --http` answers such a request with one of these, and no page may read it."""

    async def check(row: Row, folder: Path) -> None:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        async with over_http(folder) as server, AsyncClient() as http:
            given = {**server.headers, "Accept": "application/json, text/event-stream", **headers}
            answer = await http.request(method, server.url, json=body, headers=given)
        assert answer.status_code in statuses
        assert "access-control-allow-origin" not in answer.headers

    return check


async def _web_socket(row: Row, folder: Path) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Origin": row["server"]["request"]["Origin"]}
    async with bench(folder) as made:
        app = HttpServer(made.door.server, made.sessions, "token", names_of("127.0.0.1", 8765)).app
        async with AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1:8765") as http:
            answer = await http.get("/mcp", headers={"Authorization": "Bearer token", **headers})
    assert answer.status_code == 403


CHECKS: dict[str, Callable[[Row, Path], Awaitable[None]]] = {
    "mcp001": _changed,
    "mcp002": _changed,
    "mcp003": _changed,
    "mcp005": _shadows_core,
    "mcp006": _shadows_another,
    "mcp008": _odd_names,
    "mcp009": _odd_names,
    "mcp011": _many,
    "mcp015": _orders,
    "mcp017": _tool_use,
    "mcp018": _huge,
    "mcp023": _dies,
    "mcp024": _answers("twice", "first"),
    "mcp025": _answers("wrong ids", "right"),
    "mcp026": _answers("text id", "by text"),
    "mcp028": _answers("array", "in an array"),
    "mcp029": _storm,
    "mcp031": _asks_for_secrets,
    "mcp032": _odd_addresses,
    "mcp039": _served("POST", {"Authorization": ""}, 401),
    "mcp041": _served("OPTIONS", {"Origin": "null"}, 403),
    "mcp042": _web_socket,
    "mcp043": _served("POST", {"Mcp-Session-Id": "1"}, 400, 401, 404),
    "mcp045": _wrong_issuer,
    "mcp046": _headers_helper,
    "mcp049": _list_spawns,
    "mcp051": _inherited_deny,
    "mcp054": _words_of_a_peer,
}


def test_every_row_has_a_check() -> None:
    assert {*CHECKS} == {*ROWS}


@pytest.mark.spec("MCP-3", "MCP-4")
@pytest.mark.parametrize("number", CHECKS)
def test_the_row_holds(number: str, tmp_path: Path) -> None:
    async def main() -> None:
        await CHECKS[number](ROWS[number], tmp_path)

    asyncio.run(main())
