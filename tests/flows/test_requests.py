"""What a request carries besides the history: options, a schema for the answer, the session; and a model's notes."""

from pathlib import Path

import pytest

from callgate import Interrupt, Prompt, Session, Steer, Store
from callgate.testing import ScriptedModel, call, pause, run_virtual, say, send, settle, turn
from callgate.words.events import Noted, RunEnded, TurnEnded
from callgate.words.inputs import Continue
from callgate.words.model import MessageEnded, ModelNoted, RequestOptions, RunOptions
from tests.flows.kit import Workspace, run

HIGH = RequestOptions(effort="high", temperature=0.5)
SCHEMA = {"type": "object"}


def test_options_of_a_prompt_are_laid_over_those_of_the_session_until_its_run_has_ended() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(call("read", path="a")), turn(say("1")), turn(say("2")))
        async with Workspace().session(model, options=HIGH) as session:
            mine = RunOptions(RequestOptions(effort="low"), SCHEMA)
            session.post(Prompt("one", mine))
            session.post(Steer("and quickly"))
            await session.send(Prompt("two"), until="idle")
        low = RequestOptions(effort="low", temperature=0.5)
        assert [(each.options, each.output) for each in model.requests] == [(low, SCHEMA), (low, SCHEMA), (HIGH, None)]

    run_virtual(main())


def test_a_prompt_that_waits_keeps_its_options_and_so_does_a_run_that_is_resumed(tmp_path: Path) -> None:
    async def main() -> None:
        store, mine = Store(tmp_path / "kept"), RunOptions(output=SCHEMA)
        model = ScriptedModel(turn(pause(100.0)))
        async with Session(model, journal=await store.create(), host=tmp_path) as session:
            session.post(Prompt("one", RunOptions(RequestOptions(effort="low"))))
            session.post(Prompt("two", mine))
            await settle()
        model = ScriptedModel(turn(say("1")), turn(say("2")))
        async with Session(model, journal=await store.open(), host=tmp_path) as session:
            await session.send(Continue(), until="idle")
        first, second = model.requests
        assert (first.options.effort, first.output) == ("low", None)
        assert (second.options.effort, second.output) == (None, SCHEMA)
        assert first.session == session.id != ""

    run_virtual(main())


def test_a_note_of_the_model_is_on_record_once() -> None:
    async def main() -> None:
        note = send(ModelNoted("an image was scaled"))
        model = ScriptedModel(turn(note, call("read", path="a")), turn(note, say("Done.")))
        async with Workspace().session(model) as session:
            events = await run(session)
        assert [event.text for event in events if isinstance(event, Noted)] == ["an image was scaled"]

    run_virtual(main())


@pytest.mark.spec("TRN-8")
def test_what_the_provider_says_about_a_refusal_is_told() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(send(MessageEnded("refusal", detail="category: weapons"))))
        async with Session(model) as session:
            events = await run(session)
        ended = [event for event in events if isinstance(event, TurnEnded | RunEnded)]
        assert [each.detail for each in ended] == ["category: weapons"] * 2
        assert isinstance(ended[-1], RunEnded)
        assert ended[-1].sentence == "The model refused to answer. category: weapons"

    run_virtual(main())


def test_an_interrupted_prompt_leaves_no_options_for_the_next() -> None:
    async def main() -> None:
        model = ScriptedModel(turn(pause(100.0)), turn(say("2")))
        async with Session(model) as session:
            session.post(Prompt("one", RunOptions(output=SCHEMA)))
            await settle()
            session.post(Interrupt())
            await settle()
            await session.send(Prompt("two"))
        assert [each.output for each in model.requests] == [SCHEMA, None]

    run_virtual(main())
