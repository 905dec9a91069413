"""Settings that must hold in the workspace, after a resume, and when an answer cannot be kept."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Prompt, Session
from callgate.config import Config, load_config
from callgate.core.ports import Run
from callgate.host.local import LocalHost
from callgate.policy.entries import RuleLine
from callgate.policy.setting_rows import SettingValues
from callgate.testing import PlainTool, ScriptedModel, call, turn
from callgate.transcript.masking import Masker
from callgate.transcript.store import Store
from callgate.words.decisions import Origin
from callgate.words.errors import UsageError
from callgate.words.events import Event, Noted
from callgate.words.inputs import SetMode
from callgate.words.traits import Traits, writes
from tests.flows.gated import DONE, WRITES, of
from tests.flows.kit import Workspace
from tests.sessions import with_event


@pytest.mark.spec("GATE-3")
def test_a_deny_rule_holds_in_the_workspace_where_the_tools_work(tmp_path: Path) -> None:
    """A host of another folder and a config do not fit together: the rule would be about files nobody touches."""
    here, there = tmp_path / "here", tmp_path / "there"
    for each in (here, there):
        each.mkdir()
    rules = (RuleLine("deny", "Edit(/secrets/**)", Origin("user")),)
    config = Config(
        here, tmp_path / "home", tmp_path / "data", settings=SettingValues(mode="bypass"), rules=rules, own_data=False
    )
    ran: list[str] = []

    def body(arguments: Any, _run: Run) -> str:
        ran.append(arguments["path"])
        return "done"

    edit = PlainTool("Write", body, traits=lambda a: Traits("mutating", writes(a["path"])))

    async def main() -> None:
        model = ScriptedModel(turn(call("Write", path="secrets/key")), DONE)
        async with Session(model, [edit], config=config, host=LocalHost(there)) as session:
            await session.send(Prompt("go"))

    try:
        asyncio.run(main())
    except UsageError:
        return
    assert ran == []


@pytest.mark.parametrize("asked_by", ["argument", "variable"])
def test_a_stricter_mode_that_is_asked_for_counts_for_a_resumed_session_too(asked_by: str, tmp_path: Path) -> None:
    for each in ("home", "root"):
        (tmp_path / each).mkdir()
    store = Store(tmp_path / "root", tmp_path / "data", masker=Masker({}))
    environ = {"HOME": str(tmp_path / "home"), "CALLGATE_DATA_DIR": str(tmp_path / "data")}
    places: dict[str, Any] = {"home": tmp_path / "home", "managed": tmp_path / "none"}

    async def main() -> None:
        first = load_config(tmp_path / "root", environ=environ, **places)
        async with Session(ScriptedModel(DONE), config=first, journal=await store.create()) as session:
            await session.send(Prompt("go"))
            await session.send(SetMode("bypass"))
        if asked_by == "argument":
            strict = load_config(tmp_path / "root", mode="plan", environ=environ, **places)
        else:
            strict = load_config(tmp_path / "root", environ={**environ, "CALLGATE_MODE": "plan"}, **places)
        assert strict.mode == "plan"
        async with Session(ScriptedModel(DONE), config=strict, journal=await store.open()) as session:
            assert session.mode == "plan"

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.spec("GATE-2")
def test_an_answer_that_could_not_be_kept_counts_for_the_session_it_was_given_in(tmp_path: Path) -> None:
    for each in ("home", "root"):
        (tmp_path / each).mkdir()
    (tmp_path / "data").write_text("no folder")
    config = Config(tmp_path / "root", tmp_path / "home", tmp_path / "data")
    space = Workspace()
    told: list[Event] = []

    async def main() -> None:
        model = ScriptedModel(WRITES, DONE, WRITES, DONE)
        async with Session(model, space.toolbox(), config=config) as session:
            session.listen(with_event(told.append))
            await session.send(Prompt("go"))
            await session.send(Answer(session.questions[0].always(scope="project")), until="idle")
            await session.send(Prompt("again"))
            assert session.questions == ()

    asyncio.run(asyncio.wait_for(main(), 20))
    assert any("only to this session" in event.text for event in of(told, Noted))
    assert space.done == ["write a.py", "write a.py"]
