"""The command ``callgate session list``."""

from collections.abc import Iterator, Sequence
from time import time

from callgate.admin.sessions import Archive, Listed, ago
from callgate.cli.terminal import Line, Safe, Span, clip, fit, safe, signs_for, width
from callgate.cli.text_output import columns, json_fields, out, put, put_json, put_text
from callgate.formats.display import counted

_NAMES = ("", "id", "used", "msgs")
_LEAST = 20  # columns below which a name gets a line of its own
_WIDE = 120  # columns from which on the folder does not
_LEGEND = {"?": "a question waits", "*": "unfinished", "!": "cannot be read"}


def list_sessions(every_folder: bool, limit: int | None, as_json: bool) -> int:
    """List the sessions of this folder, last used first.

    marks: ? a question waits for an answer, * the last turn is unfinished, ! the log cannot be read
    """
    archive = Archive()
    found = archive.everywhere() if every_folder else archive.here()
    shown = found[:limit]
    if as_json:
        for each in shown:
            own = json_fields(each, "session", "path", "size", "about.asking", "fault")
            put_json({**json_fields(each.about), **own})
        return 0
    if not found:
        here = "No sessions in this folder yet; --all lists the sessions of all folders."
        put_text("No sessions yet." if every_folder else here)
        return 0
    put(_table(shown, columns(), signs_for(out()).mark, with_folder=every_folder))
    if len(found) > len(shown):
        put_text(f"and {len(found) - len(shown):,} more", "dim")
    return 0


def _table(shown: Sequence[Listed], room: int, mark: str, *, with_folder: bool) -> Iterator[Line]:
    """Yield a line for each session. On a narrow terminal, title and folder are on separate lines."""
    now = time()
    cells = [(_sign(each), each.session, ago(each.about.updated_at, now), f"{each.about.messages}") for each in shown]
    widths = [max(map(width, column)) for column in zip(_NAMES, *cells, strict=True)]
    left = room - sum(widths) - (5 if widths[0] else 4)
    beside, below = left >= _LEAST, max(room - 4, 8)
    column = 0  # the width of the folder in the same line
    if with_folder and beside and room >= _WIDE:
        column = min(max(6, *(width(safe(each.about.workspace)) for each in shown)), left // 3)
    if beside:
        folder = (Span("  "), Span(fit("folder", column), "dim")) if column else ()
        yield (*_head(_NAMES, widths, "dim"), *folder, Span("  title", "dim"))
    for each, row in zip(shown, cells, strict=True):
        head = _head(row, widths)
        title, folder = safe(each.fault or each.about.name), safe(each.about.workspace)
        if column:
            where = Span(fit(_end_of(folder, column, mark), column), "dim")
            yield (*head, Span("  "), where, Span("  "), Span(clip(title, left - column - 4, mark)))
            continue
        if beside:
            yield (*head, Span("  "), Span(clip(title, left - 2, mark)))
        else:
            yield head
            yield Span("    "), Span(clip(title, below, mark))
        if with_folder:
            yield Span("    "), Span(_end_of(folder, below, mark), "dim")
    if legend := [f"{sign} {words}" for sign, words in _LEGEND.items() if any(row[0] == sign for row in cells)]:
        yield (Span("  ".join(legend), "dim"),)
    if faulty := [each for each in shown if each.fault]:
        yield (Span(f"{counted(len(faulty), 'log')} cannot be read:", "yellow"),)
        yield from ((Span(f"! {each.session}: {each.fault}"),) for each in faulty)


def _head(cells: Sequence[str], widths: Sequence[int], style: str = "") -> Line:
    sign, session, used, messages = widths
    signed = (Span(fit(cells[0], sign), style), Span(" ")) if sign else ()
    return *signed, Span(fit(cells[1], session), style), Span(f"  {cells[2]:>{used}}  {cells[3]:>{messages}}", "dim")


def _sign(each: Listed) -> str:
    return (
        "!" if each.fault else "?" if each.about.asking else "*" if each.about.unfinished or each.about.waiting else ""
    )


def _end_of(text: Safe, room: int, mark: str) -> Safe:
    """Return the path, or its end if the path is too long."""
    if width(text) <= room:
        return text
    kept = str(text)
    while kept and width(kept) > room - len(mark):
        kept = kept[1:]
    return Safe(f"{mark}{kept}")
