"""``callgate session verify``, ``gc``, ``remove`` and ``lock``: logs looked after."""

import os
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from callgate.admin.sessions import Archive, Cleaned, LockHolder, LogFault, Removed, Verified, moment
from callgate.cli.session.output import out, put, put_json, size_in_words
from callgate.cli.terminal import Line, Span
from callgate.formats.display import counted
from callgate.formats.jsonable import to_json


def verify(options: Namespace) -> int:
    archive, stream = Archive(), out()
    found: Iterable[tuple[Path, Verified]]
    found = archive.verify_all() if options.all else archive.verify(options.which, options.head)
    checked = unsound = 0
    for log, verified in found:
        checked += 1
        lost = options.head is not None and checked == 1 and verified.noted_at is None
        unsound += lost or not verified.sound
        put(_verdict(archive.name(log), log, verified, lost=lost), stream)
        if options.head is not None and checked == 1:
            put([_noted(verified, options.head)], stream)
        if any(fault.what.startswith("torn") for fault in verified.faults) and (by := archive.holder(log)[1]):
            put([(Span(f"  it is open in {by}: its last line may not be complete yet"),)], stream)
    if options.all:
        summary = f"{counted(checked, 'log')}, {unsound} not sound" if checked else "No sessions yet."
        put([(Span(summary, "bold"),)], stream)
    return 1 if unsound else 0


def _verdict(name: str, log: Path, verified: Verified, *, lost: bool) -> Iterator[Line]:
    """``lost``: the head that was asked for is not there."""
    faults = len(verified.faults) + verified.more
    if verified.sound and not lost:
        yield Span(f"{name}: "), Span("sound", "green")
    elif faults:
        yield Span(f"{name}: "), Span(f"not sound, {counted(faults, 'fault')}", "red")
    else:
        why = "the head is not in it" if verified.lines else "there is no line in it"
        yield Span(f"{name}: "), Span(f"not sound, {why}", "red")
    for fault in verified.faults:
        yield from _fault(fault, log)
    if verified.more:
        yield (Span(f"  and {verified.more:,} more"),)
    if verified.cut:
        yield (
            Span(
                f"  {counted(verified.cut, 'byte')} of a torn end cut off earlier, on record, kept in {log.name}.broken"
            ),
        )
    if verified.unknown:
        yield (
            Span(f"  {counted(verified.unknown, 'line')} of a newer version of Callgate, which this one leaves out"),
        )
    facts = f"{counted(verified.lines, 'line')} checked, {counted(verified.size, 'byte')}"
    yield (Span(f"  {facts}" + (f", head {verified.head}" if verified.lines else "")),)


def _fault(fault: LogFault, log: Path) -> Iterator[Line]:
    if not fault.line:
        yield (Span(f"  {fault.what}"),)
        return
    number = "" if fault.n is None else f"n {fault.n}, "
    yield (Span(f"  line {fault.line} ({number}offset {fault.offset}): {fault.what}"),)
    if fault.on_record is not None:
        yield (
            Span(f"    on record since {moment(fault.on_record)}, these bytes are kept in {log.name}.broken", "dim"),
        )


def _noted(verified: Verified, head: str) -> Line:
    if verified.noted_at is None:
        text = f"  the head {head} is not in it: its end was cut off, or it is not the log this was noted from"
        return (Span(text, "red"),)
    after = "the last" if verified.head == head else "followed by newer ones"
    return (Span(f"  the head that was noted is line {verified.noted_at}, {after}"),)


# ---- gc -----------------------------------------------------------------------------------------------------------


def collect(options: Namespace) -> int:
    cleaned = Archive().clean(options.older_than, everywhere=options.all, dry_run=options.dry_run)
    stream = out()
    if options.json:
        put_json(_as_json(cleaned, dry_run=options.dry_run), stream)
    else:
        put(((Span(line),) for line in _told(cleaned, dry_run=options.dry_run)), stream)
        if not cleaned.removed:
            where = "" if options.all else " of this folder's sessions; --all looks at those of all folders"
            put([(Span(f"nothing to remove{where}"),)], stream)
    return 1 if cleaned.failed else 0


def _told(cleaned: Cleaned, *, dry_run: bool) -> Iterator[str]:
    verb = "would remove" if dry_run else "removed"
    for each in cleaned.removed:
        if each.session:
            yield f"{verb} session {each.session}, {size_in_words(each.size)}, last used {moment(each.used_at)}"
        else:
            yield f"{verb} {each.path}: {each.why}"
    for each in cleaned.kept:
        yield f"kept {each.why}"
    for each in cleaned.failed:
        yield f"could not remove {each.path}: {each.why}"
    sessions = sum(1 for each in cleaned.removed if each.session)
    others = len(cleaned.removed) - sessions
    if cleaned.removed:
        total = f"{counted(sessions, 'session')} and {counted(others, 'leftover')}, {size_in_words(cleaned.size)}"
        yield f"{verb} {total}"


def _as_json(cleaned: Cleaned, *, dry_run: bool) -> dict[str, object]:
    def rows(removed: Iterable[Removed]) -> list[object]:
        return [{key: value for key, value in to_json(each).items() if key != "type"} for each in removed]

    return {
        "dry_run": dry_run,
        "bytes": cleaned.size,
        "removed": rows(cleaned.removed),
        "kept": rows(cleaned.kept),
        "failed": rows(cleaned.failed),
    }


# ---- remove -------------------------------------------------------------------------------------------------------


def remove(options: Namespace) -> int:
    removed = Archive().remove(options.which)
    total = size_in_words(sum(each.size for each in removed))
    lines = [f"removed session {removed[0].session}, {total}:", *(f"  {each.path}" for each in removed)]
    put([(Span(line),) for line in lines], out())
    return 0


# ---- lock ---------------------------------------------------------------------------------------------------------


def lock(options: Namespace) -> int:
    log, holder, name = Archive().holder(options.which)
    if holder is not None:
        text = f"session {log.stem} is open in {holder}; {_life(holder)}"
    elif name.pid is not None:
        text = f"nobody has session {log.stem} open; {name} left its name behind, which does not lock the session"
    else:
        text = f"nobody has session {log.stem} open"
    put([(Span(text),)], out())
    return 0


def _life(holder: LockHolder) -> str:
    if holder.pid is None:
        return "it left no name"
    if holder.host and holder.host != os.uname().nodename:
        return "whether that process is alive can be seen only on that machine"
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return "that process is gone, so another process has it open, which left no name"
    except (OSError, OverflowError):
        pass  # somebody else's: it is there
    return "that process is alive"
