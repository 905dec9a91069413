"""``callgate session export`` and ``import``, ``callgate audit``: sessions as files."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from callgate.admin.sessions import Archive, AuditRow, TakenIn, as_csv, as_json, utc
from callgate.cli.session.output import columns, hand_over, out, put, say
from callgate.cli.terminal import Safe, Span, clip, fit, safe, width
from callgate.formats.display import counted

_SHOWN = 10


def export(options: Namespace) -> int:
    shown = Archive().show(options.which)
    hand_over(shown.written_as(options.format), options.output, force=options.force)
    sys.stdout.flush()
    if shown.damages:
        say(
            f"{counted(len(shown.damages), 'damaged place')} of the log left out; "
            f"`callgate session verify {shown.named}` says where"
        )
    if shown.missing:
        say(f"lines are missing; `callgate session verify {shown.named}` says which")
    return 0


def take_in(options: Namespace) -> int:
    if options.file == "-":
        if sys.stdin.isatty():
            say("reading a transcript from the keyboard; Ctrl-D ends")
        taken = Archive().take_in(sys.stdin.buffer, "standard input")
    else:
        with open(options.file, "rb") as lines:
            taken = Archive().take_in(lines, str(Path(options.file).absolute()))
    put([(Span(line),) for line in _told(taken)], out())
    return 0


def _told(taken: TakenIn) -> list[str]:
    counts = [counted(taken.messages, "message"), counted(taken.calls, "call")]
    if taken.left_out:
        counts.append(f"{counted(taken.left_out, 'other line')} left out")
    lines = [taken.session, f"  {', '.join(counts)}"]
    if taken.title:
        lines.append(f"  title: {taken.title}")
    if taken.workspace and taken.workspace != str(Path.cwd()):
        lines.append(f"  recorded in {taken.workspace}")
    if taken.skipped:
        lines.append(f"  skipped {counted(len(taken.skipped), 'line')}:")
        lines += [f"    {each}" for each in taken.skipped[:_SHOWN]]
        if len(taken.skipped) > _SHOWN:
            lines.append(f"    and {len(taken.skipped) - _SHOWN} more")
    return lines


def audit(options: Namespace) -> int:
    audited = Archive().audit(options.which)
    if options.format == "json":
        text = as_json(audited.rows)
    elif options.format == "csv":
        text = as_csv(audited.rows)
    else:
        text = audit_table(audited.rows, columns(sys.stdout))
    hand_over(text, options.output, force=options.force)
    if audited.faults:
        sys.stdout.flush()
        say(
            f"the log of session {audited.session} is not what was written, in {counted(audited.faults, 'place')}, so "
            f"something may be missing here; `callgate session verify {audited.named}` says where"
        )
    return 1 if audited.faults else 0


_AUDIT = {"time": 20, "call": 40, "decision": 8, "outcome": 16, "by": 24, "answer": 10, "origin": 40, "reason": 1000}
"""The columns of a table and the most room each takes; the other formats have all fields."""
_NARROW, _NARROW_CALL = 100, 24
"""Below so many columns a time has no date and a call less room, so that decision and outcome stay visible."""


def audit_table(rows: Sequence[AuditRow], room: int) -> str:
    """A line for each row, cut to so many columns."""
    if not rows:
        return "Nothing was decided yet.\n"
    narrow = room < _NARROW
    cells = [tuple(_AUDIT), *(_audit_cells(row, narrow=narrow) for row in rows)]
    longest = (max(width(safe(cell)) for cell in column) for column in zip(*cells, strict=True))
    most = {**_AUDIT, "call": _NARROW_CALL} if narrow else _AUDIT
    widths = [*map(min, most.values(), longest)]
    lines = (Safe("  ".join(map(fit, each, widths)).rstrip()) for each in cells)
    return "".join(f"{clip(line, room)}\n" for line in lines)


def _audit_cells(row: AuditRow, *, narrow: bool) -> tuple[str, ...]:
    time = utc(row.at)
    call = f"{row.tool}({row.about})" if row.about else row.tool
    clock = time.partition("T")[2].removesuffix("Z") if narrow else ""
    return clock or time, call, row.decision, row.outcome, row.by, row.question, row.origin, row.reason
