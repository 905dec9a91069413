"""Errors whose fault depends on the API family, as answers and inside streams."""

from json import dumps
from typing import Any

import pytest

from callgate.providers.anthropic import Anthropic
from callgate.providers.family import ServerEvent
from callgate.providers.gemini import Gemini
from callgate.providers.openai_chat import OpenAIChat
from callgate.providers.openai_responses import OpenAIResponses
from callgate.words.errors import ModelError

FAMILIES = {each.name: each for each in (Anthropic, Gemini, OpenAIChat, OpenAIResponses)}
QUOTA = {"message": "You exceeded your current quota, please check your plan and billing details."}
INVALID = {"type": "invalid_request_error", "message": "The engine died."}
EXHAUSTED = {"status": "RESOURCE_EXHAUSTED", **QUOTA}


@pytest.mark.parametrize(
    ("family", "status", "error", "kind", "retryable"),
    [
        ("openai-chat", 429, QUOTA, "no_credit", False),
        ("openai-chat", None, QUOTA, "no_credit", False),
        ("openai-chat", 429, {"type": "rate_limit_error", **QUOTA}, "no_credit", False),
        ("openai", 429, QUOTA, "no_credit", False),
        ("openai", None, QUOTA, "no_credit", False),
        ("anthropic", 429, QUOTA, "no_credit", False),
        ("gemini", 429, QUOTA, "rate_limited", True),
        ("gemini", 429, EXHAUSTED, "rate_limited", True),
        ("gemini", None, EXHAUSTED, "rate_limited", True),
        ("openai-chat", 429, EXHAUSTED, "rate_limited", True),
        ("openai-chat", 500, INVALID, "server", True),
        ("openai-chat", 502, INVALID, "server", True),
        ("openai-chat", 200, INVALID, "server", True),
        ("openai-chat", None, INVALID, "server", True),
        ("openai", 500, INVALID, "server", True),
        ("openai-chat", 400, INVALID, "bad_request", False),
        ("anthropic", None, INVALID, "bad_request", False),
        ("gemini", 501, {"status": "UNIMPLEMENTED", "message": "no"}, "bad_request", False),
        ("gemini", 499, {"status": "CANCELLED", "message": "cancelled"}, "server", True),
        ("gemini", 499, {"message": "closed"}, "other", False),
    ],
)
def test_the_fault_of_an_error(
    family: str, status: int | None, error: dict[str, Any], kind: str, retryable: bool
) -> None:
    body = dumps({"type": "error", "error": error})
    found: object
    if status is None:
        (found,) = FAMILIES[family]().parser().feed(ServerEvent("error", body))
    else:
        found = FAMILIES[family]().fault(status, {}, body.encode())
    assert isinstance(found, ModelError)
    assert (found.kind, found.retryable) == (kind, retryable)
