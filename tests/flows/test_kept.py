"""Sessions on disk: what is there after a restart, and what the model is told about it."""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any

import pytest

from callgate import Answer, Continue, Prompt, Session, Toolbox, tool
from callgate.conversation.loop import CONTINUE_TEXT
from callgate.core.ports import Run
from callgate.testing import PlainTool, ScriptedModel, call, pause, raw_call, say, turn
from callgate.words.errors import JournalError, StateError, UsageError
from callgate.words.events import CallSettled, InputRefused, MessageAdded, QuestionAsked
from callgate.words.inputs import Interrupt, SetTitle
from callgate.words.messages import Opaque
from callgate.words.traits import Traits, shared
from tests.flows.keep import SECRET, UNKNOWN, Keep, on_disk, opened, results, run, until
from tests.history import faults


@pytest.mark.spec("TRS-2")
def test_a_session_without_a_message_leaves_nothing_behind(keep: Keep) -> None:
    async def main() -> None:
        async with await keep.session(ScriptedModel(), mode="plan") as session:
            session.post(SetTitle("Nothing said"))
            assert session.title == "Nothing said"
        assert not keep.store.data.exists()

    run(main())


@pytest.mark.spec("TRS-3")
def test_the_prompt_is_on_disk_before_the_model_is_asked(keep: Keep) -> None:
    seen: list[str] = []

    async def main() -> None:
        journal = await keep.store.create()

        def answer(_request: Any) -> Any:
            seen.append(journal.path.read_text())
            return turn(say("Yes."))

        async with await keep.session(ScriptedModel(answer), journal) as session:
            await session.send(Prompt("is it there?"))

    run(main())
    assert "is it there?" in seen[0]
    assert "turn_started" in seen[0]


@pytest.mark.spec("TRS-3", "TRS-7")
def test_each_call_is_told_as_what_is_known_about_it_and_only_safe_ones_run_again(keep: Keep) -> None:
    calls = turn(call("read", what="r"), call("held"), call("safe"), call("look"), call("key", what="k"))

    async def main() -> None:
        journal = await keep.store.create()
        async with await keep.session(ScriptedModel(calls, otherwise=turn(say("stop"))), journal, mode="bypass") as one:
            one.post(Prompt("go"))
            await keep.held.entered()
            await keep.safe.entered()
            await keep.look.entered()
            await on_disk(journal)
            after = keep.crashed()
            one.post(Interrupt())
        after.safe.open()
        after.look.open()
        model = ScriptedModel(otherwise=turn(say("I see.")))
        resumed = await after.session(model, await after.store.open())
        async with resumed as two:
            assert two.status == "paused"
            heard = await two.send(Continue())
            told = results(two.messages)
            assert told["call_2"] == UNKNOWN
            assert "noted r" in told["call_1"]
            assert [event.result.code for event in heard if isinstance(event, CallSettled)].count(
                "outcome_unknown"
            ) == 1
            assert faults(list(model.requests[-1].messages)) == []
            assert two.messages[-1].text == "I see."
        said = (event for event in after.store.read().events if isinstance(event, MessageAdded))
        written = results(tuple(event.message for event in said))
        assert written == told, "what the model is told is on record"

    run(main())


@pytest.mark.spec("TRS-7")
def test_a_repeat_after_a_crash_has_the_same_key_and_counts_its_attempts(keep: Keep) -> None:
    seen: list[tuple[str, int]] = []
    inside = asyncio.Event()

    async def once(_arguments: Mapping[str, Any], run_: Run) -> str:
        seen.append((run_.idempotency_key, run_.attempt))
        if len(seen) == 1:
            inside.set()
            await asyncio.Event().wait()
        return "done"

    async def main() -> None:
        tools = Toolbox(PlainTool("once", once, traits=Traits("idempotent")))
        journal = await keep.store.create()
        async with Session(ScriptedModel(turn(call("once"))), tools, journal=journal, mode="bypass") as session:
            session.post(Prompt("go"))
            await inside.wait()
            await on_disk(journal)
            after = keep.crashed()
            session.post(Interrupt())
        model = ScriptedModel(otherwise=turn(say("ok")))
        async with Session(model, tools, journal=await after.store.open(), mode="bypass") as again:
            await again.send(Continue())
            assert results(again.messages) == {"call_1": "done"}
        (first, one), (second, two) = seen
        assert first == second == f"{session.id}/a1/call_1"
        assert (one, two) == (1, 2)

    run(main())


