"""Local servers of models, found by asking the addresses on which they listen by default.

They are looked for only where no key and no model is set, and offered, never used unasked: any program of this machine
may listen there.
"""

from collections.abc import Iterable, Mapping
from json import loads
from typing import Any, cast

from callgate.host.host_addresses import target_of
from callgate.host.http_client import HttpClient
from callgate.providers.catalogue import ServerRow
from callgate.words.noun import noun

PATIENCE = 0.3
"""Seconds that a server of this machine may take to answer."""
_LARGEST = 1 << 20
_MOST_MODELS = 50


@noun
class LocalServer:
    """A server that answered, and the names of its models."""

    provider: str
    base_url: str
    models: tuple[str, ...]


def find_local(servers: Mapping[str, ServerRow]) -> tuple[LocalServer, ...]:
    """The local ones of these servers that answer with a list of models. Blocks for a moment; never raises."""
    asked = ((name, row, _models(row.base_url)) for name, row in servers.items() if row.local)
    return tuple(LocalServer(name, row.base_url, models) for name, row, models in asked if models is not None)


def _models(base_url: str) -> tuple[str, ...] | None:
    """The names of the models; None if nothing answers there, or something else."""
    try:
        target = target_of(f"{base_url.rstrip('/')}/models")
        if target.secure:
            return None
        client = HttpClient(most=_LARGEST, silent_seconds=PATIENCE, connect_seconds=PATIENCE)
        answer = client.send(target, {"Accept": "application/json"})
        listed = loads(answer.body) if answer.status == 200 else None
    except (OSError, ValueError, RecursionError):
        return None
    entries = cast(Any, listed).get("data") if isinstance(listed, dict) else None
    return None if not isinstance(entries, list) else tuple(_names(cast(list[Any], entries)))[:_MOST_MODELS]


def _names(entries: Iterable[Any]) -> Iterable[str]:
    for entry in entries:
        name = cast(dict[str, Any], entry).get("id") if isinstance(entry, dict) else None
        if isinstance(name, str) and name.isprintable() and 0 < len(name) < 200:
            yield name
