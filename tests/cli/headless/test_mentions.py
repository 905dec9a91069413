"""``callgate -p`` with a prompt that mentions a resource of an MCP server."""

import json

import pytest

from callgate.testing import say, turn
from tests.cli.headless.kit import Desk
from tests.mcp.client_kit import raw
from tests.mcp.test_client_session import flags

HELLO = turn(say("Hello you."))


@pytest.mark.spec("MCP-7")
def test_a_resource_that_the_prompt_mentions_is_in_the_first_request(desk: Desk) -> None:
    (server,) = flags(raw("refuses subscriptions")).given
    ran = desk.run(["What is @srv:note://a?", "--mcp-config", server, "--allow", "mcp__srv", "--max-turns", "1"], HELLO)
    assert (ran.code, ran.out, ran.notices) == (0, "Hello you.\n", [])
    (request,) = desk.models[0].requests
    assert "remember the milk" in str([*request.messages])


@pytest.mark.spec("MCP-7")
def test_the_read_of_a_resource_is_no_request_and_costs_nothing(desk: Desk) -> None:
    (server,) = flags(raw("refuses subscriptions")).given
    words = ["What is @srv:note://a?", "--mcp-config", server, "--allow", "mcp__srv", "--output-format", "json"]
    with_mention, without = (json.loads(desk.run([prompt, *words[1:]], HELLO).out) for prompt in (words[0], "What?"))
    assert with_mention["turns"] == without["turns"] == 1
    assert (with_mention["cost"], with_mention["usage"]) == (without["cost"], without["usage"])


@pytest.mark.spec("MCP-7")
def test_a_mention_that_is_denied_is_said_on_standard_error_and_the_prompt_is_answered(desk: Desk) -> None:
    (server,) = flags(raw()).given
    ran = desk.run(["What is @srv:note://a?", "--mcp-config", server, "--deny", "mcp__srv"], HELLO)
    assert (ran.code, ran.out) == (0, "Hello you.\n")
    (notice,) = ran.notices
    assert "a mention in the prompt was not read:" in notice
    assert "mcp__srv" in notice
