"""The context window that a local server reports."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from callgate.assembly.models import model_source
from callgate.config import load_config
from callgate.providers import model_setup
from callgate.providers.http_model import LOCAL_IDLE_SECONDS
from callgate.providers.model_setup import ServerWindow, find_window
from callgate.words.errors import ModelError
from callgate.words.messages import Message, Text
from callgate.words.model import ModelNoted, Request
from tests.rows import rows

MODEL = "qwen"
LISTED = {"data": [{"id": MODEL}]}
OTHERS = [{"id": "a", "meta": {"n_ctx": 512}}, {"id": "b", "meta": {"n_ctx": 1024}}]


@contextmanager
def serving(answers: dict[str, Any], loading: int = 0) -> Iterator[tuple[str, list[str]]]:
    """The base URL of a server with these answers by path, and the paths of its requests. The first ``loading``
    requests are answered with HTTP 503."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            found = answers.get(self.path)
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(503 if len(asked) <= loading else 404 if found is None else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


REPORTS: list[tuple[str, dict[str, Any], ServerWindow | None]] = [
    ("llama.cpp", {"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx": 12_288}}]}}, ServerWindow(12_288)),
    ("another name", {"/v1/models": {"data": [{"id": "x.gguf", "meta": {"n_ctx": 4_096}}]}}, ServerWindow(4_096)),
    ("several", {"/v1/models": {"data": [*OTHERS, {"id": MODEL, "max_model_len": 9_000}]}}, ServerWindow(9_000)),
    ("vLLM", {"/v1/models": {"data": [{"id": MODEL, "max_model_len": 40_960}]}}, ServerWindow(40_960)),
    (
        "trained length only",
        {"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx_train": 131_072}}]}, "/props": {"n_ctx": 8_192}},
        ServerWindow(8_192),
    ),
    ("props", {"/props": {"default_generation_settings": {"n_ctx": 16_384}}}, ServerWindow(16_384)),
    (
        "LM Studio",
        {"/api/v0/models/qwen": {"loaded_context_length": 4_096, "max_context_length": 32_768}},
        ServerWindow(4_096),
    ),
    (
        "LM Studio, not loaded",
        {"/api/v0/models/qwen": {"max_context_length": 32_768}},
        ServerWindow(32_768, is_bound=True),
    ),
    (
        "LM Studio, version 1",
        {
            "/v1/models": LISTED,
            "/api/v1/models": {
                "models": [
                    {"key": "other", "max_context_length": 8_192, "loaded_instances": []},
                    {
                        "key": MODEL,
                        "max_context_length": 32_768,
                        "loaded_instances": [{"id": MODEL, "config": {"context_length": 6_000}}],
                    },
                ]
            },
        },
        ServerWindow(6_000),
    ),
    (
        "LM Studio, version 1, not loaded",
        {"/api/v1/models": {"models": [{"key": MODEL, "max_context_length": 32_768, "loaded_instances": []}]}},
        ServerWindow(32_768, is_bound=True),
    ),
    (
        "Ollama, running",
        {"/v1/models": LISTED, "/api/ps": {"models": [{"name": "qwen:latest", "context_length": 4_096}]}},
        ServerWindow(4_096),
    ),
    ("Ollama, set", {"/api/show": {"parameters": "stop  x\nnum_ctx    8192\n"}}, ServerWindow(8_192)),
    (
        "Ollama, bound",
        {"/api/show": {"model_info": {"qwen2.context_length": 2_048}}},
        ServerWindow(2_048, is_bound=True),
    ),
    ("nothing", {"/v1/models": LISTED}, None),
    ("unknown model", {"/v1/models": {"data": OTHERS}}, None),
    ("no JSON", {"/v1/models": b"<html>", "/props": b"{"}, None),
    (
        "other forms",
        {"/v1/models": {"data": [3, None]}, "/props": [], "/api/ps": {"models": 3}, "/api/show": "x"},
        None,
    ),
    ("implausible", {"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx": 0}, "max_model_len": -1}]}}, None),
    ("a text", {"/v1/models": {"data": [{"id": MODEL, "max_model_len": "8192"}]}}, None),
]


@pytest.mark.spec("PRV-17")
@rows("name, answers, window", REPORTS)
def test_the_window_of_each_kind_of_server_is_found(
    name: str, answers: dict[str, Any], window: ServerWindow | None
) -> None:
    with serving(answers) as (base_url, _):
        found = find_window(base_url, MODEL, {})
    assert (None if found is None else replace(found, path="")) == window
    assert found is None or found.path in answers


@pytest.mark.spec("PRV-17")
def test_a_server_that_loads_its_model_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_setup, "_PAUSE", 0)
    answers = {"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx": 12_288}}]}}
    with serving(answers, loading=3) as (base_url, asked):
        assert find_window(base_url, MODEL, {}) == ServerWindow(12_288, path="/v1/models")
    assert asked == ["/v1/models"] * 4


