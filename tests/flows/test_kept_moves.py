"""Sessions on disk: going back, branching off, forking, and what the model is sent of a long history."""

import os
from collections.abc import Mapping
from typing import Any

import pytest

from callgate import Continue, Prompt, Session, Toolbox
from callgate.core.ports import Run
from callgate.testing import PlainTool, ScriptedModel, call, say, turn
from callgate.words.errors import JournalError, SessionLocked
from callgate.words.events import InputRefused
from callgate.words.inputs import Branch, Compact, Interrupt, Rewind, SetMode, SetTags, SetTitle, Snip, Trim
from callgate.words.traits import Traits
from tests.flows.keep import Keep, on_disk, results, run
from tests.history import faults


@pytest.mark.spec("TRS-2", "TRS-9")
def test_what_was_set_before_the_first_message_is_there_after_a_restart(keep: Keep) -> None:
    async def main() -> None:
        async with await keep.session(ScriptedModel(turn(say("Hello.")))) as session:
            session.post(SetTitle("  A talk "))
            session.post(SetTags(("a", "b")))
            session.post(SetMode("plan"))
            await session.send(Prompt("hi"))
        async with await keep.session(ScriptedModel(), await keep.store.open()) as again:
            assert (again.title, again.controls.tags, again.mode) == ("A talk", ("a", "b"), "plan")
            assert again.id == session.id
        async with await keep.session(ScriptedModel(), await keep.store.open(), mode="default") as careful:
            assert careful.mode == "default"

    run(main())


@pytest.mark.spec("TRS-6", "TRS-9")
def test_a_second_writer_is_told_who_holds_the_session_and_may_fork_it(keep: Keep) -> None:
    async def main() -> None:
        journal = await keep.store.create()
        async with await keep.session(ScriptedModel(turn(say("one")), turn(say("two"))), journal) as session:
            await session.send(Prompt("first"))
            with pytest.raises(SessionLocked, match="fork") as refused:
                await keep.store.open()
            assert refused.value.pid == os.getpid()
            assert refused.value.since is not None
            await on_disk(journal)
            before = keep.store.find(session.id).read_bytes()
            async with await keep.session(ScriptedModel(turn(say("other"))), await keep.store.fork()) as fork:
                assert [message.text for message in fork.messages] == ["first", "one"]
                await fork.send(Prompt("second"))
            assert keep.store.find(session.id).read_bytes() == before
            await session.send(Prompt("second"))
            assert [message.text for message in session.messages][-1] == "two"
        opened = await keep.store.open(session.id)
        await opened.aclose()

    run(main())


@pytest.mark.spec("TRS-9")
def test_calls_that_are_open_in_the_original_are_not_run_by_a_fork(keep: Keep) -> None:
    async def main() -> None:
        journal = await keep.store.create()
        both = turn(call("held"), call("note", what="asked"))
        async with await keep.session(ScriptedModel(both), journal) as session:
            await session.send(Prompt("go"))
            model = ScriptedModel(otherwise=turn(say("fine")))
            async with await keep.session(model, await keep.store.fork()) as fork:
                assert fork.status == "paused"
                await fork.send(Continue())
                assert all("forked" in text for text in results(fork.messages).values())
                assert faults(list(model.requests[-1].messages)) == []
            assert keep.ran == []
            session.post(Interrupt())

    run(main())


@pytest.mark.spec("TRS-1", "TRS-9")
def test_a_rewound_branch_is_left_and_can_be_gone_back_to(keep: Keep) -> None:
    async def main() -> None:
        script = ScriptedModel(turn(say("A")), turn(say("B")), turn(say("C")), turn(say("D")))
        async with await keep.session(script) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            two = session.messages[-2].id
            b = session.messages[-1].id
            await session.send(Rewind(two))
            await session.send(Prompt("three"))
            assert [message.text for message in session.messages] == ["one", "A", "three", "C"]
        async with await keep.session(script, await keep.store.open()) as again:
            assert [message.text for message in again.messages] == ["one", "A", "three", "C"]
            await again.send(Branch(b))
            assert [message.text for message in again.messages] == ["one", "A", "two", "B"]
            await again.send(Prompt("four"))
        async with await keep.session(script, await keep.store.open()) as last:
            assert [message.text for message in last.messages] == ["one", "A", "two", "B", "four", "D"]
            ids = [message.id for message in last.messages]
            assert len(set(ids)) == len(ids)

    run(main())


