"""``callgate undo``: shows what it would take back and what it cannot, asks, and does it."""

from argparse import Namespace
from collections.abc import Iterator
from os.path import realpath
from pathlib import Path

from callgate.admin.changes import OtherCall, PlannedUndo, plan_undo, take_back
from callgate.cli.changes import difference_lines, file_rows
from callgate.cli.policy.words import room_on
from callgate.cli.session.output import columns, out, put, put_json, say
from callgate.cli.terminal import Line, paragraph
from callgate.formats.display import counted
from callgate.formats.jsonable import to_json
from callgate.words.inputs import Undo

_OTHERS = 20
"""Calls that are named one by one."""
_WHAT = 80
"""Characters of what a call was about."""


def undo(options: Namespace) -> int:
    scope = options.scope or "turn"
    planned = plan_undo(options.session, Undo(scope, options.change, options.partly))
    for fault in planned.past.faults:
        say(fault)
    if options.json:
        return _as_program(planned, options)
    stream = out()
    room = room_on(stream)
    put(_shown(planned, room), stream)
    if options.dry_run and planned.found is not None:
        put(difference_lines(planned.patch, columns(stream)), stream)
    stream.flush()
    why = _why_not(planned, options)
    if why:
        say(why)
        return 1
    if options.dry_run:
        return 0
    if planned.files and not options.yes and not _is_yes():
        say("nothing was undone")
        return 1
    put(paragraph(_done(planned, take_back(planned), options), room, "green"), stream)
    return 0


def _why_not(planned: PlannedUndo, options: Namespace) -> str:
    """The reason why nothing is undone, in words; empty if something is."""
    found = planned.found
    if found is None:
        nothing = f"there is nothing to undo in session {planned.past.session}"
        return planned.missing or f"{nothing}; `callgate changes --all` shows the changes of others"
    if found.conflicts and not found.changes.files:
        return "nothing was undone: there are conflicts in all of it"
    if found.conflicts and not options.partly:
        return "nothing was undone: say --partly to leave what conflicts and undo the rest"
    return ""


def _is_yes() -> bool:
    try:
        return input("undo? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


# ---- for people ---------------------------------------------------------------------------------------------------


def _shown(planned: PlannedUndo, room: int) -> Iterator[Line]:
    for each in planned.recovered:
        yield from paragraph(each.text, room, "yellow", hang=2)
    found = planned.found
    if found is not None:
        where = "" if str(planned.root) in (str(Path.cwd()), realpath(".")) else f" in {planned.root}"
        many = counted(len(found.undone), "change")
        yield from paragraph(f"undo {many} of session {planned.past.session}{where}", room, "bold", hang=2)
        for kept in found.undone:
            tool = f"{kept.tool}: " if kept.tool else ""
            yield from paragraph(f"{kept.number}  {tool}{kept.label}", room, "dim", indent=2, hang=2)
        yield from file_rows(planned.files, room)
        for note in planned.notes:
            yield from paragraph(f"note: {note}", room, "yellow", indent=2, hang=2)
        if not planned.files and not found.conflicts:
            yield from paragraph("the files are already as they were before", room, indent=2)
        for conflict in found.conflicts:
            yield from paragraph(f"cannot undo: {conflict}", room, "red", hang=2)
    for call in planned.others[:_OTHERS]:
        yield from paragraph(f"cannot undo: {_named(call)}", room, "yellow", hang=2)
    if len(planned.others) > _OTHERS:
        yield from paragraph(f"cannot undo: {len(planned.others) - _OTHERS:,} more calls", room, "yellow")


def _named(call: OtherCall) -> str:
    what = call.what if len(call.what) <= _WHAT else f"{call.what[:_WHAT]}…"
    return " ".join(part for part in (call.tool, what, f"({call.id})") if part)


def _done(planned: PlannedUndo, number: int | None, options: Namespace) -> str:
    assert planned.found is not None
    done = f"undone: {counted(len(planned.found.undone), 'change')}, {counted(len(planned.files), 'file')}"
    which = f" --session {planned.past.session}" if options.session else ""
    return done if number is None else f"{done}; `callgate undo --change {number}{which}` brings it back"


# ---- for programs -------------------------------------------------------------------------------------------------


def _as_program(planned: PlannedUndo, options: Namespace) -> int:
    why = _why_not(planned, options)
    does = not why and not options.dry_run
    number = take_back(planned) if does else None
    found = planned.found
    told = {
        "session": planned.past.session,
        "root": str(planned.root),
        "done": does,
        "why": why,
        "change": number,
        "undone": [] if found is None else [kept.number for kept in found.undone],
        "files": [_bare(each) for each in planned.files],
        "conflicts": [] if found is None else list(found.conflicts),
        "cannot_undo": [_bare(each) for each in planned.others],
        "recovered": [_bare(each) for each in planned.recovered],
    }
    if options.dry_run:
        told["patch"] = planned.patch
    put_json(told, out())
    return 1 if why else 0


def _bare(noun: object) -> dict[str, object]:
    told = to_json(noun)
    told.pop("type", None)
    return told
