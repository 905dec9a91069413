"""The fold of events into blocks, without a terminal."""

import asyncio

from callgate import Prompt, Session, Toolbox, tool
from callgate.testing import ScriptedModel, call, say, turn
from callgate.tui.blocks import Block, CallBlock, EndBlock, PromptBlock, TextBlock
from callgate.tui.fold import ConversationFold
from callgate.words.calls import Status
from callgate.words.events import Event
from callgate.words.inputs import Answer


@tool(effects="mutating")
def note(what: str) -> str:
    """Notes something."""
    return f"noted {what}"


def _events(*inputs: str) -> list[Event]:
    """The events of a session in which the model says something, calls a tool, and a person says yes."""
    model = ScriptedModel(turn(say("One.\n\nTwo."), call("note", what="x")), otherwise=turn(say("Done.")))

    async def main() -> list[Event]:
        heard: list[Event] = []
        async with Session(model, Toolbox(note)) as session:
            session.listen(heard.append)
            for each in inputs:
                await session.send(Prompt(each))
                for question in session.questions:
                    await session.send(Answer(question.yes()))
        return heard

    return asyncio.run(main())


def test_a_run_becomes_blocks_in_the_order_of_the_conversation() -> None:
    fold = ConversationFold()
    fold.apply_all(_events("go"))
    kinds = [type(each) for each in fold.blocks]
    assert kinds == [PromptBlock, TextBlock, CallBlock, TextBlock, EndBlock]
    called = next(each for each in fold.blocks if isinstance(each, CallBlock))
    assert (called.status, called.answered) == (Status.SUCCESS, "yes")
    assert fold.status == "closed"
    assert not fold.questions


def test_blocks_that_are_taken_as_they_finish_are_the_same_as_those_at_the_end() -> None:
    events = _events("go", "again")
    whole, stepwise = ConversationFold(), ConversationFold()
    whole.apply_all(events)
    taken: list[Block] = []
    for event in events:
        stepwise.apply(event)
        taken += stepwise.take_finished()
    assert not stepwise.blocks
    assert [type(each) for each in whole.blocks if not isinstance(each, TextBlock)] == [
        type(each) for each in taken if not isinstance(each, TextBlock)
    ]
    assert _text(whole.blocks) == _text(taken)


def _text(blocks: list[Block]) -> str:
    return "".join(each.text for each in blocks if isinstance(each, TextBlock))
