"""``callgate session list``."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from time import time

from callgate.archive import Archive, Listed
from callgate.cli.session.output import columns, counted, out, put, put_json
from callgate.cli.terminal import Line, Span, clip, safe, signs_for, width
from callgate.words.jsonable import to_json

_LEAST = 20  # columns below which a name gets a line of its own
_WIDE = 120  # columns from which on the folder does not
_LEGEND = {"?": "a question waits", "*": "unfinished", "!": "cannot be read"}


def list_sessions(options: Namespace) -> int:
    archive = Archive()
    found = archive.everywhere() if options.all else archive.here()
    shown = found[: options.limit]
    stream = out()
    if options.json:
        for each in shown:
            put_json(_as_json(each), stream)
        return 0
    if not found:
        where = "No sessions yet." if options.all else "No sessions of this folder yet; --all shows those of others."
        put([(Span(where),)], stream)
        return 0
    put(_table(shown, columns(stream), signs_for(stream).mark, with_folder=options.all), stream)
    if len(found) > len(shown):
        put([(Span(f"and {len(found) - len(shown):,} more", "dim"),)], stream)
    return 0


def _as_json(each: Listed) -> dict[str, object]:
    about = to_json(each.about)
    del about["type"]
    return {"session": each.session, "path": each.path, "size": each.size, **about, "fault": each.fault}


def _table(shown: Sequence[Listed], room: int, mark: str, *, with_folder: bool) -> Iterator[Line]:
    now = time()
    rows = [(_mark(each), each.session, ago(each.about.updated_at, now), f"{each.about.messages}") for each in shown]
    names = ("", "id", "used", "msgs")
    widths = [max(width(safe(cell)) for cell in cells) for cells in zip(names, *rows, strict=True)]
    left = room - sum(widths) - (5 if widths[0] else 4)  # of which two are a gap
    beside = left >= _LEAST
    folder_beside = with_folder and room >= _WIDE
    folders = max((width(safe(each.about.workspace)) for each in shown), default=0) if folder_beside else 0
    folders = min(folders, left // 3)

    def cells(row: Sequence[str], style: str) -> tuple[Span, ...]:
        gap = f"{_fit(row[0], widths[0])}{' ' if widths[0] else ''}{_fit(row[1], widths[1])}"
        return Span(gap, style), Span(f"  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}", style or "dim")

    if beside:
        folder = "  " + _fit("folder", folders) if folder_beside else ""
        yield (*cells(names, "dim"), Span(f"{folder}  title", "dim"))
    for each, row in zip(shown, rows, strict=True):
        title = safe(each.fault or each.about.name)
        head = cells(row, "")
        if folder_beside and beside:
            folder = _fit(_end_of(safe(each.about.workspace), folders, mark), folders)
            yield (*head, Span(f"  {folder}", "dim"), Span("  " + clip(title, left - folders - 4, mark)))
        elif beside:
            yield (*head, Span("  " + clip(title, left - 2, mark)))
        else:
            yield head
            yield (Span("    " + clip(title, max(room - 4, 8), mark)),)
        if with_folder and not (folder_beside and beside):
            yield (Span("    " + _end_of(safe(each.about.workspace), max(room - 4, 8), mark), "dim"),)
    used = {row[0] for row in rows} - {""}
    if used:
        yield (Span("  ".join(f"{sign} {words}" for sign, words in _LEGEND.items() if sign in used), "dim"),)
    faulty = [each for each in shown if each.fault]
    if faulty:
        yield (Span(f"{counted(len(faulty), 'log')} cannot be read:", "yellow"),)
        for each in faulty:
            yield (Span(f"! {each.session}: {each.fault}"),)


def _mark(each: Listed) -> str:
    return "!" if each.fault else "?" if each.about.asking else "*" if each.about.unfinished else ""


def _fit(text: str, room: int) -> str:
    shown = safe(text)
    return shown + " " * (room - width(shown))


def _end_of(text: str, room: int, mark: str) -> str:
    """The end of a path says more than its beginning."""
    if width(text) <= room:
        return text
    kept = text
    while kept and width(kept) > room - len(mark):
        kept = kept[1:]
    return f"{mark}{kept}"


def ago(at: float, now: float) -> str:
    """How long ago, in a few letters; a date if that is long. All in UTC."""
    passed = now - at
    if -60 < passed < 60:
        return "now"
    if 0 < passed < 3600:
        return f"{passed / 60:.0f} min"
    if 0 < passed < 86400:
        return f"{passed / 3600:.0f} h"
    if 0 < passed < 7 * 86400:
        return f"{passed / 86400:.0f} d"
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") if at else "unknown"
    except (ValueError, OverflowError, OSError):
        return "unknown"
