"""The MCP servers that a repository's ``.mcp.json`` names, for the question of trust: what is run, what is sent where.

Read here without the room of servers, and without its checks: an entry that it would leave out is shown all the same.
"""

import json
import shlex
from collections.abc import Iterator
from typing import Any, cast

from callgate.formats.display import visible
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

FILE = ".mcp.json"
_VARIABLE = late_pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")


@noun
class ServerEntry:
    """``command`` is what a program of the server is started with, ``helper`` what prints headers, ``url`` its address;
    ``variables`` are those of the person's environment that it is given."""

    name: str
    command: str = ""
    helper: str = ""
    url: str = ""
    variables: tuple[str, ...] = ()

    def effects(self) -> Iterator[str]:
        given = f", with your variables {', '.join(self.variables)}" if self.variables else ""
        if self.command:
            yield f"starts `{visible(self.command)}` as the MCP server {visible(self.name)}{given} ({FILE})"
        if self.url:
            yield f"connects the MCP server {visible(self.name)} at {visible(self.url)}{given} ({FILE})"
        if self.helper:
            yield f"runs `{visible(self.helper)}` for headers of the MCP server {visible(self.name)} ({FILE})"


def server_entries(text: str) -> tuple[ServerEntry, ...]:
    """Those of a text; none if it is no list of servers."""
    try:
        found = cast("dict[str, Any]", json.loads(text)["mcpServers"])
        return tuple(_entry(name, cast("dict[str, Any]", each)) for name, each in found.items() if type(each) is dict)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ()


def _entry(name: str, given: dict[str, Any]) -> ServerEntry:
    env, args = given.get("env"), given.get("args")
    pairs = [f"{key}={value}" for key, value in cast("dict[str, Any]", env).items()] if isinstance(env, dict) else []
    words = [*map(str, cast("list[Any]", args))] if isinstance(args, list) else []
    command = str(given.get("command") or "")
    variables = tuple(sorted({*_VARIABLE.findall(json.dumps(given))}))
    line = shlex.join([*pairs, command, *words]) if command else ""
    return ServerEntry(name, line, str(given.get("headersHelper") or ""), str(given.get("url") or ""), variables)
