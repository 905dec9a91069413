"""``callgate changes``: lists the changes of a session and shows their diffs. Names and contents are made printable."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from time import time

from callgate.admin.changes import (
    ChangedFile,
    ChangeDiff,
    Kept,
    SessionChanges,
    read_all_changes,
    read_changes,
    read_diff,
)
from callgate.admin.sessions import ago, moment
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import columns, out, put, put_json, say
from callgate.cli.terminal import Line, Safe, Span, clip, fit, paragraph, safe, signs_for
from callgate.formats.columns import pieces
from callgate.formats.display import counted

_FILES = 5
"""Named of one change in a list."""
_STATES = {"applied": "green", "staged": "yellow", "applying": "red"}
_HALF = "half applied, or under way: the next session or `callgate undo` in this folder finishes or undoes it"
_SIGNS = {"+": "green", "-": "red"}
_LEAST = 16  # columns of a label beside the rest of its line


def changes(options: Namespace) -> int:
    if options.number is not None:
        return _show(options)
    found = read_all_changes() if options.all else [read_changes(options.which)]
    stream = out()
    if options.json:
        for kept in (kept for past in found for kept in past.changes):
            put_json(_as_json(kept), stream)
    else:
        put(_list(found, room_on(stream), signs_for(stream).mark), stream)
    stream.flush()
    return _faults(found)


def _faults(found: Iterable[SessionChanges]) -> int:
    """Said on the side, so that the list stays one."""
    code = 0
    for fault in (fault for past in found for fault in past.faults):
        say(fault)
        code = 1
    return code


# ---- listed -------------------------------------------------------------------------------------------------------


def _list(found: Sequence[SessionChanges], room: int, mark: str) -> Iterator[Line]:
    if not found:
        yield from paragraph("No session of this folder has changed a file.", room)
    now = time()
    for past in found:
        many = len(past.changes)
        if not many:
            yield from paragraph(f"No change of session {past.session} is kept.", room)
            continue
        yield from paragraph(f"{counted(many, 'change')} of session {past.session}", room, "bold")
        digits = len(str(max(kept.number for kept in past.changes)))
        for kept in past.changes:
            yield from _row(kept, digits, ago(kept.at, now), room, mark)


def _row(kept: Kept, digits: int, when: str, room: int, mark: str) -> Iterator[Line]:
    margin = digits + 4
    head = (
        Span(Safe(f"  {kept.number:>{digits}}  "), "bold"),
        Span(fit(kept.state, 9), _STATES.get(kept.state, "dim")),
        Span(Safe(f"  {when:>10}  "), "dim"),
    )
    left = room - margin - 9 - 14
    if left >= _LEAST:
        yield *head, Span(clip(kept.label, left, mark))
    else:
        yield head
        yield Span(Safe(" " * margin)), Span(clip(kept.label, max(room - margin, 8), mark))
    files = [f"{each.source} -> {each.path}" if each.source else each.path for each in kept.files]
    more = f" and {len(files) - _FILES:,} more" if len(files) > _FILES else ""
    about = f"{kept.tool}, {kept.summary}" if kept.tool else kept.summary
    yield from paragraph(f"{about}: {', '.join(files[:_FILES])}{more}", room, "dim", indent=margin, hang=2)
    if kept.state == "applying":
        yield from paragraph(_HALF, room, "red", indent=margin, hang=2)


def _as_json(kept: Kept) -> dict[str, object]:
    return {
        "session": kept.session,
        "number": kept.number,
        "id": kept.id,
        "turn": kept.turn,
        "at": kept.at,
        "state": kept.state,
        "label": kept.label,
        "tool": kept.tool,
        "summary": kept.summary,
        "files": [{"path": each.path, "source": each.source, "kind": each.kind} for each in kept.files],
    }


# ---- one of them --------------------------------------------------------------------------------------------------


def _show(options: Namespace) -> int:
    past = read_changes(options.which)
    code = _faults(past for past in (past,) if all(kept.number != options.number for kept in past.changes))
    found = read_diff(past, options.number)
    if options.patch and not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(found.patch.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
        return code
    stream = out()
    if not options.patch:
        put(_header(found, room_on(stream)), stream)
    put(difference_lines(found.patch, columns(stream)), stream)
    return code


def _header(found: ChangeDiff, room: int) -> Iterator[Line]:
    kept = found.kept
    yield from paragraph(f"change {kept.number} of session {kept.session}: {kept.label}", room, "bold", hang=2)
    facts = (kept.state, moment(kept.at), kept.tool, kept.id and f"call {kept.id}", kept.summary)
    yield from paragraph(", ".join(fact for fact in facts if fact), room, "dim", indent=2)
    yield from file_rows(found.files, room)


def file_rows(files: Iterable[ChangedFile], room: int) -> Iterator[Line]:
    """A line for each file: its kind of change, and the lines added and removed."""
    for each in files:
        name = f"{each.source} -> {each.path}" if each.source else each.path
        lines = f"+{each.added} −{each.removed}" if each.shown == "lines" else each.shown
        if each.kind == "mode":
            lines = "permissions"
        yield from paragraph(f"{each.kind:<7} {name}  {lines}", room, indent=2, hang=2)


def difference_lines(patch: str, room: int) -> Iterator[Line]:
    """A patch for people: blanks count, so it is broken where the room ends and not at words."""
    inside = False
    for line in patch.removesuffix("\n").split("\n") if patch else ():
        if line.startswith("diff --git "):
            inside = False
        elif line.startswith("@@ "):
            inside = True
        style = _SIGNS.get(line[:1], "cyan" if line[:1] == "@" else "") if inside else "bold"
        text = safe(line[:1] + line[1:].expandtabs(4))
        for piece in pieces(text, max(room, 20)):
            yield (Span(Safe(piece), style),)
