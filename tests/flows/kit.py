"""What the session tests share: a workspace in memory, a few plain tools, and a door that answers."""

from collections.abc import Mapping
from typing import Any

from callgate import Answer, Prompt, QuestionAsked, Session
from callgate.conversation.ports import Model
from callgate.core.ports import Run
from callgate.testing import MemoryHost, PlainTool, PlainToolbox
from callgate.words.decisions import Confirmation
from callgate.words.events import Event
from callgate.words.messages import CallPart, Message, ResultPart
from callgate.words.traits import Traits, reads, writes
from tests.sessions import grouped_session


class Workspace:
    """Tools that note what they did, in order."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def read(self, arguments: Mapping[str, Any], run: Run) -> str:
        self.done.append(f"read {arguments['path']}")
        return f"content of {arguments['path']}"

    async def write(self, arguments: Mapping[str, Any], run: Run) -> str:
        self.done.append(f"write {arguments['path']}")
        return "written"

    def toolbox(self, *more: PlainTool) -> PlainToolbox:
        return PlainToolbox(
            PlainTool("read", self.read, traits=lambda a: Traits("none", reads(a.get("path", ".")))),
            PlainTool("write", self.write, traits=lambda a: Traits("mutating", writes(a.get("path", ".")))),
            *more,
        )

    def session(self, model: Model, *more: PlainTool, **options: Any) -> Session:
        return grouped_session(model, self.toolbox(*more), host=MemoryHost(), **options)


def answering(session: Session, event: Event, outcome: str = "yes") -> None:
    """What a door does with a question."""
    if isinstance(event, QuestionAsked):
        question = event.question
        session.post(Answer(Confirmation(question.call_id, outcome, question.arguments_hash)))  # type: ignore[arg-type]


async def run(session: Session, text: str = "go") -> list[Event]:
    """Send a prompt, say yes to everything, give back all events."""
    events: list[Event] = []
    async for event in session.send(Prompt(text)):
        events.append(event)
        answering(session, event)
    return events


def check_history(messages: tuple[Message, ...]) -> None:
    """Every call is answered exactly once, right after its message, in order: what providers demand."""
    for at, message in enumerate(messages):
        if message.role != "assistant" or not message.calls:
            continue
        answer = messages[at + 1]
        assert answer.role == "tool", f"{message.id} has calls but {answer.id} follows"
        results = [part for part in answer.parts if isinstance(part, ResultPart)]
        calls = [part for part in message.parts if isinstance(part, CallPart)]
        assert [part.call_id for part in results] == [part.id for part in calls]
    ids = [part.id for message in messages for part in message.calls]
    assert len(ids) == len(set(ids))


def results(session: Session) -> list[str]:
    """What the model was told about its calls, oldest first."""
    parts = [part for message in session.messages for part in message.parts if isinstance(part, ResultPart)]
    return ["".join(getattr(item, "text", "") for item in part.content) for part in parts]