@pytest.mark.spec("TRS-7")
def test_in_a_message_that_was_not_whole_unstarted_calls_never_start(keep: Keep) -> None:
    async def main() -> None:
        journal = await keep.store.create()
        half = turn(call("note", what="n"), call("look"), pause(3600))
        async with await keep.session(ScriptedModel(half), journal, mode="bypass") as session:
            session.post(Prompt("go"))
            await keep.look.entered()
            await on_disk(journal)
            after = keep.crashed()
            session.post(Interrupt())
        model = ScriptedModel(otherwise=turn(say("ok")))
        async with await after.session(model, await after.store.open()) as again:
            await again.send(Continue())
            told = results(again.messages)
            assert told["call_1"].startswith("Never started: the program ended while the message was still arriving.")
            assert told["call_2"].startswith("Outcome unknown")
            assert after.ran == []

    run(main())


@pytest.mark.spec("TRS-7", "TRS-10")
def test_a_clean_close_in_the_middle_of_a_message_leaves_what_a_kill_leaves(keep: Keep) -> None:
    async def told(at: Keep) -> tuple[Any, ...]:
        listed = at.store.list()[0].about
        async with await at.session(ScriptedModel(otherwise=turn(say("ok"))), await at.store.open()) as again:
            status = again.status
            await again.send(Continue())
            texts = [message.text for message in again.messages]
            kinds = [type(event).__name__ for _, event in await again.events_after(0)]
            return listed.asking, listed.unfinished, status, results(again.messages), texts, kinds

    async def main() -> None:
        journal = await keep.store.create()
        scene = turn(say("First I write a note. "), call("note", what="n"), pause(3600))
        async with await keep.session(ScriptedModel(scene), journal) as session:
            session.post(Prompt("go"))
            draft = journal.path.with_suffix(".draft")
            await until(lambda: bool(session.questions) and draft.exists())
            await on_disk(journal)
            killed = keep.crashed()
        closed = await told(keep)
        assert closed == await told(killed)
        assert closed[:3] == (False, True, "paused")
        assert closed[3]["call_1"].startswith("Never started: the program ended while the message was still arriving.")

    run(main())


@pytest.mark.spec("TRS-7", "TRS-10")
def test_an_open_question_is_asked_again_and_its_answer_is_taken_once(keep: Keep) -> None:
    async def main() -> None:
        model = ScriptedModel(turn(call("note", what="x"), call("note", what="y")))
        journal = await keep.store.create()
        async with await keep.session(model, journal) as session:
            await session.send(Prompt("go"))
            assert session.status == "waiting_confirmation"
            first = session.questions[0]
            after = keep.crashed()
            session.post(Interrupt())
        async with await after.session(ScriptedModel(otherwise=turn(say("ok"))), await after.store.open()) as again:
            assert (again.status, again.questions) == ("paused", ())
            asked = [event.question for event in await again.send(Continue()) if isinstance(event, QuestionAsked)]
            assert asked[0].arguments == first.arguments
            events = await again.send(Answer(asked[0].yes()))
            twice = [event async for event in again.send(Answer(asked[0].yes()))]
            assert any(isinstance(event, InputRefused) for event in twice)
            for question in again.questions:
                events += await again.send(Answer(question.no("not now")))
            assert [what for what, _, _ in after.ran] == ["x"]
            assert results(again.messages)["call_1"] == "noted x"
            assert "not now" in results(again.messages)["call_2"]

    run(main())


@pytest.mark.spec("TRS-7", "TRS-10")
def test_an_open_question_survives_that_the_session_is_closed(keep: Keep) -> None:
    async def main() -> None:
        both = turn(call("held"), call("note", what="x"), call("read", what="r"))
        async with await keep.session(ScriptedModel(both)) as session:
            await session.send(Prompt("go"))
            first = next(each for each in session.questions if each.tool == "held")
            session.post(Answer(first.yes()))
            await keep.held.entered()
        assert keep.store.list()[0].about.asking
        async with await keep.session(ScriptedModel(otherwise=turn(say("ok"))), await keep.store.open()) as again:
            assert again.status == "paused"
            await again.send(Continue())
            assert [question.tool for question in again.questions] == ["note"]
            await again.send(Answer(again.questions[0].yes()))
            told = results(again.messages)
            assert told["call_1"].startswith(
                "The session was closed. The call was interrupted and may have partly run."
            )
            assert told["call_2"] == "noted x"
            assert again.status == "idle"

    run(main())


@pytest.mark.spec("TRS-7")
def test_an_interrupt_before_the_open_turn_is_taken_up_gives_its_calls_a_result(keep: Keep) -> None:
    async def main() -> None:
        async with await keep.session(ScriptedModel(turn(call("note", what="x")))) as session:
            await session.send(Prompt("go"))
            assert session.questions
        async with await keep.session(ScriptedModel(), await keep.store.open()) as again:
            reply = again.send(Continue())
            again.post(Interrupt())
            await reply
            assert again.status == "idle"
            assert "Interrupted" in results(again.messages)["call_1"]
            assert not again.questions

    run(main())


