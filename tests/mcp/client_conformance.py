"""Our client for the conformance suite, which gives the address of its server: connects, and calls every tool."""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from callgate.assembly.servers import KeptSecrets
from callgate.mcp.server import Server
from callgate.mcp.server_config import OAuthClient, ServerConfig
from callgate.mcp.server_context import ServerLimits
from callgate.words.calls import Accepted
from callgate.words.decisions import AskedField, FieldAnswer
from callgate.words.errors import ToolFailure
from tests.mcp.client_kit import OWN, place_in, use


class Browser:
    """A Person who opens addresses, and accepts forms without changing a default."""

    async def ask(
        self, fields: Sequence[AskedField], *, by: str, text: str, name: str
    ) -> tuple[FieldAnswer, ...] | None:
        found = re.search(r"Open this address: (\S+)", text)
        if found is None:
            return tuple(FieldAnswer(text="" if "unless said" in field.question else "x") for field in fields)
        await asyncio.to_thread(_visit, found[1])
        return await asyncio.get_running_loop().create_future()


def _visit(address: str) -> None:
    try:
        with urlopen(address):
            pass
    except HTTPError as error:
        print(error, file=sys.stderr)


def _value(schema: dict[str, Any], at: int) -> Any:
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    values: dict[Any, Any] = {"number": 5 - 2 * at, "integer": 5 - 2 * at, "boolean": True, "array": [], "object": {}}
    return schema.get("default", (schema.get("enum") or [values.get(kind, "x")])[0])


def _calls(server: Server) -> list[tuple[str, dict[str, Any]]]:
    """Those that the scenario wants, or one of each tool; a tool that takes a schema gets that of another."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "toolCalls" in context:
        return [(each["name"], each["arguments"]) for each in context["toolCalls"]]
    found: list[tuple[str, dict[str, Any]]] = []
    for tool in server.tools:
        properties: dict[str, Any] = dict(tool.definition.schema.get("properties") or {})
        arguments = {name: _value(each, at) for at, (name, each) in enumerate(properties.items())}
        if "schema" in arguments:
            arguments["schema"] = next(each.definition.schema for each in server.tools if each is not tool)
        if isinstance(tool.read(arguments), Accepted):  # made-up values do not fit every schema
            found.append((tool.definition.given, arguments))
    return found


async def main(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tokens = KeptSecrets(Path(folder))
        place = place_in(Path(folder), person=Browser(), tokens=tokens, limits=ServerLimits(20.0, 20.0))
        context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        client = OAuthClient(context["client_id"], context.get("client_secret", "")) if "client_id" in context else None
        server = Server(ServerConfig("suite", "http", OWN, url=url, client=client), place)
        try:
            await server.log_in()
            for name, arguments in _calls(server):
                print(name, await use(server, name, **arguments), file=sys.stderr)
        except ToolFailure as error:
            print(error, file=sys.stderr)
            raise SystemExit(1) from None
        finally:
            await server.end()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
