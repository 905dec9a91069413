"""A runner with a journal runs each call once, also when the same calls are passed again."""

import pytest

from callgate import ToolCall, ToolCallRunner, tool
from callgate.conversation.record import MemoryJournal
from callgate.testing import MemoryHost
from callgate.words.calls import Result, Status
from callgate.words.decisions import Confirmation
from callgate.words.errors import UsageError
from callgate.words.messages import Text
from callgate.words.traits import shared


def _runner(journal: MemoryJournal) -> tuple[ToolCallRunner, list[str]]:
    ran: list[str] = []

    @tool(locks=shared)
    def act(name: str) -> Result:
        """Have an effect."""
        ran.append(name)
        return Result((Text(name),), context_update={"last": name})

    return ToolCallRunner([act], host=MemoryHost(), journal=journal), ran


@pytest.mark.spec("RUN-9")
async def test_a_call_that_waits_for_an_answer_runs_once_after_it() -> None:
    journal = MemoryJournal()
    call = ToolCall("a", "act", {"name": "x"})
    runner, ran = _runner(journal)
    (pending,) = (await runner.execute([call])).still_needs_approval
    assert pending.question is not None
    yes: Confirmation = pending.question.yes()
    for _ in range(2):
        out = await runner.execute([pending], [yes])
        assert [(each.text, out.context) for each in out.executed] == [("x", {"last": "x"})]
    again, ran_again = _runner(MemoryJournal(journal.events))
    out = await again.execute([call], [yes])
    assert [(each.text, out.context) for each in out.executed] == [("x", {"last": "x"})]
    assert (ran, ran_again) == (["x"], [])


@pytest.mark.spec("RUN-9")
async def test_a_call_id_names_one_call_of_a_journal() -> None:
    journal = MemoryJournal()
    runner, _ = _runner(journal)
    await runner.execute([ToolCall("a", "act", {"name": "x"})])
    with pytest.raises(UsageError, match="'a' belongs to another call"):
        await runner.execute([ToolCall("a", "act", {"name": "y"})])


@pytest.mark.spec("RUN-9")
async def test_calls_that_never_started_and_settled_calls_of_other_runs() -> None:
    journal = MemoryJournal()
    runner, ran = _runner(journal)
    calls = [ToolCall(str(n), "act", {"name": str(n)}) for n in range(4)]
    pending = (await runner.execute(calls[:2])).still_needs_approval
    again, ran_again = _runner(MemoryJournal(journal.events))
    out = await again.execute(calls)
    assert [call.id for call in out.still_needs_approval] == ["0", "1", "2", "3"]
    yes = [question.yes() for question in out.questions]
    out = await again.execute(out.still_needs_approval, yes)
    assert ([call.text for call in out.executed], ran, ran_again) == (["0", "1", "2", "3"], [], ["0", "1", "2", "3"])
    assert len(pending) == 2


WRONG = [
    (Status.SCHEDULED, True, "has a result, but its status is 'scheduled'"),
    (Status.EXECUTING, True, "has a result, but its status is 'executing'"),
    (Status.VALIDATING, True, "has a result, but its status is 'validating'"),
    (Status.AWAITING_APPROVAL, True, "has a result, but its status is 'awaiting_approval'"),
    (Status.SUCCESS, False, "has no result, but its status is 'success'"),
    (Status.ERROR, False, "has no result, but its status is 'error'"),
    (Status.CANCELLED, False, "has no result, but its status is 'cancelled'"),
]


@pytest.mark.spec("RUN-2")
async def test_a_call_whose_status_does_not_fit_its_result_is_refused_with_the_reason() -> None:
    runner, ran = _runner(MemoryJournal())
    for status, has_result, message in WRONG:
        result = Result((Text("x"),)) if has_result else None
        with pytest.raises(UsageError, match=f"call 'a' {message}"):
            await runner.execute([ToolCall("a", "act", {"name": "x"}, status=status, result=result)])
    assert ran == []
