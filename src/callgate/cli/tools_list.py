"""``callgate tools list``: the tools that a model gets in this folder, and those that it does not get."""

from argparse import Namespace

from callgate.admin.settings import load_config
from callgate.admin.tools import ToolRow, list_tools
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import out, put, put_json
from callgate.cli.terminal import Safe, Span, clip, paragraph

_TITLES = {
    "core": "core: in every request",
    "custom": "custom",
    "deferred": "deferred: the model finds them by search",
    "unavailable": "not available",
}


def list_rows(options: Namespace) -> int:
    found, stream = list_tools(load_config()), out()
    if options.json:
        put_json([_as_json(row) for row in found.rows], stream)
        return 0
    room, kind = room_on(stream), ""
    for row in found.rows:
        if row.kind != kind:
            kind = row.kind
            put([(Span(_TITLES[kind], "bold"),)], stream)
        if kind == "unavailable":
            put(paragraph(f"{row.name}: {row.why}", room, "yellow", indent=2, hang=2), stream)
            continue
        put([(Span(Safe("  ")), Span(f"{row.name:<16} ", "green"), Span(clip(row.what, max(room - 19, 20))))], stream)
        if row.origin and kind in ("custom", "deferred"):
            put(paragraph(row.origin, room, "dim", indent=19), stream)
    others = "without those of MCP servers, which `/tools` shows"
    put(paragraph(f"tool search is {found.search.sentence} ({others})", room), stream)
    return 0


def _as_json(row: ToolRow) -> dict[str, str]:
    return {"name": row.name, "kind": row.kind, "what": row.what, "origin": row.origin, "why": row.why}
