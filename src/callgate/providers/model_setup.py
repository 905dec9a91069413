"""Suggests ways to set up a model if no key and no model is set, and detects local model servers.

Local servers are detected by a request to their default addresses. They are suggested, but never chosen
automatically, because any program of this machine may listen on these addresses.
"""

from collections.abc import Iterable, Mapping, Sequence
from json import loads
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from callgate.host.host_addresses import target_of
from callgate.host.http_client import HttpClient
from callgate.providers.catalogue import ServerRow
from callgate.words.noun import noun

NO_MODEL = "no model is set and no key was found"
PATIENCE = 0.3
"""The timeout of a request to a local server in seconds."""
_LARGEST = 1 << 20
_MOST_MODELS = 50


@noun
class LocalServer:
    """A local server that answered, with the names of its models."""

    provider: str
    base_url: str
    models: tuple[str, ...]


def find_local(servers: Mapping[str, ServerRow]) -> tuple[LocalServer, ...]:
    """Return the local servers that answer with a list of models. Blocks for at most a short timeout. Never raises."""
    asked = ((name, row, _models(row.base_url)) for name, row in servers.items() if row.local)
    return tuple(LocalServer(name, row.base_url, models) for name, row, models in asked if models is not None)


def _models(base_url: str) -> tuple[str, ...] | None:
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


@noun
class SetupOption:
    """A way to set up a model.

    what     a description that can follow "or"
    command  the command that the user types
    """

    kind: Literal["key", "local", "demo"]
    what: str
    command: str

    def __str__(self) -> str:
        return f"{self.what}: `{self.command}`"


def setup_options(
    servers: Mapping[str, ServerRow], vendors: Iterable[str], answering: Sequence[LocalServer]
) -> tuple[SetupOption, ...]:
    """Return the ways to set up a model.

    vendors    the providers that have a default model
    answering  the local servers that were detected
    """
    *most, last = (servers[name].key_variables[0] for name in vendors)
    variables = f"{', '.join(most)} or {last}" if most else last
    return (
        SetupOption("key", f"set {variables}, or store a key", "callgate auth set anthropic"),
        _local(servers, answering),
        SetupOption("demo", "look around without a model", "callgate demo"),
    )


def no_model_text(ways: Iterable[SetupOption]) -> str:
    """Return the message that no model is set, with the ways to set up a model."""
    return f"{NO_MODEL}: {'; or '.join(map(str, ways))}"


def _local(servers: Mapping[str, ServerRow], answering: Sequence[LocalServer]) -> SetupOption:
    offers = [f"{each.provider}/{each.models[0]}" for each in answering if each.models]
    if offers:
        where = ", ".join(f"{each.provider} at {_place(each.base_url)}" for each in answering if each.models)
        return SetupOption("local", f"use the local server that answers ({where})", _set(offers[0]))
    empty = [each.provider for each in answering]
    if empty:
        return SetupOption(
            "local", f"the local server {empty[0]} is running but has no model: load one", _set(f"{empty[0]}/NAME")
        )
    tried = ", ".join(f"{name} at {_place(row.base_url)}" for name, row in servers.items() if row.local)
    return SetupOption("local", f"start a local server (none answered; tried {tried})", _set("ollama/NAME"))


def _set(model: str) -> str:
    return f"callgate config set models.default {model}"


def _place(base_url: str) -> str:
    return urlsplit(base_url).netloc.rpartition("@")[2]
