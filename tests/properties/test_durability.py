"""A record that takes its time: nothing with effects, no question and no answer goes ahead of it."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callgate.words.traits import writes
from tests.profiles import fewer
from tests.properties.stage import Edit, Plan
from tests.properties.test_invariants import Play, Schedule, check_everything, play, schedules
from tests.properties.test_previews import check_changes, editing

delays = st.lists(st.sampled_from((None, 0.0, 0.5, 1.0, 4.0)), min_size=1, max_size=4).map(tuple)
"""Later writes may be durable before earlier ones are known to be."""


@st.composite
def slow(draw: st.DrawFn, *kinds: str) -> Schedule:
    return replace(draw(schedules(*kinds, each=editing)), delays=draw(delays))


def check_mirror(played: Play) -> None:
    """Whoever only listens ends up with the same calls."""
    stage = played.stage
    for call in stage.executor.calls():
        seen = stage.mirror.call(call.id)
        assert (seen.status, seen.result, seen.arguments) == (call.status, call.result, call.arguments)


@pytest.mark.spec("EXE-8", "EXE-13", "EXE-21")
@given(slow("look", "look", "take"))
@example(
    Schedule(
        [Plan(effects="mutating", locks=writes("a"), lasts=0.0, progress=n == 1, edit=Edit()) for n in range(2)],
        cap=1,
        close_after=0.0,
        delays=(None, 0.5),
    )
).via("progress left while listeners waited for the end of the call before it")
@fewer(25)
def test_nothing_goes_ahead_of_the_record(schedule: Schedule) -> None:
    played = play(schedule)
    check_everything(played)
    check_mirror(played)


@pytest.mark.spec("EXE-8", "EXE-13", "EXE-14", "EXE-18", "EXE-19")
@given(slow("interrupt", "cancel", "steer", "look", "discard", "drift"))
@fewer(25)
def test_cancels_while_the_record_is_being_written_keep_every_promise(schedule: Schedule) -> None:
    played = play(schedule)
    check_everything(played)
    check_changes(played)
    if played.discarded_at is None:
        check_mirror(played)