@pytest.mark.spec("TRS-7", "TRS-10")
def test_an_open_question_survives_that_the_program_just_ends(keep: Keep) -> None:
    async def first() -> None:
        session = await keep.session(ScriptedModel(turn(call("note", what="x"))))
        await session.send(Prompt("go"))
        assert session.status == "waiting_confirmation"

    async def second() -> None:
        async with await keep.session(ScriptedModel(otherwise=turn(say("ok"))), await opened(keep)) as again:
            await again.send(Continue())
            assert [question.tool for question in again.questions] == ["note"]
            await again.send(Answer(again.questions[0].no()))

    run(first())
    run(second())


@pytest.mark.spec("PRV-13")
def test_a_providers_data_on_a_call_survives_a_crash_in_the_middle_of_its_message(keep: Keep) -> None:
    kept = Opaque("gemini", {"thoughtSignature": "AKIAIOSFODNN7EXAMPLE"})

    async def main() -> None:
        scene = turn(raw_call("look", {"what": "x"}, kept=kept), pause(3600))
        journal = await keep.store.create()
        async with await keep.session(ScriptedModel(scene), journal) as session:
            session.post(Prompt("go"))
            await until(lambda: journal.path.exists() and "call_arrived" in journal.path.read_text())
            after = keep.crashed()
            session.post(Interrupt())
        model = ScriptedModel(otherwise=turn(say("And so on.")))
        async with await after.session(model, await after.store.open()) as again:
            await again.send(Continue())
        parts = [part for message in model.requests[0].messages for part in message.calls]
        assert [part.kept for part in parts] == [kept]

    run(main())


@pytest.mark.spec("TRS-10")
def test_half_an_answer_is_gone_on_with(keep: Keep) -> None:
    async def main() -> None:
        journal = await keep.store.create()
        scene = turn(say("今天天气很好，我们先看一下价格表，然后再修改设置文件。"), pause(3600))
        async with await keep.session(ScriptedModel(scene), journal) as session:
            session.post(Prompt("go"))
            draft = journal.path.with_suffix(".draft")
            await until(draft.exists)
            after = keep.crashed()
            session.post(Interrupt())
        model = ScriptedModel(otherwise=turn(say("And so on.")))
        async with await after.session(model, await after.store.open()) as again:
            await again.send(Continue())
            texts = [message.text for message in again.messages]
            assert texts[1].startswith("今天天气很好")
            assert texts[2] == CONTINUE_TEXT
            assert texts[3] == "And so on."

    run(main())


def test_a_journal_is_for_one_session(keep: Keep) -> None:
    async def main() -> None:
        journal = await keep.store.create()
        async with await keep.session(ScriptedModel(), journal):
            with pytest.raises(StateError, match="another Session"):
                Session(ScriptedModel(), [], journal=journal)
        with pytest.raises(StateError, match="closed"):
            Session(ScriptedModel(), [], journal=journal)
        with pytest.raises(UsageError, match=r"await store.create\(\)"):
            Session(ScriptedModel(), [], journal=keep.store.create())  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="not Store"):
            Session(ScriptedModel(), [], journal=keep.store)  # type: ignore[arg-type]

    run(main())


@pytest.mark.spec("TRS-10")
def test_a_prompt_without_an_answer_is_paused_and_continue_asks_the_model(keep: Keep) -> None:
    async def main() -> None:
        journal = await keep.store.create()
        async with await keep.session(ScriptedModel(turn(pause(3600), say("never"))), journal) as session:
            session.post(Prompt("what is it?"))
            await until(lambda: journal.path.exists() and "turn_started" in journal.path.read_text())
            after = keep.crashed()
            session.post(Interrupt())
        assert after.store.list()[0].about.unfinished
        async with await after.session(ScriptedModel(turn(say("This."))), await after.store.open()) as again:
            assert again.status == "paused"
            await again.send(Continue())
            assert [message.text for message in again.messages] == ["what is it?", "This."]
            assert again.status == "idle"

    run(main())


@pytest.mark.spec("TRS-3", "TRS-7")
def test_text_that_had_streamed_before_a_crash_is_in_the_history(keep: Keep) -> None:
    async def main() -> None:
        journal = await keep.store.create()
        scene = turn(
            say("Let me look at this. "), call("look"), say("And then at that, because it matters. "), pause(3600)
        )
        async with await keep.session(ScriptedModel(scene), journal) as session:
            session.post(Prompt("go"))
            await keep.look.entered()
            draft = journal.path.with_suffix(".draft")
            await until(lambda: "matters" in (draft.read_text() if draft.exists() else ""))
            await on_disk(journal)
            after = keep.crashed()
            session.post(Interrupt())
        assert not draft.exists(), "the message itself is on record"
        async with await after.session(ScriptedModel(otherwise=turn(say("ok"))), await after.store.open()) as again:
            await again.send(Continue())
            said = again.messages[1]
            assert [type(part).__name__ for part in said.parts] == ["Text", "CallPart", "Text"]
            assert said.text.startswith("Let me look at this. And then at that,")

    run(main())


