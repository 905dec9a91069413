"""/model and /effort."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from threading import current_thread, main_thread

import pytest

from callgate import ModelSetup, Session, load_config
from callgate.assembly.models import model_choices, open_model
from callgate.testing import ScriptedModel, say, turn
from callgate.tui.panels.list_panel import ListPanel
from callgate.words.errors import ModelError, UsageError
from callgate.words.inputs import Prompt
from callgate.words.model import Abilities, EffortInForce, RequestOptions, RunOptions
from tests.sessions import grouped_session
from tests.tui.fakes import FakeTerminal, settled

Play = Callable[[FakeTerminal, Session], Awaitable[None]]


def opened(name: str) -> ScriptedModel:
    assert current_thread() is not main_thread(), "opening may wait for a command that prints a key"
    if name == "keyless":
        raise ModelError("there is no key for it: callgate auth set other", kind="no_key")
    if name == "opsu":
        raise UsageError("there is no model 'opsu': did you mean opus?")
    return ScriptedModel(otherwise=turn(say(f"I am {name}.")), name=f"other/{name}")


def played(play: Play, **options: object) -> None:
    async def main() -> None:
        model = ScriptedModel(otherwise=turn(say("I am first.")), name="first")
        async with grouped_session(model, open_model=opened, **options) as session:  # pyright: ignore[reportArgumentType]
            await play(FakeTerminal(session), session)

    asyncio.run(main())


def test_a_model_that_is_not_there_is_opened_by_its_name_and_answers_next() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        await terminal.run("/model big")
        await settled(session)
        assert session.model == terminal.fold.model == "other/big"
        await session.send(Prompt("who?"))
        assert session.messages[-1].text == "I am big."
        assert "other/big is used" in terminal.text()
        await terminal.run("/model first")
        assert session.model == "first"

    played(play)


def test_a_model_that_cannot_be_opened_changes_nothing_and_says_why() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        for name, words in (("keyless", "callgate auth set other"), ("opsu", "did you mean opus?")):
            await terminal.run(f"/model {name}")
            await settled(session)
            assert any(words in note for note in terminal.notices), name
        assert session.model == "first"
        assert "one name" in await terminal.run("/model two names")

    played(play)


def test_the_model_on_record_is_opened_again_when_the_session_is_resumed(tmp_path: Path) -> None:
    from callgate import Store

    def main_thread_opened(name: str) -> ScriptedModel:
        if name == "other/gone":
            raise ModelError("it is gone", kind="no_key")
        return ScriptedModel(otherwise=turn(say("Here.")), name=name)

    async def life(store: Store, wanted: str = "") -> tuple[str, tuple[str, ...]]:
        journal = await (store.create() if not store.list() else store.open())
        async with Session(
            ModelSetup(ScriptedModel(name="first"), open_model=main_thread_opened), journal=journal
        ) as session:
            terminal = FakeTerminal(session)
            await session.send(Prompt("go"))
            if wanted:
                await terminal.run(f"/model {wanted}")
                await settled(session)
            return session.model, tuple(terminal.notices)

    store = Store(tmp_path, tmp_path / "data")
    asyncio.run(life(store, "other/kept"))
    assert asyncio.run(life(store))[0] == "other/kept"


def test_without_a_name_a_list_of_the_catalogue_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CALLGATE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-real-key-0000")
    monkeypatch.setenv("HOME", str(tmp_path))
    config = load_config(tmp_path)
    choices = model_choices(config)
    assert choices[0].name.startswith("anthropic/")
    assert choices[0].missing == ""
    assert any(each.missing == "callgate auth set openai" for each in choices)
    saved = choices[0].name

    async def play(terminal: FakeTerminal, session: Session) -> None:
        terminal.config = config
        await terminal.run("/model")
        panel = terminal.panels[-1]
        assert isinstance(panel, ListPanel)
        assert len(panel.shown) == len(choices)
        assert any("callgate auth set" in line for line in panel.lines(70, 100))
        panel.act("choose")
        await settled(session)
        assert session.model == "first" or saved in session.model
        shown = await terminal.run(f"/model {saved} --save")
        assert "models.default is" in shown
        assert load_config(tmp_path).models.default == saved
        assert "no provider" in await terminal.run("/model nowhere/x --save")
        assert load_config(tmp_path).models.default == saved

    played(play)


@pytest.mark.spec("EFF-2")
@pytest.mark.parametrize(
    ("forced", "turn_", "session", "settings", "expected"),
    [
        ("low", "max", "high", "medium", EffortInForce("low", "environment", "low")),
        ("", "max", "high", "medium", EffortInForce("max", "turn", "max")),
        ("", "", "high", "medium", EffortInForce("high", "session", "high")),
        ("", "", "", "medium", EffortInForce("medium", "settings", "medium")),
    ],
)
def test_the_effort_in_force_is_that_of_the_strongest_place_that_says_one(
    forced: str, turn_: str, session: str, settings: str, expected: EffortInForce, tmp_path: Path
) -> None:
    environ = {
        "HOME": str(tmp_path),
        "ANTHROPIC_API_KEY": "sk-ant-not-a-real-key-0000",
        **({"CALLGATE_EFFORT": forced} if forced else {}),
    }
    config = load_config(tmp_path, environ=environ, values={"models.effort": settings})
    model = open_model("opus", config, environ=environ)
    assert model.effort_in_force(turn_ or session or None, "turn" if turn_ else "session") == expected  # pyright: ignore


@pytest.mark.spec("EFF-2")
def test_effort_current_says_what_is_wanted_what_is_sent_and_why() -> None:
    async def play(terminal: FakeTerminal, session: Session) -> None:
        shown = await terminal.run("/effort current")
        assert "the default of the model" in shown
        assert "high applies from the next request" in await terminal.run("/effort high")
        shown = await terminal.run("/effort")
        assert "set in this session" in shown
        assert session.effort == "high"
        assert "Unknown effort" in await terminal.run("/effort huge")
        options = RunOptions(request=RequestOptions(effort="max"))
        reply = session.send(Prompt("go", options=options))
        sources = [session.controls.effort_in_force.source async for _event in reply]
        assert "turn" in sources
        assert session.controls.effort_in_force.source == "session"

    played(play)


def test_effort_names_the_next_lower_level_of_a_model_that_lacks_one() -> None:
    class Lacking(ScriptedModel):
        def effort_in_force(self, wanted: object, source: object) -> EffortInForce:
            return EffortInForce("xhigh", "environment", "high")

    async def main() -> None:
        async with Session(Lacking(name="small")) as session:
            shown = await FakeTerminal(session).run("/effort max")
            assert "overridden: xhigh is set by CALLGATE_EFFORT" in " ".join(shown.split())
            assert "the nearest level is high" in " ".join(shown.split())

    asyncio.run(main())


def test_effort_without_a_word_opens_the_levels_of_the_model_and_is_closed_for_one_without_any() -> None:
    async def main() -> None:
        knows = ScriptedModel(name="knows", abilities=Abilities(efforts=("low", "high")))
        async with Session(knows) as session:
            terminal = FakeTerminal(session)
            await terminal.run("/effort")
            (panel,) = terminal.panels
            assert isinstance(panel, ListPanel)
            panel.act("end")
            panel.act("choose")
            session.controls.deliver()
            assert session.controls.effort_in_force == EffortInForce("high", "session", "high")
        async with Session(ScriptedModel(name="none")) as session:
            terminal = FakeTerminal(session)
            assert "none uses its own default" in await terminal.run("/effort")
            assert terminal.panels == []

    asyncio.run(main())
