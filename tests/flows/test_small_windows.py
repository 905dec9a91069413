"""The whole coding agent on a local model with a small window."""

from pathlib import Path

import pytest

from callgate import Prompt
from callgate.assembly.agent import agent_session
from callgate.config import load_config
from callgate.testing import ScriptedModel, call, say, turn
from callgate.testing.script import ScriptedTurn
from callgate.words.model import Abilities, Request
from tests.flows.compacting import SUMMARY, Heard, ended, is_summary
from tests.history import faults


@pytest.mark.spec("CMP-5", "CMP-6")
@pytest.mark.parametrize("window", [16_384, 32_768, 65_536])
async def test_the_agent_works_through_long_files(window: int, tmp_path: Path) -> None:
    work, many = tmp_path / "work", 8
    work.mkdir()
    for n in range(many):
        (work / f"{n}.txt").write_text(f"a line of file {n}\n" * 3_000)
    read: list[int] = []

    def scene(request: Request) -> ScriptedTurn:
        assert faults(list(request.messages)) == []
        if is_summary(request):
            return SUMMARY
        if len(read) == many:
            return turn(say("All read."))
        read.append(len(read))
        return turn(say("Next."), call("Read", file_path=f"{len(read) - 1}.txt"))

    model = ScriptedModel(otherwise=scene, abilities=Abilities(context_tokens=window, output_tokens=4_096))
    config = load_config(work, home=tmp_path, environ={}, managed=tmp_path / "none")
    async with await agent_session(config, model) as session:
        heard = Heard(session)
        await session.send(Prompt("Read them all."))
    assert ended(heard) == ["done"]
    assert heard.boundaries
    assert not [note for note in heard.notes if "could not" in note]
    assert sum(map(is_summary, model.requests)) == len(heard.boundaries)


@pytest.mark.spec("CMP-5")
async def test_a_window_that_is_too_small_for_the_agent_is_refused_with_words(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    model = ScriptedModel(abilities=Abilities(context_tokens=8_192, output_tokens=4_096))
    config = load_config(tmp_path / "work", home=tmp_path, environ={}, managed=tmp_path / "none")
    async with await agent_session(config, model) as session:
        heard = Heard(session)
        await session.send(Prompt("Hello."))
    assert ended(heard) == ["context_full"]
    assert "fewer tools" in heard.last_end.sentence
    assert not [note for note in heard.notes if "compacted" in note]
    assert model.requests == []
