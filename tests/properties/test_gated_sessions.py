"""Whatever hooks, people, deadlines and crashes do: nothing runs that was not allowed, and all that is said is true."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callgate.testing import run_virtual
from callgate.transcript.question_fold import QuestionFold
from callgate.words.events import Durable, QuestionAnswered
from tests.profiles import fewer
from tests.properties.gated_stage import FORBIDDEN, GUARDED, Called, Deed, Life, Spoken

times = st.sampled_from((0.0, 0.0, 0.5, 1.0, 3.0))


def _called(inside: st.SearchStrategy[tuple[Called, ...]], tools: tuple[str, ...]) -> st.SearchStrategy[Called]:
    return st.builds(
        Called,
        tool=st.sampled_from(tools),
        where=st.sampled_from(("a", "a", "b", "c", FORBIDDEN, GUARDED)),
        lasts=times,
        before=st.sampled_from(
            ("", "", "", "allow", "ask", "deny", "stop", "change", "forbidden", "guarded", "fail", "hang")
        ),
        request=st.sampled_from(("", "", "", "", "allow", "deny", "stop", "change", "forbidden", "guarded", "fail")),
        after=st.sampled_from(("", "", "", "", "block", "stop")),
        hook_takes=times,
        reply=st.sampled_from(
            ("yes", "no", "stop", "always", "everything", "edit", "forbidden", "guarded", "odd", "left", "never")
        ),
        reply_after=times,
        twice=st.booleans(),
        level=st.integers(0, 3),
        inside=inside,
    )


leaves = _called(st.just(()), ("Look", "Put", "Do", "Do"))
none: st.SearchStrategy[tuple[Called, ...]] = st.just(())
deepest = _called(st.lists(leaves, min_size=1, max_size=2).map(tuple), ("Delegate",))
deeper = _called(st.lists(st.one_of(leaves, deepest), min_size=1, max_size=2).map(tuple), ("Delegate",))
deep = _called(st.lists(st.one_of(leaves, deeper), min_size=1, max_size=2).map(tuple), ("Delegate",))
flat = st.builds(Spoken, st.lists(leaves, max_size=3).map(tuple), times)
nested = st.builds(Spoken, st.lists(st.one_of(leaves, deep), min_size=1, max_size=3).map(tuple), times)
KINDS = ("prompt", "steer", "interrupt", "mode", "mode", "continue", "compact", "rewind", "branch")
deeds = st.builds(Deed, st.integers(0, 80).map(lambda n: n / 4), st.sampled_from(KINDS), st.integers(0, 4))
closing = st.builds(Deed, st.integers(0, 80).map(lambda n: n / 4), st.just("close"))
delays: Any = st.one_of(st.just(()), st.lists(st.sampled_from((None, 0.0, 0.5)), min_size=1, max_size=3).map(tuple))


def lived(*given: Any, **more: Any) -> Life:
    async def main() -> Life:
        return await Life(*given, **more).live()

    life = run_virtual(main())
    assert life.faults == []
    return life


@pytest.mark.spec("GATE-3b", "GATE-5", "GATE-6", "GATE-9", "GATE-10", "EXE-22", "EXE-24")
@given(st.lists(flat, min_size=1, max_size=3), st.lists(deeds, max_size=4), delays)
@fewer(25)
def test_whatever_hooks_and_people_say_nothing_runs_that_was_not_allowed(
    script: list[Spoken], done: list[Deed], delays: tuple[float | None, ...]
) -> None:
    lived(script, done, delays=delays)


@pytest.mark.spec("GATE-5", "GATE-9")
@given(st.lists(flat, min_size=1, max_size=2), st.lists(deeds, max_size=2), closing, st.booleans(), delays)
def test_a_session_with_a_gate_closes_at_any_time_and_leaves_nothing(
    script: list[Spoken], done: list[Deed], close: Deed, kept: bool, delays: tuple[float | None, ...]
) -> None:
    lived(script, [*done, close], kept=kept, delays=delays)


def _one_behind_another() -> list[Spoken]:
    """A call that was allowed, and starts the moment a question before it is closed."""
    first = Called("Put", "a", before="guarded", hook_takes=0.5, reply="never")
    return [Spoken((first, Called("Put", GUARDED, reply="yes", reply_after=1.0)))]


@pytest.mark.spec("GATE-5", "GATE-6", "EXE-22")
@example(_one_behind_another(), [(1, None)])
@given(
    st.lists(flat, min_size=1, max_size=2),
    st.lists(st.tuples(st.integers(1, 60), st.sampled_from((None, "yes", "no", "always"))), min_size=1, max_size=3),
)
@fewer(25)
def test_after_a_crash_at_any_line_what_was_decided_and_answered_stands(
    script: list[Spoken], cuts: list[tuple[int, str | None]]
) -> None:
    first = lived(script)
    events = first.journal.events
    for cut, answer in cuts:
        lived(script, events=answered(events[: cut % len(events) + 1], answer))


def answered(events: list[Durable], how: str | None) -> list[Durable]:
    """As if another program had answered the first open question while nobody had the session open."""
    questions = QuestionFold(events)
    runs = [asked.question for asked in questions.open.values() if questions.will_run(asked)]
    if how is None or not runs:
        return events
    question = runs[0]
    given = {"yes": question.yes, "no": question.no, "always": question.always}[how](by="Ann")
    return [*events, QuestionAnswered(events[-1].at, given)]


@pytest.mark.spec("GATE-7", "GATE-8")
@given(st.lists(nested, min_size=1, max_size=2), st.lists(deeds, max_size=3), delays)
@fewer(25)
def test_agents_inside_agents_ask_at_the_root_and_leave_nothing_behind(
    script: list[Spoken], done: list[Deed], delays: tuple[float | None, ...]
) -> None:
    lived(script, done, delays=delays)


@pytest.mark.spec("GATE-8")
@given(st.lists(nested, min_size=1, max_size=1), closing)
@fewer(25)
def test_a_root_closes_at_any_time_with_its_agents(script: list[Spoken], close: Deed) -> None:
    lived(script, [close])
