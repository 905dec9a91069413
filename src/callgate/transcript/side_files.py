"""Small files next to a log, readable by their owner only."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.conversation.ports import Drafted
from callgate.formats.jsonable import from_json, to_sparse
from callgate.host.files import open_regular
from callgate.transcript.session_summary import Summary
from callgate.words.errors import UsageError
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.transcript.masking import Masker  # its patterns are costly to load


def open_beside(path: Path, flags: int) -> int:
    """Open or create a regular file and return its descriptor. Symbolic links are not followed. Raise NotRegular for
    other kinds of files."""
    return open_regular(path, flags, follow=False)


def read_beside(path: Path) -> bytes:
    with open(open_beside(path, os.O_RDONLY), "rb") as file:
        return file.read()


def replace_beside(path: Path, text: str) -> None:
    """Replace the content of a file. Errors are ignored, because the file is a cache."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(open_beside(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", errors="replace") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError:
        drop_beside(draft)


_LAST = "sessions.last"


def note_used(log: Path) -> None:
    """Record that this session was used last. File times are not sufficient for this, because the clock may be set
    back."""
    replace_beside(log.parent / _LAST, log.stem)


def last_used(folder: Path) -> str:
    """Return the id of the session that was used last; empty if the id is unknown."""
    try:
        return read_beside(folder / _LAST).decode()
    except (OSError, ValueError):
        return ""


def is_at(fd: int, path: Path) -> bool:
    """Return True unless the open file was removed or replaced."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    except OSError:
        return False


def drop_beside(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def draft_path(log: Path) -> Path:
    return log.with_suffix(".draft")


def write_draft(log: Path, masker: Masker, message_id: str, text: Drafted) -> None:
    replace_beside(draft_path(log), dumps({"message": message_id, "text": masker.draft(text)}))


def read_draft(log: Path) -> tuple[str, Drafted]:
    """Return the message id and the text of the stored draft."""
    try:
        found = loads(read_beside(draft_path(log)))
        return str(found["message"]), tuple((int(calls), str(piece)) for calls, piece in found["text"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "", ()


VERSION = 1


@noun
class Index:
    """The index of a log, for loading the log without reading it whole.

    upto    the offset after the last indexed line
    n, sum  number and checksum of the last indexed line
    live    the byte ranges to load
    """

    upto: int
    n: int
    sum: str
    leaf: str | None
    live: tuple[tuple[int, int], ...]
    about: Summary
    v: int = VERSION


def index_path(log: Path) -> Path:
    return log.with_suffix(".index")


def read_index(log: Path) -> Index | None:
    """Return the index of a log, or None if it is missing or damaged. The loader checks whether the index matches
    the log."""
    try:
        text, _, summed = read_beside(index_path(log)).rpartition(b"\n")
        index = from_json(Index, loads(text)) if summed == _sum(text) else None
    except (OSError, ValueError, RecursionError, UsageError):
        return None
    if index is None or index.v != VERSION:
        return None
    return index if all(0 <= start < end <= index.upto for start, end in index.live) else None


def write_index(log: Path, index: Index) -> None:
    text = dumps(to_sparse(index), separators=(",", ":"))
    replace_beside(index_path(log), f"{text}\n{_sum(text.encode()).decode()}")


def _sum(text: bytes) -> bytes:
    return sha256(text).hexdigest()[:32].encode()
