"""Asks a local model server for the size of its context window.

The list of models has it on llama.cpp (``meta.n_ctx``) and vLLM (``max_model_len``); other servers have requests of
their own. The length with which a model was trained is not used, except as an upper bound for Ollama.
"""

from collections.abc import Callable, Mapping
from json import dumps, loads
from re import search
from typing import Any, cast
from urllib.parse import quote

from callgate.host.host_addresses import target_of
from callgate.host.http_client import HttpClient
from callgate.words.noun import noun

PATIENCE = 1.0
"""The timeout of a request in seconds."""
_LARGEST = 1 << 22
_LEAST, _MOST = 256, 100_000_000


@noun
class ServerWindow:
    """The size of a context window in tokens. ``is_bound`` is True if the server may use a smaller one."""

    tokens: int
    is_bound: bool = False


def find_window(base_url: str, model: str, headers: Mapping[str, str]) -> ServerWindow | None:
    """Return the context window of a model; None if the server does not answer or does not report it. Blocks until a
    short timeout; never raises."""
    root = base_url.rstrip("/").removesuffix("/v1")
    name = quote(model, safe="")
    questions: tuple[tuple[str, bytes | None, Callable[[Any, str], ServerWindow | None]], ...] = (
        (f"{base_url.rstrip('/')}/models", None, _listed),
        (f"{root}/props", None, _llama_cpp),
        (f"{root}/api/v0/models/{name}", None, _lm_studio),
        (f"{root}/api/ps", None, _running_ollama),
        (f"{root}/api/show", dumps({"model": model}).encode(), _ollama),
    )
    for url, body, read in questions:
        try:
            answer = _ask(url, headers, body)
            found = None if answer is None else read(answer, model)
        except (OSError, RecursionError):
            return None
        except (ValueError, TypeError, AttributeError, KeyError):  # an answer of another form
            continue
        if found is not None:
            return found
    return None


def _ask(url: str, headers: Mapping[str, str], body: bytes | None) -> Any:
    client = HttpClient(most=_LARGEST, silent_seconds=PATIENCE, connect_seconds=PATIENCE)
    sent = {**headers, "Accept": "application/json"}
    if body is not None:
        sent["Content-Type"] = "application/json"
    answer = client.send(target_of(url), sent, method="GET" if body is None else "POST", body=body)
    return loads(answer.body) if answer.status == 200 else None


def _window(*values: object) -> ServerWindow | None:
    """Return the first value that is a plausible number of tokens."""
    return next((ServerWindow(each) for each in values if type(each) is int and _LEAST <= each <= _MOST), None)


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _entry(entries: Any, model: str, *keys: str) -> dict[str, Any]:
    """Return the entry of the model. A server that serves one model may use another name for it."""
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
    return _window(answer.get("loaded_context_length"), answer.get("max_context_length"))


def _running_ollama(answer: Any, model: str) -> ServerWindow | None:
    named = [each for each in map(_table, answer["models"]) if each.get("name") in (model, f"{model}:latest")]
    return _window(named[0].get("context_length")) if named else None


def _ollama(answer: Any, _model: str) -> ServerWindow | None:
    set_to = search(r"(?m)^\s*num_ctx\s+(\d+)\s*$", answer.get("parameters") or "")
    if set_to:
        return _window(int(set_to[1]))
    trained = [value for key, value in _table(answer.get("model_info")).items() if key.endswith(".context_length")]
    found = _window(*trained)
    return None if found is None else ServerWindow(found.tokens, is_bound=True)
