"""Titles of sessions: written once, in the background, by the cheap model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from callgate import ModelSetup, Prompt, Session
from callgate.compaction.titles import title_of
from callgate.config import load_config
from callgate.conversation.record import MemoryJournal
from callgate.testing import ScriptedModel, say, turn
from callgate.testing.script import ScriptedTurn, cut_off, fail, pause, stop
from callgate.words.events import Event, MetadataSet
from callgate.words.inputs import SetTitle
from callgate.words.messages import Spent, Text, Usage
from callgate.words.model import ModelEvent, Request
from tests.core.kit import virtual_host
from tests.flows.compacting import DONE, LOOK, looks
from tests.sessions import grouped_session, with_event

NAMED = turn(say("Fix the login redirect"))


def talker() -> ScriptedModel:
    return ScriptedModel(*(DONE for _ in range(9)))


def session_on(cheap: ScriptedModel, **options: Any) -> Session:
    return grouped_session(talker(), host=virtual_host(), cheap=cheap, **options)


async def a_while(session: Session) -> None:
    """Ten seconds of virtual time."""
    over = asyncio.Event()
    session.controls.host.clock.call_later(10.0, over.set)
    await over.wait()


async def spoken(session: Session, *prompts: Any) -> None:
    for each in prompts:
        await session.send(each)
        await a_while(session)


@pytest.mark.spec("TRN-10")
async def test_the_first_prompt_gives_the_title_once() -> None:
    cheap, journal = ScriptedModel(NAMED, NAMED, name="cheap"), MemoryJournal()
    async with session_on(cheap, journal=journal) as session:
        await spoken(session, Prompt("The login redirects to nowhere, mend it"), Prompt("and then?"))
        assert session.title == "Fix the login redirect"
    (request,) = cheap.requests
    assert [message.text for message in request.messages] == ["The login redirects to nowhere, mend it"]
    assert request.tools == ()
    async with session_on(cheap, journal=journal) as again:
        await spoken(again, Prompt("more"))
        assert again.title == "Fix the login redirect"
    assert len(cheap.requests) == 1


@pytest.mark.spec("TRN-10")
@pytest.mark.parametrize("title", ["Mine", ""])
async def test_a_persons_title_stays_also_one_that_was_taken_away_meanwhile(title: str) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedModel):
        def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
            return self._later(super().stream(request))

        async def _later(self, stream: AsyncIterator[ModelEvent]) -> AsyncIterator[ModelEvent]:
            asked.set()
            await go_on.wait()
            async for event in stream:
                yield event

    async with session_on(Slow(NAMED)) as session:
        session.post(Prompt("go"))
        await asked.wait()
        session.post(SetTitle(title))
        go_on.set()
        await spoken(session, Prompt("on"))
        assert session.title == title
    cheap = ScriptedModel(NAMED)
    async with session_on(cheap) as session:
        await spoken(session, SetTitle("Mine"), Prompt("go"))
        assert session.title == "Mine"
    assert cheap.requests == []


@pytest.mark.spec("TRN-10")
@pytest.mark.parametrize("same", [False, True])
async def test_it_is_asked_for_beside_the_calls_unless_the_same_model_answers(same: bool) -> None:
    order: list[str] = []

    def noted(name: str, scene: ScriptedTurn) -> Any:
        def play(request: Request) -> ScriptedTurn:
            order.append("title" if request.system.startswith("You name") else name)
            return NAMED if order[-1] == "title" else scene

        return play

    scenes = (noted("calls", looks(10)), noted("answer", DONE), noted("title", NAMED))
    model = ScriptedModel(*scenes)
    cheap = model if same else ScriptedModel(noted("title", NAMED))
    async with Session(ModelSetup(model, cheap=cheap), [LOOK], host=virtual_host()) as session:
        await spoken(session, Prompt("go"))
        assert session.title == "Fix the login redirect"
    assert order == (["calls", "answer", "title"] if same else ["calls", "title", "answer"])


@pytest.mark.spec("TRN-10")
@pytest.mark.parametrize("failure", [turn(fail("down")), turn(say("Fix"), cut_off()), turn(say(' "" \n'))])
async def test_a_failure_is_tried_once_more(failure: ScriptedTurn) -> None:
    cheap = ScriptedModel(failure, NAMED)
    async with session_on(cheap) as session:
        await spoken(session, Prompt("one"))
        assert session.title == ""
        await spoken(session, Prompt("two"))
        assert session.title == "Fix the login redirect"
    cheap = ScriptedModel(failure, failure, NAMED)
    async with session_on(cheap) as session:
        await spoken(session, Prompt("one"), Prompt("two"), Prompt("three"))
        assert session.title == ""
    assert len(cheap.requests) == 2


@pytest.mark.spec("TRN-10")
async def test_attempts_that_failed_are_paid_for_and_on_record() -> None:
    broken = turn(say("Fix"), cut_off())
    unused = turn(say(' "" '), stop("end", Usage(input=7)))
    cheap = ScriptedModel(unused, broken, name="cheap")
    async with session_on(cheap, price=lambda name, usage: usage.input / 10) as session:
        await spoken(session, Prompt("one"), Prompt("two"))
        assert Spent("cheap", Usage(input=7), 0.7) in session.costs


@pytest.mark.spec("TRN-10")
async def test_nothing_waits_for_it_and_a_session_that_closes_ends_it() -> None:
    cheap = ScriptedModel(turn(pause(3_600.0), say("late")))
    events: list[Event] = []
    async with session_on(cheap) as session:
        session.listen(with_event(events.append))
        await spoken(session, Prompt("go"))
        assert session.status == "idle"
    assert len(cheap.requests) == 1
    assert not any(isinstance(event, MetadataSet) for event in events)


@pytest.mark.spec("TRN-10")
async def test_a_program_that_makes_one_run_and_ends_asks_for_no_title() -> None:
    cheap = ScriptedModel(NAMED)
    async with session_on(cheap) as session:
        await session.send(Prompt("go"))
    await a_while(session)
    assert cheap.requests == []


@pytest.mark.spec("TRN-10")
async def test_a_setting_turns_it_off_and_without_a_cheap_model_there_is_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config/callgate").mkdir(parents=True)
    (home / ".config/callgate/settings.toml").write_text("[session]\ntitle = false\n")
    (tmp_path / "work").mkdir()
    config = load_config(tmp_path / "work", home=home, environ={}, managed=tmp_path / "none")
    cheap = ScriptedModel(NAMED)
    async with Session(ModelSetup(talker(), cheap=cheap), config=config) as session:
        await spoken(session, Prompt("go"))
        assert session.title == ""
    assert cheap.requests == []
    model = talker()
    async with Session(model, host=virtual_host()) as session:
        await spoken(session, Prompt("go"))
    assert len(model.requests) == 1


@pytest.mark.spec("TRN-10")
async def test_only_the_words_of_the_person_are_used_and_they_are_bounded() -> None:
    cheap = ScriptedModel(NAMED)
    async with session_on(cheap) as session:
        await spoken(session, Prompt((Text("a" * 5_000),)))
    assert len(cheap.requests[0].messages[0].text) == 2_000


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ('"Fix the login."', "Fix the login"),
        ("\n\n**Fix the login**\nand more", "Fix the login"),
        ("Title: Fix the login", "Fix the login"),
        ("Fix the **login** of `shop.py`", "Fix the login of shop.py"),
        ("# Fix\tthe   login", "Fix the login"),
        ("„Anmeldung reparieren“", "Anmeldung reparieren"),
        ("evil\x1b[31m\u202etitle", "evil [31m title"),
        ("w" * 100, "w" * 79 + "…"),
        ("  \n ", ""),
    ],
)
def test_a_title_is_one_plain_line(said: str, title: str) -> None:
    assert title_of(said) == title
