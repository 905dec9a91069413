"""Adds, removes, lists and tests MCP servers. The functions block."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from callgate.assembly.options import ServerFlags
from callgate.assembly.servers import KeptSecrets, log_mask, server_configs, unset_variables
from callgate.config import Config, load_config
from callgate.host.files import read_regular, replace_file
from callgate.host.local import LocalHost
from callgate.mcp import OWN_FILE, PROJECT_FILE
from callgate.mcp.approvals import ApprovedDefinitions
from callgate.mcp.server import Server
from callgate.mcp.server_config import LARGEST, ServerConfig, ServerConfigs, as_entry, merged, read_file, read_server
from callgate.mcp.server_context import ServerContext, ServerLimits, ServerState
from callgate.mcp.server_list import ServerList
from callgate.mcp.server_tool import ServerTool
from callgate.mcp.tool_definitions import server_name
from callgate.policy.trust import Trusted
from callgate.words.decisions import AskedField, FieldAnswer, Origin
from callgate.words.errors import CallgateError, ToolFailure, UsageError
from callgate.words.noun import noun

__all__ = ["as_entry"]

ServerScope = Literal["user", "project"]
SECONDS = 20.0
"""For all servers of a list to connect."""


@noun
class TriedServer:
    """The result of connecting one server: its state, its tools, the lines of its log, and notes."""

    config: ServerConfig
    state: ServerState
    tools: tuple[ServerTool, ...] = ()
    log: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@noun
class AddedServer:
    """A server entry that was written to ``file``, and the earlier entry that it replaced."""

    config: ServerConfig
    file: Path
    before: ServerConfig | None
    notes: tuple[str, ...]


def own_names() -> tuple[str, ...]:
    """Return the names of the servers in the user's and the project's file, for shell completion."""
    return tuple(each.name for each in _written(load_config()).servers)


def _written(config: Config) -> ServerConfigs:
    """Return the servers in the user's and the project's file, including untrusted servers."""
    own = ServerConfigs() if config.folder is None else read_file(config.folder / OWN_FILE, "user")
    return merged((own, read_file(config.root / PROJECT_FILE, "project")))


def add_server(name: str, entry: Any, scope: ServerScope) -> AddedServer:
    """Write the entry of a server, replacing an earlier entry with this name. Raise UsageError for an invalid entry."""
    file = _file(load_config(), scope)
    try:
        made, notes = read_server(name, entry, Origin(scope, str(file)))
        if notes:
            raise ValueError(notes[0])
    except ValueError as error:
        raise UsageError(f"the server {name!r} cannot be added: {error}") from None
    whole = _whole(file)
    before = next((each for each in read_file(file, scope).servers if each.name == made.name), None)
    whole["mcpServers"][_key(whole, made.name) or name] = entry
    _write(file, whole)
    return AddedServer(made, file, before, _unset(made))


def remove_server(name: str, scope: ServerScope) -> Path:
    """Remove the entry, the login and the approved definitions of a server. Raise UsageError if there is no such
    server."""
    config = load_config()
    file = _file(config, scope)
    whole = _whole(file)
    key = _key(whole, name)
    if key is None:
        other: ServerScope = "project" if scope == "user" else "user"
        elsewhere = any(_is_named(name, each.name) for each in read_file(_file(config, other), other).servers)
        there = f"--scope {other} has it" if elsewhere else f"there are: {', '.join(whole['mcpServers']) or 'none'}"
        raise UsageError(f"{file} has no server {name!r}; {there}")
    found = next((each for each in read_file(file, scope).servers if _is_named(key, each.name)), None)
    del whole["mcpServers"][key]
    _write(file, whole)
    if found is not None:
        server = Server(found, _context(config, found))
        ApprovedDefinitions(config.data if config.own_data else None).forget(server.identity)
        if found.transport != "stdio":
            _forget_login(config, server.identity)
    return file


def find_server(name: str) -> ServerConfig:
    """Return the configuration of a server, even if it is not trusted. Raise UsageError if there is no such server."""
    there = _written(load_config())
    for each in there.servers:
        if each.name == name or _is_named(name, each.name):
            return each
    for fault in there.faults:
        if fault.server == name:
            raise UsageError(str(fault))
    names = ", ".join(each.name for each in there.servers)
    raise UsageError(f"there is no server {name!r}; there are: {names or 'none'}")


def list_servers(seconds: float = SECONDS, config: Config | None = None) -> tuple[list[TriedServer], tuple[str, ...]]:
    """Connect all servers in parallel. Return each server with its state, and notes about faults in files. Servers
    of an untrusted folder are listed, but not started."""
    config = config or load_config()
    found = server_configs(config, ServerFlags())
    rows = asyncio.run(_tried(config, found.servers, seconds))
    left_out = () if isinstance(config.trust, Trusted) else read_file(config.root / PROJECT_FILE, "project").servers
    state = ServerState("disabled", "this folder is not trusted: callgate trust add")
    return [*rows, *(TriedServer(each, state) for each in left_out)], tuple(map(str, found.faults))


def try_server(name: str, seconds: float = SECONDS) -> TriedServer:
    """Connect one server. Raise UsageError if there is no such server or its folder is not trusted."""
    config = load_config()
    return asyncio.run(_tried(config, [_startable(config, name)], seconds))[0]


def log_in(name: str, show: Callable[[str], None]) -> TriedServer:
    """Log in to a server. ``show`` receives the address that the user must open. Raise CallgateError if the login
    fails."""
    config = load_config()
    found = _startable(config, name)
    if found.transport == "stdio":
        raise UsageError(f"the server {name!r} is a command, and has no login")

    async def connect() -> TriedServer:
        context = replace(_context(config, found), person=_Shown(show), limits=ServerLimits(600.0))
        server = Server(found, context)
        try:
            await server.log_in()
            return _row(server)
        except ToolFailure as error:
            raise CallgateError(str(error)) from None
        finally:
            await server.end()

    return asyncio.run(connect())


def log_out(name: str) -> bool:
    """Delete the tokens of a server. Return False if there were none."""
    config = load_config()
    return _forget_login(config, Server(find_server(name), _context(config)).identity)


async def _tried(config: Config, servers: Sequence[ServerConfig], seconds: float) -> list[TriedServer]:
    found = ServerList(servers)
    found.begin(replace(_context(config, *found.configs), limits=ServerLimits(seconds)))
    try:
        await found.settled()
        return [_row(each) for each in found.servers.values()]
    finally:
        await found.aclose()


def _row(server: Server) -> TriedServer:
    state = server.state
    if state.status == "connecting" and state.reason:  # it would be tried again, and here it is not
        state = replace(state, status="failed")
    return TriedServer(server.config, state, server.tools, server.log.lines(), _unset(server.config))


def _unset(server: ServerConfig) -> tuple[str, ...]:
    return tuple(each.text for each in unset_variables((server,)))


def _context(config: Config, *servers: ServerConfig) -> ServerContext:
    data = config.data if config.own_data else None
    return ServerContext(
        host=LocalHost(config.root),
        roots=(str(config.root),),
        environ=os.environ,
        data=data,
        approved=ApprovedDefinitions(data),
        tokens=KeptSecrets(data),
        mask=log_mask(servers),
    )


def _startable(config: Config, name: str) -> ServerConfig:
    wanted = find_server(name).name
    for each in server_configs(config, ServerFlags()).servers:
        if each.name == wanted:
            return each
    raise UsageError(f"the server {wanted!r} belongs to an untrusted folder: callgate trust add")


def _forget_login(config: Config, identity: str) -> bool:
    from callgate.mcp.oauth import forget_tokens  # costly to load

    return forget_tokens(identity, KeptSecrets(config.data if config.own_data else None))


class _Shown:
    """Shows the login address to the user, then waits until it is cancelled."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    async def ask(
        self, fields: Sequence[AskedField], *, by: str, text: str, name: str
    ) -> tuple[FieldAnswer, ...] | None:
        self._show(text)
        return await asyncio.get_running_loop().create_future()


