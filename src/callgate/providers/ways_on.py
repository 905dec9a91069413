"""The ways to get a model where no key and no model is set: for the error of a run and for the first start alike."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal
from urllib.parse import urlsplit

from callgate.providers.catalogue import ServerRow
from callgate.providers.local_servers import LocalServer
from callgate.words.noun import noun

NO_MODEL = "no model is set and no key was found"


@noun
class WayOn:
    """One way: what it takes, in words that follow "or", and the command to type."""

    kind: Literal["key", "local", "demo"]
    what: str
    command: str

    def __str__(self) -> str:
        return f"{self.what}: `{self.command}`"


def ways_on(
    servers: Mapping[str, ServerRow], vendors: Iterable[str], answering: Sequence[LocalServer]
) -> tuple[WayOn, ...]:
    """``vendors`` are the providers that have a default model; ``answering`` the local servers that were found."""
    *most, last = (servers[name].key_variables[0] for name in vendors)
    variables = f"{', '.join(most)} or {last}" if most else last
    return (
        WayOn("key", f"set {variables}, or store a key", "callgate auth set anthropic"),
        _local(servers, answering),
        WayOn("demo", "look around without a model", "callgate demo"),
    )


def ways_in_words(ways: Iterable[WayOn]) -> str:
    """All of it as one line."""
    return f"{NO_MODEL}: {'; or '.join(map(str, ways))}"


def _local(servers: Mapping[str, ServerRow], answering: Sequence[LocalServer]) -> WayOn:
    offers = [f"{each.provider}/{each.models[0]}" for each in answering if each.models]
    if offers:
        where = ", ".join(f"{each.provider} at {_place(each.base_url)}" for each in answering if each.models)
        return WayOn("local", f"use the local server that answers ({where})", _set(offers[0]))
    empty = [each.provider for each in answering]
    if empty:
        return WayOn(
            "local", f"the local server {empty[0]} answers and has no model: load one", _set(f"{empty[0]}/NAME")
        )
    tried = ", ".join(f"{name} at {_place(row.base_url)}" for name, row in servers.items() if row.local)
    return WayOn("local", f"start a local server (none answers; tried {tried})", _set("ollama/NAME"))


def _set(model: str) -> str:
    return f"callgate config set models.default {model}"


def _place(base_url: str) -> str:
    return urlsplit(base_url).netloc.rpartition("@")[2]
