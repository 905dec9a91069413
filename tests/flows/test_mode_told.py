"""A model is told of a change of the mode, once, because the system prompt stays as it was."""

from pathlib import Path

from callgate import Session, Store
from callgate.features import compaction_feature
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tools.builtin import builtin_tools
from callgate.words.inputs import Compact, SetMode

ANY = turn(say("ok"))


def told(model: ScriptedModel) -> list[list[str]]:
    """For each request the reminders about the mode in it."""
    return [
        [
            message.text.split("It is now ")[1].split(":")[0]
            for message in request.messages
            if "It is now" in message.text
        ]
        for request in model.requests
    ]


async def test_a_change_is_told_once_and_the_mode_at_the_beginning_never() -> None:
    model = ScriptedModel(otherwise=ANY)
    async with Session(model, mode="accept_edits") as session:
        await session.run("one")
        session.post(SetMode("bypass"))
        session.post(SetMode("plan"))
        await session.run("two")
        await session.run("three")
    assert told(model) == [[], ["plan"], ["plan"]]
    assert session.mode == "plan"


async def test_it_is_told_again_after_a_compaction_and_not_again_after_a_restart(tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=ANY)
    store = Store(tmp_path, tmp_path / "data")
    journal = await store.create()
    async with Session(
        model, journal=journal, features=[compaction_feature(lambda messages, focus: "Summed up.")]
    ) as session:
        await session.run("one")
        session.post(SetMode("accept_edits"))
        await session.run("two")
        await session.send(Compact())
        await session.run("three")
    async with Session(model, journal=await store.open(journal.session)) as session:
        await session.run("four")
    assert told(model) == [[], ["accept_edits"], ["accept_edits"], ["accept_edits"]]


async def test_the_tools_of_plan_mode_tell_it_themselves() -> None:
    model = ScriptedModel(turn(call("EnterPlanMode")), ANY)
    async with Session(model, builtin_tools("EnterPlanMode", "ExitPlanMode")) as session:
        await session.run("one")
        assert session.mode == "plan"
    assert told(model) == [[], []]
