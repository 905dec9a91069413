"""Whole sessions on the parsers: what a provider sent is on record, and the next request gives it back."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Session, Store
from callgate.providers.anthropic import Anthropic
from callgate.providers.family import Family, ModelFacts
from callgate.providers.gemini import Gemini
from callgate.providers.openai_responses import OpenAIResponses
from callgate.words.errors import ModelError
from callgate.words.events import RunEnded
from callgate.words.messages import Message, Text
from callgate.words.model import Abilities, ModelEvent, Request
from tests.providers.fixtures import folded, parsed, streamed

FAMILIES: dict[str, Family] = {"anthropic": Anthropic(), "gemini": Gemini(), "openai": OpenAIResponses()}
FACTS = {
    "anthropic": ModelFacts("claude-opus-5-5", "anthropic", thinking="adaptive"),
    "gemini": ModelFacts("gemini-3.8-flash", "gemini", thinking="always"),
    "openai": ModelFacts("gpt-6.1-sol", "openai", thinking="always"),
}


class Recorded:
    """A model that answers with fixtures, one after the other."""

    abilities = Abilities()

    def __init__(self, family: str, *names: str) -> None:
        self.name = family
        self.requests: list[Request] = []
        self._names = list(names)

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        parser = FAMILIES[self.name].parser()
        for event in (*streamed(self.name, self._names.pop(0)), None):
            for made in parser.end() if event is None else parser.feed(event):
                if isinstance(made, ModelError):
                    raise made
                yield made

    def body(self, number: int) -> dict[str, Any]:
        request = replace(self.requests[number], tools=())
        return json.loads(FAMILIES[self.name].post(request, FACTS[self.name], None)[0].body)


@pytest.mark.spec("PRV-13")
@pytest.mark.parametrize(
    ("family", "name"),
    [("anthropic", "server_tools"), ("gemini", "own_parts"), ("gemini", "signed_text"), ("openai", "server_tools")],
)
def test_the_providers_own_parts_come_back_in_the_next_life_of_a_session(
    family: str, name: str, tmp_path: Path
) -> None:
    async def main() -> None:
        store = Store(tmp_path, tmp_path / "data")
        async with Session(Recorded(family, name), [], journal=await store.create()) as session:
            await session.send(Prompt("go"))
        model = Recorded(family, "text")
        async with Session(model, [], journal=await store.open()) as again:
            await again.send(Prompt("more"))
        events, _ = parsed(FAMILIES[family].parser(), streamed(family, name))
        talk = [Message("u1", "user", (Text("go"),)), folded(events), Message("u2", "user", (Text("more"),))]
        request = replace(model.requests[0], messages=talk, tools=())
        expected, _ = FAMILIES[family].post(request, FACTS[family], None)
        assert model.body(0) == json.loads(expected.body)

    asyncio.run(main())


def test_a_message_that_the_server_paused_is_gone_on_with() -> None:
    async def main() -> None:
        model = Recorded("anthropic", "own_blocks", "compacted", "text")
        async with Session(model, []) as session:
            events = await session.send(Prompt("go"))
        assert [event.reason for event in events if isinstance(event, RunEnded)] == ["done"]
        assert len(model.requests) == 3
        last = model.body(2)["messages"]
        assert [each["role"] for each in last] == ["user", "assistant", "user", "assistant", "user"]
        assert last[1]["content"][0]["type"] == "redacted_thinking"

    asyncio.run(main())
