"""Errors of OpenAI and of compatible servers, as HTTP answers."""

from json import dumps, loads
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.providers.family import ServerEvent
from callgate.providers.openai_chat import OpenAIChat
from callgate.providers.openai_responses import OpenAIResponses
from callgate.words.errors import ModelError
from tests.profiles import fewer
from tests.providers.openai_kit import DATA

_LINES = (DATA / "openai" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
ANSWERS: dict[str, dict[str, Any]] = {row["server"]: row for row in map(loads, _LINES)}
"""Answers in the forms that servers document, with the kind of error that each is."""


@pytest.mark.parametrize("server", ANSWERS)
@pytest.mark.parametrize("family", [OpenAIResponses(), OpenAIChat()], ids=["responses", "chat"])
def test_errors_say_what_they_are(server: str, family: OpenAIResponses | OpenAIChat) -> None:
    row = ANSWERS[server]
    retryable = row["retryable"]
    error = family.fault(row["status"], {"x-request-id": "req_1", "retry-after": "7"}, _body(server))
    assert (error.kind, error.retryable) == (row["kind"], retryable)
    assert "req_1" in str(error)
    assert error.retry_after == (7.0 if retryable else None)
    assert "<html" not in str(error)


def _body(server: str) -> bytes:
    body = ANSWERS[server]["body"]
    return (body if isinstance(body, str) else dumps(body)).encode()


def test_the_words_of_the_server_are_told_and_the_provider_is_named() -> None:
    family = OpenAIChat("ollama")
    error = family.fault(404, {}, _body("Ollama, not pulled"))
    assert "try pulling it first" in str(error)
    assert str(error).startswith("ollama ")
    field = OpenAIChat("vllm").fault(422, {}, _body("vLLM, unknown field"))
    assert "prompt_cache_key" in str(field)


def test_a_rate_limit_inside_a_stream_says_how_long_to_wait() -> None:
    for words, seconds in (
        ("Please try again in 11.054s. Visit …", 11.054),
        ("try again in 28ms", 0.028),
        ("later", None),
    ):
        data = {"type": "error", "code": "rate_limit_exceeded", "message": f"Rate limit reached. {words}"}
        (error,) = OpenAIResponses().parser().feed(ServerEvent("error", dumps(data)))
        assert isinstance(error, ModelError)
        assert (error.kind, error.retry_after) == ("rate_limited", seconds)


def test_reasoning_of_another_account_is_explained() -> None:
    told = {"code": "invalid_encrypted_content", "message": "The encrypted content could not be verified."}
    error = OpenAIResponses().fault(400, {}, dumps({"error": told}).encode())
    assert error.kind == "bad_request"
    assert "another account: compact" in str(error)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "detail", "metadata", "raw"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@fewer(50)
@given(st.integers(300, 599), st.binary(max_size=80) | _JSON.map(lambda value: dumps(value).encode()))
def test_any_answer_is_an_error_and_never_an_exception(status: int, body: bytes) -> None:
    assert isinstance(OpenAIChat().fault(status, {}, body), ModelError)


def test_a_deep_error_is_read_without_harm() -> None:
    deep = '{"error":' * 900 + "1" + "}" * 900
    assert loads(deep)
    assert OpenAIChat().fault(400, {}, deep.encode()).kind == "bad_request"
    assert OpenAIChat().fault(400, {}, b"[" * 100_000).kind == "bad_request"
