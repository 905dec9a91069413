"""``callgate mcp add``, ``add-json``, ``remove``, ``list``, ``get``, ``test``, ``login`` and ``logout``."""

import json
from argparse import Namespace
from typing import Any, cast

from callgate.admin.servers import (
    ServerConfig,
    TriedServer,
    add_server,
    as_entry,
    find_server,
    list_servers,
    log_in,
    log_out,
    remove_server,
    try_server,
)
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import out, put, put_json, say
from callgate.cli.terminal import Span, clip, paragraph, signs_for
from callgate.formats.display import counted
from callgate.words.errors import UsageError

_LOG_LINES = 20
_STYLES = {"connected": "green", "needs login": "yellow", "disabled": "dim", "connecting": "yellow", "failed": "red"}


def add(options: Namespace) -> int:
    entry: dict[str, Any] = {"type": options.transport}
    if options.transport == "stdio":
        entry |= {"command": options.words[0], "args": options.words[1:], "env": dict(options.env)}
    else:
        entry |= {"url": options.words[0], "headers": dict(options.header)}
    if options.trusted:
        entry["trusted"] = True
    return _added(options, {key: value for key, value in entry.items() if value not in ([], {})})


def add_json(options: Namespace) -> int:
    try:
        entry = json.loads(options.entry)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the entry is not JSON: {error}") from None
    return _added(options, entry)


def _added(options: Namespace, entry: Any) -> int:
    added = add_server(options.name, entry, options.scope)
    made, stream = added.config, out()
    put([(Span(f"The server {made.name} is in {added.file}: its tools are called mcp__{made.name}__…"),)], stream)
    if added.before is not None and as_entry(added.before) != as_entry(made):
        put(paragraph(f"It replaces: {added.before.target}", room_on(stream), "dim"), stream)
    for note in added.notes:
        say(note)
    if options.scope == "project":
        put([(Span("It counts once the folder is trusted as it is now: callgate trust add", "dim"),)], stream)
    put([(Span(f"Try it with: callgate mcp test {made.name}", "dim"),)], stream)
    return 0


def remove(options: Namespace) -> int:
    file = remove_server(options.name, options.scope)
    put([(Span(f"The server {options.name} is removed from {file}."),)], out())
    return 0


def list_all(options: Namespace) -> int:
    rows, notes = list_servers()
    stream = out()
    if options.json:
        put_json([_as_json(row) for row in rows], stream)
        return 0
    if not rows:
        put([(Span("There are no servers. Add one with: callgate mcp add NAME -- COMMAND"),)], stream)
    longest = max((len(row.config.name) for row in rows), default=0)
    room = room_on(stream)
    for row in rows:
        put([(Span(f"{row.config.name:<{longest}}  "), *_state(row))], stream)
        what = row.state.reason or row.config.target
        put(paragraph(f"{row.config.origin.layer}: {what}", room, "dim", indent=longest + 2), stream)
    for note in notes:
        say(note)
    return 0


def get(options: Namespace) -> int:
    found, stream = find_server(options.name), out()
    shown = _without_values(found)
    if options.json:
        put_json({"name": found.name, "origin": str(found.origin), **shown}, stream)
        return 0
    put([(Span(f"{found.name}  ", "bold"), Span(str(found.origin), "dim"))], stream)
    for key, value in shown.items():
        text = ", ".join(cast("list[str]", value)) if isinstance(value, list) else str(value)
        put(paragraph(f"{key}: {text}", room_on(stream), indent=2), stream)
    return 0


def test(options: Namespace) -> int:
    row, stream = try_server(options.name), out()
    connected = row.state.status == "connected"
    if options.json:
        put_json(_as_json(row), stream)
        return 0 if connected else 1
    put([(Span(f"{row.config.name}  "), *_state(row))], stream)
    room, signs = room_on(stream), signs_for(stream)
    if row.state.reason:
        put(paragraph(row.state.reason, room, "red", indent=2), stream)
    for tool in row.tools:
        described = clip(" ".join(tool.description.split()), max(room - len(tool.name) - 5, 20))
        put([(Span(f"  {tool.name}  "), Span(described, "dim"))], stream)
        if tool.suspicion:
            text = f"{signs.bad} this reads like an instruction to the model: … {tool.suspicion} …"
            put(paragraph(text, room, "yellow", indent=4), stream)
    for note in row.notes:
        put(paragraph(note, room, "yellow", indent=2), stream)
    for line in row.log[-_LOG_LINES:] if not connected else [line for line in row.log if "left out" in line]:
        put(paragraph(line, room, "dim", indent=2), stream)
    return 0 if connected else 1


def login(options: Namespace) -> int:
    row = log_in(options.name, lambda text: say(text.replace("\n", " ")))
    put([(Span(f"{row.config.name}  "), *_state(row))], out())
    return 0


def logout(options: Namespace) -> int:
    had = log_out(options.name)
    text = f"The login to {options.name} is forgotten." if had else f"There was no login to {options.name}."
    put([(Span(text),)], out())
    return 0


def _state(row: TriedServer) -> list[Span]:
    state = row.state
    found = [Span(state.status, _STYLES[state.status])]
    if state.status == "connected":
        took = "" if state.seconds is None else f" in {state.seconds:.1f} s"
        found.append(Span(f"{took}, {counted(state.tools, 'tool')}, protocol {state.version}"))
    return found


def _as_json(row: TriedServer) -> dict[str, Any]:
    state = row.state
    return {
        "name": row.config.name,
        "scope": row.config.origin.layer,
        "transport": row.config.transport,
        "status": state.status,
        "reason": state.reason,
        "tools": [{"name": each.name, "suspicion": each.suspicion} for each in row.tools],
        "seconds": state.seconds,
        "protocol": state.version,
    }


def _without_values(found: ServerConfig) -> dict[str, Any]:
    """The entry without the values of variables and headers, which may be secrets."""
    entry = as_entry(found)
    return {key: sorted(value) if key in ("env", "headers", "oauth") else value for key, value in entry.items()}
