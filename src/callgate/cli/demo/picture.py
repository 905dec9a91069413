"""An act as lines: what the model says, the table of its calls with a time bar, the question, what went wrong."""

from collections.abc import Iterator
from difflib import unified_diff

from callgate import ChangeSet, Question, Status
from callgate.cli.demo.board import Act, Row, lane, short_lane
from callgate.cli.demo.script import TITLES
from callgate.cli.terminal import Line, Safe, Signs, Span, fit, paragraph
from callgate.words.changes import Content

_STYLES = {
    Status.EXECUTING: "cyan",
    Status.AWAITING_APPROVAL: "bold yellow",
    Status.SUCCESS: "green",
    Status.ERROR: "red",
    Status.CANCELLED: "magenta",
}
_WORDS = {Status.AWAITING_APPROVAL: "asking"}
_LEAST_SECONDS = 1.2  # what the time bar spans at least, so that its first moments do not race


def act_lines(act: Act, now: float, columns: int, signs: Signs, speed: float = 1.0) -> list[Line]:
    lines = paragraph(title(act), columns, "bold", hang=3)
    if act.text:
        lines += paragraph(act.text, min(columns, 100), indent=2)
    if act.rows:
        table = _Table(act, now, columns, signs, speed)
        lines += [table.head(), table.message(), *(table.row(row) for row in act.rows)]
    if act.question is not None:
        lines += question_lines(act.question, act, now, columns)
    return lines + [line for row in act.rows if (text := note(row)) for line in paragraph(text, columns, "red", hang=5)]


def title(act: Act) -> str:
    return f"{act.number}. {TITLES.get(act.number, 'One more turn')}"


def question_lines(question: Question, act: Act, now: float, columns: int) -> Iterator[Line]:
    text = f"? {question.tool} {question.arguments.get('path', '')}: {question.reason}"
    yield from paragraph(text, columns, "bold yellow", indent=2, hang=2)
    for changed in diff_of(question.preview):
        yield (Span("    "), Span(changed, {"+": "green", "-": "red"}.get(changed[0], "dim")))
    if act.answer is None:
        said = "the script answers for you, in a moment"
    else:
        took = (act.answered_at or now) - question.asked_at
        said = f"{act.answer.outcome}, by the {act.answer.by} after {took:.1f} s"
    yield from paragraph(f"apply this? {said}", columns, "bold" if act.answer is None else "", indent=4, hang=2)


def diff_of(changes: ChangeSet | None) -> list[str]:
    """A change as people read it; only the lines that carry meaning."""
    lines: list[str] = []
    for each in changes.files if changes is not None else ():
        before, after = map(_lines, (each.before, each.after))
        lines += [line for line in unified_diff(before, after, lineterm="", n=1) if line[:3] not in ("---", "+++")]
    return lines


def _lines(data: Content | None) -> list[str]:
    return data.decode(errors="replace").splitlines() if isinstance(data, bytes) else []


def note(row: Row) -> str:
    """The model's text about a call that failed without a decision, on one line."""
    if row.result is None or row.status is not Status.ERROR:
        return ""
    return f"{f'#{row.number}':>4} " + " ".join(row.result.text.split())


class _Table:
    """Columns for the room there is: first the time bar goes, then the lane, then the time."""

    def __init__(self, act: Act, now: float, columns: int, signs: Signs, speed: float) -> None:
        self._act = act
        self._now = act.ended_at or now
        self._signs = signs
        self._time = columns >= 45
        self._lane = columns >= 54
        bar = min(columns - 74, 36)
        self._bar = bar if bar >= 16 else 0
        room = columns - 17 - (7 if self._time else 0) - (2 + self._bar if self._bar else 0)
        self._call = min(max(20, room // 2), 26) if self._lane else max(room, 6)
        self._held = min(room - self._call - 1, 24)
        self._per_column = max(self._now - act.began_at, _LEAST_SECONDS / speed) / max(self._bar, 1)

    def head(self) -> Line:
        lane_name = f" {fit('lane', self._held)}" if self._lane else ""
        names = f"     {fit('call', self._call)} {'status':<11}{lane_name}{'elapsed' if self._time else ''}"
        return (Span(Safe(names), "dim"),)

    def message(self) -> Line:
        act, signs = self._act, self._signs
        sign, style = {
            "streaming": (signs.runs, "cyan"),
            "whole": (signs.ok, "green"),
            "cut off": (signs.bad, "magenta"),
        }[act.message_state]
        until = act.message_at or self._now
        status = Span(fit(f"{sign} {act.message_state}", 11), style)
        bar = Span(self._bar_of(None, act.began_at, until), "dim")
        return self._line("", Span(fit("the message", self._call), "dim"), status, "", until - act.began_at, bar)

    def row(self, row: Row) -> Line:
        style = _STYLES.get(row.status, "dim")
        status = Span(fit(f"{self._sign(row)} {_WORDS.get(row.status, row.status.value)}", 11, self._signs.mark), style)
        until = row.settled_at or self._now
        bar = self._bar_of(row.arrived_at, row.started_at or until, until)
        name = Span(fit(row.title, self._call, self._signs.mark))
        held = (lane if self._held > 17 else short_lane)(row, self._act)
        return self._line(f"#{row.number}", name, status, held, row.elapsed(self._now), Span(bar, style))

    def _line(self, number: str, name: Span, status: Span, held: str, taken: float | None, bar: Span) -> Line:
        spans = [Span(f"{number:>4} "), name, Span(" "), status]
        if self._lane:
            spans += [Span(" "), Span(fit(held, self._held, self._signs.mark), "dim")]
        if self._time:
            spans += [Span(f"{'' if taken is None else f'{taken:.2f} s':>7}")]
        if self._bar:
            spans += [Span("  "), bar]
        return tuple(spans)

    def _sign(self, row: Row) -> str:
        signs = self._signs
        match row.status:
            case Status.SUCCESS:
                return signs.ok
            case Status.ERROR | Status.CANCELLED:
                return signs.bad
            case Status.EXECUTING:
                return signs.runs
            case Status.AWAITING_APPROVAL:
                return signs.asks
            case _:
                return signs.waits

    def _bar_of(self, arrived: float | None, started: float, until: float) -> str:
        """Dots while it waits, a bar while it runs; whatever took time at all gets one column."""
        if not self._bar:
            return ""
        first = self._at(started if arrived is None else arrived)
        waited = arrived is not None and started - arrived > self._per_column / 2
        begin, end = self._at(started) if waited else first, self._at(until)
        ran = max(end - begin, 1) if until > started else 0
        text = " " * first + self._signs.dots * (begin - first) + self._signs.bar * ran
        return text[: self._bar]

    def _at(self, moment: float) -> int:
        return min(max(round((moment - self._act.began_at) / self._per_column), 0), self._bar - 1)
