"""The tools of MCP servers, for panels and commands that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.assembly import Session


def server_tools(session: Session) -> dict[str, tuple[str, str]]:
    """The server of each tool by its name, and the description that the server gives of it."""
    return {
        each.spec.name: (server.name, each.definition.description)
        for server in session.mcp_servers
        for each in server.tools
    }
