"""The tools of a server, made of what it lists. One that cannot be taken is left out, and the log says why."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from callgate.mcp.approved import ApprovedDefinitions
from callgate.mcp.definitions import Definition, read_definition
from callgate.mcp.names import tool_names
from callgate.mcp.tool import Calls, ServerTool
from callgate.tools.jsonschema import SchemaError

Say = Callable[[str], None]


def tools_of(
    listed: Sequence[Mapping[str, Any]],
    server: str,
    calls: Calls,
    approved: ApprovedDefinitions,
    *,
    trusted: bool,
    say: Say,
) -> tuple[ServerTool, ...]:
    """``say`` writes to the log. Blocks."""
    definitions: dict[str, Definition] = {}
    for each in listed:
        try:
            found = read_definition(each)
            definitions.setdefault(found.given, found)
        except ValueError as error:
            say(f"the tool {str(each.get('name'))[:80]!r} is left out: {error}")
    names = tool_names(server, definitions)
    made: list[ServerTool] = []
    for given, definition in definitions.items():
        try:
            made.append(ServerTool(names[given], server, definition, calls, approved, trusted=trusted))
        except SchemaError as error:
            say(f"the tool {given!r} is left out: its schema cannot be read: {error}")
    return tuple(made)
