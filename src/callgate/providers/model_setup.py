"""Suggests ways to set up a model if no key and no model is set, and detects local model servers.

Local servers are detected by a request to their default addresses. They are suggested, but never chosen
automatically, because any program of this machine may listen on these addresses.

``find_window`` asks a local server for the size of its context window. llama.cpp (``meta.n_ctx``) and vLLM
(``max_model_len``) report the size in the list of models; other servers report it in answers to requests of their own.
The length with which a model was trained is used only as an upper bound, for models that Ollama or LM Studio have not
loaded yet. A server that is loading its model (HTTP 503) is asked again for ``LOADING_SECONDS``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from json import dumps, loads
from re import search
from time import monotonic, sleep
from typing import Any, Literal, cast
from urllib.parse import quote, urlsplit

from callgate.host.host_addresses import target_of
from callgate.host.http_client import HttpClient
from callgate.providers.catalogue import ServerRow
from callgate.words.noun import noun

NO_MODEL = "no model is set and no key was found"
PATIENCE = 0.3
"""The timeout of a request to a local server in seconds."""
_MOST_MODELS = 50
_LARGEST = 1 << 22
CONNECT_SECONDS, SILENT_SECONDS, LOADING_SECONDS = 1.0, 5.0, 15.0
"""Timeouts: to connect, to receive an answer, and until the server has loaded its model."""


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
        if target_of(base_url).secure:
            return None
        entries = _table(_ask(f"{base_url.rstrip('/')}/models", {}, None, connect=PATIENCE, silent=PATIENCE)).get(
            "data"
        )
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(entries, list):
        return None
    names = [_table(each).get("id") for each in cast(list[object], entries)]
    valid = (name for name in names if isinstance(name, str) and name.isprintable() and 0 < len(name) < 200)
    return tuple(valid)[:_MOST_MODELS]


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


_PAUSE = 0.25
_LEAST, _MOST = 256, 100_000_000


@noun
class ServerWindow:
    """The size of a context window in tokens.

    is_bound  True if the server may use a smaller window
    path      the path of the request that the server answered
    """

    tokens: int
    is_bound: bool = False
    path: str = ""


def find_window(base_url: str, model: str, headers: Mapping[str, str]) -> ServerWindow | None:
    """Return the context window of a model; None if the server does not answer or does not report the window. Blocks
    for at most a short timeout. Never raises."""
    root = base_url.rstrip("/").removesuffix("/v1")
    name = quote(model, safe="")
    questions: tuple[tuple[str, bytes | None, Callable[[Any, str], ServerWindow | None]], ...] = (
        (f"{base_url.rstrip('/')}/models", None, _listed),
        (f"{root}/props", None, _llama_cpp),
        (f"{root}/api/v0/models/{name}", None, _lm_studio),
        (f"{root}/api/v1/models", None, _lm_studio_list),
        (f"{root}/api/ps", None, _running_ollama),
        (f"{root}/api/show", dumps({"model": model}).encode(), _ollama),
    )
    until = monotonic() + LOADING_SECONDS
    for url, body, read in questions:
        try:
            answer = _ask(url, headers, body, until=until)
            found = None if answer is None else read(answer, model)
        except (OSError, RecursionError):
            return None
        except (ValueError, TypeError, AttributeError, KeyError):  # an answer of another form
            continue
        if found is not None:
            return replace(found, path=urlsplit(url).path)
    return None


def _ask(
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    *,
    connect: float = CONNECT_SECONDS,
    silent: float = SILENT_SECONDS,
    until: float = 0.0,
) -> Any:
    """Return the JSON of an answer; None for an error status. Repeat the request until this time while the server is
    loading its model."""
    client = HttpClient(most=_LARGEST, silent_seconds=silent, connect_seconds=connect)
    sent = {**headers, "Accept": "application/json", **({} if body is None else {"Content-Type": "application/json"})}
    method = "GET" if body is None else "POST"
    answer = client.send(target_of(url), sent, method=method, body=body)
    while answer.status == 503 and monotonic() < until:
        sleep(_PAUSE)
        answer = client.send(target_of(url), sent, method=method, body=body)
    return loads(answer.body) if answer.status == 200 else None


def _window(*values: object) -> ServerWindow | None:
    """Return the first value that is a plausible number of tokens."""
    return next((ServerWindow(each) for each in values if type(each) is int and _LEAST <= each <= _MOST), None)


def _bound(*values: object) -> ServerWindow | None:
    found = _window(*values)
    return None if found is None else replace(found, is_bound=True)


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _entry(entries: Any, model: str, *keys: str) -> dict[str, Any]:
    """Return the entry of the model in the list of models. A server that serves only one model may list the model
    under another name."""
    rows = [_table(each) for each in entries]
    named = [row for row in rows for key in keys if row.get(key) in (model, f"{model}:latest")]
    return named[0] if named else rows[0] if len(rows) == 1 else {}


def _listed(answer: Any, model: str) -> ServerWindow | None:
    row = _entry(answer["data"], model, "id")
    return _window(
        _table(row.get("meta")).get("n_ctx"),
        row.get("max_model_len"),
        row.get("loaded_context_length"),
        row.get("n_ctx"),
    )


def _llama_cpp(answer: Any, _model: str) -> ServerWindow | None:
    return _window(_table(answer.get("default_generation_settings")).get("n_ctx"), answer.get("n_ctx"))


def _lm_studio(answer: Any, _model: str) -> ServerWindow | None:
    loaded = _window(answer.get("loaded_context_length"))
    return loaded or _bound(answer.get("max_context_length"))


def _lm_studio_list(answer: Any, model: str) -> ServerWindow | None:
    row = _entry(answer["models"], model, "key")
    loaded = [_table(_table(each).get("config")).get("context_length") for each in row.get("loaded_instances", ())]
    return _window(*loaded) or _bound(row.get("max_context_length"))


def _running_ollama(answer: Any, model: str) -> ServerWindow | None:
    named = [each for each in map(_table, answer["models"]) if each.get("name") in (model, f"{model}:latest")]
    return _window(named[0].get("context_length")) if named else None


def _ollama(answer: Any, _model: str) -> ServerWindow | None:
    set_to = search(r"(?m)^\s*num_ctx\s+(\d+)\s*$", answer.get("parameters") or "")
    if set_to:
        return _window(int(set_to[1]))
    trained = [value for key, value in _table(answer.get("model_info")).items() if key.endswith(".context_length")]
    return _bound(*trained)