@pytest.mark.spec("TRS-13")
def test_secrets_are_in_no_file_and_a_call_that_held_one_is_not_taken_up_again(
    keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "correct-horse-battery-staple")

    async def leak(_arguments: Mapping[str, Any], _run: Run) -> str:
        return "the token is correct-horse-battery-staple"

    async def main() -> None:
        note = PlainTool("note", keep.note, traits=Traits("mutating", shared))
        tools = Toolbox(keep.held, PlainTool("leak", leak, traits=Traits("none")), note)
        journal = await keep.store.create()
        scene = turn(say(f"use {SECRET} now"), call("leak"), call("held"), call("note", what=SECRET))
        async with Session(ScriptedModel(scene), tools, journal=journal) as session:
            await session.send(Prompt(f"my key is {SECRET}"))
            await on_disk(journal)
            after = keep.crashed()
            session.post(Interrupt())
        everything = b"".join(path.read_bytes() for path in keep.folder.rglob("*") if path.is_file())
        assert SECRET.encode() not in everything
        assert b"correct-horse-battery-staple" not in everything
        assert b"[masked" in everything
        async with Session(ScriptedModel(otherwise=turn(say("ok"))), tools, journal=await after.store.open()) as again:
            await again.send(Continue())
            for question in again.questions:
                await again.send(Answer(question.no()))
            assert "contained a secret" in results(again.messages)["call_3"]
        assert keep.ran == []

    run(main())


@pytest.mark.spec("TRS-4")
def test_a_record_that_cannot_be_written_pauses_the_session_and_continue_tries_again(
    keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = [False]
    real = os.pwrite

    def pwrite(fd: int, data: bytes, offset: int) -> int:
        if full[0]:
            real(fd, bytes(data[:5]), offset)
            raise OSError(28, "No space left on device")
        return real(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", pwrite)
    monkeypatch.setattr("callgate.transcript.writer.PATIENCE", ())

    async def main() -> None:
        journal = await keep.store.create()
        async with await keep.session(ScriptedModel(turn(say("A")), turn(say("B"))), journal, mode="bypass") as session:
            await session.send(Prompt("one"))
            await on_disk(journal)
            sound = journal.path.read_bytes()
            full[0] = True
            with pytest.raises(JournalError, match="free some space"):
                await session.send(Prompt("two"))
            assert session.status == "paused"
            assert journal.path.read_bytes() == sound, "no half line"
            full[0] = False
            await session.send(Continue())
            assert [message.text for message in session.messages] == ["one", "A", "two", "B"]
        assert keep.store.read().damages == []
        assert len([line for line in journal.path.read_bytes().splitlines() if json.loads(line)]) > 5

    run(main())


@pytest.mark.spec("TRS-5")
def test_damage_is_kept_beside_the_log_and_on_record(keep: Keep) -> None:
    async def main() -> None:
        async with await keep.session(ScriptedModel(turn(say("A")), turn(say("B")))) as session:
            await session.send(Prompt("one"))
        log = keep.store.find()
        lines = log.read_bytes().split(b"\n")
        lines[3] = lines[3][:-7] + b"#######"
        log.write_bytes(b"\n".join(lines) + b'{"v":1,"n":99,"to')
        journal = await keep.store.open()
        assert [damage.why for damage in journal.damages] == [
            "its checksum does not match" if lines[3].endswith(b'"}') else "its end is invalid",
            "its end is invalid",
        ]
        async with await keep.session(ScriptedModel(turn(say("B"))), journal) as again:
            assert again.messages[0].text == "one"
            await again.send(Prompt("two"))
            assert again.messages[-1].text == "B"
        broken = log.with_name(f"{log.name}.broken")
        assert b"#######" in broken.read_bytes()
        assert broken.stat().st_mode & 0o777 == 0o600
        assert "lines_quarantined" in log.read_text()
        assert keep.store.read().new_damages == []

    run(main())


@pytest.mark.spec("TRS-13")
def test_artifacts_of_a_kept_session_lie_beside_its_log_and_hold_no_secrets(keep: Keep) -> None:
    @tool(effects="none")
    def long() -> str:
        """Say much."""
        return f"{SECRET} " + "x" * 100_000

    async def main() -> None:
        journal = await keep.store.create()
        async with Session(ScriptedModel(turn(call("long")), turn(say("ok"))), [long], journal=journal) as session:
            await session.send(Prompt("go"))
        (artifact,) = (journal.path.with_suffix("") / "artifacts").iterdir()
        assert artifact.stat().st_size > 100_000
        assert SECRET not in artifact.read_text()

    run(main())
