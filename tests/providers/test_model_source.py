"""A model is made of a name: its server, key, facts and options, and only its own family is imported."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from callgate.providers.keys import KeyStore
from callgate.providers.model_source import FAMILIES, ConfiguredModel, ModelSource, family_of
from callgate.testing import ManualClock, settle
from callgate.words.errors import ModelError, UsageError
from callgate.words.messages import Image, Message, Text
from callgate.words.model import (
    ModelEvent,
    ModelNoted,
    ModelSettings,
    Request,
    RequestOptions,
    ServerSettings,
    TextDelta,
)
from tests.providers.servers import FakeServer, Reply
from tests.rows import rows

REQUEST = Request("", [Message("u1", "user", (Text("hi"),))])
KEY = "sk-test-0123456789abcdef"
CHAT = Reply(
    [
        b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello."}}]}\n\n',
        b'data: {"id":"x","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ]
)


def source(
    settings: ModelSettings | None = None,
    environ: Mapping[str, str] | None = None,
    keys: KeyStore | None = None,
    folder: Path | None = None,
) -> ModelSource:
    return ModelSource(
        settings or ModelSettings(),
        clock=ManualClock(),
        environ=environ or {},
        folder=folder,
        keys=keys,
        today=date(2026, 11, 16),
    )


def on(server: FakeServer, **more: object) -> ModelSettings:
    """Settings with a server ``work`` at this address."""
    return ModelSettings(servers={"work": replace(ServerSettings(base_url=f"{server.url}/v1"), **more)})


async def streamed(model: ConfiguredModel, request: Request = REQUEST) -> list[ModelEvent]:
    try:
        return [event async for event in model.stream(request)]
    finally:
        await model.aclose()


def notes(events: list[ModelEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, ModelNoted)]


@pytest.mark.spec("PRV-5")
async def test_an_unknown_model_of_a_server_of_ones_own_answers_and_is_noticed_once() -> None:
    async with FakeServer(CHAT, CHAT) as server:
        model = source(on(server)).open("work/mystery-7b")
        first, second = await streamed(model), await streamed(model)
        assert "".join(event.text for event in first if isinstance(event, TextDelta)) == "Hello."
        assert [note.split(". Assumed")[0] for note in notes(first)] == ["Unknown model: work/mystery-7b"]
        assert notes(second) == []
        assert model.name == "work/mystery-7b"
        sent = server.requests[0]
        assert (sent.target, sent.json["model"]) == ("/v1/chat/completions", "mystery-7b")
        assert "authorization" not in sent.headers


async def test_the_models_of_a_source_share_their_connections() -> None:
    async with FakeServer(CHAT, CHAT) as server:
        made = source(on(server))
        models = [made.open("work/big"), made.open("work/small")]
        for model in models:
            async for _ in model.stream(REQUEST):
                pass
            await settle()
        assert [request.connection for request in server.requests] == [1, 1]
        await models[0].aclose()


async def test_key_headers_options_and_quirks_reach_the_server(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path, lambda: None)
    keys.store("work", KEY)
    async with FakeServer(CHAT) as server:
        settings = on(server, headers={"X-Team": "a"}, quirks=("max_completion_tokens",))
        options = RequestOptions(temperature=0.25, body={"seed": 7}, headers={"X-Model": "b"})
        settings = replace(settings, options={"mystery-7b": options})
        request = replace(REQUEST, limits=replace(REQUEST.limits, max_output_tokens=99))
        await streamed(source(settings, keys=keys).open("work/mystery-7b"), request)
        sent = server.requests[0]
        assert sent.headers["authorization"] == f"Bearer {KEY}"
        assert (sent.headers["x-team"], sent.headers["x-model"]) == ("a", "b")
        body = sent.json
        assert (body["temperature"], body["seed"], body["max_completion_tokens"]) == (0.25, 7, 99)


@pytest.mark.spec("EFF-1")
@rows(
    ("forced", "asked", "of_model", "of_all", "sent"),
    [
        (None, None, None, None, None),
        (None, None, None, "low", "low"),
        (None, None, "medium", "low", "medium"),
        (None, "high", "medium", "low", "high"),
        ("max", "high", "medium", "low", "max"),
        ("auto", "high", "medium", "low", None),
        (None, None, None, "auto", None),
    ],
)
def test_the_effort_that_counts(
    forced: str | None, asked: str | None, of_model: str | None, of_all: str | None, sent: str | None
) -> None:
    import asyncio

    async def effort_sent() -> object:
        async with FakeServer(CHAT) as server:
            settings = replace(on(server), effort=of_all, forced_effort=forced)
            if of_model is not None:
                settings = replace(settings, options={"gpt-6-luna": RequestOptions(effort=of_model)})  # pyright: ignore
            options = RequestOptions(effort=asked)  # pyright: ignore
            await streamed(source(settings).open("work/gpt-6-luna"), replace(REQUEST, options=options))
            return server.requests[0].json.get("reasoning_effort")

    assert asyncio.run(effort_sent()) == sent


@pytest.mark.spec("EFF-1")
async def test_a_level_that_a_model_lacks_becomes_the_next_lower_one_and_that_is_said() -> None:
    async with FakeServer(CHAT) as server:
        model = source(on(server)).open("work/gpt-5.1")
        events = await streamed(model, replace(REQUEST, options=RequestOptions(effort="max")))
        assert server.requests[0].json["reasoning_effort"] == "high"
        assert any("max" in note and "high" in note for note in notes(events)), notes(events)


async def test_prompt_caching_can_be_switched_off() -> None:
    for caching in (True, False):
        async with FakeServer(CHAT) as server:
            settings = replace(on(server, family="anthropic"), caching=caching)
            model = source(settings).open("work/claude-opus-5-5")
            with pytest.raises(ModelError):  # the server speaks another API; what it was sent is looked at
                await streamed(model, replace(REQUEST, system="be good"))
            assert ("cache_control" in server.requests[0].body.decode()) is caching


@rows(
    ("environ", "name", "url"),
    [
        ({"OPENAI_BASE_URL": "http://localhost:9/v1/"}, "openai", "http://localhost:9/v1"),
        ({"OPENAI_BASE_URL": "http://localhost:9/v1"}, "openai-chat", "http://localhost:9/v1"),
        ({"ANTHROPIC_BASE_URL": "https://x.example"}, "anthropic", "https://x.example"),
        ({}, "anthropic", "https://api.anthropic.com"),
        ({"OLLAMA_HOST": "0.0.0.0"}, "ollama", "http://127.0.0.1:11434/v1"),
        ({"OLLAMA_HOST": "gpu:5000"}, "ollama", "http://gpu:5000/v1"),
        ({"OLLAMA_HOST": "https://gpu.example/"}, "ollama", "https://gpu.example/v1"),
        ({"OLLAMA_HOST": "[::1]"}, "ollama", "http://[::1]:11434/v1"),
        ({}, "ollama", "http://127.0.0.1:11434/v1"),
    ],
)
def test_the_vendors_own_variables_say_where_a_server_is(environ: dict[str, str], name: str, url: str) -> None:
    assert source(environ=environ).catalogue.servers[name].base_url == url


def test_settings_come_before_the_variables_of_vendors() -> None:
    own = ServerSettings(base_url="http://localhost:1/v1", key_variable="MINE")
    found = source(ModelSettings(servers={"openai": own}), {"OPENAI_BASE_URL": "http://localhost:2", "MINE": KEY})
    assert found.catalogue.servers["openai"].base_url == "http://localhost:1/v1"
    key = found.key("openai")
    assert key is not None
    assert (key.value, key.origin) == (KEY, "MINE")


@rows(
    ("name", "told"),
    [
        ("anthropic/claude-opus-5-5", "there is no key for anthropic: set ANTHROPIC_API_KEY, or store one with"),
        ("gemini-3.8-flash", "there is no key for gemini: set GEMINI_API_KEY or GOOGLE_API_KEY, or store one"),
        ("deepseek/deepseek-chat", "`callgate auth set deepseek`"),
    ],
)
def test_a_vendor_without_a_key_says_how_to_give_one(name: str, told: str) -> None:
    with pytest.raises(ModelError) as refused:
        source().open(name)
    assert told in str(refused.value)
    assert refused.value.kind == "no_key"


def test_a_key_that_is_stored_for_openai_counts_for_both_of_its_apis(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path, lambda: None)
    keys.store("openai", KEY)
    assert source(keys=keys).open("openai-chat/gpt-6-luna").name == "openai-chat/gpt-6-luna"


def test_a_key_that_would_go_out_in_the_clear_is_noticed() -> None:
    own = ServerSettings(base_url="http://gpu.example/v1", key_variable="MINE")
    model = source(ModelSettings(servers={"work": own}), {"MINE": KEY}).open("work/gpt-6-luna")
    assert model._notes == ["The key of work is sent to http://gpu.example/v1 without encryption."]  # pyright: ignore


@rows(
    ("settings", "environ", "told"),
    [
        (ModelSettings(servers={"work": ServerSettings(family="openai")}), {}, "set providers.work.base_url"),
        (ModelSettings(), {"OPENAI_BASE_URL": "localhost:9"}, "OPENAI_BASE_URL must begin with http:// or https://"),
    ],
)
def test_a_server_without_an_address_is_refused(settings: ModelSettings, environ: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        source(settings, environ).open("opus")
    assert told in str(refused.value)


def test_the_default_is_that_of_the_settings_or_of_the_first_vendor_with_a_key() -> None:
    assert source(ModelSettings(default="haiku")).default() == "haiku"
    both = {"OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY}
    assert source(environ=both).default() == "openai/gpt-6.1-sol"
    assert source(environ={**both, "ANTHROPIC_API_KEY": KEY}).default() == "anthropic/claude-opus-5-5"
    assert source().cheap("opus") == "anthropic/claude-haiku-5-5"
    assert source().cheap("ollama/qwen3") == "ollama/qwen3"
    assert source(ModelSettings(cheap="ollama/tiny")).cheap("opus") == "ollama/tiny"


async def test_with_nothing_set_all_ways_on_are_told_and_a_local_server_is_offered() -> None:
    import asyncio

    listed = Reply([b'{"data": [{"id": "qwen3:8b"}]}'], headers={"content-type": "application/json"})
    # No other local server of this machine may answer the test.
    nowhere = {name: ServerSettings(base_url="http://127.0.0.1:1/v1") for name in ("llamacpp", "lmstudio", "vllm")}
    async with FakeServer(listed) as server:
        settings = ModelSettings(servers=nowhere)
        found = source(settings, {"OLLAMA_HOST": server.url})
        with pytest.raises(ModelError) as refused:
            await asyncio.to_thread(found.default)
        assert "use the local server that answers (ollama at 127.0.0.1:" in str(refused.value)
        assert "`callgate config set models.default ollama/qwen3:8b`" in str(refused.value)
    with pytest.raises(ModelError) as refused:
        await asyncio.to_thread(source(settings, {"OLLAMA_HOST": "127.0.0.1:1"}).default)
    text = str(refused.value)
    assert refused.value.kind == "no_key"
    for way in ("ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY", "callgate auth set anthropic", "local server"):
        assert way in text
    assert "callgate demo" in text
    assert "\n" not in text


@pytest.mark.spec("PRV-10")
async def test_a_refused_image_is_named_and_the_session_stays_usable() -> None:
    refusal = b'{"error": {"message": "no", "code": "image_too_large", "type": "invalid_request_error"}}'
    no = Reply([refusal], status=400, headers={"content-type": "application/json"})
    picture = Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes(40))
    request = replace(REQUEST, messages=[Message("u1", "user", (Text("see"), picture))])
    async with FakeServer(no, CHAT) as server:
        model = source(on(server)).open("work/gpt-6-luna")
        with pytest.raises(ModelError, match="refused: an image of the prompt; the next request goes without"):
            await streamed(model, request)
        await streamed(model, request)
        assert "data:image" in server.requests[0].body.decode()
        assert "data:image" not in server.requests[1].body.decode()
        assert "is omitted: the server refused it. Describe it in words.]" in server.requests[1].body.decode()


@pytest.mark.spec("PRV-1")
def test_every_family_can_be_made_and_has_the_name_of_its_table() -> None:
    for name in FAMILIES:
        assert family_of(name, "work").name == name


@pytest.mark.spec("PRV-1")
def test_opening_a_model_imports_no_other_family() -> None:
    code = """
import json, sys
from callgate.providers.model_source import ModelSource
from callgate.testing import ManualClock, settle
from callgate.words.model import ModelSettings
ModelSource(ModelSettings(), clock=ManualClock(), environ={"ANTHROPIC_API_KEY": "k"}).open("opus")
print(json.dumps([name for name in sys.modules if name.startswith(("callgate.providers", "PIL", "keyring", "httpx"))]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(ran.stdout)
    assert "callgate.providers.anthropic" in loaded
    other = [name for name in loaded if "openai" in name or "gemini" in name or not name.startswith("callgate")]
    assert not other
    assert "callgate.providers.model_setup" not in loaded
