"""Recaps: summarize the session in one line, beside the conversation."""

import pytest

from callgate import ModelSetup, Session
from callgate.testing import ScriptedModel, say, turn
from callgate.testing.script import stop
from callgate.words.errors import ModelError, UsageError
from callgate.words.events import AnswerUnused
from callgate.words.messages import Usage
from tests.core.kit import virtual_host

PAID = Usage(input=7, output=3)


def _session(*turns: object) -> tuple[Session, ScriptedModel]:
    cheap = ScriptedModel(*turns, name="cheap")  # type: ignore[arg-type]
    return Session(ModelSetup(ScriptedModel(otherwise=turn(say("Done."))), cheap=cheap), host=virtual_host()), cheap


@pytest.mark.spec("CMD-8")
async def test_a_recap_is_one_line_of_forty_words_that_the_cheap_model_writes_and_nothing_of_it_is_said() -> None:
    session, cheap = _session(turn(say("The login\nis  mended; "), say("word " * 60), stop("end", PAID)))
    async with session:
        await session.send("mend the login")
        before = session.messages
        line = await session.controls.recap()
        assert line.startswith("The login is mended; word")
        assert len(line.split()) == 41
        assert line.endswith(" …")
        assert session.messages == before
        told = [event for _number, event in await session.events_after(0) if isinstance(event, AnswerUnused)]
    (request,) = cheap.requests
    assert "mend the login" in request.messages[0].text
    assert request.tools == ()
    assert [(each.purpose, each.spent.usage) for each in told] == [("recap", PAID)]


async def test_there_is_no_recap_of_nothing_or_of_an_answer_that_says_nothing() -> None:
    session, _cheap = _session(turn(say(" ")))
    async with session:
        with pytest.raises(UsageError, match="There are no messages"):
            await session.controls.recap()
        await session.send("hello")
        with pytest.raises(ModelError, match="wrote no recap"):
            await session.controls.recap()
