"""``callgate -p`` with tools of MCP servers whose calls a person answers later."""

import pytest

from callgate.cli import main
from callgate.testing import call, say, turn
from tests.cli.headless.kit import Desk
from tests.mcp.client_kit import raw
from tests.mcp.test_client_session import flags


@pytest.mark.spec("MCP-3")
def test_a_call_of_a_server_that_was_answered_later_is_made_when_the_run_goes_on(desk: Desk) -> None:
    (server,) = flags(raw()).given
    wait = call("ExecuteExtraTool", tool_name="WaitForMcpServers")
    add = call("ExecuteExtraTool", tool_name="mcp__srv__add", params={"a": 1, "b": 2})
    assert desk.run(["Add", "--mcp-config", server], turn(wait), turn(add)).code == 3
    assert main(["answer", "latest", "yes"]) == 0
    ran = desk.run(["--continue", "--mcp-config", server], turn(say("It is three.")))
    assert (ran.code, ran.out, ran.notices) == (0, "It is three.\n", [])
    (request,) = desk.models[-1].requests
    results = [part for message in request.messages if message.role == "tool" for part in message.parts]
    assert "text='3'" in str(results[-1])
