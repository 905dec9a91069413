"""What a compaction puts back behind its summary."""

from collections.abc import Sequence
from typing import Any

import pytest

from callgate import Prompt, Session
from callgate.conversation.record import MemoryJournal
from callgate.testing import MemoryHost, ScriptedModel, call, say, turn
from callgate.tools.builtin.edit import edit
from callgate.tools.builtin.read import read
from callgate.tools.builtin.todo_write import todo_write
from callgate.tools.session_state import PLAN
from callgate.words.inputs import Compact
from callgate.words.messages import Message
from tests.flows.compacting import BIG, DONE, LOOK, SUMMARY, Heard, scripted
from tests.sessions import grouped_session


def brief(messages: Sequence[Message], focus: str) -> str:
    return "Summed up."


def session_on(host: MemoryHost, *scenes: Any, **options: Any) -> Session:
    tools = [read(), edit(), todo_write()]
    return grouped_session(ScriptedModel(*scenes), tools, host=host, summarize=brief, **options)


def reads(*paths: str) -> Any:
    return turn(*(call("Read", file_path=path) for path in paths))


async def compacted(session: Session, *prompts: str, keep: int = 0) -> str:
    heard = Heard(session)
    for text in prompts:
        await session.send(Prompt(text))
    await session.send(Compact(keep=keep))
    return heard.boundaries[-1].restored


@pytest.mark.spec("CMP-2")
async def test_the_files_last_used_come_back_as_they_are_now_and_no_others() -> None:
    host = MemoryHost({f"f{n}.txt": f"text {n}" for n in range(9)} | {"secret.env": "KEY=1"})
    named = turn(call("TodoWrite", todos=[{"content": "secret.env", "status": "pending", "activeForm": "f8.txt"}]))
    async with session_on(host, *(reads(f"f{n}.txt") for n in range(7)), reads("f0.txt"), named, DONE) as session:
        heard = Heard(session)
        await session.send(Prompt("go"))
        host.files["/workspace/f6.txt"] = b"changed since"
        del host.files["/workspace/f5.txt"]
        await session.send(Compact())
        text = heard.boundaries[-1].restored
    shown = [line for line in text.splitlines() if line.startswith("<file")]
    assert shown == [f'<file path="/workspace/{name}">' for name in ("f0.txt", "f6.txt", "f4.txt", "f3.txt")]
    assert "changed since" in text
    assert "KEY=1" not in text
    assert "f8.txt" not in text.replace("Doing", "")[text.index("<file") :]


@pytest.mark.spec("CMP-2")
async def test_files_are_bounded_and_those_that_are_too_long_are_named() -> None:
    sizes = {"big.txt": 300_000, "long.txt": 21_000, "a.txt": 19_000, "b.txt": 19_000, "c.txt": 19_000}
    host = MemoryHost({name: "z" * 99 + "\n" + "y" * (size - 100) for name, size in sizes.items()})
    async with session_on(host, *(reads(name) for name in sizes), DONE) as session:
        text = await compacted(session, "go")
    assert text.count("<file") == 2
    assert len(text) < 50_000
    (named,) = [line for line in text.splitlines() if line.startswith("Also in use")]
    assert [name in named for name in sizes] == [True, True, True, False, False]


@pytest.mark.spec("CMP-2")
async def test_a_file_that_is_still_to_be_seen_is_not_repeated() -> None:
    host = MemoryHost({"a.txt": "aaa", "b.txt": "bbb"})
    async with session_on(host, reads("a.txt"), reads("b.txt"), DONE) as session:
        text = await compacted(session, "go", keep=3)
        assert [message.role for message in session.messages] == ["assistant", "tool", "assistant"]
    assert "aaa" in text
    assert "bbb" not in text


@pytest.mark.spec("CMP-2")
async def test_to_do_list_and_plan_come_back_and_are_the_same_bytes_ever_after() -> None:
    host = MemoryHost({"plan.md": "First this, then that."})
    todos = [{"content": "Do a", "status": "pending", "activeForm": "Doing a"}]
    journal = MemoryJournal()
    model = ScriptedModel(turn(call("TodoWrite", todos=todos)), DONE, DONE)
    tools = [todo_write()]
    options: dict[str, Any] = {"host": host, "journal": journal, "summarize": brief}
    async with grouped_session(model, tools, context={PLAN: "/workspace/plan.md"}, **options) as session:
        text = await compacted(session, "build it, please")
        await session.send(Prompt("on"))
    assert "[ ] Do a" in text
    assert "First this, then that." in text
    assert "build it, please" not in text, "that is done"
    host.files["/workspace/plan.md"] = b"another"
    again = ScriptedModel(DONE)
    async with grouped_session(again, tools, **options) as session:
        await session.send(Prompt("and on"))
    assert again.requests[0].messages[0] == model.requests[-1].messages[0]
    assert again.requests[0].messages[0].text == f"Summed up.\n\n{text}"


@pytest.mark.spec("CMP-2")
@pytest.mark.parametrize(("words", "repeated"), [("mend the door", True), ("w" * 5_000, False)])
async def test_the_words_that_are_worked_on_are_repeated_unless_they_are_long(words: str, repeated: bool) -> None:
    model = scripted(BIG, SUMMARY, DONE)
    async with Session(model, [LOOK], host=MemoryHost()) as session:
        heard = Heard(session)
        await session.send(Prompt(words))
    assert (words in heard.boundaries[0].restored) == repeated


async def test_after_a_compaction_a_file_is_shown_again_and_may_be_edited_without_that() -> None:
    host = MemoryHost({"a.txt": "aaa\nbbb\n"})
    change = turn(call("Edit", file_path="a.txt", old_string="aaa", new_string="ccc"), say("ok"))
    scenes = (reads("a.txt"), DONE, reads("a.txt"), DONE, change, DONE)
    async with session_on(host, *scenes, mode="bypass") as session:
        await compacted(session, "go")
        await session.send(Prompt("again"))
        results = [message for message in session.messages if message.role == "tool"]
        assert "aaa" in str(results[-1]), "not: unchanged since you read it"
        await compacted(session, "and", keep=0)
    assert host.text("a.txt") == "ccc\nbbb\n"
