"""The commands ``callgate session``, ``callgate log`` and ``callgate audit``.

Manage stored sessions. Sessions are stored in $CALLGATE_DATA_DIR (default: ~/.local/share/callgate).

Sessions are stored in $CALLGATE_DATA_DIR (default: ~/.local/share/callgate).
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from callgate import admin
from callgate.cli.command_parser import count, hexadecimal, seconds_of
from callgate.cli.command_rows import JSON, JSON_LINES, SESSION_HELP, ArgumentRow, CommandMisuse, CommandRow
from callgate.cli.terminal import Line, Safe, Span, clip, fit, safe, width
from callgate.cli.text_output import columns, hand_over, json_fields, put, put_json, put_text, say
from callgate.formats.display import counted

_SHOWN = 10


def export(which: str | None, shape: admin.sessions.Shape, output: str | None, force: bool) -> int:
    """Write a session, without its rewound messages, in a format that others can read."""
    _check_force(output, force)
    shown = admin.sessions.Archive().show(which)
    hand_over(shown.written_as(shape), output, force=force)
    sys.stdout.flush()
    if shown.damages:
        say(
            f"{counted(len(shown.damages), 'damaged place')} of the log left out; "
            f"see `callgate session verify {shown.named}`"
        )
    if shown.missing:
        say(f"lines are missing; see `callgate session verify {shown.named}`")
    return 0


def _check_force(output: str | None, force: bool) -> None:
    if force and output in (None, "-"):
        raise CommandMisuse("--force requires --output")


def import_session(file: str, program: str | None) -> int:
    """Import a transcript, without its agents, as a new session of this folder. The first printed line is the id of the
    session. The file is not changed.

    Claude Code keeps its transcripts in ~/.claude/projects/*/*.jsonl
    """
    if file == "-":
        if sys.stdin.isatty():
            say("reading a transcript from the keyboard; Ctrl-D ends")
        taken = admin.sessions.Archive().take_in(sys.stdin.buffer, "standard input")
    else:
        with open(file, "rb") as lines:
            taken = admin.sessions.Archive().take_in(lines, str(Path(file).absolute()))
    more = f", {counted(taken.left_out, 'other line')} left out" if taken.left_out else ""
    lines = [taken.session, f"  {counted(taken.messages, 'message')}, {counted(taken.calls, 'call')}{more}"]
    if taken.title:
        lines.append(f"  title: {taken.title}")
    if taken.workspace and taken.workspace != str(Path.cwd()):
        lines.append(f"  recorded in {taken.workspace}")
    if taken.skipped:
        lines.append(f"  skipped {counted(len(taken.skipped), 'line')}:")
        lines += [f"    {each}" for each in taken.skipped[:_SHOWN]]
        if len(taken.skipped) > _SHOWN:
            lines.append(f"    and {len(taken.skipped) - _SHOWN} more")
    put((Span(line),) for line in lines)
    return 0


def audit(which: str | None, shape: str, output: str | None, force: bool) -> int:
    """List every recorded decision: call, hash of the arguments, rule or user, interface, time, outcome. Decisions
    about rewound calls are included.

    exit codes: 0 done; 1 failed, or the log was modified, so that rows may be missing
    """
    _check_force(output, force)
    audited = admin.sessions.Archive().audit(which)
    if shape == "table":
        text = audit_table(audited.rows, columns())
    else:
        text = admin.sessions.as_json(audited.rows) if shape == "json" else admin.sessions.as_csv(audited.rows)
    hand_over(text, output, force=force)
    if audited.faults:
        sys.stdout.flush()
        say(
            f"the log of session {audited.session} was modified, in {counted(audited.faults, 'place')}, so "
            f"events may be missing here; see `callgate session verify {audited.named}`"
        )
    return 1 if audited.faults else 0


_AUDIT = {"time": 20, "call": 40, "decision": 8, "outcome": 16, "by": 24, "answer": 10, "origin": 40, "reason": 1000}
"""The columns of the table, with the widths that they take at most; the other formats have all fields."""
_NARROW, _NARROW_CALL, _OTHERS = 100, 24, 43
"""On a terminal with fewer columns, a time has no date and a call is shorter: it leaves room for the columns up to
``by``."""
_LEAST = 6
"""The columns that a cell needs; otherwise the table has no such column."""


def audit_table(rows: Sequence[admin.sessions.AuditRow], room: int) -> str:
    """Return one line for each decision, cut to the width."""
    if not rows:
        return "Nothing was decided yet.\n"
    narrow = room < _NARROW
    cells = [tuple(_AUDIT), *(_audit_cells(row, narrow=narrow) for row in rows)]
    longest = (max(width(safe(cell)) for cell in column) for column in zip(*cells, strict=True))
    most = {**_AUDIT, "call": max(min(_NARROW_CALL, room - _OTHERS), _LEAST)} if narrow else _AUDIT
    widths = [*map(min, most.values(), longest)]
    ends = accumulate(each + 2 for each in widths)
    widths = [each for each, end in zip(widths, ends, strict=True) if end - each - 2 + min(each, _LEAST) <= room]
    lines = (Safe("  ".join(map(fit, each, widths)).rstrip()) for each in cells)
    return "".join(f"{clip(line, room)}\n" for line in lines)


def _audit_cells(row: admin.sessions.AuditRow, *, narrow: bool) -> tuple[str, ...]:
    time = admin.sessions.utc(row.at)
    call = f"{row.tool}({row.about})" if row.about else row.tool
    clock = time.partition("T")[2].removesuffix("Z") if narrow else ""
    return clock or time, call, row.decision, row.outcome, row.by, row.question, row.origin, row.reason


def verify(which: str | None, every: bool, head: str | None) -> int:
    """Check every line of a log: its checksum, the chain from line to line, number, session and line end. Reports
    where lines were changed, removed, moved, repeated or cut off.

    The removal of the end of a log leaves no trace: note the printed head, and pass it later with --head. exit
    codes: 0 not modified, 1 modified
    """
    if every and (which or head):
        raise CommandMisuse("say --all, or which one")
    archive = admin.sessions.Archive()
    found = archive.verify_all() if every else archive.verify(which, head)
    checked = unsound = 0
    for log, verified in found:
        checked += 1
        lost = head is not None and checked == 1 and verified.noted_at is None
        unsound += lost or not verified.sound
        put(_verdict(archive.name(log), log, verified, lost=lost))
        if head is not None and checked == 1:
            put([_noted(verified, head)])
        if any(fault.what.startswith("torn") for fault in verified.faults) and (by := archive.holder(log)[1]):
            put_text(f"  it is open in {by}: its last line may not be complete yet")
    if every:
        put_text(f"{counted(checked, 'log')}, {unsound} not sound" if checked else "No sessions yet.", "bold")
    return 1 if unsound else 0


def _verdict(name: str, log: Path, verified: admin.sessions.Verified, *, lost: bool) -> Iterator[Line]:
    faults = len(verified.faults) + verified.more
    why = "the head is not in it" if verified.lines else "there is no line in it"
    is_sound = verified.sound and not lost
    verdict = "sound" if is_sound else f"not sound, {counted(faults, 'fault') if faults else why}"
    yield Span(f"{name}: "), Span(verdict, "green" if is_sound else "red")
    for fault in verified.faults:
        yield from _fault(fault, log)
    if verified.more:
        yield (Span(f"  and {verified.more:,} more"),)
    if verified.cut:
        cut = counted(verified.cut, "byte")
        yield (Span(f"  {cut} of a torn end cut off earlier, on record, kept in {log.name}.broken"),)
    if verified.unknown:
        newer = counted(verified.unknown, "line")
        yield (Span(f"  {newer} from a newer version of Callgate, ignored by this version"),)
    facts = f"{counted(verified.lines, 'line')} checked, {counted(verified.size, 'byte')}"
    yield (Span(f"  {facts}" + (f", head {verified.head}" if verified.lines else "")),)


def _fault(fault: admin.sessions.LogFault, log: Path) -> Iterator[Line]:
    if not fault.line:
        yield (Span(f"  {fault.what}"),)
        return
    number = "" if fault.n is None else f"n {fault.n}, "
    yield (Span(f"  line {fault.line} ({number}offset {fault.offset}): {fault.what}"),)
    if fault.on_record is not None:
        since = admin.sessions.moment(fault.on_record)
        yield (Span(f"    on record since {since}, these bytes are kept in {log.name}.broken", "dim"),)


def _noted(verified: admin.sessions.Verified, head: str) -> Line:
    if verified.noted_at is None:
        text = f"  the head {head} is not in the log: its end was removed, or the head is from another log"
        return (Span(text, "red"),)
    after = "the last" if verified.head == head else "followed by newer ones"
    return (Span(f"  the given head is line {verified.noted_at}, {after}"),)


def collect(everywhere: bool, older_than: float | None, dry_run: bool, as_json: bool) -> int:
    """Remove files left by crashed processes among the sessions of this folder: files of removed sessions, lock
    files, empty logs. With --older-than, whole sessions are removed too. Open sessions are never removed; files
    younger than an hour are kept if a program may still be writing them."""
    cleaned = admin.sessions.Archive().clean(older_than, everywhere=everywhere, dry_run=dry_run)
    if as_json:
        lists = {"removed": cleaned.removed, "kept": cleaned.kept, "failed": cleaned.failed}
        written = {name: [json_fields(each) for each in found] for name, found in lists.items()}
        put_json({"dry_run": dry_run, "bytes": cleaned.size, **written})
    else:
        put((Span(line),) for line in _cleaned(cleaned, dry_run=dry_run))
        if not cleaned.removed:
            where = "" if everywhere else " of this folder's sessions; --all looks at those of all folders"
            put_text(f"nothing to remove{where}")
    return 1 if cleaned.failed else 0


def _cleaned(cleaned: admin.sessions.Cleaned, *, dry_run: bool) -> Iterator[str]:
    verb = "would remove" if dry_run else "removed"
    for each in cleaned.removed:
        if each.session:
            used = admin.sessions.moment(each.used_at)
            yield f"{verb} session {each.session}, {counted(each.size, 'byte')}, last used {used}"
        else:
            yield f"{verb} {each.path}: {each.why}"
    for each in cleaned.kept:
        yield f"kept {each.why}"
    for each in cleaned.failed:
        yield f"could not remove {each.path}: {each.why}"
    sessions = sum(1 for each in cleaned.removed if each.session)
    others = len(cleaned.removed) - sessions
    if cleaned.removed:
        total = f"{counted(sessions, 'session')} and {counted(others, 'leftover')}, {counted(cleaned.size, 'byte')}"
        yield f"{verb} {total}"


def remove(which: str) -> int:
    """Remove one session with all its files, and list them. Does not ask, and cannot be undone. Refused while a
    program has the session open."""
    removed = admin.sessions.Archive().remove(which)
    put_text(f"removed session {removed[0].session}, {counted(sum(each.size for each in removed), 'byte')}:")
    put((Span(f"  {each.path}"),) for each in removed)
    return 0


def rename(which: str, title: str) -> int:
    """Set the title of a session that no program has open. An empty title removes it. In the terminal: /title.

    examples:
      callgate session rename 20261119 "Prices in euros"
    """
    log = admin.sessions.Archive().rename(which, title)
    put_text(f"session {log.stem}: {title.strip() or '(no title)'}")
    return 0


def lock(which: str | None) -> int:
    """Show the process that has a session open for writing."""
    log, holder, name = admin.sessions.Archive().holder(which)
    if holder is not None:
        put_text(f"session {log.stem} is open in {holder}; {_life(holder)}")
    elif name.pid is not None:
        put_text(f"no process has session {log.stem} open; {name} left a stale name, which does not lock the session")
    else:
        put_text(f"no process has session {log.stem} open")
    return 0


def _life(holder: admin.sessions.LockHolder) -> str:
    if holder.pid is None:
        return "it left no name"
    if holder.host and holder.host != os.uname().nodename:
        return "check on that machine whether the process is running"
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return "that process has ended; an unknown process has the session open"
    except (OSError, OverflowError):
        pass  # a process of another user
    return "that process is alive"


def _age(text: str) -> float:
    seconds = seconds_of(text, "hdw")
    if seconds is None:
        raise ArgumentTypeError(f"must be a number of hours, days or weeks such as 12h, 30d or 6w, not {text!r}")
    return seconds


_WHICH = ArgumentRow("ID?", SESSION_HELP, "which")
_ONE = ArgumentRow("ID", "the id of the session, a unique beginning of it, or its whole title", "which")
_OUTPUT = (
    ArgumentRow("-o --output FILE", "where to write (default: standard output)"),
    ArgumentRow("--force", "replace the file if it exists"),
)
_HEAD = hexadecimal("must be a head printed by `callgate session verify`")
COMMANDS = (
    CommandRow(
        "session list",
        "session_page:list_sessions",
        "list the sessions, last used first",
        (
            ArgumentRow("--all", "the sessions of all folders", "every_folder"),
            ArgumentRow("--limit N", "the maximum number (default: all)", read=count),
            JSON_LINES,
        ),
    ),
    CommandRow(
        "session show",
        "session_page:show",
        "what was said and done",
        (
            _WHICH,
            ArgumentRow("--tail N", "only the last N messages", read=count),
            ArgumentRow("--json", "print one line of JSON for each event", "as_json"),
        ),
    ),
    CommandRow(
        "session export",
        export,
        "export a session as Markdown, HTML or messages of the AI SDK",
        (_WHICH, ArgumentRow("--format markdown|html|ai-sdk", "ai-sdk is JSON", "shape", required=True), *_OUTPUT),
    ),
    CommandRow(
        "session import",
        import_session,
        "import a transcript of another program as a new session",
        (
            ArgumentRow("FILE", "the transcript; - is standard input"),
            ArgumentRow("--format claude-code", "the default", "program"),
        ),
    ),
    CommandRow(
        "session verify",
        verify,
        "check that a log was not modified",
        (
            _WHICH,
            ArgumentRow("--all", "every session of every folder", "every"),
            ArgumentRow("--head SUM", "a head printed earlier, which the log must contain", read=_HEAD),
        ),
    ),
    CommandRow(
        "session gc",
        collect,
        "remove files left by crashes, and with --older-than old sessions",
        (
            ArgumentRow("--all", "include the sessions of all folders", "everywhere"),
            ArgumentRow("--older-than AGE", "the minimum age since the last use: 12h, 30d, 6w", read=_age),
            ArgumentRow("--dry-run", "only list what would be removed"),
            JSON,
        ),
    ),
    CommandRow("session remove", remove, "remove one session", (_ONE,)),
    CommandRow("session rename", rename, "set the title of a session", (_ONE, ArgumentRow("TITLE", "in quotes"))),
    CommandRow("session lock", lock, "who has a session open", (_WHICH,)),
    CommandRow("log", "session_log:log", "", (_WHICH, ArgumentRow("-f --follow", "print new events as they happen"))),
    CommandRow(
        "audit",
        audit,
        "",
        (_WHICH, ArgumentRow("--format table|json|csv", "default: table", "shape", default="table"), *_OUTPUT),
    ),
)
