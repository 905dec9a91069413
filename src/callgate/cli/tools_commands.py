"""The commands ``callgate tools``."""

from callgate.admin.settings import load_config
from callgate.admin.tool_list import list_tools
from callgate.cli.command_rows import ArgumentRow, CommandRow
from callgate.cli.json_lines import FILE, JSONL
from callgate.cli.terminal import Safe, Span, clip
from callgate.cli.text_output import json_fields, put, put_json, put_paragraph, put_text, text_width

_TITLES = {
    "core": "core: in every request",
    "custom": "custom",
    "deferred": "deferred: the model finds them by search",
    "feature": "features of installed packages, which may add tools",
    "unavailable": "not available",
}


def list_rows(as_json: bool) -> int:
    """List the tools of the agent: built-in tools, custom tools with their files, features of installed packages, and
    tools that are not available, with the reason: a missing package, a file with a fault, a folder that is not trusted.
    For tools of an MCP server, see `callgate mcp test NAME`."""
    found = list_tools(load_config())
    if as_json:
        put_json([json_fields(row, "name", "kind", "what", "origin", "why") for row in found.rows])
        return 0
    kind = ""
    for row in found.rows:
        if row.kind != kind:
            kind = row.kind
            put_text(_TITLES[kind], "bold")
        if kind == "unavailable":
            put_paragraph(f"{row.name}: {row.why}", "yellow", indent=2, hang=2)
            continue
        what = clip(row.what, max(text_width() - 19, 20))
        put([(Span(Safe("  ")), Span(f"{row.name:<16} ", "green"), Span(what))])
        if row.origin and kind in ("custom", "deferred", "feature"):
            put_paragraph(row.origin, "dim", indent=19)
    others = "without tools of MCP servers, which `/tools` lists"
    put_paragraph(f"tool search is {found.search.sentence} ({others})")
    return 0


COMMANDS = (
    CommandRow(
        "tools list",
        list_rows,
        "list the tools of the agent in this folder, and excluded tools",
        (ArgumentRow("--json", "print them as a list of JSON", "as_json"),),
        examples=("callgate tools list",),
    ),
    CommandRow(
        "tools new",
        "tools_new:write_new_tool",
        "create a file with an example tool",
        (ArgumentRow("NAME", "of the tool, and of the file"),),
    ),
    CommandRow(
        "tools rank",
        "tools_rank:rank",
        "rank tools by a query",
        (
            JSONL,
            ArgumentRow(
                "--embeddings WHEN",
                "auto: with vectors if they are installed (default); on: only with them; off: by words alone",
                choices=("auto", "on", "off"),
                default="auto",
            ),
        ),
        examples=("callgate tools rank --jsonl < lines.jsonl",),
    ),
    CommandRow(
        "tools validate",
        "tools_validate:validate",
        "show how the arguments of a call would be repaired and validated",
        (JSONL, FILE),
    ),
)
