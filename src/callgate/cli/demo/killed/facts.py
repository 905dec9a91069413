"""The claims of the ninth act, computed from the events of both processes, the log and the tools' files."""

import signal
import sys
from collections.abc import Callable, Iterator

from callgate import Event, Status
from callgate.cli.demo.board import Row
from callgate.cli.demo.facts import MISSED, Fact, known
from callgate.cli.demo.killed.lives import Lives
from callgate.cli.demo.killed.script import BEFORE, DEPLOYED
from callgate.cli.demo.script import GUARDED
from callgate.words.events import CallSettled, CallStarted, Passing, QuestionAnswered, QuestionAsked

KILLED_CODE = 1 if sys.platform == "win32" else -signal.SIGKILL


def facts_of_lives(lives: Lives) -> Iterator[Fact]:
    for claim, judge in _CLAIMS:
        try:
            holds, detail = judge(lives)
        except MISSED:
            holds, detail = False, "it did not happen"
        yield Fact(claim, holds, detail)


def _as_it_was_left(lives: Lives) -> tuple[bool, str]:
    code = known(lives.code)
    where = [list(lives.before.values()).count(status) for status in dict.fromkeys(BEFORE)]
    holds = code == KILLED_CODE and lives.status == "paused" and tuple(lives.before.values()) == BEFORE
    done, inside, asked = where
    detail = f"the process ended with {code}; {done} calls had finished, {inside} were in the middle, {asked} asked"
    return holds, f"{detail}; opened again it was {lives.status}"


def _acknowledged(lives: Lives) -> tuple[bool, str]:
    told = [event for event in lives.first if not isinstance(event, Passing)]
    found = sum(event in lives.left.events for event in told)
    return bool(told) and found == len(told), f"{len(told)} facts were told before the kill, {found} are in the log"


def _intact(lives: Lives) -> tuple[bool, str]:
    left = lives.left
    return left.lines > 0 and not left.damages, f"{left.lines} lines, {left.damages or 'none'} damaged"


def _finished(lives: Lives) -> tuple[bool, str]:
    rows = [row for row in lives.board.rows if lives.before[row.id] is Status.SUCCESS]
    told, first = dict(lives.results), _settled(lives.first)
    again = [row for row in rows if _started(lives.second, row)]
    same = [row for row in rows if told[row.id] == first[row.id].result.text]
    return len(rows) == 2 == len(
        same
    ) and not again, f"{_numbers(same)} told as before, {len(again) or 'none'} run again"


def _not_repeated(lives: Lives) -> tuple[bool, str]:
    row = _row(lives, "deploy")
    lines = len(lives.left.deployed)
    told, _, _ = dict(lives.results)[row.id].partition(":")
    holds = lines == 1 and not _started(lives.second, row) and _settled(lives.second)[row.id].result.code == _UNKNOWN
    return holds, f"{DEPLOYED} has {lines} line{'s' * (lines != 1)}; of #{row.number} the model was told: {told}"


def _same_key(lives: Lives) -> tuple[bool, str]:
    row = _row(lives, "upload")
    ((key, attempts),) = lives.left.uploads.items()
    started = [event.attempt for life in (lives.first, lives.second) for event in _started(life, row)]
    holds = started == [1, 2] and list(attempts) == ["attempt 1", "attempt 2"] and row.status is Status.SUCCESS
    return holds, f"{len(attempts)} attempts of #{row.number}, one file: {key}"


def _asked_again(lives: Lives) -> tuple[bool, str]:
    row = _row(lives, "edit", GUARDED)
    asked = [[event for event in life if isinstance(event, QuestionAsked)] for life in (lives.first, lives.second)]
    ((before,), (again,)) = asked
    answers = [event for event in lives.second if isinstance(event, QuestionAnswered)]
    runs = _started(lives.second, row)
    (shown,) = known(again.question.preview).files
    once = len(answers) == len(runs) == 1 and not _started(lives.first, row)
    same = before.question.arguments_hash == again.question.arguments_hash
    exact = lives.left.files[GUARDED] == shown.after and row.status is Status.SUCCESS
    return once and same and exact, f"#{row.number} was asked in each life, answered once and run once"


def _one_result(lives: Lives) -> tuple[bool, str]:
    calls, told = [row.id for row in lives.board.rows], [call_id for call_id, _ in lives.results]
    order = "in order" if told == calls else "not in order"
    holds = len(calls) == len(BEFORE) and told == calls
    return holds, f"{len(calls)} calls, {len(told)} results in what the model was sent, {order}"


_CLAIMS: tuple[tuple[str, Callable[[Lives], tuple[bool, str]]], ...] = (
    ("A killed session was found as it was left", _as_it_was_left),
    ("Nothing acknowledged was lost with the process", _acknowledged),
    ("Every line of the log is intact", _intact),
    ("What had finished kept its result", _finished),
    ("What was in the middle and has effects was not repeated", _not_repeated),
    ("What may be repeated was, with the same key", _same_key),
    ("An open question was asked again", _asked_again),
    ("Both lives together gave one result for each call", _one_result),
)
_UNKNOWN = "outcome_unknown"


def _row(lives: Lives, name: str, subject: str = "") -> Row:
    return lives.board.acts[0].row(name, subject)


def _started(events: list[Event], row: Row) -> list[CallStarted]:
    return [event for event in events if isinstance(event, CallStarted) and event.call_id == row.id]


def _settled(events: list[Event]) -> dict[str, CallSettled]:
    return {event.call_id: event for event in events if isinstance(event, CallSettled)}


def _numbers(rows: list[Row]) -> str:
    return " and ".join(f"#{row.number}" for row in rows) or "none"
