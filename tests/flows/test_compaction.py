"""Compaction in sessions: when it happens, what is on record, and what is done when it fails."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from callgate import Continue, Interrupt, ModelSetup, Nesting, Prompt, Session, Steer, Store
from callgate.assembly.settings import hooks_feature
from callgate.config import load_config
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Run
from callgate.testing import MemoryHost, PlainTool, ScriptedModel, call, say, turn
from callgate.testing.script import ScriptedTurn, cut_off, fail, pause, stop
from callgate.words.errors import ModelError
from callgate.words.events import Durable, InputRefused
from callgate.words.inputs import Branch, Compact
from callgate.words.limits import LoopLimits
from callgate.words.messages import Message, ResultPart, Spent, Usage
from callgate.words.model import Abilities, Request, RequestLimits
from callgate.words.traits import Traits, shared
from callgate.words.turns import Compacted
from tests.flows.compacting import (
    BIG,
    DONE,
    LOOK,
    SMALL,
    SUMMARY,
    Heard,
    ended,
    is_summary,
    looks,
    port,
    scripted,
    sent,
    session_on,
)
from tests.flows.gated import hooked
from tests.history import faults


async def talked(session: Session, *prompts: str) -> Heard:
    heard = Heard(session)
    for text in prompts:
        await session.send(Prompt(text))
    return heard


# ---- automatic --------------------------------------------------------------------------------------------------


@pytest.mark.spec("CMP-1", "CMP-6", "CMP-8")
async def test_a_history_that_would_pass_the_limit_is_summed_up_before_the_request() -> None:
    model, journal = scripted(BIG, SUMMARY, DONE, DONE), MemoryJournal()
    async with session_on(model, journal=journal) as session:
        heard = await talked(session, "tidy up")
        (boundary,) = heard.boundaries
        assert is_summary(model.requests[1])
        assert model.requests[1].tools == ()
        assert "tidy up" in model.requests[1].messages[0].text
        assert boundary.trigger == "automatic"
        assert boundary.tokens_before > 8_750
        assert boundary.tokens_after < 1_000
        assert (boundary.covered, boundary.kept, boundary.focus) == (3, None, "")
        assert (boundary.model, boundary.usage) == ("scripted", Usage(input=700, output=30))
        assert session.usage == Usage(input=700, output=30)
        assert "Goal" in boundary.summary
        assert "tidy up" in boundary.restored, "what is worked on is not left to a summary"
        (sent_on,) = model.requests[2].messages
        assert sent_on.text == f"{boundary.summary}\n\n{boundary.restored}"
        assert sent(session.messages) == ["a2"]
        assert ended(heard) == ["done"]
    async with session_on(scripted(DONE), journal=journal) as again:
        assert sent(again.messages) == ["a2"]
        await again.send(Prompt("and on"))
        assert faults(list(again.messages)) != [], "the summary is before them"


@pytest.mark.spec("CMP-1", "CMP-6")
async def test_a_prompt_that_has_no_answer_yet_and_a_short_tail_stay_as_they_are() -> None:
    model = scripted(turn(say("w" * 15_000), call("Look", size=10)), DONE, looks(10), DONE, SUMMARY, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "one", "two", "n" * 17_000)
        (boundary,) = heard.boundaries
        assert (boundary.covered, boundary.kept) == (3, "a2")
        texts = [message.text for message in model.requests[-1].messages]
        assert texts[1:3] == ["Done.", "two"]
        assert texts[-1] == "n" * 17_000
        assert faults(list(model.requests[-1].messages)) == []


@pytest.mark.spec("CMP-1", "CMP-6")
async def test_results_that_the_model_has_not_seen_stay_if_there_is_room() -> None:
    model = scripted(turn(say("w" * 21_000), call("Look", size=7_000)), looks(7_500), SUMMARY, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "go")
        (boundary,) = heard.boundaries
        assert (boundary.covered, boundary.kept) == (3, "a2")
        summary, *rest = model.requests[-1].messages
        assert "Goal" in summary.text
        assert [message.role for message in rest] == ["assistant", "tool"]


@pytest.mark.spec("CMP-6")
async def test_words_that_were_typed_meanwhile_are_part_of_the_growth() -> None:
    def meanwhile(request: Request) -> ScriptedTurn:
        session.post(Steer("s" * 12_000))
        return looks(100)

    model = scripted(turn(say("w" * 14_000), call("Look", size=6_000)), meanwhile, SUMMARY, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "go")
        (boundary,) = heard.boundaries
        assert boundary.tokens_before > 8_750
        assert model.requests[-1].messages[-1].text == "s" * 12_000


@pytest.mark.spec("CMP-1", "CMP-6")
async def test_old_results_are_cut_first_if_that_is_enough() -> None:
    scenes = (looks(3_900, 3_900), looks(7_900), looks(7_800), *(DONE for _ in range(6)), looks(7_900), DONE, DONE)
    model = scripted(*scenes)
    async with session_on(model) as session:
        heard = await talked(session, "one", *(f"{n}" for n in range(5)))
        assert not heard.replaced
        await session.send(Prompt("more"))
        assert heard.replaced == ["call_1", "call_2", "call_3", "call_4"]
        assert heard.boundaries == []
        assert not any(map(is_summary, model.requests))
        assert session.controls.context_use().count.total < 5_500
        await session.send(Prompt("again"))
        assert heard.replaced == ["call_1", "call_2", "call_3", "call_4"], "once"
        last, before = (list(request.messages) for request in model.requests[-1:-3:-1])
        assert last[: len(before)] == before, "the same bytes ever after"


@pytest.mark.spec("CMP-4", "CMP-6")
async def test_the_count_of_the_provider_and_what_came_since_decide() -> None:
    counts = (Usage(input=8_700, output=10), Usage(input=8_760, output=5))
    model = scripted(*(turn(say("ok"), stop("end", count)) for count in counts), SUMMARY, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "a short history, of which the provider counts many tokens")
        count = session.controls.context_use().count
        assert (count.reported, count.estimated) == (8_710, 0)
        await session.send(Prompt("and"))
        assert not any("compacted:" in note for note in heard.notes)
        await session.send(Prompt("on"))
        assert any("not shorter" in note for note in heard.notes)


@pytest.mark.spec("CMP-5")
async def test_a_model_without_a_known_window_is_left_alone_and_one_that_is_nearly_full_is_warned_of_once() -> None:
    unknown = ScriptedModel(looks(29_000), looks(29_000), DONE)
    async with session_on(unknown) as session:
        heard = await talked(session, "go")
        assert heard.notes == []
        assert session.controls.context_use().limits is None
    model = scripted(turn(say("w" * 19_000), call("Look", size=7_000)), DONE, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "go", "on")
        (note,) = heard.notes
        assert "nearly full" in note
        assert "8,750" in note


@pytest.mark.spec("CMP-5")
async def test_what_does_not_fit_is_not_sent_and_the_reason_says_what_to_do() -> None:
    model = scripted(DONE)
    async with session_on(model, system="s" * 60_000) as session:
        heard = await talked(session, "go")
        assert ended(heard) == ["context_full"]
        assert "larger window" in heard.last_end.sentence
    assert model.requests == []
    async with session_on(model) as session:
        heard = await talked(session, "p" * 50_000)
        assert ended(heard) == ["context_full"]
        assert any("the last messages are too long" in note for note in heard.notes)
    limits = RequestLimits(max_output_tokens=1_000)
    async with session_on(model, request_limits=limits) as session:
        use = session.controls.context_use()
        assert use.limits is not None
        assert use.limits.usable == 15_000


# ---- failures ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("CMP-3")
async def test_three_failures_in_a_row_switch_it_off_and_a_compact_that_works_switches_it_on() -> None:
    failures = [turn(say("I"), failure) for failure in (fail("overloaded"), cut_off(), stop("refusal"))]
    model = scripted(BIG, failures[0], DONE, failures[1], DONE, failures[2], DONE, DONE, SUMMARY, BIG, SUMMARY, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "go", "1", "2", "3")
        assert [is_summary(request) for request in model.requests] == [False, *(True, False) * 3, False]
        assert heard.boundaries == []
        assert len(session.messages) == 10, "nothing is changed"
        failed = [note for note in heard.notes if "could not be compacted" in note]
        assert ["overloaded" in failed[0], "cut off" in failed[1], "refused" in failed[2]] == [True] * 3
        assert ["send Compact" in note for note in failed] == [False, False, True]
        assert not await port(session).too_long(model)
        await session.send(Compact())
        assert len(heard.boundaries) == 1
        await session.send(Prompt("again"))
        assert [boundary.trigger for boundary in heard.boundaries] == ["manual", "automatic"]


@pytest.mark.spec("CMP-3")
async def test_a_compaction_that_does_not_get_smaller_is_a_failure_and_comes_to_an_end() -> None:
    def endless(request: Request) -> ScriptedTurn:
        return turn(say("y" * 45_000)) if is_summary(request) else looks(len(model.requests))

    model = scripted(BIG, *(endless for _ in range(40)))
    async with session_on(model, limits=LoopLimits(max_turns=20)) as session:
        heard = await talked(session, "go")
        assert sum(map(is_summary, model.requests)) == 3
        assert len(model.requests) == 23
        assert heard.boundaries == []
        assert "not shorter" in heard.notes[0]
        assert ended(heard) == ["limit"]


@pytest.mark.spec("CMP-3")
async def test_a_compaction_that_is_not_enough_is_a_failure_too() -> None:
    def wordy(request: Request) -> ScriptedTurn:
        return turn(say("s" * 5_500 if is_summary(request) else "a" * 3_000))

    model = scripted(*(wordy for _ in range(30)))
    async with session_on(model, system="s" * 31_000) as session:
        heard = await talked(session, "u" * 2_000, *(str(n) * 300 for n in range(8)))
        assert 1 <= len(heard.boundaries) <= 3
        assert sum("the history still has" in note for note in heard.notes) >= 1
        assert sum("could not be compacted" in note for note in heard.notes) == 3
        assert sum("automatic compaction stops" in note for note in heard.notes) == 1


@pytest.mark.spec("CMP-5")
async def test_where_system_prompt_and_tools_take_most_of_a_small_window_messages_have_half_of_the_rest() -> None:
    model = scripted(*(DONE for _ in range(9)), SUMMARY, DONE)
    async with session_on(model, system="s" * 31_000) as session:
        limits = session.controls.context_use().limits
        assert limits is not None
        assert limits.automatic == pytest.approx((31_000 / 3.5 + limits.refusal) / 2, rel=0.02)
        heard = await talked(session, *(f"{n}" * 400 for n in range(10)))
        assert len(heard.boundaries) == 1
        assert not any("could not" in note for note in heard.notes)


@pytest.mark.spec("CMP-1")
async def test_the_summary_of_a_model_that_calls_tools_or_says_nothing_is_none() -> None:
    model = scripted(looks(10), DONE, looks(3), turn(say("  \n ")))
    async with session_on(model) as session:
        await talked(session, "go")
        for _ in range(2):
            (refused,) = [event for event in await session.send(Compact()) if isinstance(event, InputRefused)]
            assert "empty" in refused.reason
        assert len(session.messages) == 4


@pytest.mark.spec("CMP-1", "TRN-4")
async def test_an_interrupt_ends_the_summary_and_is_no_failure() -> None:
    started = asyncio.Event()

    def slow(request: Request) -> ScriptedTurn:
        assert is_summary(request)
        started.set()
        return turn(say("I was"), pause(60.0), say("late"))

    model = scripted(BIG, slow, slow, slow, slow, SUMMARY, DONE)
    async with session_on(model) as session:
        heard = Heard(session)
        session.post(Prompt("go"))
        for _ in range(4):
            await started.wait()
            started.clear()
            await session.send(Interrupt())
            assert ended(heard)[-1] == "interrupted"
            session.post(Continue())
        await session.send(Prompt("and"))
        assert not any("could not" in note for note in heard.notes)
        assert len(heard.boundaries) == 1
        assert ended(heard)[-1] == "done"
        slow_manual = scripted(DONE, slow)
    async with session_on(slow_manual) as session:
        await talked(session, "go")
        started.clear()
        reply = session.send(Compact())
        await started.wait()
        session.post(Interrupt())
        (refused,) = [event for event in await reply if isinstance(event, InputRefused)]
        assert refused.reason == "the compaction was interrupted"


@pytest.mark.spec("CMP-1")
async def test_a_session_that_closes_ends_the_summary_and_goes_on_another_time(tmp_path: Path) -> None:
    started = asyncio.Event()

    def slow(request: Request) -> ScriptedTurn:
        started.set()
        return turn(say("I was"), pause(60.0), say("late"))

    store = Store(tmp_path, tmp_path / "data")
    async with session_on(scripted(BIG, slow), journal=await store.create()) as session:
        session.post(Prompt("go"))
        await started.wait()
    model = scripted(SUMMARY, DONE)
    async with session_on(model, journal=await store.open()) as again:
        assert again.status == "paused"
        heard = Heard(again)
        await again.send(Continue())
        assert len(heard.boundaries) == 1
        assert ended(heard) == ["done"]


# ---- reactive and manual ----------------------------------------------------------------------------------------

TOO_LONG = turn(fail(ModelError("too long", kind="too_long")))


@pytest.mark.spec("CMP-1")
async def test_after_a_refusal_as_too_long_the_history_is_summed_up_also_without_a_known_window() -> None:
    model = ScriptedModel(BIG, TOO_LONG, TOO_LONG, SUMMARY, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "go")
        assert [boundary.trigger for boundary in heard.boundaries] == ["reactive"]
        first, second = (len(request.messages[0].text) for request in model.requests[2:4])
        assert second < first * 0.7, "the summary itself was asked for again with less"
        assert ended(heard) == ["done"]
        assert faults(list(model.requests[-1].messages)) == []


@pytest.mark.spec("CMP-1")
async def test_a_request_that_is_still_too_long_after_that_is_shown() -> None:
    model = ScriptedModel(BIG, TOO_LONG, SUMMARY, TOO_LONG)
    async with session_on(model) as session:
        heard = await talked(session, "go")
        assert len(heard.boundaries) == 1
        assert ended(heard) == ["context_full"]


@pytest.mark.spec("CMP-1")
async def test_a_summary_is_made_of_what_fits_and_says_what_was_left_out() -> None:
    model = ScriptedModel(*(DONE for _ in range(40)), TOO_LONG, TOO_LONG, TOO_LONG, SUMMARY)
    async with session_on(model) as session:
        heard = await talked(session, "THE GOAL", *(f"{n} " + "word " * 90 for n in range(39)))
        await session.send(Compact())
        (boundary,) = heard.boundaries
        asked = model.requests[-1].messages[0].text
        assert "THE GOAL" in asked
        assert "38 word" in asked
        assert "\n1 word" not in asked
        assert "messages are omitted here" in asked
        assert "older messages were too long for the summary" in boundary.summary


@pytest.mark.spec("CMP-1", "CMP-8")
async def test_a_person_says_what_the_summary_has_to_mind() -> None:
    model = ScriptedModel(looks(10), DONE, SUMMARY, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "go")
        await session.send(Compact("the failing tests", keep=1))
        (boundary,) = heard.boundaries
        assert (boundary.trigger, boundary.focus, boundary.covered) == ("manual", "the failing tests", 3)
        assert model.requests[-1].messages[0].text.endswith("focus on this: the failing tests")
        assert sent(session.messages) == ["a2"]


@pytest.mark.spec("CMP-1")
async def test_going_back_before_a_boundary_brings_all_back() -> None:
    model = scripted(looks(10), DONE, BIG, SUMMARY, DONE, DONE)
    async with session_on(model) as session:
        heard = await talked(session, "one")
        first = sent(session.messages)
        await session.send(Prompt("two"))
        assert len(heard.boundaries) == 1
        assert first[0] not in sent(session.messages)
        await session.send(Branch(first[-1]))
        assert sent(session.messages) == first
        await session.send(Prompt("three"))
        assert [message.text for message in model.requests[-1].messages if message.role == "user"] == ["one", "three"]


@pytest.mark.spec("CMP-1")
async def test_a_crash_between_the_summary_and_its_boundary_leaves_the_history_as_it_was() -> None:
    class Dying(MemoryJournal):
        def append(self, event: Durable) -> None:
            if isinstance(event, Compacted):
                kept.append(list(self.events))
            super().append(event)

    kept: list[list[Durable]] = []
    async with session_on(scripted(BIG, SUMMARY, DONE), journal=Dying()) as session:
        await talked(session, "one")
    (events,) = kept
    model = scripted(SUMMARY, DONE)
    async with session_on(model, journal=MemoryJournal(events, session="again")) as again:
        assert sent(again.messages) == ["u1", "a1", "r1"]
        assert again.status == "paused"
        heard = Heard(again)
        await again.send(Continue())
        assert len(heard.boundaries) == 1
        assert ended(heard) == ["done"]


@pytest.mark.spec("CMP-1")
async def test_a_fork_behind_a_boundary_begins_with_its_summary(tmp_path: Path) -> None:
    store = Store(tmp_path, tmp_path / "data")
    model = scripted(BIG, SUMMARY, DONE, DONE)
    async with session_on(model, journal=await store.create()) as session:
        heard = await talked(session, "one")
        (boundary,) = heard.boundaries
    async with session_on(model, journal=await store.fork()) as forked:
        await forked.send(Prompt("two"))
    texts = [message.text for message in model.requests[-1].messages]
    assert texts == [f"{boundary.summary}\n\n{boundary.restored}", "Done.", "two"]


# ---- who writes it ----------------------------------------------------------------------------------------------


@pytest.mark.spec("CMP-8")
@pytest.mark.parametrize(
    ("scene", "abilities", "by"),
    [
        pytest.param(SUMMARY, SMALL, "cheap", id="the cheaper one"),
        pytest.param(turn(fail("down")), SMALL, "scripted", id="or else the session's"),
        pytest.param(SUMMARY, Abilities(context_tokens=8_000), "scripted", id="also if the window is too small"),
    ],
)
async def test_a_cheaper_model_writes_the_summary_if_it_can(scene: ScriptedTurn, abilities: Abilities, by: str) -> None:
    def cheaply(request: Request) -> ScriptedTurn:
        return scene if is_summary(request) else turn(say("A title"))

    cheap = scripted(cheaply, cheaply, name="cheap", abilities=abilities)
    model = scripted(BIG, *(() if by == "cheap" else (SUMMARY,)), DONE)
    async with session_on(model, cheap=cheap) as session:
        heard = await talked(session, "go")
        assert [boundary.model for boundary in heard.boundaries] == [by]
        assert ended(heard) == ["done"]


@pytest.mark.spec("CMP-8", "TRN-6")
async def test_the_cost_of_a_summary_is_on_record_and_counts() -> None:
    def price(model: str, usage: Usage) -> float | None:
        return usage.input / 1_000

    async with session_on(scripted(BIG, SUMMARY, DONE), price=price) as session:
        heard = await talked(session, "go")
        assert [boundary.cost for boundary in heard.boundaries] == [0.7]
        assert session.cost == pytest.approx(0.7)


@pytest.mark.spec("CMP-8", "TRN-6")
async def test_attempts_at_a_summary_that_failed_are_paid_for_and_on_record() -> None:
    cut = turn(say("half of it"), stop("max_tokens", Usage(input=300)))
    gone = turn(fail("down"))

    def cheaply(request: Request) -> ScriptedTurn:
        return cut if is_summary(request) else gone

    cheap = scripted(cheaply, cheaply, name="cheap", abilities=SMALL)
    async with session_on(
        scripted(BIG, SUMMARY, DONE), cheap=cheap, price=lambda model, usage: usage.input / 1_000
    ) as session:
        heard = await talked(session, "go")
        assert [boundary.cost for boundary in heard.boundaries] == [0.7]
        assert Spent("cheap", Usage(input=300), 0.3) in session.costs
        assert session.cost == pytest.approx(1.0)


async def test_a_function_of_the_caller_comes_before_any_model() -> None:
    def summarize(messages: Sequence[Message], focus: str) -> str:
        return f"{len(messages)} messages"

    model = scripted(BIG, DONE)
    async with session_on(model, summarize=summarize) as session:
        heard = await talked(session, "go")
        (boundary,) = heard.boundaries
        assert (boundary.summary, boundary.model, boundary.usage) == ("3 messages", "", None)


# ---- inside other sessions --------------------------------------------------------------------------------------


@pytest.mark.spec("CMP-10")
async def test_the_compaction_of_a_nested_session_touches_its_own_view_alone() -> None:
    inner: list[Heard] = []

    async def delegate(arguments: Mapping[str, Any], run: Run) -> str:
        async with Session(scripted(BIG, DONE), [LOOK], nesting=Nesting(parent=outer)) as child:
            inner.append(Heard(child))
            await child.send(Prompt("go"))
            assert sent(child.messages) == ["a2"]
        return "done"

    model = ScriptedModel(turn(call("Delegate")), DONE, DONE)
    tools = [PlainTool("Delegate", delegate, traits=Traits("none", shared))]
    cheap = scripted(turn(say("A title")), SUMMARY, name="cheap")
    async with Session(ModelSetup(model, cheap=cheap), tools, host=MemoryHost()) as outer:
        heard = await talked(outer, "go")
        assert [boundary.model for boundary in inner[0].boundaries] == ["cheap"], "as the session around it"
        assert heard.boundaries == []
        assert [message.role for message in outer.messages] == ["user", "assistant", "tool", "assistant"]
        assert all(isinstance(part, ResultPart) for part in outer.messages[2].parts)


# ---- hooks and settings -----------------------------------------------------------------------------------------


async def test_hooks_are_told_the_trigger_and_may_prevent_it(tmp_path: Path) -> None:
    told: list[Any] = []

    async def hear(payload: dict[str, Any]) -> dict[str, Any] | None:
        told.append((payload["hook_event_name"], payload["trigger"]))
        return {"decision": "block", "reason": "not now"} if len(told) == 3 else None

    hooks = {"PreCompact": hear, "PostCompact": hear}
    model = scripted(BIG, SUMMARY, DONE, BIG, DONE)
    config = hooked(tmp_path, *hooks)
    async with Session(model, [LOOK], config=config, host=MemoryHost(), features=[hooks_feature(hooks)]) as session:
        heard = await talked(session, "go", "again")
        assert told == [("PreCompact", "automatic"), ("PostCompact", "automatic"), ("PreCompact", "automatic")]
        assert len(heard.boundaries) == 1
        assert any("not now" in note for note in heard.notes)


async def test_a_setting_leaves_it_to_people(tmp_path: Path) -> None:
    (tmp_path / "home/.config/callgate").mkdir(parents=True)
    (tmp_path / "home/.config/callgate/settings.toml").write_text("[session]\ncompact = false\n")
    config = load_config(tmp_path, home=tmp_path / "home", environ={}, managed=tmp_path / "none")
    model = scripted(BIG, DONE, SUMMARY)
    async with Session(model, [LOOK], config=config, host=MemoryHost()) as session:
        heard = await talked(session, "go")
        assert not await port(session).too_long(model)
        assert ["automatic compaction is off" in note for note in heard.notes] == [True]
        await session.send(Compact())
        assert len(heard.boundaries) == 1
