"""The Anthropic Messages API."""

from collections.abc import Mapping, Sequence

from callgate.providers.anthropic.body import AnthropicMemo, written
from callgate.providers.anthropic.faults import NAME, answered
from callgate.providers.anthropic.stream import AnthropicParser
from callgate.providers.family import HttpPost, ModelFacts, StreamParser
from callgate.words.errors import ModelError
from callgate.words.model import Request


class Anthropic:
    """Models of Anthropic, and of servers that speak its Messages API."""

    name: str = NAME
    key_variables: tuple[str, ...] = ("ANTHROPIC_API_KEY",)
    base_url = "https://api.anthropic.com"
    base_variable = "ANTHROPIC_BASE_URL"

    def __init__(self) -> None:
        self._memo = AnthropicMemo()

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        return written(request, facts, key, self._memo)

    def parser(self) -> StreamParser:
        return AnthropicParser()

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return answered(status, headers, body)
