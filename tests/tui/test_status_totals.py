"""The totals of the status line, folded from the events of real sessions."""

from pathlib import Path

import pytest

from callgate import ModelSetup, Session
from callgate.testing import ScriptedModel, call, pause, run_virtual, say, turn
from callgate.testing.script import stop
from callgate.tools.builtin.shipped import shipped_tools
from callgate.tui.footer import context_used
from callgate.tui.statusline.status_payload import StatusTotals, payload
from callgate.words import events as facts
from callgate.words.inputs import Rewind
from callgate.words.messages import Usage
from callgate.words.model import Abilities
from callgate.words.pending import Staged
from tests.flows.kit import run


def totals_of(events: list[facts.Event]) -> StatusTotals:
    found = StatusTotals()
    for event in events:
        found = found.after(event)
    return found


@pytest.mark.spec("STL-2")
def test_lines_time_and_tokens_come_from_the_events_of_a_session(tmp_path: Path) -> None:
    used = Usage(input=10, cache_read=100, cache_write=5, output=20)
    written = {"file_path": "a.txt", "content": "one\ntwo\nthree\n"}
    edited = {"file_path": "a.txt", "old_string": "two\nthree\n", "new_string": "2\n"}

    async def main() -> None:
        model = ScriptedModel(
            turn(pause(2.0), call("Write", **written), stop("tool_calls", used)),
            turn(call("Edit", **edited), stop("tool_calls", used)),
            turn(pause(1.5), say("Done."), stop("end", used)),
            name="local/small",
        )
        async with Session(model, shipped_tools(["Write", "Edit"]), host=tmp_path) as session:
            totals = totals_of(await run(session))
            assert totals == StatusTotals(last=used, api_seconds=3.5, added=4, removed=2)
            found = payload(session, totals, project=str(tmp_path), seconds=60.0, vim="normal")
            assert found["cost"] == {
                "total": None,
                "seconds": 60.0,
                "api_seconds": 3.5,
                "lines_added": 4,
                "lines_removed": 2,
            }
            assert found["context"]["total_input"] == 345
            assert (found["model"]["id"], found["model"]["name"]) == ("local/small", "small")
            assert found["folders"]["current"] == str(tmp_path)
            assert (found["vim"], found["agent"], found["worktree"]) == ("normal", None, None)
            session.controls.folders = ("/notes",)
            found = payload(session, totals, project=str(tmp_path), seconds=60.0)
            assert found["folders"]["added"] == ["/notes"]

    run_virtual(main())


@pytest.mark.spec("STL-2")
def test_the_cost_is_told_where_a_price_is_known(tmp_path: Path) -> None:
    async def main() -> None:
        model = ScriptedModel(turn(say("x"), stop("end", Usage(output=4))))
        async with Session(ModelSetup(model, price=lambda _model, usage: 0.5 * usage.output), host=tmp_path) as session:
            totals = totals_of(await run(session))
            found = payload(session, totals, project=str(tmp_path), seconds=1.0)
            assert found["cost"]["total"] == 2.0

    run_virtual(main())


@pytest.mark.spec("STL-2")
def test_a_session_that_has_not_answered_knows_no_tokens(tmp_path: Path) -> None:
    async def main() -> None:
        async with Session(ScriptedModel(name="m"), host=tmp_path) as session:
            found = payload(session, StatusTotals(), project=str(tmp_path), seconds=0.0)
            assert found["context"] == {
                "size": None,
                "used_percent": None,
                "last_request": None,
                "total_input": None,
                "total_output": None,
            }
            assert found["cost"]["total"] is None

    run_virtual(main())


def test_lines_of_an_action_count_when_it_is_applied() -> None:
    kept, dropped = (Staged(f"s:{n}", "l", "AstEdit", added=n, removed=2 * n) for n in (3, 5))
    staged = [facts.ActionStaged(0.0, kept), facts.ActionStaged(0.0, dropped)]
    assert totals_of([*staged]).added == 0
    found = totals_of(
        [
            *staged,
            facts.ActionResolved(0.0, kept.id, "l", "applied"),
            facts.ActionResolved(0.0, dropped.id, "l", "discarded"),
            facts.ActionResolved(0.0, kept.id, "l", "applied"),
        ]
    )
    assert (found.added, found.removed, found.waiting) == (3, 6, {})


def test_after_a_rewind_the_last_request_is_not_known() -> None:
    assert StatusTotals(last=Usage(input=9_000)).after(facts.Rewound(0.0, "m")) == StatusTotals()


WINDOW = Abilities(context_tokens=200_000, output_tokens=8_000)
COUNTS = (1, 20, 300, 5_000, 70_000, 150_000, 999_999, 10**9, 0, 12)


@pytest.mark.spec("STL-2")
def test_the_footer_and_the_status_line_agree_whatever_a_server_counts(tmp_path: Path) -> None:
    async def main() -> None:
        for count in COUNTS:
            model = ScriptedModel(turn(say("x" * 400), stop("end", Usage(input=count, output=3))), abilities=WINDOW)
            async with Session(model, host=tmp_path) as session:
                totals = totals_of(await run(session))
                found = payload(session, totals, project=str(tmp_path), seconds=1.0)["context"]["used_percent"]
                assert context_used(session) == f"{found:.0f}% of context", count

    run_virtual(main())


def test_a_rewind_of_a_real_session_is_heard(tmp_path: Path) -> None:
    async def main() -> None:
        async with Session(ScriptedModel(otherwise=turn(say("x"), stop("end", Usage(output=3)))), host=tmp_path) as s:
            events = await run(s)
            async for event in s.send(Rewind(s.messages[0].id)):
                events.append(event)
            assert totals_of(events).last is None

    run_virtual(main())