@pytest.mark.spec("PRV-17")
def test_a_server_that_does_not_load_its_model_in_time_has_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_setup, "LOADING_SECONDS", 0)
    answers = {"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx": 12_288}}]}}
    with serving(answers, loading=100) as (base_url, _):
        assert find_window(base_url, MODEL, {}) is None


@pytest.mark.spec("PRV-17")
def test_a_server_that_does_not_answer_is_asked_once() -> None:
    with serving({}) as (base_url, _):
        pass
    assert find_window(base_url, MODEL, {}) is None


def opened(tmp_path: Path, base_url: str, models: str = "", provider: str = "llamacpp") -> Any:
    folder = tmp_path / "config" / "callgate"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.toml").write_text(f'[providers.{provider}]\nbase_url = "{base_url}"\n')
    (folder / "models.toml").write_text(models)
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    config = load_config(tmp_path, home=tmp_path, environ=environ, managed=tmp_path / "none")
    return model_source(config, environ=environ).open(f"{provider}/{MODEL}")


@pytest.mark.spec("PRV-17")
@pytest.mark.parametrize("provider", ["llamacpp", "lmstudio", "vllm"])
def test_a_model_of_a_local_server_has_the_window_of_the_server(provider: str, tmp_path: Path) -> None:
    with serving({"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx": 12_288}}]}}) as (base_url, _):
        model = opened(tmp_path, base_url, provider=provider)
    assert model.abilities.context_tokens == model.facts.context_tokens == 12_288
    assert model.abilities.output_tokens <= 12_288 // 4
    assert model._inner._idle_seconds == LOCAL_IDLE_SECONDS


@pytest.mark.spec("PRV-17")
def test_a_window_that_the_user_set_is_kept_and_a_bound_only_lowers_it(tmp_path: Path) -> None:
    with serving({"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx": 12_288}}]}}) as (base_url, asked):
        own = opened(tmp_path, base_url, f'[models."llamacpp/{MODEL}"]\ncontext = 20000\n')
        assert (own.abilities.context_tokens, asked) == (20_000, [])
    with serving({"/api/show": {"model_info": {"x.context_length": 1_000_000}}}) as (base_url, _):
        assert opened(tmp_path, base_url).abilities.context_tokens == 32_768


ORIGINS: list[tuple[str, dict[str, Any], str, int, str]] = [
    ("llama.cpp", {"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx": 8_192}}]}}, "", 8_192, "(/v1/models)"),
    ("vLLM", {"/v1/models": {"data": [{"id": MODEL, "max_model_len": 9_000}]}}, "", 9_000, "(/v1/models)"),
    ("props", {"/props": {"n_ctx": 4_096}}, "", 4_096, "reported by the server (/props)"),
    ("LM Studio", {"/api/v0/models/qwen": {"loaded_context_length": 4_096}}, "", 4_096, "(/api/v0/models/qwen)"),
    (
        "Ollama, running",
        {"/api/ps": {"models": [{"name": MODEL, "context_length": 4_096}]}},
        "",
        4_096,
        "reported by the server (/api/ps)",
    ),
    ("Ollama, set", {"/api/show": {"parameters": "num_ctx 8192"}}, "", 8_192, "reported by the server (/api/show)"),
    (
        "small bound",
        {"/api/show": {"model_info": {"x.context_length": 2_048}}},
        "",
        2_048,
        "reported by the server, as a maximum (/api/show)",
    ),
    (
        "large bound",
        {"/api/show": {"model_info": {"x.context_length": 131_072}}},
        "",
        32_768,
        "assumed; the server reported only a maximum of 131,072 (/api/show)",
    ),
    ("nothing", {}, "", 32_768, "assumed, because the server did not report it"),
    ("own", {}, f'[models."llamacpp/{MODEL}"]\ncontext = 20000\n', 20_000, "from your models.toml"),
]


@pytest.mark.spec("PRV-17")
@rows("name, answers, models, tokens, origin", ORIGINS)
def test_the_origin_of_the_window_is_known(
    name: str, answers: dict[str, Any], models: str, tokens: int, origin: str, tmp_path: Path
) -> None:
    with serving(answers) as (base_url, _):
        able = opened(tmp_path, base_url, models).abilities
    assert able.context_tokens == tokens
    assert able.context_from.endswith(origin)


@pytest.mark.spec("PRV-17")
async def test_a_window_that_was_assumed_is_noted_and_a_reported_one_is_not(tmp_path: Path) -> None:
    for answers, count in (({}, 1), ({"/v1/models": {"data": [{"id": MODEL, "meta": {"n_ctx": 8_192}}]}}, 0)):
        with serving(answers) as (base_url, _):
            model = opened(tmp_path, base_url)
        notes: list[str] = []
        with suppress(ModelError):  # the server has ended
            async for event in model.stream(Request("", (Message("u1", "user", (Text("Hello."),)),))):
                notes += [event.text] if isinstance(event, ModelNoted) else []
        assert len(notes) == count
        assert not notes or "32,768 tokens is assumed, because the server did not report it" in notes[0]
