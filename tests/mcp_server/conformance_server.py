"""The server that the conformance suite tests: our serving code, with the tools that the scenarios call.

The suite sends no token, so one is put into each request before the guard of the server sees it.
"""

import asyncio
import sys
from base64 import b64decode
from typing import Any

from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult
from starlette.types import Receive, Scope, Send

from callgate import Result, Store, tool
from callgate.assembly.serving import served_session
from callgate.config import load_config
from callgate.core.ports import Run
from callgate.mcp_server.http import HttpServer, listen, names_of
from callgate.mcp_server.served_session import IDLE, ServedSession, ServedSessions
from callgate.mcp_server.server import Context, McpToolServer
from callgate.tools.tool import schema_tool
from callgate.words.errors import ToolFailure
from callgate.words.messages import Image, Resource, Text

TOKEN = "conformance"
PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
SOUND = b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=")
EMBEDDED = Resource("test://embedded-resource", text="This is an embedded resource content.", media_type="text/plain")
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@tool(effects="none")
def test_simple_text() -> str:
    """Does what the scenario about it says."""
    return "This is a simple text response for testing."


@tool(effects="none")
def test_image_content() -> Result:
    """Does what the scenario about it says."""
    return Result((Image("image/png", PIXEL),))


@tool(effects="none")
def test_audio_content() -> Result:
    """Does what the scenario about it says."""
    return Result((Resource("test://sound", data=SOUND, media_type="audio/wav"),))


@tool(effects="none")
def test_embedded_resource() -> Result:
    """Does what the scenario about it says."""
    return Result((EMBEDDED,))


@tool(effects="none")
def test_multiple_content_types() -> Result:
    """Does what the scenario about it says."""
    return Result((Text("Multiple content types test:"), Image("image/png", PIXEL), EMBEDDED))


@tool(effects="none")
def test_error_handling() -> str:
    """Does what the scenario about it says."""
    raise ToolFailure("This tool intentionally returns an error for testing")


@tool(effects="none")
async def test_tool_with_progress(run: Run) -> str:
    """Does what the scenario about it says."""
    for current in (0, 50, 100):
        run.progress("", current=current, total=100)
        for _ in range(50):  # until it is told: progress that waits is joined
            await asyncio.sleep(0)
    return "done"


@tool(effects="none", requires_interaction=True)
def test_elicitation(message: str) -> str:
    """Does what the scenario about it says."""
    return f"The person agreed to {message!r}"


@tool(effects="none", requires_interaction=True)
def test_input_required_result_elicitation() -> str:
    """Does what the scenario about it says."""
    return "agreed"


@tool(effects="none", requires_interaction=True)
def test_input_required_result_request_state() -> str:
    """Does what the scenario about it says."""
    return "state-ok"


@tool(effects="none", requires_interaction=True)
def test_input_required_result_tampered_state() -> str:
    """Does what the scenario about it says."""
    return "agreed"


@tool(effects="none", requires_interaction=True)
def test_input_required_result_capabilities() -> str:
    """Does what the scenario about it says."""
    return "agreed"


def _nothing(arguments: dict[str, Any]) -> str:
    return "valid"


TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    test_elicitation,
    test_input_required_result_elicitation,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_capabilities,
    schema_tool("json_schema_2020_12_tool", "Takes what its schema says.", SCHEMA, _nothing, effects="none"),
)
KEYS = {
    "test_input_required_result_elicitation": "user_name",
    "test_input_required_result_request_state": "confirm",
}
"""The names under which the scenarios expect the questions of these tools."""


class ConformanceServer(McpToolServer):
    """Renames the one input of an answer, and of the call that brings it back."""

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        key = KEYS.get(params.name)
        given = params.input_responses or {}
        if key in given:
            params = params.model_copy(update={"input_responses": {"question": given[key]}})
        result = await super().call_tool(ctx, params)
        if key is None or not isinstance(result, InputRequiredResult):
            return result
        asked = result.input_requests or {}
        return result.model_copy(update={"input_requests": {key: asked["question"]}})


async def serve() -> None:
    config = load_config()

    async def open_session(client: str) -> ServedSession:
        journal = await Store(config.root, config.data).create()
        return ServedSession(served_session(config, TOOLS, journal), f"mcp/{client}")

    sessions = ServedSessions(open_session, idle=IDLE)
    with listen("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        server = HttpServer(
            ConformanceServer(sessions, str(config.root)).server, sessions, TOKEN, names_of("127.0.0.1", port)
        )
        guarded = server.app

        async def with_token(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                token = (b"authorization", f"Bearer {TOKEN}".encode())
                scope = {**scope, "headers": [*scope["headers"], token]}
            await guarded(scope, receive, send)

        server.app = with_token
        print(port, flush=True)
        asyncio.get_running_loop().run_in_executor(None, sys.stdin.read).add_done_callback(lambda _: server.stop())
        await server.serve(bound)
    await sessions.aclose()


if __name__ == "__main__":
    asyncio.run(serve())
