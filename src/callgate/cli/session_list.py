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
        where = (
            "No sessions yet."
            if every_folder
            else "No sessions in this folder yet; --all lists the sessions of all folders."
        )
        put_text(where)
        return 0
    put(_Table(shown, columns(), signs_for(out()).mark, with_folder=every_folder).lines())
    if len(found) > len(shown):
        put_text(f"and {len(found) - len(shown):,} more", "dim")
    return 0


class _Table:
    """A table with one line for each session. On a narrow terminal, title and folder are on separate lines."""

    def __init__(self, shown: Sequence[Listed], room: int, mark: str, *, with_folder: bool) -> None:
        now = time()
        self._shown = shown
        self._room = room
        self._mark = mark
        self._cells = [
            (_sign(each), each.session, ago(each.about.updated_at, now), f"{each.about.messages}") for each in shown
        ]
        self._widths = [max(map(width, cells)) for cells in zip(_NAMES, *self._cells, strict=True)]
        self._left = room - sum(self._widths) - (5 if self._widths[0] else 4)
        self._beside = self._left >= _LEAST
        self._with_folder = with_folder
        self._folder = 0  # columns of the folder, if it stands in the same line
        if with_folder and self._beside and room >= _WIDE:
            self._folder = min(max(6, *(width(safe(each.about.workspace)) for each in shown)), self._left // 3)

    def lines(self) -> Iterator[Line]:
        if self._beside:
            folder = (Span("  "), Span(fit("folder", self._folder), "dim")) if self._folder else ()
            yield (*self._head(_NAMES, "dim"), *folder, Span("  title", "dim"))
        for each, cells in zip(self._shown, self._cells, strict=True):
            yield from self._row(each, self._head(cells, ""))
        signs = {cells[0] for cells in self._cells}
        if signs != {""}:
            yield (Span("  ".join(f"{sign} {words}" for sign, words in _LEGEND.items() if sign in signs), "dim"),)
        faulty = [each for each in self._shown if each.fault]
        if faulty:
            yield (Span(f"{counted(len(faulty), 'log')} cannot be read:", "yellow"),)
        for each in faulty:
            yield (Span(f"! {each.session}: {each.fault}"),)

    def _head(self, cells: Sequence[str], style: str) -> Line:
        sign, session, used, messages = self._widths
        signed = (Span(fit(cells[0], sign), style), Span(" ")) if sign else ()
        return (
            *signed,
            Span(fit(cells[1], session), style),
            Span(f"  {cells[2]:>{used}}  {cells[3]:>{messages}}", "dim"),
        )

    def _row(self, each: Listed, head: Line) -> Iterator[Line]:
        title, folder = safe(each.fault or each.about.name), safe(each.about.workspace)
        if self._folder:
            where = Span(fit(_end_of(folder, self._folder, self._mark), self._folder), "dim")
            room = self._left - self._folder - 4
            yield (*head, Span("  "), where, Span("  "), Span(clip(title, room, self._mark)))
            return
        below = max(self._room - 4, 8)
        if self._beside:
            yield (*head, Span("  "), Span(clip(title, self._left - 2, self._mark)))
        else:
            yield head
            yield Span("    "), Span(clip(title, below, self._mark))
        if self._with_folder:
            yield Span("    "), Span(_end_of(folder, below, self._mark), "dim")


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
