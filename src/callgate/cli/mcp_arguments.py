"""The words of ``callgate mcp …``."""

from callgate.cli.mcp_serve_arguments import add_mcp_serve
from callgate.cli.mcp_servers_arguments import add_mcp_servers
from callgate.cli.parsing import Group


def add_mcp(commands: Group) -> None:
    mcp = commands.group(
        "mcp",
        "servers of the Model Context Protocol: add, list, test, login, serve ...",
        "Servers of the Model Context Protocol (MCP) bring further tools. Your own are in mcp.json, in the folder of "
        "your settings; those of a project in .mcp.json, which count once you trust the folder. "
        "`serve` offers our own tools to other programs.",
    )
    add_mcp_servers(mcp)
    add_mcp_serve(mcp)
