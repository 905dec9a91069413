"""The session a person means: an id or its beginning, a title, words, or simply the latest."""

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from callgate.transcript.catalogue import Listed, listed
from callgate.words.errors import JournalError

LATEST = "latest"
_SHOWN = 5


def find(folder: Path, which: str) -> Path:
    """The log. JournalError says that there is none, or names those that might be meant."""
    exact = folder / f"{which}.jsonl"
    if which and "/" not in which and os.path.lexists(exact):
        return exact
    sessions = listed(folder)
    if not sessions:
        raise JournalError("there is no session of this workspace yet")
    if which == LATEST:
        return Path(sessions[0].path)
    for rule in (_begins, _named, _says):
        found = [each for each in sessions if rule(each, which)]
        if len(found) == 1:
            return Path(found[0].path)
        if found:
            raise JournalError(f"several sessions could be meant by {which!r}: {_names(found)}; say its id")
    raise JournalError(f"there is no session {which!r} in this workspace{_hint(which, sessions)}")


def _begins(session: Listed, which: str) -> bool:
    return len(which) >= 4 and session.session.startswith(which)


def _named(session: Listed, which: str) -> bool:
    return session.about.title.casefold() == which.casefold()


def _says(session: Listed, which: str) -> bool:
    """All the words are somewhere in what a list shows of it."""
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
