"""MCP servers: those that are configured, connected once."""

from collections.abc import Sequence
from importlib.util import find_spec

from callgate.admin.doctor.diagnosis import NO_SETTINGS, Diagnosis, Patient, fault, fine, warning
from callgate.mcp import OWN_FILE, PROJECT_FILE

_SECONDS = 4.0
"""For all of them: less than a check may take."""


def mcp_servers(patient: Patient) -> Sequence[Diagnosis]:
    config = patient.config
    if config is None:
        return [NO_SETTINGS]
    own = () if config.folder is None else (config.folder / OWN_FILE,)
    if not any(file.exists() for file in (*own, config.root / PROJECT_FILE)):
        return [fine("none is configured")]
    if find_spec("mcp") is None:
        return [fault("servers are configured", "the package mcp is missing", "pip install 'callgate[mcp]'")]
    from callgate.admin.servers import list_servers  # where there are any

    rows, notes = list_servers(_SECONDS, config)
    found = [warning("files of servers", note, "callgate mcp list") for note in notes]
    for row in rows:
        state, name = row.state, row.config.name
        if state.status == "needs login":
            found.append(warning(name, "it needs a login", f"callgate mcp login {name}"))
        elif state.status == "failed":
            found.append(fault(name, state.reason, f"callgate mcp test {name}"))
    there = [row for row in rows if row.state.status == "connected"]
    tools = sum(row.state.tools for row in there)
    return found or [fine(f"{len(there)} connected, with {tools} tools")]
