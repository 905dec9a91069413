"""The whole coding agent on a local model with a small window."""

from pathlib import Path

import pytest

from callgate import Prompt
from callgate.assembly.agent import SMALL_TOOLS, SMALL_WINDOW, agent_session
from callgate.config import load_config
from callgate.testing import ScriptedModel, call, say, turn
from callgate.testing.script import ScriptedTurn
from callgate.words.messages import ResultPart
from callgate.words.model import Abilities, Request
from tests.flows.compacting import SUMMARY, Heard, ended, is_summary
from tests.history import faults


@pytest.mark.spec("CMP-5", "CMP-6")
@pytest.mark.parametrize("window", [8_192, 12_288, 16_384, 32_768, 65_536])
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

    output = min(4_096, window // 4)
    model = ScriptedModel(otherwise=scene, abilities=Abilities(context_tokens=window, output_tokens=output))
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
    model = ScriptedModel(abilities=Abilities(context_tokens=1_024, output_tokens=256))
    config = load_config(tmp_path / "work", home=tmp_path, environ={}, managed=tmp_path / "none")
    async with await agent_session(config, model) as session:
        heard = Heard(session)
        await session.send(Prompt("Hello."))
    assert ended(heard) == ["context_full"]
    assert "fewer tools" in heard.last_end.sentence
    assert not [note for note in heard.notes if "compacted" in note]
    assert model.requests == []


@pytest.mark.spec("PRV-17")
@pytest.mark.parametrize("window", [4_096, 8_192, SMALL_WINDOW - 1, SMALL_WINDOW, 32_768])
async def test_a_small_window_has_a_short_prompt_and_few_tools(window: int, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    able = Abilities(context_tokens=window, output_tokens=window // 4)
    model = ScriptedModel(turn(say("Hello.")), turn(say("Hello.")), abilities=able)
    config = load_config(tmp_path / "work", home=tmp_path, environ={}, managed=tmp_path / "none")
    async with await agent_session(config, model) as session:
        heard = Heard(session)
        await session.send(Prompt("Hello."))
    assert ended(heard) == ["done"]
    (request,) = model.requests
    names = {spec.name for spec in request.tools}
    sent = len(request.system) + sum(len(f"{spec.description}{spec.parameters}") for spec in request.tools)
    if window < SMALL_WINDOW:
        assert names == set(SMALL_TOOLS)
        assert sent < 5_000, "about 1,200 tokens"
        assert {name for spec in request.tools for name in spec.parameters["properties"]} == {
            name for names in SMALL_TOOLS.values() for name in names
        }
        assert "# How you work" not in request.system
    else:
        assert names > set(SMALL_TOOLS)
        assert "# How you work" in request.system


@pytest.mark.spec("PRV-17")
async def test_a_call_may_have_parameters_that_are_not_described(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\ntwo\nthree\n")
    able = Abilities(context_tokens=8_192, output_tokens=2_048)
    scenes = [
        turn(call("Read", file_path="a.txt", limit=1)),
        turn(call("Read", file_path="a.txt", offset=3, limit=1, pages=None)),
    ]
    model = ScriptedModel(*scenes, turn(say("Done.")), abilities=able)
    config = load_config(tmp_path / "work", home=tmp_path, environ={}, managed=tmp_path / "none")
    async with await agent_session(config, model) as session:
        await session.send(Prompt("Hello."))
        results = [part for message in session.messages for part in message.parts if isinstance(part, ResultPart)]
    assert [part.content for part in results if part.is_error] == []


@pytest.mark.spec("PRV-17")
async def test_tools_that_the_user_names_are_kept_in_a_small_window(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    model = ScriptedModel(turn(say("Hello.")), abilities=Abilities(context_tokens=8_192, output_tokens=2_048))
    config = load_config(tmp_path / "work", home=tmp_path, environ={}, managed=tmp_path / "none")
    async with await agent_session(config, model, tools=["Read", "TodoWrite"]) as session:
        await session.send(Prompt("Hello."))
    assert {spec.name for spec in model.requests[0].tools} == {"Read", "TodoWrite"}