@pytest.mark.spec("CMP-1")
def test_a_compaction_puts_a_summary_before_the_kept_tail_and_deletes_nothing(keep: Keep) -> None:
    async def summarize(messages: Any, instructions: str) -> str:
        return f"{len(messages)} messages, {instructions}"

    async def main() -> None:
        model = ScriptedModel(turn(call("read", what="r")), turn(say("A")), turn(say("B")), turn(say("C")))
        async with await keep.session(model, summarize=summarize) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            first = session.messages[0].id
            await session.send(Compact("briefly", keep=4))
            sent = [message.id for message in session.messages]
            assert sent == ["a1", "r1", "a2", "u5", "a3"], "not split between a call and its result"
        async with await keep.session(model, await keep.store.open(), summarize=summarize) as again:
            await again.send(Prompt("three"))
            texts = [message.text for message in model.requests[-1].messages]
            assert texts[0] == "6 messages, briefly"
            assert texts[-1] == "three"
            assert faults(list(model.requests[-1].messages)) == []
            await again.send(Rewind(first))
            assert again.messages == ()
            await again.send(Branch("a2"))
            assert again.messages[0].text == "one", "before the boundary all is still there"

    run(main())


@pytest.mark.spec("CMP-1")
def test_a_summary_that_fails_changes_nothing(keep: Keep) -> None:
    async def summarize(_messages: Any, _instructions: str) -> str:
        raise RuntimeError("no words")

    async def main() -> None:
        async with await keep.session(ScriptedModel(turn(say("A"))), summarize=summarize) as session:
            await session.send(Prompt("one"))
            (refused,) = [event for event in await session.send(Compact()) if isinstance(event, InputRefused)]
            assert "no words" in refused.reason
            assert len(session.messages) == 2

    run(main())


def test_snipped_messages_are_not_sent_also_after_a_restart(keep: Keep) -> None:
    async def main() -> None:
        model = ScriptedModel(turn(say("A")), turn(say("B")), turn(say("C")))
        async with await keep.session(model) as session:
            await session.send(Prompt("one"))
            await session.send(Prompt("two"))
            await session.send(Snip((session.messages[0].id, session.messages[1].id)))
            (refused,) = [event for event in await session.send(Snip(("?",))) if isinstance(event, InputRefused)]
            assert "?" in refused.reason
        async with await keep.session(model, await keep.store.open()) as again:
            await again.send(Prompt("three"))
            assert [message.text for message in model.requests[-1].messages] == ["two", "B", "three"]

    run(main())


@pytest.mark.spec("CMP-1")
def test_a_trimmed_result_is_sent_byte_for_byte_the_same_ever_after(keep: Keep) -> None:
    long = "a line of text\n" * 1_000

    async def tell(_arguments: Mapping[str, Any], _run: Run) -> str:
        return long

    async def main() -> None:
        tools = Toolbox(PlainTool("tell", tell, traits=Traits("none")))
        model = ScriptedModel(turn(call("tell")), *(turn(say(text)) for text in "ABCD"))
        async with Session(model, tools, journal=await keep.store.create()) as session:
            await session.send(Prompt("one"))
            (refused,) = [event for event in await session.send(Trim()) if isinstance(event, InputRefused)]
            assert refused.reason == "no result is longer than that", "the last messages are kept"
            session.post(Trim(over=500, keep=1))
            await session.send(Prompt("two"))
            first = results(tuple(model.requests[-1].messages))["call_1"]
            assert len(first) <= 500 < len(results(session.messages)["call_1"])
            session.post(Trim(over=100, keep=1))
            await session.send(Prompt("three"))
        async with Session(model, tools, journal=await keep.store.open()) as again:
            await again.send(Prompt("four"))
        assert {results(tuple(request.messages))["call_1"] for request in model.requests[2:]} == {first}

    run(main())


def test_an_unknown_session_is_refused_in_words_that_help(keep: Keep) -> None:
    async def main() -> None:
        with pytest.raises(JournalError, match="this workspace has no sessions"):
            await keep.store.open()
        async with await keep.session(ScriptedModel(turn(say("A")), turn(say("A")))) as session:
            await session.send(Prompt("fix the parser"))
            session.post(SetTitle("Parser work"))
        async with await keep.session(ScriptedModel(turn(say("A")))) as other:
            await other.send(Prompt("write the parser docs"))
        assert keep.store.find("parser work").stem == session.id
        assert keep.store.find("docs write").stem == other.id
        assert keep.store.find(session.id[:-2]).stem == session.id
        with pytest.raises(JournalError, match="several sessions"):
            keep.store.find("parser")
        with pytest.raises(JournalError, match=r"did you mean 'Parser work'\?"):
            keep.store.find("Parser wrok")

    run(main())
