"""Tools that show their change first: what was applied is what calls say, whatever happens in between."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.words.calls import ToolCall
from callgate.words.decisions import arguments_hash
from callgate.words.traits import writes
from tests.profiles import fewer
from tests.properties.oracle import conflict
from tests.properties.stage import Edit, Plan, Stage
from tests.properties.test_invariants import Play, Schedule, check_everything, plans, play, schedules, some

FILES = ("a/b/c", "ab", "d/e")
NOT_RUN = ("denied", "not_run_truncated", "unknown_tool", "invalid_arguments")


@st.composite
def editing(draw: st.DrawFn, n: int) -> Plan:
    """Mostly edits of few files, among calls of every other kind."""
    plan = draw(plans(n))
    if draw(st.integers(0, 3)) == 3:
        return plan
    return replace(
        plan,
        kind=draw(some("tool", "tool", rare=("unknown", "invalid"))),
        effects=draw(st.sampled_from(("mutating", "idempotent"))),
        locks=writes(draw(st.sampled_from(FILES))),
        other=writes(draw(st.sampled_from(FILES))),
        edit=Edit(
            preview=draw(some("ok", "ok", rare=("fail", "panic", "nothing", "hang"))),
            after=draw(st.sampled_from((0.0, 0.0, 1.0, 2.0))),
            stubborn=draw(st.sampled_from((0.0, 0.0, 1.0, 5.0, inf))),
            applying=draw(st.sampled_from((0.0, 0.0, 1.0))),
        ),
    )


def check_changes(played: Play) -> None:
    stage = played.stage
    notes = stage.host.notes
    order = [changes.label for _, changes in notes]
    assert len(order) == len(set(order)), "nothing is applied twice"
    check_files(stage)
    for at, changes in notes:
        assert at <= stage.settled[changes.label], "nothing is applied after the call has its result"
    for call in stage.executor.calls():
        check_call(stage, call, order)
    for n, later in enumerate(order):
        for earlier in order[n + 1 :]:
            untouched = not (stage.ledger.call(earlier).edited or stage.ledger.call(later).edited)
            if untouched and stage.index(earlier) < stage.index(later):
                assert not conflict(stage.locks_now(earlier), stage.locks_now(later)), "edits of one file keep order"


def check_files(stage: Stage) -> None:
    """Every file is what the applied changes and strangers made of it, one behind the other."""
    tokens = b"".join(stage.host.files.values()).replace(b"~", b"").decode()
    applied = [changes.label for _, changes in stage.host.notes]
    assert sorted(tokens.strip("[]").split("][") if tokens else []) == sorted(applied)


def check_call(stage: Stage, call: ToolCall, applied: list[str]) -> None:
    assert call.result is not None
    code, ran = call.result.code, stage.ran.get(call.id)
    started = ran is not None and call.result.details.get("started") is not False
    if stage.plan(call.id).edit is None or code in NOT_RUN or not started:
        assert call.id not in applied
    elif code == "ok":
        assert call.id in applied
    if call.result.effects == "none":
        assert call.id not in applied
    question = call.question
    if call.id in applied and question is not None and question.preview is not None:
        now = arguments_hash(call.name, call.arguments)
        if question.arguments_hash == now:
            assert any(changes is question.preview for _, changes in stage.host.notes), "what was shown is applied"


def check_edits(schedule: Schedule) -> None:
    played = play(schedule)
    check_everything(played)
    check_changes(played)


@pytest.mark.spec("EXE-21", "EXE-22", "TOOL-4")
@given(schedules("drift", "drift", each=editing))
@fewer(25)
def test_files_are_what_applied_calls_say(schedule: Schedule) -> None:
    check_edits(schedule)


@pytest.mark.spec("EXE-8", "EXE-14", "EXE-18", "TOOL-4")
@given(schedules("interrupt", "cancel", "cancel", "drift", "steer", "discard", each=editing))
@fewer(25)
def test_a_cancel_at_any_time_leaves_files_as_results_say(schedule: Schedule) -> None:
    check_edits(schedule)
