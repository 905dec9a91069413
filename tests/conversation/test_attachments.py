"""What reaches the model between two requests: in one order, each once, marked where no person said it."""

from collections.abc import Sequence

import pytest

from callgate.conversation.ledger import Ledger
from callgate.conversation.loop import Loop
from callgate.conversation.ports import Reminder
from callgate.conversation.record import MemoryJournal, Record
from callgate.conversation.turn import Equipment
from callgate.testing import PlainTool, PlainToolbox, ScriptedModel, call, limit, say, settle, turn
from callgate.words.calls import Result
from callgate.words.events import MessageAdded, TurnEnded
from callgate.words.messages import Text
from callgate.words.model import Abilities, ToolChoice
from callgate.words.traits import Traits
from tests.core.kit import allow_all, virtual_host
from tests.virtual import passes


class Notices:
    """A staging of which nothing is pending: it has a notification and a suggestion, once."""

    unresolved = False

    def __init__(self) -> None:
        self.due: list[Reminder] = []

    def before_request(self, abilities: Abilities) -> tuple[Sequence[Reminder], ToolChoice]:
        due, self.due = self.due, []
        return due, ToolChoice()

    def admits(self, name: str, traits: Traits) -> Result | None:
        return None

    def message_over(self, message_id: str, *, whole: bool) -> None:
        return

    async def after_turn(self, ended: TurnEnded) -> None:
        return


@pytest.mark.spec("TRN-14")
@pytest.mark.parametrize("cut", [False, True], ids=["results", "output limit"])
async def test_steering_comes_before_notifications_and_suggestions_each_once_and_marked(cut: bool) -> None:
    async def slow(arguments: object, run: object) -> str:
        await passes(1.0)
        return "done"

    first = turn(say("half"), limit()) if cut else turn(call("slow"))
    model = ScriptedModel(first, turn(say("Fine.")), turn(say("Next.")))
    record, notices = Record(MemoryJournal(), Ledger()), Notices()
    tools = PlainToolbox(PlainTool("slow", slow, traits=Traits("none")))
    kit = Equipment(model, tools, allow_all(), virtual_host(), record, staging=notices)
    added: list[MessageAdded] = []
    record.listen(lambda event: added.append(event) if isinstance(event, MessageAdded) else None)
    loop = Loop(kit)
    loop.say((Text("go"),))

    def arrive(event: object) -> None:
        if isinstance(event, MessageAdded) and event.message.role == "assistant" and not notices.due and len(added) < 3:
            notices.due = [Reminder("task b1 ended", "b1"), Reminder("try Grep", "hint")]
            loop.steer("not that one")

    record.listen(arrive)
    await loop.run()
    await settle()
    said = [(event.message.text, event.about, event.queued) for event in added if event.message.role == "user"]
    assert said[0] == ("go", None, None)
    assert said[1:] == [
        ("not that one", None, "q1"),
        ("task b1 ended", "b1", None),
        ("try Grep", "hint", None),
    ]
    second = [message.text for message in model.requests[1].messages[-3:]]
    assert second == ["not that one", "task b1 ended", "try Grep"]
    assert len(model.requests) == 2
