"""The ninth act as lines: where each call was before the kill, and what is known of it after."""

from callgate import Status
from callgate.cli.demo.board import Row
from callgate.cli.demo.killed.lives import Lives, after_words, before_words, fate
from callgate.cli.demo.killed.script import PROMPT
from callgate.cli.demo.picture import question_lines
from callgate.cli.demo.script import KILLED, TITLES
from callgate.cli.terminal import Line, Safe, Signs, Span, fit, paragraph

TITLE = f"{KILLED}. {TITLES[KILLED]}"

_STYLES = {Status.SUCCESS: "green", Status.EXECUTING: "cyan", Status.AWAITING_APPROVAL: "bold yellow"}
_NUMBER, _BEFORE, _WIDE = 5, 16, 84


def lives_lines(lives: Lives, now: float, columns: int, signs: Signs) -> list[Line]:
    lines = paragraph(TITLE, columns, "bold", hang=3)
    lines += paragraph(f"> {PROMPT}", columns, "bold", hang=2)
    if not lives.board.acts:
        return [*lines, *paragraph("A process of its own is starting.", columns, "dim", indent=2)]
    act, *later = lives.board.acts
    lines += paragraph(act.text, min(columns, 100), indent=2) if act.text else []
    lines += lives_table(lives, columns, signs)
    if steps := fate(lives):
        lines += paragraph(" ".join(steps), min(columns, 100), "bold" if lives.code is None else "", indent=2)
    if act.question is not None and lives.asked_again:
        lines += question_lines(act.question, act, now, columns)
    for each in later:
        lines += paragraph(each.text, min(columns, 100), indent=2) if each.text else []
    return lines


def lives_table(lives: Lives, columns: int, signs: Signs) -> list[Line]:
    """Three columns; where there is no room for the last one its text stands below the other two."""
    rows = lives.board.rows
    if not rows:
        return []
    wide = columns >= _WIDE
    call = min(max(len(row.title) for row in rows), 24, columns - _NUMBER - _BEFORE - 1)
    indent = _NUMBER + call + _BEFORE + 2 if wide else _NUMBER + 2
    lines: list[Line] = []

    def add(beginning: Line, known: str, style: str) -> None:
        after = paragraph(known, columns, style, indent=indent) if known else []
        if wide and after:
            (_, first), *after = after
            beginning = (*beginning, Span(" "), first)
        lines.extend((beginning, *after))

    head = f"{'':{_NUMBER}}{fit('call', call)} {fit('before the kill', _BEFORE)}"
    add((Span(Safe(head), "dim"),), "what is known after", "dim")
    for row in rows:
        title = (Span(f"{f'#{row.number}':>4} "), Span(fit(row.title, call, signs.mark)), Span(" "))
        add((*title, _before(row, lives, signs)), after_words(row, lives, signs.mark), _style_after(row))
    return lines


def _before(row: Row, lives: Lives, signs: Signs) -> Span:
    status = lives.before.get(row.id, row.status)
    sign = {Status.SUCCESS: signs.ok, Status.EXECUTING: signs.runs, Status.AWAITING_APPROVAL: signs.asks}
    words = f"{sign.get(status, signs.waits)} {before_words(row, lives)}"
    return Span(fit(words, _BEFORE, signs.mark), _STYLES.get(status, "dim"))


def _style_after(row: Row) -> str:
    if row.result is None:
        return "cyan"
    return "magenta" if row.result.is_error else "green"
