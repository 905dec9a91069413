"""The gate inside the executor: failing checks, changed arguments, timers and counters."""

import asyncio
from typing import Any

import pytest

from callgate import Session
from callgate.assembly import DecisionGate
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal
from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Check, Hooked
from callgate.features import compaction_feature
from callgate.testing import PlainTool, ScriptedModel, run_virtual, say, settle, turn
from callgate.testing import call as called
from callgate.transcript.question_fold import QuestionFold
from callgate.words.decisions import Allow, Ask, Choice, Deny, Question, arguments_hash
from callgate.words.events import CallArrived, CallDecided, Durable, QuestionAsked, TurnStarted
from callgate.words.inputs import Answer, Compact, Prompt, SetMode
from callgate.words.traits import Traits, shared
from tests.core.kit import Desk, answer, call, virtual_host

FREE = Traits("mutating", shared)


def asking(case: Case) -> Ask:
    return Ask("test", "look at it")


# ---- a gate that fails -------------------------------------------------------------------------------------------


def broken_choices(case: Case) -> tuple[Choice, ...]:
    raise RuntimeError("no choices")


@pytest.mark.spec("EXE-24")
async def test_a_gate_that_cannot_say_what_always_means_does_not_hang_the_call() -> None:
    desk = Desk(PlainTool("do", traits=FREE), gate=CheckGate([Check("ask", asking)], choices=broken_choices))
    desk.add(call("c1", "do"))
    desk.executor.close()
    try:
        await asyncio.wait_for(desk.executor.stalled(), 100)
    except TimeoutError:
        pytest.fail("it moves for ever")
    finally:
        await desk.executor.aclose()


@pytest.mark.spec("EXE-24")
async def test_a_gate_that_fails_after_the_hooks_for_a_question_does_not_hang_the_call() -> None:
    async def nobody(case: Case, ask: Ask) -> None:
        await asyncio.sleep(0)

    gate = CheckGate([Check("ask", asking)], choices=broken_choices, requested=nobody)
    desk = Desk(PlainTool("do", traits=FREE), gate=gate)
    desk.add(call("c1", "do"))
    desk.executor.close()
    try:
        await asyncio.wait_for(desk.executor.stalled(), 100)
    except TimeoutError:
        pytest.fail("it moves for ever")
    finally:
        await desk.executor.aclose()


# ---- several checks that speak for hooks -------------------------------------------------------------------------


@pytest.mark.spec("EXE-22", "HOOK-1")
async def test_an_allow_of_a_hook_is_not_for_arguments_that_another_one_put_in_later() -> None:
    def allows(case: Case) -> Hooked | None:
        return None if case.hooked else Hooked("first", Allow("first", "it is only a look"))

    def changes(case: Case) -> Hooked | None:
        return Hooked("second", arguments={"path": "elsewhere"}) if case.arguments != {"path": "elsewhere"} else None

    def judge(case: Case) -> Allow | Ask:
        said = case.hooked and case.hooked.decision
        return said if isinstance(said, Allow) else Ask("default", "nobody has allowed this")

    gate = DecisionGate([Check("one", allows), Check("two", changes), Check("rest", judge)])
    ran: list[Any] = []
    desk = Desk(PlainTool("do", lambda a, _run: ran.append(dict(a)) or "done", traits=FREE), gate=gate)
    await desk.begin(call("c1", "do", path="here"))
    asked = desk.executor.questions
    await desk.executor.aclose()
    assert ran == []
    assert [each.arguments for each in asked] == [{"path": "elsewhere"}]


@pytest.mark.spec("GATE-6")
async def test_a_standing_question_is_for_a_person_whatever_the_gate_is_made_of() -> None:
    """The port says that somebody may answer in a person's place; what is asked every time is for a person."""

    async def obliging(case: Case, ask: Ask) -> Allow:
        return Allow("hook", "why not")

    def guard(case: Case) -> Ask:
        return Ask("hard safety", "look at it", unconditional=True)

    gate = DecisionGate([Check("guard", guard, again=True)], requested=obliging)
    ran: list[str] = []
    desk = Desk(PlainTool("do", lambda _a, run: ran.append(run.call_id) or "done", traits=FREE), gate=gate)
    await desk.begin(call("c1", "do"))
    await desk.executor.aclose()
    assert ran == []


