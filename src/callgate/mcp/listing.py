"""The tools and prompts of a server, made of what it lists. The log says which were left out, and why."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from callgate.mcp.approved import ApprovedDefinitions
from callgate.mcp.definitions import Definition, clean, read_definition
from callgate.mcp.names import is_valid, tool_names
from callgate.mcp.tool import Calls, ServerTool
from callgate.tools.jsonschema import SchemaError

Say = Callable[[str], None]
_LONGEST_HELP = 200


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
            if definitions.setdefault(found.given, found) is not found:
                raise ValueError("another one has the same name")
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


def prompts_of(listed: Sequence[Mapping[str, Any]], say: Say) -> tuple[Mapping[str, Any], ...]:
    """They become commands of the terminal: names are plain, and what is said of them is one short line."""
    made: list[Mapping[str, Any]] = []
    for each in listed:
        arguments = [*(each.get("arguments") or ())]
        if not all(is_valid(str(named["name"])) for named in (each, *arguments)):
            say(f"the prompt {str(each['name'])[:80]!r} is left out: its names are not 1 to 64 of A-Z a-z 0-9 _ . -")
            continue
        about = clean(str(each.get("description") or each.get("title") or ""), _LONGEST_HELP)
        made.append({"name": each["name"], "description": " ".join(about.split()), "arguments": arguments})
    return tuple(made)
