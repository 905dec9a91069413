"""The MCP servers of a session: the selection by files, flags and trust, and the objects for their connections."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.assembly.options import ServerFlags
from callgate.assembly.settings import denied_whole
from callgate.config import Config
from callgate.mcp import OWN_FILE, PROJECT_FILE
from callgate.mcp.approvals import ApprovedDefinitions
from callgate.mcp.server_config import ConfigFault, ServerConfig, ServerConfigs, merged, read_file, read_text
from callgate.mcp.server_context import ServerContext, ServerLimits
from callgate.mcp.server_list import ServerList
from callgate.policy.entries import SettingsFault
from callgate.policy.trust import Trusted
from callgate.providers.keys import KeyStore
from callgate.words.decisions import Origin
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.assembly import Session


class KeptSecrets:
    """A store for tokens of MCP servers. It uses the keyring or else a private file, like the store for keys of
    providers."""

    def __init__(self, folder: Path | None) -> None:
        self._keys = KeyStore(None if folder is None else folder / "mcp")

    def get(self, name: str) -> str | None:
        found = self._keys.find(f"mcp:{name}")
        return None if found is None else found.value

    def put(self, name: str, text: str) -> None:
        self._keys.store(f"mcp:{name}", text)

    def remove(self, name: str) -> bool:
        return self._keys.remove(f"mcp:{name}")


def server_configs(config: Config, flags: ServerFlags) -> ServerConfigs:
    """Return the configured servers, and faults of their files. Servers of a project require trust and never replace
    a server of the user. Raise UsageError for an error in the command line. Blocks."""
    given = merged(map(_given, flags.given))
    if given.faults:
        raise UsageError(f"--mcp-config: {given.faults[0]}")
    if flags.strict:
        return given
    own = ServerConfigs() if config.folder is None else read_file(config.folder / OWN_FILE, "user")
    project = read_file(config.root / PROJECT_FILE, "project")
    if not isinstance(config.trust, Trusted):
        project = _untrusted(project, config.root / PROJECT_FILE)
    found = merged((given, own, project))
    return ServerConfigs(found.servers, (*found.faults, *unset_variables(found.servers)))


def server_list(config: Config, found: ServerConfigs, wanted: Sequence[str] | None) -> ServerList:
    """Return the list of servers, not yet connected.

    wanted  names of the tools and servers that are offered to the model; None for all
    """
    denied = denied_whole([config])

    def hides(tool: str, server: str) -> bool:
        return denied(tool, server) or (wanted is not None and not {tool, f"mcp__{server}"} & {*wanted})

    return ServerList(found.servers, hides)


def notes_of(found: ServerConfigs) -> list[SettingsFault]:
    return [SettingsFault(each.text, each.origin) for each in found.faults]


def begin(servers: ServerList, config: Config, session: Session, *, attended: bool) -> None:
    """Connect the servers in the background. They are closed with the session."""
    data = config.data if config.own_data else None
    servers.begin(
        ServerContext(
            host=session.controls.host,
            roots=(str(config.root), *session.controls.folders),
            environ=os.environ,
            data=data,
            approved=ApprovedDefinitions(data),
            limits=ServerLimits(config.settings.mcp_connect_timeout, config.settings.mcp_call_timeout),
            person=session if attended else None,
            tokens=KeptSecrets(data),
            note=session.controls.note,
            inform=session.controls.inform,
            mask=log_mask(servers.configs),
        )
    )


def log_mask(configs: Iterable[ServerConfig]) -> Callable[[str], str]:
    """Return the function that masks secrets in the logs of servers. The secrets in the variables and headers of these
    servers are masked from now on, also in the record."""
    from callgate.transcript.masking import Masker, learn_variables  # its patterns are costly to load

    for each in configs:
        expanded = each.expanded(os.environ)
        learn_variables({**expanded.env, **expanded.headers})
    return Masker().text


def _given(text: str) -> ServerConfigs:
    if text.lstrip().startswith("{"):
        return read_text(text, "command line")
    if not os.path.isfile(text):
        raise UsageError(f"--mcp-config: file not found: {text}")
    return read_file(Path(text), "command line")


def _untrusted(project: ServerConfigs, file: Path) -> ServerConfigs:
    """Return the project configuration without its servers, with a note about the omitted servers. Faults of the
    file are reported although the file is not trusted yet."""
    if not project.servers:
        return project
    names = ", ".join(each.name for each in project.servers)
    note = f"its servers ({names}) are not started until you trust this folder: callgate trust add"
    return ServerConfigs(faults=(ConfigFault(note, Origin("project", str(file), 1)), *project.faults))


def unset_variables(servers: Iterable[ServerConfig]) -> list[ConfigFault]:
    """Return a note for each variable that a server uses and that is not set."""
    return [
        ConfigFault(f"the server {each.name!r}: the variable {name} is not set", each.origin)
        for each in servers
        for name in each.unset(os.environ)
    ]
