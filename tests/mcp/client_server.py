"""A server written with the SDK, for contract tests: ``python client_server.py stdio|http|sse [PORT]``."""

import asyncio
import sys
from typing import Annotated, Any

from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("friendly", version="1.0", instructions="Be kind.")
PIXEL = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\r"
    b"IDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82"
)


class Sum(BaseModel):
    total: int


class City(BaseModel):
    city: str


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


@server.tool()
def pixel() -> Image:
    """One pixel."""
    return Image(data=PIXEL, format="png")


@server.tool()
def fails() -> str:
    """Always fails."""
    raise ValueError("it is broken")


@server.tool()
async def steps(ctx: Context[Any, Any], count: int) -> str:
    """Tells how far it is."""
    for at in range(count):
        await ctx.report_progress(at + 1, count, f"step {at + 1}")
    return "done"


@server.tool()
async def never(ctx: Context[Any, Any]) -> str:
    """Does not answer."""
    await ctx.report_progress(0, 1, "waiting")
    await asyncio.Event().wait()
    return ""


def ask_city() -> Elicit[City]:
    return Elicit("Which city?", City)


@server.tool()
def weather(where: Annotated[City, Resolve(ask_city)]) -> str:
    """The weather, somewhere."""
    return f"sunny in {where.city}"


@server.resource("note://first", mime_type="text/plain")
def note() -> str:
    """A note."""
    return "remember the milk"


@server.resource("note://{name}")
def named(name: str) -> str:
    """A note of a name."""
    return f"about {name}"


@server.prompt()
def review(path: str) -> str:
    """Review a file."""
    return f"Review {path} with care."


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    elif sys.argv[1] == "sse":
        server.run("sse", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
