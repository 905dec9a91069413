"""The commands ``callgate changes`` and ``callgate undo``."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from os.path import realpath
from pathlib import Path
from time import time

from callgate.admin import session_changes
from callgate.admin.sessions import ago, moment
from callgate.cli.command_parser import count
from callgate.cli.command_rows import JSON, JSON_LINES, SESSION_HELP, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.terminal import Line, Safe, Span, clip, fit, paragraph, safe, signs_for
from callgate.cli.text_output import answer_to, columns, json_fields, out, put, put_json, say, text_width
from callgate.formats.columns import pieces
from callgate.formats.display import counted
from callgate.words.inputs import Undo, UndoScope

_FILES = 5
"""The maximum number of files that a list shows for one change."""
_STATES = {"applied": "green", "staged": "yellow", "applying": "red"}
_HALF = "partly applied, or still running: the next session or `callgate undo` in this folder completes or reverts it"
_SIGNS = {"+": "green", "-": "red"}
_LEAST = 16  # columns of a label in the same line
_FILE = ("path", "source", "kind", "shown", "added", "removed")
_OTHERS = 20
"""Calls that are named one by one."""
_WHAT = 80
"""Characters that describe a call."""


def changes(words: Sequence[str], every: bool, as_json: bool, patch: bool) -> int:
    """List the changes that a session made to files, last applied first, with their states: applied, reverted,
    discarded (rejected or failed), staged (not applied yet) or applying (in progress, or half applied because the
    program or the disk failed: the next start finishes or reverts it). `show` prints the diff of one change.

    exit codes: 0 shown; 1 failed, or a part cannot be read
    """
    shows = words[:1] == ["show"]
    if shows and not words[1:]:
        raise CommandMisuse("add the number of the change: show NUMBER")
    if shows and not words[1].isdecimal():
        raise CommandMisuse(f"NUMBER must be a whole number above 0, not {words[1]!r}")
    rest = words[2:] if shows else words
    if len(rest) > 1:
        near = not shows and get_close_matches(words[0], ["show"], n=1, cutoff=0.5)
        raise CommandMisuse(f"there is no {words[0]!r}; did you mean show?" if near else f"{rest[1]} is not known here")
    if every and (words or patch):
        raise CommandMisuse("say --all, or which one")
    if patch and not shows:
        raise CommandMisuse("--patch works only with show NUMBER")
    if as_json and shows:
        raise CommandMisuse("--json works only with the list; use --patch to print a diff")
    which = rest[0] if rest else None
    if shows:
        return _show(int(words[1]), which, patch=patch)
    found = session_changes.read_all_changes() if every else [session_changes.read_changes(which)]
    if as_json:
        for kept in (kept for past in found for kept in past.changes):
            put_json(_as_json(kept))
    else:
        put(_list(found, text_width(), signs_for(out()).mark))
    sys.stdout.flush()
    return _faults(found)


def _faults(found: Iterable[session_changes.SessionChanges]) -> int:
    """Print the faults to standard error. Return the exit code."""
    code = 0
    for fault in (fault for past in found for fault in past.faults):
        say(fault)
        code = 1
    return code


def _list(found: Sequence[session_changes.SessionChanges], room: int, mark: str) -> Iterator[Line]:
    if not found:
        yield from paragraph("No session of this folder has changed a file.", room)
    now = time()
    for past in found:
        many = len(past.changes)
        if not many:
            yield from paragraph(f"Session {past.session} has no stored changes.", room)
            continue
        yield from paragraph(f"{counted(many, 'change')} of session {past.session}", room, "bold")
        digits = len(str(max(kept.number for kept in past.changes)))
        for kept in past.changes:
            yield from _row(kept, digits, ago(kept.at, now), room, mark)


def _row(kept: session_changes.Kept, digits: int, when: str, room: int, mark: str) -> Iterator[Line]:
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


def _as_json(kept: session_changes.Kept) -> dict[str, object]:
    about = json_fields(kept, "session", "number", "id", "turn", "at", "state", "label", "tool", "summary")
    return {**about, "files": [json_fields(each, "path", "source", "kind") for each in kept.files]}


def _show(number: int, which: str | None, *, patch: bool) -> int:
    past = session_changes.read_changes(which)
    code = _faults(past for past in (past,) if all(kept.number != number for kept in past.changes))
    found = session_changes.read_diff(past, number)
    if patch and not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(found.patch.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
        return code
    if not patch:
        put(_header(found, text_width()))
    put(difference_lines(found.patch, columns()))
    return code


def _header(found: session_changes.ChangeDiff, room: int) -> Iterator[Line]:
    kept = found.kept
    yield from paragraph(f"change {kept.number} of session {kept.session}: {kept.label}", room, "bold", hang=2)
    facts = (kept.state, moment(kept.at), kept.tool, kept.id and f"call {kept.id}", kept.summary)
    yield from paragraph(", ".join(fact for fact in facts if fact), room, "dim", indent=2)
    yield from file_rows(found.files, room)


def file_rows(files: Iterable[session_changes.ChangedFile], room: int) -> Iterator[Line]:
    """Return a line for each file, with the kind of its change and the numbers of added and removed lines."""
    for each in files:
        name = f"{each.source} -> {each.path}" if each.source else each.path
        lines = f"+{each.added} −{each.removed}" if each.shown == "lines" else each.shown
        if each.kind == "mode":
            lines = "permissions"
        yield from paragraph(f"{each.kind:<7} {name}  {lines}", room, indent=2, hang=2)


def difference_lines(patch: str, room: int) -> Iterator[Line]:
    """Return the lines of a patch. Long lines are broken at the last column, not at words."""
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


def undo(
    scope: UndoScope | None,
    change: int | None,
    session: str | None,
    dry_run: bool,
    yes: bool,
    partly: bool,
    as_json: bool,
) -> int:
    """Revert the changes that calls made to files: the changes of the last call, of all calls of the last turn that
    changed something, or of the whole session. Changes made by others since then are merged; if there is a conflict,
    nothing is undone. Shows what will be undone and what cannot be undone, then asks. Changes that a crash
    interrupted are finished or reverted first.

    exit codes: 0 done; 1 failed, conflicts, nothing to undo, or the answer was no; 2 usage; 130 interrupted
    """
    if scope and change:
        raise CommandMisuse("say a scope, or --change")
    if as_json and not (yes or dry_run):
        raise CommandMisuse("--json cannot ask: add --yes, or --dry-run to see the changes")
    if not (yes or dry_run or (sys.stdin.isatty() and sys.stdout.isatty())):
        raise CommandMisuse("this is not a terminal: add --yes, or --dry-run to see the changes")
    planned = session_changes.plan_undo(session, Undo(scope or "turn", change, partly))
    for fault in planned.past.faults:
        say(fault)
    why = _why_not(planned, partly=partly)
    if as_json:
        number = None if why or dry_run else session_changes.take_back(planned)
        put_json(_undo_as_json(planned, why, number, dry_run=dry_run))
        return 1 if why else 0
    room = text_width()
    put(_shown(planned, room))
    if dry_run and planned.found is not None:
        put(difference_lines(planned.patch, columns()))
    sys.stdout.flush()
    if not why and not dry_run and planned.files and not yes and answer_to("undo? [y/N] ").lower() not in ("y", "yes"):
        why = "nothing was undone"
    if why:
        say(why)
        return 1
    if not dry_run:
        put(
            paragraph(
                _done(
                    planned, session_changes.take_back(planned), f" --session {planned.past.session}" * bool(session)
                ),
                room,
                "green",
            )
        )
    return 0


def _why_not(planned: session_changes.PlannedUndo, *, partly: bool) -> str:
    """Return the reason why nothing is undone, or an empty string if something is undone."""
    found = planned.found
    if found is None:
        nothing = f"there is nothing to undo in session {planned.past.session}"
        return planned.missing or f"{nothing}; `callgate changes --all` lists the changes of all sessions"
    if found.conflicts and not found.changes.files:
        return "nothing was undone: every change has a conflict"
    if found.conflicts and not partly:
        return "nothing was undone: add --partly to undo the changes without conflicts"
    return ""


def _shown(planned: session_changes.PlannedUndo, room: int) -> Iterator[Line]:
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


def _named(call: session_changes.OtherCall) -> str:
    what = call.what if len(call.what) <= _WHAT else f"{call.what[:_WHAT]}…"
    return " ".join(part for part in (call.tool, what, f"({call.id})") if part)


def _done(planned: session_changes.PlannedUndo, number: int | None, which: str) -> str:
    assert planned.found is not None
    done = f"undone: {counted(len(planned.found.undone), 'change')}, {counted(len(planned.files), 'file')}"
    return done if number is None else f"{done}; `callgate undo --change {number}{which}` redoes it"


def _undo_as_json(
    planned: session_changes.PlannedUndo, why: str, number: int | None, *, dry_run: bool
) -> dict[str, object]:
    found = planned.found
    written: dict[str, object] = {
        "session": planned.past.session,
        "root": str(planned.root),
        "done": not why and not dry_run,
        "why": why,
        "change": number,
        "undone": [] if found is None else [kept.number for kept in found.undone],
        "files": [json_fields(each, *_FILE) for each in planned.files],
        "conflicts": [] if found is None else list(found.conflicts),
        "cannot_undo": [json_fields(each) for each in planned.others],
        "recovered": [json_fields(each) for each in planned.recovered],
    }
    return {**written, "patch": planned.patch} if dry_run else written


COMMANDS = (
    CommandRow(
        "changes",
        changes,
        "",
        (
            ArgumentRow("WHICH*", SESSION_HELP, "words"),
            ArgumentRow("--all", "the changes of every session of this folder", "every"),
            JSON_LINES,
            ArgumentRow("--patch", "with show: print only the diff, in the format of git"),
        ),
        usage="callgate changes [WHICH | --all] [--json]\n       callgate changes show NUMBER [WHICH] [--patch]",
    ),
    CommandRow(
        "undo",
        undo,
        "",
        (
            ArgumentRow("call|turn|session?", "default: turn", "scope"),
            ArgumentRow("--change N", "only the change with this number; if it is an undo, redo it", read=count),
            ArgumentRow("--session WHICH", SESSION_HELP),
            ArgumentRow("--dry-run", "only show it, with the diff"),
            ArgumentRow("--yes", "do not ask"),
            ArgumentRow("--partly", "skip files with conflicts"),
            JSON,
        ),
    ),
)
