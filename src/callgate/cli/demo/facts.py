"""The claims of the demo, computed from its events; their order is their position in the log."""

from asyncio.subprocess import Process
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from callgate import Status
from callgate.cli.demo.board import Act, Board, Row
from callgate.cli.demo.script import (
    APPROVAL,
    BEHIND,
    CASCADE,
    CUT,
    END,
    GUARDED,
    OVERLAP,
    PARALLEL,
    READS,
    TRUNCATED,
    UNKNOWN,
)

T = TypeVar("T")


class Missing(Exception):
    """The session went another way than the script."""


MISSED = (Missing, LookupError, ValueError, StopIteration)
"""What judging a session that went another way may raise."""


def known(value: T | None) -> T:
    if value is None:
        raise Missing
    return value


@dataclass(frozen=True, slots=True)
class Fact:
    claim: str
    holds: bool
    detail: str


@dataclass(frozen=True, slots=True)
class World:
    """The state outside the events: files after each act, and the processes that were started."""

    files: Mapping[int, Mapping[str, bytes]]
    processes: list[Process]


def facts(board: Board, world: World) -> Iterator[Fact]:
    acts = {act.number: act for act in board.acts}
    for number, claim, judge in _CLAIMS:
        try:
            holds, detail = judge(acts[number], world)
        except MISSED:
            holds, detail = False, "it did not happen"
        yield Fact(claim, holds, detail)
    yield _decided(board)
    yield _whole_session(board)


def _overlap(act: Act, world: World) -> tuple[bool, str]:
    rows = [act.row("read", path) for path in READS]
    begun = [known(row.started_nth) for row in rows]
    together = max(begun) < min(known(row.settled_nth) for row in rows)
    early = max(begun) < known(act.message_nth)
    started = known(rows[0].started_at)
    detail = (
        f"the first started {_ms(started - rows[0].arrived_at)} after its arguments closed, "
        f"{_ms(known(act.message_at) - started)} before the message ended"
    )
    return together and early, detail + _out_of_turn(rows)


def _out_of_turn(rows: list[Row]) -> str:
    quickest = min(rows, key=lambda row: known(row.settled_nth))
    place = rows.index(quickest) + 1
    return f"; the one that was ready first left as number {place}" if place > 1 else ""


def _parallel(act: Act, world: World) -> tuple[bool, str]:
    one, two = act.rows
    begun = (known(one.started_nth), known(two.started_nth))
    side_by_side = max(begun) < min(known(one.settled_nth), known(two.settled_nth))
    files = world.files[act.number]
    changed = all(b"EUR" in files[row.subject] for row in act.rows)
    holds = side_by_side and min(begun) > known(act.message_nth) and changed
    return holds, f"both started after the end of the message and were at work together for {_ms(_common(one, two))}"


def _behind(act: Act, world: World) -> tuple[bool, str]:
    read, edit, other = act.rows
    waited = known(edit.started_nth) > known(read.settled_nth)
    free = known(other.started_nth) < known(read.settled_nth)
    gap = _ms(known(edit.started_at) - known(read.settled_at))
    return waited and free, f"it started {gap} after that read ended; the read of {other.subject} did not wait"


def _approval(act: Act, world: World) -> tuple[bool, str]:
    edit = act.row("edit")
    question = known(act.question)
    (shown,) = known(question.preview).files
    exact = world.files[act.number][GUARDED] == shown.after and world.files[act.number - 1][GUARDED] == shown.before
    taken = known(act.answered_at) - question.asked_at
    detail = f"answered after {_ms(taken)}; {GUARDED} is now byte for byte what the preview showed"
    return exact and edit.status is Status.SUCCESS, detail if exact else f"{GUARDED} is not what the preview showed"


def _cascade(act: Act, world: World) -> tuple[bool, str]:
    build, checks, edit = act.rows
    codes = [row.result.code for row in act.rows if row.result is not None]
    gone = bool(world.processes) and all(process.returncode is not None for process in world.processes)
    stopped = build.started_at is not None and edit.started_at is None
    holds = codes == ["cancelled_by_sibling", "tool_error", "cancelled_by_sibling"] and stopped and gone
    left = "its process is gone" if gone else "a process is still there"
    return holds, f"#{checks.number} failed, #{build.number} was stopped ({left}), #{edit.number} never started"


def _unknown(act: Act, world: World) -> tuple[bool, str]:
    wrong, right = act.rows
    result = known(wrong.result)
    close = ", ".join(result.details.get("close", ()))
    holds = result.code == "unknown_tool" and right.status is Status.SUCCESS and bool(close)
    return holds, f"answered in {_ms(known(wrong.settled_at) - wrong.arrived_at)}, with a hint at {close or 'nothing'}"


def _truncated(act: Act, world: World) -> tuple[bool, str]:
    not_run = [row for row in act.rows if row.result is not None and row.result.code == "not_run_truncated"]
    same = world.files[act.number] == world.files[act.number - 1]
    holds = len(not_run) == len(act.rows) == 2 and same and all(row.started_at is None for row in act.rows)
    state = f"{CUT} and everything else unchanged" if same else "but files changed"
    return holds, f"{len(not_run)} calls not run, {state}"


def _end(act: Act, world: World) -> tuple[bool, str]:
    return not act.rows and act.message_state == "whole", f"{act.number} messages of the model"


def _decided(board: Board) -> Fact:
    started = [row for row in board.rows if row.started_nth is not None]
    decided = [row for row in started if row.allowed_nth is not None and row.allowed_nth < known(row.started_nth)]
    holds = bool(started) and len(decided) == len(started)
    detail = f"{len(started)} calls started, {len(decided)} of them allowed before"
    return Fact("Nothing ran without a decision on record", holds, detail)


def _whole_session(board: Board) -> Fact:
    rows = board.rows
    results = sum(row.result is not None for row in rows)
    left = [row.released_nth for act in board.acts for row in act.rows if row.released_nth is not None]
    in_order = left == sorted(left) and len(left) == len(rows)
    holds = bool(rows) and results == len(rows) and in_order
    detail = f"{len(rows)} calls, {results} results, {'in order' if in_order else 'not in order'}"
    return Fact("One call, one result, in the order of the calls", holds, detail)


_CLAIMS: tuple[tuple[int, str, Callable[[Act, World], tuple[bool, str]]], ...] = (
    (OVERLAP, "Three reads overlapped while the text streamed", _overlap),
    (PARALLEL, "Two edits of different files ran in parallel", _parallel),
    (BEHIND, "An edit waited for a read of the same file", _behind),
    (APPROVAL, "What was approved is what was applied", _approval),
    (CASCADE, "A failing command cancelled its siblings", _cascade),
    (UNKNOWN, "An unknown tool got an answer", _unknown),
    (TRUNCATED, "A truncated message changed nothing", _truncated),
    (END, "The session came to its end", _end),
)


def _common(one: Row, two: Row) -> float:
    return min(known(one.settled_at), known(two.settled_at)) - max(known(one.started_at), known(two.started_at))


def _ms(seconds: float) -> str:
    milliseconds = max(seconds, 0.0) * 1000
    if milliseconds >= 1000:
        return f"{seconds:.2f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.2f} ms"
