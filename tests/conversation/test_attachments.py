"""What reaches the model between two requests: in one order, each once, marked where no person said it."""

from collections.abc import Sequence

import pytest

from callgate.conversation.feature import FeaturePart, Reminder
from callgate.conversation.feature_set import Equipment, FeatureSet
from callgate.conversation.ledger import Ledger
from callgate.conversation.loop import Loop
from callgate.conversation.record import MemoryJournal, Record
from callgate.testing import PlainTool, PlainToolbox, ScriptedModel, call, limit, say, settle, turn
from callgate.words.events import MessageAdded
from callgate.words.messages import Text
from callgate.words.model import Abilities
from callgate.words.traits import Traits
from tests.core.kit import allow_all, virtual_host
from tests.virtual import passes


class Notices(FeaturePart):
    """A part that has reminders for one request."""

    def __init__(self) -> None:
        self.due: list[Reminder] = []

    def before_request(self, abilities: Abilities) -> Sequence[Reminder]:
        due, self.due = self.due, []
        return due


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
    kit = Equipment(model, tools, allow_all(), virtual_host(), record, features=FeatureSet({"notices": notices}))
    added: list[MessageAdded] = []
    record.on_event(lambda event: added.append(event) if isinstance(event, MessageAdded) else None)
    loop = Loop(kit)
    loop.say((Text("go"),))

    def arrive(event: object) -> None:
        if isinstance(event, MessageAdded) and event.message.role == "assistant" and not notices.due and len(added) < 3:
            notices.due = [Reminder("task b1 ended", "b1"), Reminder("try Grep", "hint")]
            loop.steer("not that one")

    record.on_event(arrive)
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