@pytest.mark.spec("EXE-22")
async def test_a_check_that_takes_its_time_is_heard_after_a_change_of_the_mode_too() -> None:
    async def plan(case: Case) -> Deny | None:
        await asyncio.sleep(0)
        return Deny("plan", "nothing is changed now") if case.mode == "plan" else None

    gate = DecisionGate([Check("plan", plan, again=True), Check("ask", asking)])
    ran: list[str] = []
    do = PlainTool("do", lambda _a, run: ran.append(run.call_id) or "done", traits=FREE)
    session = Session(ScriptedModel(turn(called("do")), turn(say("Done."))), [do], host=virtual_host(), gate=gate)
    await session.send(Prompt("go"))
    (question,) = session.questions
    await session.send(SetMode("plan"))
    await session.send(Answer(question.yes()), until="idle")
    await session.aclose()
    assert ran == []


# ---- deadlines ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("GATE-9")
async def test_no_timer_of_a_question_outlives_it() -> None:
    desk = Desk(PlainTool("do", traits=FREE), gate=DecisionGate([Check("ask", asking)]), patience=500.0)
    await desk.begin(call("c1", "do"), call("c2", "do"), call("c3", "do"))
    first, _second, _third = desk.executor.questions
    assert desk.executor.answer(answer(first, "no")) is None
    desk.executor.cancel("c2")
    await settle()
    await desk.executor.aclose()
    timers = [each for each in vars_of(asyncio.get_running_loop()) if not each.cancelled()]
    assert timers == []


def vars_of(loop: Any) -> list[Any]:
    return list(loop._scheduled)


# ---- what is on record --------------------------------------------------------------------------------------------


def _asked(path: tuple[str, ...], call_id: str) -> list[Durable]:
    hashed = arguments_hash("do", {})
    question = Question(
        call_id=call_id, tool="do", arguments={}, arguments_hash=hashed, by="test", reason="", asked_at=1.0, path=path
    )
    return [
        CallArrived(at=1.0, call_id=call_id, name="do", arguments={}, index=0, message_id="a1", arguments_hash=hashed),
        CallDecided(1.0, call_id, Ask("test"), hashed),
        QuestionAsked(1.0, question),
    ]


@pytest.mark.spec("GATE-8")
@pytest.mark.parametrize("path", [(), ("reviewer",)], ids=["root", "nested"])
def test_a_question_that_another_answer_decided_is_open_no_longer(path: tuple[str, ...]) -> None:
    questions = QuestionFold([TurnStarted(0.0, 1, "a1"), *_asked(path, "c1")])
    assert len(questions.open) == 1
    questions.fold(CallDecided(2.0, "c1", Allow("a policy"), arguments_hash("do", {})))
    assert questions.open == {}


@pytest.mark.spec("GATE-8")
def test_a_question_asked_again_by_a_session_that_is_nested_no_longer_is_one_question() -> None:
    """A session that worked inside another is resumed on its own: its questions have no path now."""
    again = _asked((), "c1")[-1]
    questions = QuestionFold([TurnStarted(0.0, 1, "a1"), *_asked(("reviewer",), "c1"), again])
    assert len(questions.open) == 1


def test_what_the_loop_guard_remembers_is_on_record_over_a_boundary_too() -> None:
    async def main() -> None:
        journal = MemoryJournal()
        look = PlainTool("look", traits=Traits("none", shared))
        model = ScriptedModel(turn(called("look", at="a")), turn(say("Done.")))
        session = Session(
            model, [look], host=virtual_host(), journal=journal, features=[compaction_feature(lambda h, w: "short")]
        )
        await session.send(Prompt("go"), until="idle")
        await session.send(Compact())
        ledger: Ledger = vars(session)["_record"].ledger
        await session.aclose()
        assert list(Ledger(journal.read()).recent) == list(ledger.recent)

    run_virtual(main())


@pytest.mark.spec("GATE-10")
def test_denials_are_counted_the_same_from_the_record() -> None:
    async def main() -> None:
        journal = MemoryJournal()

        def never(case: Case) -> Deny:
            return Deny("rule", "never")

        model = ScriptedModel(*[turn(called("do", n=n)) for n in range(3)], turn(say("Done.")))
        gate = DecisionGate([Check("rule", never)])
        do = PlainTool("do", traits=FREE)
        session = Session(model, [do], host=virtual_host(), journal=journal, gate=gate)
        await session.send(Prompt("go"))
        assert session.status == "paused"
        await session.send(Prompt("go on"), until="idle")
        ledger: Ledger = vars(session)["_record"].ledger
        await session.aclose()
        again = Ledger(journal.read())
        assert (again.denied, again.denied_in_a_row) == (ledger.denied, ledger.denied_in_a_row) == (0, 0)

    run_virtual(main())
