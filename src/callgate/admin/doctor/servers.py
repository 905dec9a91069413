"""Checks of configured MCP servers. They are connected only with --online."""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from callgate.admin.doctor.diagnosis import Diagnosis, Patient, fault, fine, warning
from callgate.assembly.options import ServerFlags
from callgate.formats.display import counted
from callgate.mcp import OWN_FILE, PROJECT_FILE

_NONE = fine("none is configured")


def mcp_servers(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.settings
    own = () if config.folder is None else (config.folder / OWN_FILE,)
    if not any(file.exists() for file in (*own, config.root / PROJECT_FILE)):
        return [_NONE]
    if find_spec("mcp") is None:
        return [fault("servers are configured", "the package mcp is missing", "pip install 'callgate[mcp]'")]
    from callgate.admin.servers import list_servers  # where there are any
    from callgate.assembly.servers import server_configs

    if not patient.online:
        known = server_configs(config, ServerFlags())
        told = f"{len(known.servers)} configured; `callgate mcp list` and `callgate doctor --online` try them"
        found = _noted(map(str, known.faults))
        return [*found, fine(told)] if known.servers else found or [_NONE]
    rows, notes = list_servers(config=config)
    found = _noted(notes)
    for row in rows:
        state, name = row.state, row.config.name
        if state.status == "needs login":
            found.append(warning(name, "it needs a login", f"callgate mcp login {name}"))
        elif state.status == "failed":
            found.append(fault(name, state.reason, f"callgate mcp test {name}"))
    there = [row for row in rows if row.state.status == "connected"]
    tools = sum(row.state.tools for row in there)
    return found or [fine(f"{len(there)} connected, with {counted(tools, 'tool')}")]


def _noted(notes: Iterable[str]) -> list[Diagnosis]:
    return [warning("files of servers", note, "callgate mcp list") for note in notes]
