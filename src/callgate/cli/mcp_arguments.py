"""The words of ``callgate mcp …``."""

from callgate.cli.mcp_serve_arguments import add_mcp_serve
from callgate.cli.parsing import Group


def add_mcp(commands: Group) -> None:
    mcp = commands.group("mcp", "the Model Context Protocol: serve", "About the Model Context Protocol (MCP).")
    add_mcp_serve(mcp)
