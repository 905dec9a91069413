"""TodoWrite and Sleep in whole sessions."""

from collections.abc import Sequence
from typing import Any

import pytest

from callgate import Nesting, Prompt, Session, Steer, tool
from callgate.conversation.record import MemoryJournal
from callgate.features import compaction_feature
from callgate.testing import MemoryHost, ScriptedModel, call, say, settle, turn
from callgate.tools.builtin.sleep import sleep
from callgate.tools.builtin.todo_write import todo_write
from callgate.tools.session_state import TODOS, TodoItem, carried_over, todos_of
from callgate.words.events import CallSettled
from callgate.words.inputs import Compact, Rewind
from callgate.words.messages import Message
from tests.core.kit import virtual_host
from tests.sessions import grouped_session


def item(name: str, status: str = "pending") -> dict[str, str]:
    return {"content": f"Do {name}", "status": status, "activeForm": f"Doing {name}"}


LIST = [item("a", "completed"), item("b", "in_progress"), item("c")]
KEPT = (
    TodoItem("Do a", "completed", "Doing a"),
    TodoItem("Do b", "in_progress", "Doing b"),
    TodoItem("Do c", "pending", "Doing c"),
)
DONE = turn(say("Done."))


def session(journal: MemoryJournal, *turns: Any, **options: Any) -> Session:
    return grouped_session(
        ScriptedModel(*turns), [todo_write(), sleep()], host=MemoryHost(), journal=journal, **options
    )


@pytest.mark.spec("BLT-9")
@pytest.mark.parametrize("mode", ["default", "plan", "dont_ask"])
async def test_the_list_is_kept_without_a_question_in_every_mode(mode: Any) -> None:
    journal = MemoryJournal()
    async with session(journal, turn(call("TodoWrite", todos=LIST)), DONE, mode=mode) as opened:
        await opened.send(Prompt("go"))
        assert opened.controls.todos == KEPT
    (settled,) = [event.result for event in journal.events if isinstance(event, CallSettled)]
    assert settled.text == "The to-do list is stored: 1 done, 1 in progress, 1 to do."
    assert settled.display[0].body == "[x] Do a\n[>] Doing b\n[ ] Do c"


@pytest.mark.spec("BLT-9")
async def test_it_comes_back_on_resume_and_goes_back_with_a_rewind() -> None:
    journal = MemoryJournal()
    turns = (turn(call("TodoWrite", todos=LIST)), DONE, turn(call("TodoWrite", todos=[])), DONE)
    async with session(journal, *turns) as opened:
        await opened.send(Prompt("go"))
        second = await opened.send(Prompt("clear it")) and opened.messages[4]
        assert opened.controls.todos == ()
        await opened.send(Rewind(second.id))  # pyright: ignore
        assert opened.controls.todos == KEPT
    async with session(MemoryJournal(journal.events[:-2]), DONE) as resumed:
        assert resumed.controls.todos == ()
    before = next(at for at, event in enumerate(journal.events) if getattr(event, "message", None) == second)
    async with session(MemoryJournal(journal.events[:before]), DONE) as resumed:
        assert resumed.controls.todos == KEPT


@pytest.mark.spec("BLT-9")
async def test_the_model_reads_it_again_after_a_compaction() -> None:
    def summarize(messages: Sequence[Message], instructions: str) -> str:
        return "They talked."

    model = ScriptedModel(turn(call("TodoWrite", todos=LIST)), DONE, DONE)
    async with Session(model, [todo_write()], host=MemoryHost(), features=[compaction_feature(summarize)]) as opened:
        await opened.send(Prompt("go"))
        await opened.send(Compact(keep=0))
        assert opened.controls.todos == KEPT
        await opened.send(Prompt("go on"))
        first = model.requests[-1].messages[0].text
    assert first == "They talked.\n\nThe current to-do list:\n[x] Do a\n[>] Doing b\n[ ] Do c"


@pytest.mark.spec("BLT-9")
async def test_each_agent_has_its_own() -> None:
    inner: list[Session] = []

    @tool(effects="none")
    async def delegate() -> str:
        model = ScriptedModel(turn(call("TodoWrite", todos=[item("inner")])), DONE)
        async with Session(model, [todo_write()], nesting=Nesting(parent=outer, label="helper")) as child:
            inner.append(child)
            await child.send(Prompt("go"))
            return str(len(child.controls.todos))

    model = ScriptedModel(turn(call("TodoWrite", todos=LIST)), turn(call("delegate")), DONE)
    async with Session(model, [todo_write(), delegate], host=MemoryHost()) as outer:
        await outer.send(Prompt("go"))
        assert outer.controls.todos == KEPT
        assert [each.content for each in inner[0].controls.todos] == ["Do inner"]


@pytest.mark.spec("BLT-9")
def test_two_items_in_progress_and_blank_ones_are_rejected() -> None:
    made = todo_write()
    rows: list[tuple[list[Any], str]] = [
        ([item("a", "in_progress"), item("b", "in_progress")], "2 items are in progress; only one is allowed"),
        ([item("a", "begun")], "status"),
        ([{**item("a"), "content": " "}], "content"),
        ([item("a")] * 101, "todos"),
    ]
    wrong = [said for todos, said in rows if said not in str(getattr(made.read({"todos": todos}), "errors", ""))]
    assert wrong == []


def test_a_context_that_others_wrote_is_no_list() -> None:
    for value in (None, 3, "x", [3], [{}], [item("a", "begun")], {"a": 1}):
        assert todos_of({TODOS: value}) == ()
    assert carried_over({}) == ""


@pytest.mark.spec("SLEEP-1")
async def test_sleep_ends_by_the_clock_of_the_host_or_with_a_message_of_the_person() -> None:
    model = ScriptedModel(turn(call("Sleep", seconds=90)), turn(call("Sleep", seconds=3600)), DONE)
    host = virtual_host()
    async with Session(model, [sleep()], host=host) as opened:
        began = host.clock.monotonic()
        reply = opened.send(Prompt("wait"))
        slept: list[Any] = []
        async for event in reply:
            if isinstance(event, CallSettled):
                slept.append((event.result.code, event.result.text, host.clock.monotonic() - began))
            if len(slept) == 1 and type(event).__name__ == "CallStarted":
                await settle()
                opened.post(Steer("enough"))
    assert slept[0] == ("ok", "Waited 90 s.", 90.0)
    assert slept[1][0] == "cancelled_by_user"
    assert slept[1][2] < 100


def test_sleep_takes_no_time_beyond_an_hour() -> None:
    wrong = [seconds for seconds in (0, -1, 3601, "x") if not getattr(sleep().read({"seconds": seconds}), "errors", ())]
    assert wrong == []