def _file(config: Config, scope: ServerScope) -> Path:
    if scope == "project":
        return config.root / PROJECT_FILE
    if config.folder is None:
        raise UsageError("there is no folder for your settings")
    return config.folder / OWN_FILE


def _key(whole: dict[str, Any], name: str) -> str | None:
    """Return the key of a server in the file, or None. ``name`` is the key itself or its spelling in tool names."""
    keys: list[str] = [*whole["mcpServers"]]
    return next((key for key in keys if key == name), next((key for key in keys if _is_named(key, name)), None))


def _is_named(key: str, name: str) -> bool:
    try:
        return server_name(key) == name
    except ValueError:
        return False


def _whole(file: Path) -> dict[str, Any]:
    try:
        read = read_regular(file, LARGEST)
        if read.is_cut:
            raise ValueError("it has more than 1 MiB")
        found = json.loads(read.data)
    except FileNotFoundError:
        return {"mcpServers": {}}
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{file} cannot be changed: {why}; fix or remove the file") from None
    if not isinstance(found, dict) or not isinstance(found.setdefault("mcpServers", {}), dict):  # pyright: ignore[reportUnknownMemberType]
        raise UsageError(f'{file} cannot be changed: it must be an object {{"mcpServers": {{…}}}}')
    return found  # pyright: ignore[reportUnknownVariableType]


def _write(file: Path, whole: dict[str, Any]) -> None:
    text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    replace_file(file, text.encode(), 0o600 if file.name == OWN_FILE else 0o644, folders=0o777)
