"""Lists the sessions of one project without opening each log.

Summaries are cached next to the logs. A log is read again if its size or time has changed.
"""

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from json import dumps, loads
from pathlib import Path
from typing import Any, cast

from callgate.formats.jsonable import from_json, to_sparse
from callgate.transcript.loader import summarize
from callgate.transcript.lock import open_log
from callgate.transcript.session_paths import agent_log
from callgate.transcript.session_summary import Summary
from callgate.transcript.side_files import last_used, read_beside, replace_beside
from callgate.words.errors import JournalError, UsageError, in_words
from callgate.words.noun import noun

_VERSION = 1
_NAME = "sessions.catalogue"
_SUFFIX = ".jsonl"

_Row = list[Any]
"""Size, time of the last change, summary, fault."""


@noun
class Listed:
    """One session in a list. ``fault`` is the reason why the log could not be read, or empty."""

    session: str
    path: str
    size: int
    about: Summary
    fault: str = ""


def listed(folder: Path, limit: int | None = None) -> list[Listed]:
    """Return the sessions in a folder, last used first."""
    noted = _noted(folder)
    rows = {name: _row(folder, name, size, changed, noted.get(name)) for name, size, changed in _logs(folder)}
    if rows != noted:
        replace_beside(folder / _NAME, dumps({"v": _VERSION, "rows": rows}, separators=(",", ":")))
    last = last_used(folder)  # the clock may have been set back since
    newest = sorted(
        rows.items(), key=lambda item: (item[0] == last, item[1][2].get("updated_at", 0.0), item[0]), reverse=True
    )
    return [_listed(folder, name, row) for name, row in newest[:limit]]


def _logs(folder: Path) -> Iterable[tuple[str, int, int]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX):
                    try:
                        found = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:  # removed meanwhile
                        continue
                    yield entry.name.removesuffix(_SUFFIX), found.st_size, found.st_mtime_ns
    except FileNotFoundError:
        return
    except OSError as error:
        raise JournalError(f"{folder} cannot be listed: {error.strerror}") from error


def _row(folder: Path, name: str, size: int, changed: int, noted: _Row | None) -> _Row:
    if noted is not None and noted[:2] == [size, changed]:
        return noted
    log = folder / f"{name}{_SUFFIX}"
    try:
        fd = open_log(log, os.O_RDONLY)
        try:
            return [size, changed, to_sparse(summarize(fd, log)), ""]
        finally:
            os.close(fd)
    except (JournalError, OSError) as error:
        fault = str(error) if isinstance(error, JournalError) else in_words(error)
        return [size, changed, {"updated_at": changed / 1e9}, fault]


def _noted(folder: Path) -> dict[str, _Row]:
    try:
        found = loads(read_beside(folder / _NAME))
        rows = cast(dict[str, _Row], found["rows"])
        sound = found["v"] == _VERSION and all(len(row) == 4 and isinstance(row[2], dict) for row in rows.values())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    return rows if sound else {}


def _listed(folder: Path, name: str, row: _Row) -> Listed:
    try:
        about = from_json(Summary, row[2])
    except UsageError:  # the cache is damaged; the log can still be opened
        about = Summary()
    return Listed(name, f"{folder}{os.sep}{name}{_SUFFIX}", int(row[0]), about, str(row[3]))


LATEST = "latest"
_SHOWN = 5


def find(folder: Path, which: str) -> Path:
    """Return the log of a session. The session is found by its id, the start of its id, its title, or words of its
    title, prompts or tags. ``session/name`` finds a nested session. Raise JournalError if no session or several
    sessions match."""
    outer, slash, name = which.rpartition("/")
    if slash:
        log = agent_log(find(folder, outer), name)
        if outer and name and os.path.lexists(log):
            return log
        raise JournalError(f"there is no nested session {name!r} in session {outer!r}")
    exact = folder / f"{which}.jsonl"
    if which and os.path.lexists(exact):
        return exact
    sessions = listed(folder)
    if not sessions:
        raise JournalError("this workspace has no sessions yet")
    if which == LATEST:
        return Path(sessions[0].path)
    for rule in (_begins, _named, _says):
        found = [each for each in sessions if rule(each, which)]
        if len(found) == 1:
            return Path(found[0].path)
        if found:
            raise JournalError(f"{which!r} matches several sessions: {_names(found)}; use an id")
    raise JournalError(f"there is no session {which!r} in this workspace{_hint(which, sessions)}")


def _begins(session: Listed, which: str) -> bool:
    return len(which) >= 4 and session.session.startswith(which)


def _named(session: Listed, which: str) -> bool:
    return session.about.title.casefold() == which.casefold()


def _says(session: Listed, which: str) -> bool:
    about = session.about
    text = " ".join((about.title, about.first_prompt, about.last_prompt, *about.tags)).casefold()
    words = which.casefold().split()
    return bool(words) and all(word in text for word in words)


def _names(sessions: Sequence[Listed]) -> str:
    shown = ", ".join(f"{each.session} ({each.about.name[:40]})" for each in sessions[:_SHOWN])
    more = len(sessions) - _SHOWN
    return shown + (f" and {more} more" if more > 0 else "")


def _hint(which: str, sessions: Iterable[Listed]) -> str:
    known = [name for each in sessions for name in (each.session, each.about.title) if name]
    close = get_close_matches(which, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else "; `callgate session list` shows them"
