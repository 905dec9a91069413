"""A door may act on what it hears while it hears it: the engine is in the middle of a step then."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import fewer
from tests.properties.test_invariants import Schedule, check_everything, play, schedules

HEARD = (
    "CallArrived",
    "CallDecided",
    "QuestionAsked",
    "QuestionAnswered",
    "CallStarted",
    "CallSettled",
    "ContextUpdated",
    "CallReleased",
    "CallProgressed",
    "StrayFound",
)


@st.composite
def reacting(draw: st.DrawFn) -> Schedule:
    schedule = draw(schedules())
    which = st.integers(0, len(schedule.plans) - 1)
    reflexes = st.tuples(st.sampled_from(HEARD), which, st.sampled_from(("cancel", "interrupt", "steer", "reply")))
    return replace(schedule, reflexes=tuple(draw(st.lists(reflexes, min_size=1, max_size=3))))


@pytest.mark.spec("EXE-8", "EXE-13", "EXE-14", "CALL-3")
@given(reacting())
@fewer(25)
def test_a_listener_that_acts_at_once_keeps_every_promise(schedule: Schedule) -> None:
    played = play(schedule)
    check_everything(played)
