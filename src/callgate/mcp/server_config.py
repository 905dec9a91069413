"""The configuration of servers in files and flags: ``{"mcpServers": {"name": {…}}}``.

The variables ``${VAR}`` and ``${VAR:-default}`` are replaced by environment variables in ``command``, ``args``,
``env``, ``url`` and ``headers``. ``$VAR`` and variables that are not set stay unchanged. An invalid entry disables only
its own server.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal, TypeGuard, cast
from urllib.parse import urlsplit

from callgate.host.files import read_regular
from callgate.mcp.tool_definitions import server_name
from callgate.words.decisions import Origin
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import nothing, noun

Layer = Literal["user", "project", "command line"]
Transport = Literal["stdio", "http", "sse"]
MOST_SERVERS = 200
LARGEST = 1 << 20
_HALF = late_pattern("[\ud800-\udfff]")
_HEADER = late_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = late_pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_TYPES: Mapping[str, Transport] = {"stdio": "stdio", "http": "http", "streamable-http": "http", "sse": "sse"}
_OF_COMMANDS, _OF_ADDRESSES = ("command", "args", "env"), ("url", "headers", "headersHelper", "oauth")
_KEYS = frozenset(("type", "trusted", *_OF_COMMANDS, *_OF_ADDRESSES))
_OTHERS: Mapping[Transport, tuple[str, ...]] = {"stdio": _OF_ADDRESSES, "http": _OF_COMMANDS, "sse": _OF_COMMANDS}


@noun
class OAuthClient:
    """An OAuth client that was registered manually at the authorization server. ``port`` is the local port of the
    redirect, 0 for any port."""

    id: str
    secret: str = ""
    port: int = 0


@noun
class ServerConfig:
    """The configuration of one server, with its variables not yet replaced.

    trusted         True if the annotations of its tools are trusted; a file of the project cannot set this
    headers_helper  a command that prints more headers as a JSON object
    """

    name: str
    transport: Transport
    origin: Origin
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=nothing)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=nothing)
    headers_helper: str = ""
    client: OAuthClient | None = None
    trusted: bool = False

    @property
    def target(self) -> str:
        """The command line or the address of the server, in one line."""
        return self.url if self.transport != "stdio" else " ".join((self.command, *self.args))

    def unset(self, environ: Mapping[str, str]) -> list[str]:
        """Return the variables that have neither a value nor a default."""
        secret = "" if self.client is None else self.client.secret
        texts = (self.command, *self.args, *self.env.values(), self.url, *self.headers.values(), secret)
        named = (found for text in texts for found in _VARIABLE.finditer(text))
        return [*dict.fromkeys(found[1] for found in named if found[2] is None and not environ.get(found[1]))]

    def expanded(self, environ: Mapping[str, str]) -> "ServerConfig":
        def put(text: str) -> str:
            # A variable that is not set has its default, or stays as it is.
            return _VARIABLE.sub(lambda it: environ.get(it[1]) or (it[0] if it[2] is None else it[2]), text)

        return replace(
            self,
            command=put(self.command),
            args=tuple(map(put, self.args)),
            env={name: put(value) for name, value in self.env.items()},
            url=put(self.url),
            headers={name: put(value) for name, value in self.headers.items()},
            client=None if self.client is None else replace(self.client, secret=put(self.client.secret)),
        )


@noun
class ConfigFault:
    """A problem in a configuration file, with its line. ``server`` names the server that it disables."""

    text: str
    origin: Origin
    server: str = ""

    def __str__(self) -> str:
        return f"{self.origin.file}:{self.origin.line}: {self.text}" if self.origin.file else self.text


@noun
class ServerConfigs:
    servers: tuple[ServerConfig, ...] = ()
    faults: tuple[ConfigFault, ...] = ()


def read_file(path: Path, layer: Layer) -> ServerConfigs:
    """Return the servers in a configuration file; none if the file does not exist. Blocks."""
    try:
        found = read_regular(path, LARGEST)
    except FileNotFoundError:
        return ServerConfigs()
    except OSError as error:
        return _fault(f"this cannot be read: {error.strerror or error}", Origin(layer, str(path), 1))
    if found.is_cut:
        return _fault("this cannot be read: it has more than 1 MiB", Origin(layer, str(path), 1))
    return read_text(found.data.decode("utf-8", "replace"), layer, str(path))


def read_text(text: str, layer: Layer, file: str = "") -> ServerConfigs:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        return _fault(f"this is not JSON: {getattr(error, 'msg', error)}", Origin(layer, file, line))
    whole = Origin(layer, file, 1)
    if not isinstance(found, dict) or not isinstance(found.get("mcpServers"), dict):  # pyright: ignore[reportUnknownMemberType]
        return _fault('the file must be an object {"mcpServers": {…}}', whole)
    entries = cast("dict[str, object]", found["mcpServers"])
    if len(entries) > MOST_SERVERS:
        return _fault(f"at most {MOST_SERVERS} servers can be configured, not {len(entries)}", whole)
    servers: dict[str, ServerConfig] = {}
    faults: list[ConfigFault] = []
    for name, entry in entries.items():
        origin = Origin(layer, file, _line_of(text, name))
        try:
            made, notes = read_server(name, entry, origin)
            if made.name in servers:
                raise ValueError(f"another server has the name {made.name!r}")
        except ValueError as error:
            faults.append(ConfigFault(f"the server {name!r} is ignored: {error}", origin, name))
            continue
        servers[made.name] = made
        faults += (ConfigFault(f"the server {name!r}: {note}", origin) for note in notes)
    return ServerConfigs(tuple(servers.values()), tuple(faults))


def read_server(name: str, entry: object, origin: Origin) -> tuple[ServerConfig, list[str]]:
    """Parse the configuration of one server. Return it with notes on ignored entries. Raise ValueError if it is
    invalid."""
    if not isinstance(entry, dict):
        raise ValueError("an object is wanted")
    given = cast("dict[str, object]", entry)
    kind = given.get("type", "http" if "url" in given and "command" not in given else "stdio")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ValueError(f"its type must be stdio, http or sse, not {kind!r:.40}")
    transport = _TYPES[kind]
    notes = [f"{key!r:.40} is not known here" for key in given if key not in _KEYS]
    notes += (f"{key!r} is ignored for servers of type {kind}" for key in _OTHERS[transport] if key in given)
    wanted = "command" if transport == "stdio" else "url"
    if notes and wanted not in given:
        raise ValueError(f"{wanted} is wanted, a text; {notes[0]}")
    trusted = given.get("trusted", False)
    if type(trusted) is not bool:
        raise ValueError("trusted is true or false")
    if trusted and origin.layer == "project":
        notes.append("trusted is ignored in a project's file: set it in your own")
        trusted = False
    base = ServerConfig(server_name(name), transport, origin, trusted=trusted)
    if transport == "stdio":
        return replace(
            base, command=_text(given, "command"), args=_texts(given, "args"), env=_pairs(given, "env")
        ), notes
    url = _text(given, "url")
    parts = urlsplit(url)
    if (parts.scheme not in ("http", "https") or not parts.hostname) and not url.startswith("${"):
        raise ValueError(f"its url must begin with https:// or http:// and a host; {url!r:.40} does not")
    helper = _text(given, "headersHelper") if "headersHelper" in given else ""
    headers = _pairs(given, "headers")
    for header, value in headers.items():
        if _HEADER.fullmatch(header) is None or not value.isascii() or not value.isprintable():
            raise ValueError(f"headers: {header!r:.40} contains characters that are invalid in a header")
    made = replace(base, url=url, headers=headers, headers_helper=helper, client=_client(given))
    return made, notes


def as_entry(server: ServerConfig) -> dict[str, Any]:
    """Return the entry of a server in a configuration file, without fields that have their default value."""
    client = server.client or OAuthClient("")
    oauth = {"clientId": client.id, "clientSecret": client.secret, "callbackPort": client.port}
    found: dict[str, Any] = {
        "type": server.transport,
        "command": server.command,
        "args": list(server.args),
        "env": dict(server.env),
        "url": server.url,
        "headers": dict(server.headers),
        "headersHelper": server.headers_helper,
        "oauth": {key: value for key, value in oauth.items() if value},
        "trusted": server.trusted,
    }
    return {key: value for key, value in found.items() if value}


def merged(parts: Iterable[ServerConfigs]) -> ServerConfigs:
    """Join the lists of servers. Of two servers with one name, the first is used and the second is reported as a
    fault."""
    found: dict[str, ServerConfig] = {}
    faults: list[ConfigFault] = []
    for part in parts:
        faults += part.faults
        for each in part.servers:
            first = found.setdefault(each.name, each)
            if first is not each:
                why = f"the server {each.name!r} of {first.origin} has priority over this one"
                faults.append(ConfigFault(why, each.origin))
    return ServerConfigs(tuple(found.values()), tuple(faults))


def _fault(text: str, origin: Origin) -> ServerConfigs:
    return ServerConfigs(faults=(ConfigFault(text, origin),))


def _line_of(text: str, name: str) -> int:
    found = re.search(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _client(given: Mapping[str, object]) -> OAuthClient | None:
    value = given.get("oauth")
    if value is None:
        return None
    known = {"clientId", "clientSecret", "callbackPort"}
    if not isinstance(value, dict) or not known.issuperset(cast("dict[str, object]", value)):
        raise ValueError("oauth must be an object with clientId, and optionally clientSecret and callbackPort")
    client = cast("dict[str, object]", value)
    port = client.get("callbackPort", 0)
    if type(port) is not int or not 0 <= port < 65_536:
        raise ValueError("callbackPort must be a port number")
    secret = _text(client, "clientSecret") if "clientSecret" in client else ""
    return OAuthClient(_text(client, "clientId"), secret, port)


def _text(given: Mapping[str, object], key: str) -> str:
    value = given.get(key)
    if not _is_text(value) or not value.strip():
        raise ValueError(f"{key} is wanted, a text")
    return value


def _texts(given: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = given.get(key, [])
    if not isinstance(value, list) or not all(map(_is_text, cast("list[object]", value))):
        raise ValueError(f"{key} is a list of texts")
    return tuple(cast("list[str]", value))


def _pairs(given: Mapping[str, object], key: str) -> Mapping[str, str]:
    value = given.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key} is an object of texts")
    for name, text in cast("dict[str, object]", value).items():
        if not _is_text(text) or not _is_text(name) or "\n" in name + text:
            raise ValueError(f"{key}: the value of {name!r:.40} is not a text of one line")
        if not name or "=" in name:
            raise ValueError(f"{key}: {name!r:.40} is no name")
    return cast("dict[str, str]", value)


def _is_text(value: object) -> TypeGuard[str]:
    """Return True for a string that a program and a file accept: a string without lone surrogates."""
    return isinstance(value, str) and "\0" not in value and _HALF.search(value) is None
