"""Google's Gemini API."""

from collections.abc import Mapping, Sequence

from callgate.providers.family import HttpPost, ModelFacts, StreamParser
from callgate.providers.gemini.body import written
from callgate.providers.gemini.contents import ContentsMemo
from callgate.providers.gemini.faults import NAME, answered
from callgate.providers.gemini.stream import GeminiParser
from callgate.words.errors import ModelError
from callgate.words.model import Request


class Gemini:
    """Models of Google, by ``generateContent`` with streaming."""

    name: str = NAME
    key_variables: tuple[str, ...] = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    base_url = "https://generativelanguage.googleapis.com"
    base_variable = "GOOGLE_GEMINI_BASE_URL"

    def __init__(self) -> None:
        self._memo = ContentsMemo()

    def post(self, request: Request, facts: ModelFacts, key: str | None) -> tuple[HttpPost, Sequence[str]]:
        return written(request, facts, key, self._memo)

    def parser(self) -> StreamParser:
        return GeminiParser()

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return answered(status, headers, body)
