"""A record that cannot be written: refused questions and answers, logs that could not be made, full disks."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

from callgate import Answer, Prompt, Session, tool
from callgate.conversation.record import MemoryJournal
from callgate.testing import ScriptedModel, call, say, turn
from callgate.words.errors import JournalError
from callgate.words.events import CallSettled, Event, QuestionAnswered, QuestionAsked
from tests.crash.stage import Stage
from tests.crash.tracing import need_strace
from tests.sessions import with_event


class Refusing(MemoryJournal):
    """Cannot make events of one kind durable, the first time."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self._kind: type | None = kind

    def barrier(self) -> Awaitable[None] | None:
        if self._kind is None or not isinstance(self.events[-1], self._kind):
            return None
        self._kind = None
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.set_exception(JournalError("the disk is full"))
        return waiting


@tool
def write(q: str) -> str:
    """Write."""
    return f"wrote {q}"


@pytest.mark.spec("TRS-3", "TRS-7")
@pytest.mark.parametrize("kind", [QuestionAsked, QuestionAnswered])
def test_a_call_whose_question_or_answer_is_not_on_record_is_told_as_not_started(kind: type) -> None:
    settled: list[CallSettled] = []

    async def scene() -> None:
        model = ScriptedModel(turn(call("write", q="a")), turn(say("Done.")))
        async with Session(model, [write], journal=Refusing(kind)) as session:

            def hear(event: Event) -> None:
                if isinstance(event, QuestionAsked):
                    session.post(Answer(event.question.yes()))
                elif isinstance(event, CallSettled):
                    settled.append(event)

            session.listen(with_event(hear))
            await session.send(Prompt("go"), until="idle")

    asyncio.run(scene())
    assert [event.result.text.startswith("Not started") for event in settled] == [True]
    assert settled[0].result.details["started"] is False


@pytest.mark.spec("TRS-2", "TRS-6")
def test_a_log_that_could_not_be_made_leaves_no_name_behind(tmp_path: Path) -> None:
    need_strace()
    stage = Stage(tmp_path)
    assert stage.run("run", faults=["fsync:error=EIO:when=3+"]).code == 3
    assert list(stage.store.folder.iterdir()) == []


@pytest.mark.spec("TRS-2", "TRS-4")
def test_a_disk_that_was_full_from_the_first_line_on_leaves_no_empty_session(tmp_path: Path) -> None:
    need_strace()
    stage = Stage(tmp_path)
    assert stage.run("run", faults=["pwrite64:error=ENOSPC:when=1+"]).code == 3
    assert not stage.log.exists()
